//! Compose the briefing of an agent: the state of the work in one bounded text.
//!
//! What goes in and in which order is decided in `domain::briefing`; this gathers the inputs and
//! applies the size limit of the host.

use domain::briefing::compositor::estimate_tokens;
use domain::briefing::{
    self, Attention, BRIEFING_OPENING, Briefing, BriefingLine, LevelSummary, MAX_LISTED_ITEMS,
    TextBudget,
};
use domain::gates::describe_unadopted_decisions;
use domain::host_event::Host;
use domain::ids::Principal;
use domain::node::Status;
use domain::operation::Channel;
use domain::plan_document::{DocumentPosition, MILESTONES_PROFILE};
use domain::ports::Snapshot;
use domain::profile::{Profile, locate_plan};
use domain::trail;
use serde::Serialize;

use crate::build_state::UnfinishedBuild;
use crate::comment::{CommentView, load_open_comments};
use crate::context::Context;
use crate::failure::Failure;
use crate::handle_host_event::find_recorded;
use crate::live_sessions::{LiveSessionView, LiveSessions, list_live_sessions};
use crate::next_work::list_briefing_steps;
use crate::observe::observe_plans;
use crate::plan_documents::find_current_position;
use crate::plan_summary::{PlanSummary, StoredSummary};
use crate::project_status::Attention as Waiting;
use crate::sessions::gather_trail_briefing;
use crate::work_briefing::gather_work_briefing;

/// Request of [`brief_explained`].
#[derive(Clone, Copy, Debug, Default)]
pub struct BriefRequest<'a> {
    /// Hook errors since the last briefing.
    pub faults: Option<&'a str>,
    /// Maximum number of characters; 0 means no limit, `None` the limit of the policy.
    pub budget: Option<usize>,
}

/// A briefing, and how it was composed.
#[derive(Clone, Debug, Serialize)]
pub struct BriefOutcome {
    pub text: String,
    pub characters: usize,
    /// Estimated.
    pub tokens: usize,
    /// The included lines, with the reason for each.
    pub kept: Vec<BriefingLine>,
    /// The lines left out for lack of space.
    pub cut: Vec<BriefingLine>,
}

/// Composes a briefing within the policy's limit; `faults` are the hook errors since the last one.
///
/// # Errors
/// When the state cannot be read.
pub fn compose_briefing(ctx: &Context<'_>, faults: Option<&str>) -> Result<String, Failure> {
    Ok(compose_explained_briefing(
        ctx,
        BriefRequest {
            faults,
            budget: None,
        },
    )?
    .text)
}

/// Composes a briefing and explains its selection.
///
/// # Errors
/// When the state cannot be read.
pub fn compose_explained_briefing(
    ctx: &Context<'_>,
    request: BriefRequest<'_>,
) -> Result<BriefOutcome, Failure> {
    let (state, tree) = observe_plans(ctx)?;
    // From the tree, which is loaded here anyway.
    let summary = PlanSummary::of_tree(ctx, &tree);
    explain_briefing_on(ctx, &*state, &summary, request)
}

/// Composes a briefing of a snapshot. Returns it with the summary of the plans, to be stored where a
/// transaction is open.
pub(crate) fn compose_briefing_on(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    faults: Option<&str>,
) -> Result<(String, StoredSummary), Failure> {
    let request = BriefRequest {
        faults,
        budget: None,
    };
    let stored = StoredSummary::load_current(ctx, state)?;
    let outcome = explain_briefing_on(ctx, state, &stored.summary, request)?;
    Ok((outcome.text, stored))
}

/// Composes the briefing of a project whose state is being built: how far it is, and the rules.
pub(crate) fn compose_unfinished_briefing(ctx: &Context<'_>, build: UnfinishedBuild) -> String {
    let rules = briefing::collect_rules(ctx.profiles, ctx.policy, None);
    let lines = [
        format!("{BRIEFING_OPENING} {}.", build.describe()),
        "Plans cannot be checked before that. Next: tl status".to_owned(),
    ];
    let lines: Vec<String> = lines.into_iter().chain(rules).collect();
    lines.join("\n")
}

