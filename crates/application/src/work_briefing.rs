//! Gather the work's part of a briefing: where the session is, what is expected next, which gate is
//! open; for a session that is nowhere, what was left and what is ready.

use std::collections::BTreeSet;

use domain::briefing::{TicketInProgress, TicketPhases, WorkBriefing};
use domain::ids::NodeId;
use domain::node::{Node, Progress};
use domain::ports::{ChangedLines, Snapshot};
use domain::work::focus::Focus;
use domain::work::phase_order::list_phases;
use domain::work::uncommitted::Uncommitted;

use crate::context::Context;
use crate::failure::Failure;
use crate::handle_host_event::{NextStep, evaluate_step};
use crate::live_sessions::LiveSessionView;
use crate::locate::{load_ancestors, load_node_path};
use crate::next_work::list_first_ready;
use crate::plan_summary::PlanSummary;
use crate::session_position::{
    SessionPosition, Ticket, has_work_phases, head_commit, list_entered_tickets, load_position,
    load_ticket,
};
use crate::session_state::load_session_state;
use crate::uncommitted::{count_session_lines, list_changed_files, load_authors, load_line_limit};
use crate::where_am_i::render_status_line;

/// Maximum number of tickets in progress that are looked at.
const MAX_TICKETS_IN_PROGRESS: usize = 8;

/// Returns the work's part of a briefing; `None` in a project without tickets, for a session that is
/// nowhere.
pub(crate) fn gather_work_briefing(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    summary: &PlanSummary,
    others: &[LiveSessionView],
) -> Result<Option<WorkBriefing>, Failure> {
    let has_tickets = ctx
        .profiles
        .iter()
        .any(|profile| !profile.work_phases.is_empty());
    let place = load_position(ctx, state)?;
    // A ticket that is on another branch is a position too: the session has to be told how to get
    // back to it.
    let is_somewhere = !place.stack.is_empty() || place.absent.is_some();
    if !has_tickets {
        let position = is_somewhere.then(|| render_status_line(&place, None, 0));
        return Ok(position.map(|position| WorkBriefing {
            position: Some(position),
            title: place
                .stack
                .last()
                .and_then(|node| node.description.title.clone()),
            ..WorkBriefing::default()
        }));
    }
    let changed = list_changed_files(ctx).ok();
    let uncommitted = changed
        .as_deref()
        .map(|changed| count_session_lines(ctx, &load_authors(ctx, state), changed));
    if !is_somewhere {
        return brief_nowhere(ctx, state, summary, others, uncommitted).map(Some);
    }
    let ticket = place.ticket.as_ref();
    let limit = load_line_limit(ctx, state, ticket)?;
    Ok(Some(WorkBriefing {
        position: Some(render_status_line(&place, uncommitted.as_ref(), limit)),
        title: ticket.and_then(|ticket| ticket.node.description.title.clone()),
        phase: ticket.map(|ticket| ticket.phase().unwrap_or("none yet").to_owned()),
        phases: match ticket {
            Some(ticket) => list_ticket_phases(ctx, state, ticket)?,
            None => None,
        },
        expected_next: expected_next(ctx, state, &place)?,
        open_gates: list_open_gates(ctx, state, changed)?,
        ..WorkBriefing::default()
    }))
}

/// Returns why the next edit would be blocked, and what clears it.
fn list_open_gates(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    changed: Option<Vec<ChangedLines>>,
) -> Result<Vec<(String, String)>, Failure> {
    let mut session = load_session_state(state, &ctx.session)?;
    // They were counted for the position; counting takes a `git` process.
    session.work.uncommitted = changed;
    session.work.head = head_commit(ctx);
    // The state it returns is dropped: to look at a gate gives nothing to the agent.
    let asked = evaluate_step(ctx, state, session, &NextStep::next_edit(ctx))?;
    let blocks = asked.verdict.blocks.into_iter();
    let open = blocks
        // A text that the agent gets with its next edit is nothing to clear.
        .filter(|fired| !fired.objection.is_handover)
        .map(|fired| {
            let clears = match fired.gate {
                "loc" | "phase" => Some("a commit".to_owned()),
                _ => fired.objection.next_steps.into_iter().next(),
            };
            (fired.objection.why, clears.unwrap_or_default())
        });
    Ok(open.collect())
}

