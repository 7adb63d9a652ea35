//! Gather the work's part of a briefing: where the session is, what is expected next, which gate is
//! open.

use domain::briefing::WorkBriefing;
use domain::ports::Snapshot;
use domain::profile::Profile;
use domain::work::uncommitted::Uncommitted;

use crate::context::Context;
use crate::failure::Failure;
use crate::next_work::list_first_ready;
use crate::plan_summary::PlanSummary;
use crate::session_position::{SessionPosition, Ticket, load_position};
use crate::uncommitted::{count_uncommitted, load_line_limit};
use crate::where_am_i::render_status_line;

/// Returns the work's part of a briefing; `None` in a project without tickets.
pub(crate) fn gather_work_briefing(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    summary: &PlanSummary,
) -> Result<Option<WorkBriefing>, Failure> {
    if !ctx
        .profiles
        .iter()
        .any(|profile| !profile.work_phases.is_empty())
    {
        return Ok(None);
    }
    let place = load_position(ctx, state)?;
    let (uncommitted, _) = count_uncommitted(ctx, state);
    // A ticket that is on another branch is a position too: the session has to be told how to get
    // back to it.
    if place.stack.is_empty() && place.absent.is_none() {
        return nowhere(ctx, state, summary, uncommitted).map(Some);
    }
    let ticket = place.ticket.as_ref();
    let limit = load_line_limit(ctx, state, ticket)?;
    Ok(Some(WorkBriefing {
        position: Some(render_status_line(&place, uncommitted.as_ref(), limit)),
        title: ticket.and_then(|ticket| ticket.node.description.title.clone()),
        phase: ticket.map(|ticket| ticket.phase().unwrap_or("none yet").to_owned()),
        expected_next: expected_next(ctx, &place),
        open_gate: uncommitted
            .as_ref()
            .filter(|found| found.lines > limit)
            .map(|found| {
                let why = format!("{} changed lines are not committed", found.lines);
                (why, "a commit".to_owned())
            }),
        ..WorkBriefing::default()
    }))
}

/// Returns the briefing of a session that works on no ticket.
fn nowhere(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    summary: &PlanSummary,
    uncommitted: Option<Uncommitted>,
) -> Result<WorkBriefing, Failure> {
    let levels: Vec<&str> = ctx
        .profiles
        .iter()
        .filter(|profile| !profile.work_phases.is_empty())
        .filter_map(|profile| Some(profile.levels.first()?.name.as_str()))
        .collect();
    let ready = list_first_ready(ctx, state, summary)?;
    let open = |level: &&str| {
        let count = summary.count_of_level(level)?;
        Some(count.by_status.total().saturating_sub(count.completed))
    };
    Ok(WorkBriefing {
        ready: ready
            .into_iter()
            .filter(|one| levels.contains(&one.entity_type.as_str()))
            .map(|one| (one.path, one.title.unwrap_or_default()))
            .collect(),
        open_tickets: levels.iter().filter_map(open).sum(),
        uncovered: uncommitted.map(|found| (found.files, ctx.git.current_branch())),
        ..WorkBriefing::default()
    })
}

/// Returns what the ticket expects next: a commit of the cycle, or the next phase.
fn expected_next(ctx: &Context<'_>, place: &SessionPosition) -> Option<String> {
    if let Some(absent) = &place.absent {
        return Some(crate::absent_nodes::describe_absence(ctx, absent).1);
    }
    let ticket = place.ticket.as_ref()?;
    if let Some(subject) = ticket.expected_commit(ctx) {
        return Some(format!("a commit like `{subject}`"));
    }
    let profile = ctx.find_profile(&ticket.node.profile)?;
    let next = next_phase(profile, ticket)?;
    Some(format!(
        "what the guide of this phase asks for, a commit, then tl ticket phase {} {next}",
        ticket.node.alias
    ))
}

fn next_phase<'p>(profile: &'p Profile, ticket: &Ticket) -> Option<&'p str> {
    let names = profile.work_phases.iter().map(|phase| phase.name.as_str());
    match ticket.phase() {
        None => names.into_iter().next(),
        Some(now) => names.into_iter().skip_while(|name| *name != now).nth(1),
    }
}