/// Composes a briefing of a snapshot.
fn explain_briefing_on(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    summary: &PlanSummary,
    request: BriefRequest<'_>,
) -> Result<BriefOutcome, Failure> {
    let LiveSessions {
        mut others,
        own_files,
    } = list_live_sessions(ctx, state)?;
    // Before the idle ones are left out: a person who entered a node at a terminal gave it to the
    // session that starts there.
    others.retain(|one| !one.is_idle());
    let work = gather_work_briefing(ctx, state, summary, &others)?;
    let trail = match trail::has_trail_profile(ctx.profiles) {
        true => Some(gather_trail_briefing(ctx, state)?),
        false => None,
    };
    let hierarchies = ctx
        .profiles
        .iter()
        .map(|profile| profile.render_hierarchy())
        .collect();
    let describe = |waiting| PlanSummary::describe_waiting(ctx, state, waiting, MAX_LISTED_ITEMS);
    let urgent = describe(&summary.urgent)?;
    // Others may have approved them: that counts once the clone is adopted.
    let drafts = Some(&summary.drafts).filter(|_| ctx.unadopted_decisions() == 0);
    let draft_total = drafts.map_or(0, |drafts| drafts.total);
    let drafts = drafts.map(describe).transpose()?.unwrap_or_default();
    let render = |one: &Waiting| Attention {
        path: one.path.clone(),
        status: one.status,
        reason: one.reason.clone(),
        next_step: one.next_step.clone(),
    };
    let budget = briefing_budget(ctx, request.budget);
    // Comments are for the agent: a person who writes one expects it to be read at the next start,
    // without another command.
    let said = load_open_comments(ctx, state)?;
    let places: Vec<String> = said.iter().map(CommentView::describe_place).collect();
    let comments = said
        .iter()
        .zip(&places)
        .map(|(one, place)| (place.as_str(), one.by.to_string(), one.text.as_str()))
        .collect();
    let requested = summary.list_requests(state, MAX_LISTED_ITEMS)?;
    let requests = requested
        .iter()
        .map(|(path, one)| (path.as_str(), one.by.to_string(), one.reason.as_str()))
        .collect();
    let briefing = Briefing {
        hierarchies,
        levels: summarise_levels(ctx, summary),
        rules: briefing::collect_rules(
            ctx.profiles,
            ctx.policy,
            work.as_ref().and_then(|work| work.phases.as_ref()),
        ),
        work,
        urgent: urgent.iter().map(render).collect(),
        urgent_total: summary.urgent.total,
        drafts: drafts.iter().map(render).collect(),
        draft_total,
        requests,
        comments,
        document: find_document(ctx, state, summary)?,
        last_plan: find_last_plan(ctx, state, &own_files)?,
        steps: list_briefing_steps(ctx, state, summary)?,
        other_sessions: others.iter().map(LiveSessionView::render_line).collect(),
        faults: request.faults,
        untrusted: describe_untrusted(ctx),
        trail,
    };
    let mut composed = None;
    let text = compose_for_host(ctx, |characters| {
        let budget = characters.map_or(budget, |most| budget.with_max_characters(most));
        let made = briefing::compose_briefing(&briefing, budget);
        composed.insert(made).text.clone()
    });
    let (kept, cut) = composed
        .map(|made| (made.kept, made.cut))
        .unwrap_or_default();
    Ok(BriefOutcome {
        characters: text.chars().count(),
        tokens: estimate_tokens(&text),
        text,
        kept,
        cut,
    })
}

/// Returns the plan document that this session works on, in a project of milestones.
fn find_document(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    summary: &PlanSummary,
) -> Result<Option<DocumentPosition>, Failure> {
    let is_kept = |profile: &Profile| profile.name == MILESTONES_PROFILE;
    match ctx.profiles.iter().any(is_kept) && summary.has_documents() {
        true => find_current_position(ctx, state),
        false => Ok(None),
    }
}