/// Returns the briefing of a session that works on no ticket.
fn brief_nowhere(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    summary: &PlanSummary,
    others: &[LiveSessionView],
    uncommitted: Option<Uncommitted>,
) -> Result<WorkBriefing, Failure> {
    let levels: Vec<&str> = ctx
        .profiles
        .iter()
        .filter(|profile| !profile.work_phases.is_empty())
        .filter_map(|profile| Some(profile.levels.first()?.name.as_str()))
        .collect();
    let items = list_first_ready(ctx, state, summary)?;
    let mut begun = list_entered_tickets(ctx, state)?;
    // A ticket of which only a scenario is ready was begun, too.
    for id in items.iter().filter_map(|item| item.node) {
        let parent = state.load_node(id)?.and_then(|node| node.parent);
        let parent = parent.map(|id| state.load_node(id)).transpose()?.flatten();
        begun.extend(parent.filter(|node| has_work_phases(ctx, node)));
        if begun.len() >= MAX_TICKETS_IN_PROGRESS {
            break;
        }
    }
    let in_progress = list_tickets_in_progress(ctx, state, begun, others, uncommitted.as_ref())?;
    let is_begun = |path: &str| in_progress.iter().any(|one| one.path == path);
    let open = |level: &&str| {
        let count = summary.count_of_level(level)?;
        Some(count.by_status.total().saturating_sub(count.completed))
    };
    Ok(WorkBriefing {
        ready: items
            .into_iter()
            .filter(|one| levels.contains(&one.entity_type.as_str()) && !is_begun(&one.path))
            .map(|one| (one.path, one.title.unwrap_or_default()))
            .collect(),
        open_tickets: levels.iter().filter_map(open).sum(),
        uncovered: uncommitted.map(|found| (found.files, ctx.git.current_branch())),
        in_progress,
        ..WorkBriefing::default()
    })
}

/// Returns the tickets that were begun and that no live session works on, each with where its work
/// is.
fn list_tickets_in_progress(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    begun: Vec<Node>,
    others: &[LiveSessionView],
    uncommitted: Option<&Uncommitted>,
) -> Result<Vec<TicketInProgress>, Failure> {
    let (mut found, mut seen) = (Vec::new(), BTreeSet::<NodeId>::new());
    for node in begun {
        if !seen.insert(node.id) || node.progress == Progress::Complete {
            continue;
        }
        let path = load_node_path(state, &node)?;
        let is_worked_on = |one: &LiveSessionView| {
            let focus = one.focus.as_deref().unwrap_or_default();
            let below = focus.strip_prefix(path.as_str());
            let is_there = below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            is_there || one.holds.contains(&path)
        };
        if others.iter().any(is_worked_on) {
            continue;
        }
        let mut stack = load_ancestors(state, &node)?;
        stack.reverse();
        stack.push(node.clone());
        let ticket = load_ticket(ctx, state, node.clone(), None)?;
        let limit = load_line_limit(ctx, state, Some(&ticket))?;
        let place = SessionPosition {
            focus: Focus::default(),
            stack,
            ticket: Some(ticket),
            absent: None,
        };
        found.push(TicketInProgress {
            path,
            position: render_status_line(&place, uncommitted, limit),
            title: node.description.title,
        });
    }
    Ok(found)
}

/// Returns what the ticket expects next: a commit of the cycle, or the next phase.
fn expected_next(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    place: &SessionPosition,
) -> Result<Option<String>, Failure> {
    if let Some(absent) = &place.absent {
        return Ok(Some(crate::absent_nodes::describe_absence(ctx, absent).1));
    }
    let Some(ticket) = &place.ticket else {
        return Ok(None);
    };
    if let Some(subject) = ticket.expected_commit(ctx) {
        return Ok(Some(format!("a commit like `{subject}`")));
    }
    let alias = &ticket.node.alias;
    let asked = match ticket.guide_name(ctx) {
        // Named with its command: after a compaction the agent has no other way to it.
        Some(guide) => format!(
            "what the guide {} asks for (to read it: tl ticket phase {alias})",
            guide.trim_end_matches(".md")
        ),
        None => "what this phase asks for".to_owned(),
    };
    Ok(Some(match ticket.next_phase(ctx, state)? {
        Some(next) => format!("{asked}, a commit, then tl ticket phase {alias} {next}"),
        None => format!("{asked}, a commit, then tl focus exit"),
    }))
}

/// Returns the phases that a ticket goes through.
fn list_ticket_phases(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    ticket: &Ticket,
) -> Result<Option<TicketPhases>, Failure> {
    let Some(profile) = ctx.find_profile(&ticket.node.profile) else {
        return Ok(None);
    };
    let level = ticket.load_assessment(state)?.level;
    let names = list_phases(&profile.work_phases, ticket.phase(), level);
    Ok(Some(TicketPhases {
        level: level.as_str().to_owned(),
        names: names.into_iter().map(str::to_owned).collect(),
    }))
}