/// Returns the plan that this session changed last, with its status.
fn find_last_plan(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    files: &[String],
) -> Result<Option<(String, Status)>, Failure> {
    let mut plans = files
        .iter()
        .filter_map(|file| locate_plan(ctx.profiles, file))
        // A ticket that is worked on is the session's position.
        .filter(|place| place.profile.work_phases.is_empty());
    let Some(place) = plans.next() else {
        return Ok(None);
    };
    let node = find_recorded(state, &place)?.node;
    Ok(node.map(|node| (place.path_alias(), node.status())))
}

/// Returns the plans per level, in the order of the profiles. Trails are left out: their position has
/// lines of its own.
fn summarise_levels<'s>(ctx: &Context<'s>, summary: &PlanSummary) -> Vec<LevelSummary<'s>> {
    let mut levels = Vec::new();
    for profile in ctx.profiles.iter().filter(|it| it.name != trail::PROFILE) {
        for level in &profile.levels {
            let Some(count) = summary.count_of_level(&level.name) else {
                continue;
            };
            let (settled, settled_word) = match count.asking {
                0 => (count.completed, "complete"),
                _ => (count.by_status.approved, "approved"),
            };
            levels.push(LevelSummary {
                level: &level.name,
                plans: count.by_status.total(),
                settled,
                settled_word,
            });
        }
    }
    levels
}

/// Returns the budget: the policy's, unless another one is asked for; 0 means no limit.
fn briefing_budget(ctx: &Context<'_>, asked: Option<usize>) -> TextBudget {
    let policy = &ctx.policy.briefing;
    match asked {
        None => TextBudget {
            characters: policy.characters,
            tokens: policy.tokens,
        },
        Some(0) => TextBudget::UNLIMITED,
        Some(characters) => TextBudget::UNLIMITED.with_max_characters(characters),
    }
}

/// Composes a text so that it fits the limit of the host that asks; without one, in full.
///
/// A host may measure in bytes or UTF-16 units where a budget counts characters, so the text is
/// composed again with a smaller budget until it fits. Cutting it instead would drop its end, which
/// may be in the middle of a next step.
pub(crate) fn compose_for_host(
    ctx: &Context<'_>,
    mut compose: impl FnMut(Option<usize>) -> String,
) -> String {
    let mut text = compose(None);
    if let Some(host) = host_of_hook(ctx) {
        let mut budget = host.max_context_size();
        while host.context_size(&text) > host.max_context_size() && budget > 0 {
            budget = budget * 3 / 4;
            text = compose(Some(budget));
        }
    }
    text
}

/// Returns what a person has to decide before decisions, policy and history can be trusted, for the
/// agent to pass on.
fn describe_untrusted(ctx: &Context<'_>) -> Option<String> {
    let unadopted = match ctx.unadopted_decisions() {
        0 => None,
        count => Some(describe_unadopted_decisions(count)),
    };
    let lines: Vec<String> = unadopted.into_iter().chain(describe_doubts(ctx)).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Returns why policy or history is not the one a person accepted.
fn describe_doubts(ctx: &Context<'_>) -> Option<String> {
    let mut lines: Vec<String> = ctx
        .store
        .history_state()
        .describe_problem()
        .into_iter()
        .collect();
    if !ctx.waiting_policy.is_empty() {
        let changes: Vec<String> = ctx.waiting_policy.iter().map(ToString::to_string).collect();
        lines.push(format!(
            "the project's files are looser than the policy in force, which has no effect: {}",
            changes.join(", ")
        ));
    }
    if lines.is_empty() {
        return None;
    }
    lines.push(
        "Tell the person; they decide in their own terminal: tl check, tl policy.".to_owned(),
    );
    Some(lines.join("\n"))
}

/// Returns the host, if a hook is asking.
fn host_of_hook(ctx: &Context<'_>) -> Option<Host> {
    match (&ctx.actor, ctx.channel) {
        (Principal::Agent { host, .. }, Channel::Hook) => Host::from_word(host),
        _ => None,
    }
}
