//! What to do next: ready nodes, stale plans, reviews, flow steps, the story's next turn and waiting
//! decisions in one ranked list, and how a session takes one of them.
//!
//! Nodes claimed by other sessions are left out. Readiness is a rule of `domain::needs`, the rank one
//! of `domain::next_work`.

use std::collections::{BTreeMap, BTreeSet};

use domain::ids::NodeId;
use domain::needs::is_open;
use domain::next_work::{Holding, NextKind, describe_ready_reason, rank_of_item};
use domain::node::{Node, Progress, Status};
use domain::plan_document::{DocumentRecord, DocumentStage, MILESTONES_PROFILE};
use domain::ports::{HeldClaim, NodeKey, Snapshot};
use domain::profile::Profile;
use domain::record;
use domain::review::{LoopState, Review};
use domain::text::count_with_noun;
use domain::tick::TickState;
use domain::tree::Tree;
use domain::work::triage::Priority;
use domain::workflow::{FlowRun, FlowState};
use schemars::JsonSchema;
use serde::Serialize;

use crate::claim_node::{self, ClaimView, claim_within};
use crate::commit_overlay::{StateAtHead, overlay_commits};
use crate::context::Context;
use crate::coordination::load_node_key;
use crate::failure::Failure;
use crate::locate::load_with_ancestors;
use crate::observe::{load_plan_tree, observe_then_read};
use crate::plan_documents::{find_current_position, list_document_positions, list_first_documents};
use crate::plan_summary::{PlanSummary, StoredSummary};
use crate::project_status::Attention;
use crate::ready_nodes::ReadyNodes;
use crate::scan::ScanScope;
use crate::session_position::load_position;
use crate::workflows::{FlowView, find_workflow, list_handed_out, start_executor_step};

/// What to do next, in order.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NextWork {
    pub ready: Vec<NextItem>,
    /// Number of all items, where the list is limited.
    pub total: usize,
    /// Ignored `needs` entries, each with the reason.
    pub problems: Vec<String>,
}

/// Something that can be done now.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NextItem {
    pub kind: NextKind,
    pub entity_id: String,
    pub entity_type: String,
    pub path: String,
    pub title: Option<String>,
    pub progress: Progress,
    /// Left out if it is normal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due: Option<String>,
    /// Why it is where it is in the list.
    pub reason: String,
    /// The next command.
    pub action: String,
    #[serde(skip)]
    rank: u8,
    #[serde(skip)]
    pub(crate) node: Option<NodeId>,
}

/// An item that a session took.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TakenWork {
    #[serde(flatten)]
    pub item: NextItem,
    pub claim: ClaimView,
}

/// Returns the first `limit` items.
///
/// # Errors
/// When the state cannot be read.
pub fn list_next_work(ctx: &Context<'_>, limit: usize) -> Result<NextWork, Failure> {
    let state = observe_then_read(ctx, ScanScope::Everything)?;
    let (stored, is_costly) = StoredSummary::load_for_command(ctx, &*state)?;
    let StateAtHead { state, operations } = overlay_commits(ctx, state)?;
    let summary = stored.summary.with_overlaid(ctx, &*state, &operations)?;
    let work = rank_next_work(ctx, &*state, &summary, limit)?;
    // The write lock may not be taken under a snapshot.
    drop(state);
    if is_costly {
        stored.keep_for_commands(ctx);
    }
    Ok(work)
}

/// Takes the first node that no other session holds: claims it for this session, in all worktrees.
/// A session that holds one already gets that one.
///
/// # Errors
/// When no node is ready, or the claim cannot be recorded.
pub fn take_next_work(ctx: &Context<'_>) -> Result<TakenWork, Failure> {
    // Listed without the write lock, which ranking a large project would hold for long; the
    // candidates are checked again below.
    let work = list_next_work(ctx, MAX_TAKEN_CANDIDATES)?;
    if work.ready.is_empty() {
        return Err(
            Failure::not_found("nothing is ready, so there is nothing to claim")
                .with_step("tl status   # what waits for a decision"),
        );
    }
    let mut tx = ctx.store.begin_write()?;
    for item in work.ready {
        // Read again under the lock: it may have been completed since it was listed.
        let node = item.node.map(|id| tx.load_node(id)).transpose()?.flatten();
        let Some(node) = node.filter(|node| is_open(node) && node.progress != Progress::Blocked)
        else {
            continue;
        };
        match claim_within(ctx, &mut *tx, &node, &item.path) {
            Ok(claim) => {
                tx.commit()?;
                return Ok(TakenWork { item, claim });
            }
            // Another session was faster; the next one may be free.
            Err(failure) if failure.is_rejection() => {}
            Err(failure) => return Err(failure),
        }
    }
    Err(
        Failure::not_found("nothing is ready that another session does not hold")
            .with_step("tl claim --list   # what is held, and by whom")
            .with_step("tl next   # what else can be done"),
    )
}

/// Maximum number of steps in a briefing.
const MAX_BRIEFING_STEPS: usize = 2;
/// Number of items among which a session takes one.
const MAX_TAKEN_CANDIDATES: usize = 64;

/// Returns the ready nodes of a loaded tree.
pub(crate) fn list_ready(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &Tree,
) -> Result<Vec<NextItem>, Failure> {
    let held = HeldNodes::load(ctx, state)?;
    let ids = ReadyNodes::list_all(ctx, tree);
    let mut items = describe_nodes(ctx, state, tree, ids, &held)?;
    items.sort_by_key(|item| item.rank);
    Ok(items)
}

/// Returns the first ready nodes that no other session holds, as far as the summary lists them.
pub(crate) fn list_first_ready(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    summary: &PlanSummary,
) -> Result<Vec<NextItem>, Failure> {
    // Asks for one: the listed nodes are enough, and the whole tree is loaded only if others hold
    // all of them.
    let (mut items, _) = list_ready_nodes(ctx, state, summary, 1)?;
    items.sort_by_key(|item| item.rank);
    Ok(items)
}

/// Returns the first steps of what has no ticket: workflows under way, ready nodes, and how the work of
/// an empty profile begins. Each is what it is about, and the command.
pub(crate) fn list_briefing_steps(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    summary: &PlanSummary,
) -> Result<Vec<(String, String)>, Failure> {
    let has_steps = |profile: &Profile| {
        profile.work_phases.is_empty() && profile.name != domain::trail::PROFILE
    };
    let profiles: Vec<&Profile> = ctx.profiles.iter().filter(|one| has_steps(one)).collect();
    if profiles.is_empty() {
        return Ok(Vec::new());
    }
    let mut items = list_flow_steps(ctx, state)?;
    if items.is_empty() {
        let held = HeldNodes::load(ctx, state)?;
        // Only the first: this is read at every start of a session.
        let first = summary.ready.listed_nodes().take(MAX_BRIEFING_STEPS);
        let ids: Vec<NodeId> = first.collect();
        let tree = load_with_children(state, ids.clone())?;
        let is_meant = |item: &NextItem| {
            let node = item.node.and_then(|id| tree.get(id));
            node.is_some_and(|node| profiles.iter().any(|one| one.name == node.profile))
        };
        let ready = describe_nodes(ctx, state, &tree, ids, &held)?;
        items.extend(ready.into_iter().filter(is_meant));
        items.sort_by_key(|item| item.rank);
    }
    let documents = list_document_steps(ctx, state, summary)?;
    let current = match documents.is_empty() {
        true => None,
        false => find_current_position(ctx, state)?.map(|position| position.document),
    };
    // Drafts that were left are no next step of this session; a broken document is.
    let is_due =
        |item: &NextItem| item.kind == NextKind::Stale || current.as_ref() == Some(&item.path);
    let items = documents.into_iter().filter(is_due).chain(items);
    let steps = items.take(MAX_BRIEFING_STEPS).map(|item| {
        let title = item.title.map(|title| format!(" “{title}”"));
        let what = format!(
            "{}{}: {}",
            item.path,
            title.unwrap_or_default(),
            item.reason
        );
        (what, item.action)
    });
    let is_empty = |profile: &&&Profile| {
        let mut levels = profile.levels.iter();
        levels.all(|level| summary.count_of_level(&level.name).is_none())
    };
    let mut steps: Vec<(String, String)> = steps.collect();
    for profile in profiles.iter().filter(is_empty) {
        if profile.name == MILESTONES_PROFILE {
            let first = list_first_documents(ctx, state)?.into_iter();
            steps.extend(first.map(|command| ("no plan is known here".to_owned(), command)));
        } else if let Some((level, command)) = first_command(profile) {
            steps.push((format!("there is no {level} yet"), command));
        }
    }
    Ok(steps)
}

/// Returns the command that begins the work of a profile without plans, and the level it begins with.
fn first_command(profile: &Profile) -> Option<(&str, String)> {
    // An optional level is left out: a book without parts begins with its chapters.
    let mut levels = profile.levels.iter();
    let top = levels.find(|level| level.root && !level.optional && level.file.is_some())?;
    let first = top.alias.format_alias(1, None);
    let id = first.unwrap_or_else(|| "NAME".to_owned());
    Some((&top.name, format!("tl plan {} {id}", top.name)))
}

/// Loads nodes with their ancestors and children: the next command depends on whether a node has any.
fn load_with_children(state: &dyn Snapshot, mut nodes: Vec<NodeId>) -> Result<Tree, Failure> {
    for id in nodes.clone() {
        nodes.extend(state.child_names(id)?.iter().map(|child| child.id));
    }
    Ok(load_with_ancestors(state, nodes)?)
}

/// Ranks everything that can be done.
fn rank_next_work(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    summary: &PlanSummary,
    limit: usize,
) -> Result<NextWork, Failure> {
    let (mut items, mut hidden) = list_ready_nodes(ctx, state, summary, limit)?;
    for waiting in [&summary.urgent, &summary.drafts] {
        let described = PlanSummary::describe_waiting(ctx, state, waiting, limit)?;
        hidden += waiting.total.saturating_sub(described.len());
        items.extend(described.into_iter().map(|one| describe_decision(ctx, one)));
    }
    let returned = PlanSummary::describe_waiting(ctx, state, &summary.returned, limit)?;
    hidden += summary.returned.total.saturating_sub(returned.len());
    for one in returned {
        items.push(NextItem {
            reason: "a person requested changes".to_owned(),
            action: format!("tl why {}", one.path),
            ..build_plan_item(ctx, NextKind::Review, one)
        });
    }
    items.extend(list_open_reviews(ctx, state)?);
    items.extend(list_document_steps(ctx, state, summary)?);
    items.extend(list_flow_steps(ctx, state)?);
    items.extend(find_next_tick(ctx, state)?);
    // Stable: within a rank the order of the tree and of the sources stays.
    items.sort_by_key(|item| item.rank);
    let total = items.len() + hidden;
    items.truncate(limit);
    Ok(NextWork {
        ready: items,
        total,
        problems: summary.ready.problems.clone(),
    })
}

/// Returns the first ready nodes that no other session holds, and the number of those beyond.
fn list_ready_nodes(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    summary: &PlanSummary,
    limit: usize,
) -> Result<(Vec<NextItem>, usize), Failure> {
    let held = HeldNodes::load(ctx, state)?;
    let listed: Vec<NodeId> = summary.ready.listed_nodes().collect();
    let tree = load_with_children(state, listed.clone())?;
    let hidden = summary.ready.total.saturating_sub(listed.len());
    let items = describe_nodes(ctx, state, &tree, listed, &held)?;
    if items.len() >= limit || summary.ready.is_complete() {
        return Ok((items, hidden));
    }
    // Rare: more are wanted than are listed, or others hold most of them.
    let tree = load_plan_tree(state)?;
    let ids = ReadyNodes::list_all(ctx, &tree);
    Ok((describe_nodes(ctx, state, &tree, ids, &held)?, 0))
}

/// What this session and others are at.
struct HeldNodes {
    own: Vec<NodeKey>,
    others: Vec<NodeKey>,
    /// The node this session is at.
    focus: Option<NodeKey>,
    runs: ActiveRuns,
}

/// The workflows under way.
struct ActiveRuns(Vec<FlowRun>);

impl ActiveRuns {
    fn load(state: &dyn Snapshot) -> Result<Self, Failure> {
        let runs = record::read_records::<FlowRun>(state, "")?.into_iter();
        let active = runs.map(|(_, run)| run);
        Ok(Self(
            active
                .filter(|run| run.state == FlowState::Active)
                .collect(),
        ))
    }

    /// Returns the options that select a run; one run needs none.
    fn selector(&self, run: &FlowRun) -> String {
        match self.0.len() {
            1 => String::new(),
            _ => format!(" --for {} --flow {}", run.subject, run.workflow),
        }
    }
}

/// Returns the milestone of a node of a plan document: itself, or the one above.
fn find_milestone<'t>(tree: &'t Tree, node: &'t Node) -> &'t Node {
    let mut path = tree.ancestors(node);
    path.reverse();
    // From the document down: the milestone is the second.
    path.get(1).copied().unwrap_or(node)
}

impl HeldNodes {
    fn load(ctx: &Context<'_>, state: &dyn Snapshot) -> Result<Self, Failure> {
        let (own, others): (Vec<HeldClaim>, Vec<HeldClaim>) =
            claim_node::list_active_claims(ctx, state)?
                .into_iter()
                .partition(|one| one.is_held_by(&ctx.session));
        let position = load_position(ctx, state)?;
        // The ticket before the deepest node of the stack: everything of a ticket is the session's
        // work, not only the scenario it is at.
        let ticket = position.ticket.map(|ticket| ticket.node);
        let node = ticket.or_else(|| position.stack.last().cloned());
        let to_keys = |held: Vec<HeldClaim>| held.into_iter().map(|one| one.node).collect();
        Ok(Self {
            own: to_keys(own),
            others: to_keys(others),
            focus: node.map(|node| load_node_key(state, &node)).transpose()?,
            runs: ActiveRuns::load(state)?,
        })
    }

    /// Returns the workflow under way on the plan document that a node belongs to.
    fn find_run(&self, tree: &Tree, node: &Node) -> Option<&FlowRun> {
        if node.profile != MILESTONES_PROFILE {
            return None;
        }
        let document = find_document(tree, node);
        let mut runs = self.runs.0.iter();
        runs.find(|run| run.subject == document.alias)
    }

    /// Returns who holds a node; `None` if another session does. A claim covers the nodes below it.
    fn holding_of(&self, key: &NodeKey) -> Option<Holding> {
        let covers = |list: &[NodeKey]| list.iter().any(|held| held.covers(key));
        // First: also below this session's focus, another session's claim holds.
        if covers(&self.others) {
            return None;
        }
        Some(match self.focus.as_ref().is_some_and(|at| at.covers(key)) {
            true => Holding::Focus,
            false if covers(&self.own) => Holding::Claim,
            false => Holding::Nobody,
        })
    }
}

/// How the work on the plan documents among some nodes goes on.
#[derive(Default)]
struct DocumentWork {
    frozen: BTreeSet<String>,
    /// The milestones that the workflow on a document hands out now.
    handed_out: BTreeMap<String, Vec<String>>,
}

impl DocumentWork {
    fn load(
        ctx: &Context<'_>,
        state: &dyn Snapshot,
        tree: &Tree,
        ids: &[NodeId],
        held: &HeldNodes,
    ) -> Result<Self, Failure> {
        let mut found = Self::default();
        let nodes = ids.iter().filter_map(|id| tree.get(*id));
        let documents: BTreeSet<&str> = nodes
            .filter(|node| node.profile == MILESTONES_PROFILE)
            .map(|node| find_document(tree, node).alias.as_str())
            .collect();
        for id in documents {
            let record = record::read_record::<DocumentRecord>(state, id)?;
            if record.is_some_and(|record| record.frozen.is_some()) {
                found.frozen.insert(id.to_owned());
            }
            if let Some(run) = held.runs.0.iter().find(|run| run.subject == id) {
                let handed_out = list_handed_out(ctx, state, run)?;
                found.handed_out.insert(id.to_owned(), handed_out);
            }
        }
        Ok(found)
    }

    /// Returns the frozen document that a node belongs to.
    fn find_frozen<'t>(&self, tree: &'t Tree, node: &'t Node) -> Option<&'t str> {
        let document = find_document(tree, node);
        let is_frozen = node.profile == MILESTONES_PROFILE && self.frozen.contains(&document.alias);
        is_frozen.then_some(document.alias.as_str())
    }

    /// Whether the run hands out a milestone at its present step.
    fn is_handed_out(&self, run: &FlowRun, milestone: &Node) -> bool {
        self.handed_out
            .get(&run.subject)
            .is_some_and(|list| list.contains(&milestone.alias))
    }
}

/// Returns the root of the plan document that a node belongs to.
fn find_document<'t>(tree: &'t Tree, node: &'t Node) -> &'t Node {
    tree.ancestors(node).last().map_or(node, |root| *root)
}

/// Describes ready nodes, without those of other sessions.
fn describe_nodes(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &Tree,
    ids: Vec<NodeId>,
    held: &HeldNodes,
) -> Result<Vec<NextItem>, Failure> {
    let documents = DocumentWork::load(ctx, state, tree, &ids, held)?;
    let now = ctx.clock.now();
    let is_person = ctx.actor.is_human();
    let mut seen: BTreeSet<NodeId> = BTreeSet::new();
    let describe = |id: NodeId| {
        let node = tree.get(id)?;
        let run = held.find_run(tree, node);
        let frozen = documents.find_frozen(tree, node);
        let node = match (run, frozen) {
            // The current step of the run is an item of its own.
            (Some(_), _) if node.parent.is_none() => return None,
            // A workflow hands out milestones; their intents are carried out with them.
            (Some(_), _) | (None, Some(_)) => find_milestone(tree, node),
            (None, None) => node,
        };
        if run.is_some_and(|run| !documents.is_handed_out(run, node)) {
            return None;
        }
        if !seen.insert(node.id) {
            return None;
        }
        let path = tree.alias_path(node);
        let key = NodeKey {
            profile: node.profile.clone(),
            path: path.clone(),
        };
        let holding = held.holding_of(&key)?;
        let priority = node.priority();
        Some(NextItem {
            kind: NextKind::Node,
            entity_id: node.alias.clone(),
            entity_type: node.level.clone(),
            title: node.description.title.clone(),
            progress: node.progress,
            priority: (priority != Priority::Normal).then_some(priority),
            due: node.due_day().map(str::to_owned),
            reason: describe_ready_reason(tree, node, holding, now),
            action: match (run, frozen) {
                (Some(run), _) => format!("tl flow take{}", held.runs.selector(run)),
                (None, Some(document)) if node.parent.is_some() => start_executor_step(document),
                _ => next_action(ctx.find_profile(&node.profile), tree, node),
            },
            rank: rank_of_item(NextKind::Node, holding, priority, is_person),
            node: Some(node.id),
            path,
        })
    };
    Ok(ids.into_iter().filter_map(describe).collect())
}

/// Returns an item that is not a ready node.
fn build_item(ctx: &Context<'_>, kind: NextKind, subject: &str, kind_name: &str) -> NextItem {
    let rank = rank_of_item(
        kind,
        Holding::Nobody,
        Priority::Normal,
        ctx.actor.is_human(),
    );
    NextItem {
        kind,
        entity_id: subject.rsplit('/').next().unwrap_or_default().to_owned(),
        entity_type: kind_name.to_owned(),
        path: subject.to_owned(),
        title: None,
        progress: Progress::Active,
        priority: None,
        due: None,
        reason: String::new(),
        action: String::new(),
        rank,
        node: None,
    }
}

/// Describes a plan that needs a decision.
fn describe_decision(ctx: &Context<'_>, waiting: Attention) -> NextItem {
    let kind = match waiting.status {
        Status::Invalid | Status::RequiresRevalidation => NextKind::Stale,
        Status::Draft | Status::Approved => NextKind::Decision,
    };
    let status = waiting.status.as_str();
    NextItem {
        reason: match &waiting.reason {
            Some(reason) => format!("{status}: {reason}"),
            None => format!("{status}, and what is below it waits"),
        },
        action: waiting.next_step.clone(),
        ..build_plan_item(ctx, kind, waiting)
    }
}

/// Returns an item about a plan that waits for a decision or a change.
fn build_plan_item(ctx: &Context<'_>, kind: NextKind, plan: Attention) -> NextItem {
    NextItem {
        title: plan.title,
        ..build_item(ctx, kind, &plan.path, &plan.level)
    }
}

/// Returns the reviews that are not over.
fn list_open_reviews(ctx: &Context<'_>, state: &dyn Snapshot) -> Result<Vec<NextItem>, Failure> {
    let mut items = Vec::new();
    for (subject, review) in record::read_records::<Review>(state, "")? {
        if review.state == LoopState::Complete {
            continue;
        }
        let escalated = review.escalated_items().len();
        let (kind, reason) = match escalated {
            0 => {
                let unjudged = review.unjudged_items().len();
                let blocking = review.blocking_items().len();
                let open = match unjudged {
                    0 => count_with_noun(blocking, "finding blocks", "findings block"),
                    _ => count_with_noun(unjudged, "check is open", "checks are open"),
                };
                (
                    NextKind::Review,
                    format!("iteration {}: {open}", review.iteration),
                )
            }
            waiting => (
                NextKind::Decision,
                count_with_noun(
                    waiting,
                    "finding waits for a person",
                    "findings wait for a person",
                ),
            ),
        };
        items.push(NextItem {
            reason,
            action: format!("tl review status --of {subject}"),
            ..build_item(ctx, kind, &subject, "review")
        });
    }
    Ok(items)
}

/// Returns the next steps of plan documents before their milestones are worked on.
fn list_document_steps(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    summary: &PlanSummary,
) -> Result<Vec<NextItem>, Failure> {
    if !summary.has_documents() {
        return Ok(Vec::new());
    }
    let active = ActiveRuns::load(state)?;
    let mut items = Vec::new();
    for position in list_document_positions(state)? {
        let is_changed = position.stage == DocumentStage::ChangedOutside;
        // The current step of a workflow on it is an item of its own.
        if !is_changed && active.0.iter().any(|run| run.subject == position.document) {
            continue;
        }
        let Some(step) = position.next_step() else {
            continue;
        };
        let kind = match is_changed {
            true => NextKind::Stale,
            false => NextKind::Node,
        };
        items.push(NextItem {
            reason: step.what,
            action: step.command,
            title: position.title,
            ..build_item(ctx, kind, &position.document, "plan")
        });
    }
    Ok(items)
}

/// Returns the current steps of workflows that are under way.
fn list_flow_steps(ctx: &Context<'_>, state: &dyn Snapshot) -> Result<Vec<NextItem>, Failure> {
    let active = ActiveRuns::load(state)?;
    let mut items = Vec::new();
    for run in &active.0 {
        let (title, reason) = match find_workflow(ctx, &run.workflow) {
            Ok(workflow) => {
                let view = FlowView::from_run(&workflow, run);
                let place = format!(
                    "step {} of {} of `{}`, for the {}",
                    view.number, view.steps, run.workflow, view.role
                );
                (view.title, place)
            }
            // A run of a workflow that was removed is still listed, with the reason: hidden, it
            // could be neither continued nor aborted.
            Err(failure) => (run.step.clone(), failure.message),
        };
        let which = active.selector(run);
        items.push(NextItem {
            title: Some(title),
            reason,
            action: format!("tl flow next{which}"),
            ..build_item(ctx, NextKind::Flow, &run.subject, "flow")
        });
    }
    Ok(items)
}

/// Returns the next turn of the story's loop, in a story that has begun to use it.
fn find_next_tick(ctx: &Context<'_>, state: &dyn Snapshot) -> Result<Option<NextItem>, Failure> {
    let Some(position) = record::read_record::<TickState>(state, TickState::KEY)? else {
        return Ok(None);
    };
    // The record is older than the first tick where the novel was only named.
    if position.current_tick == 0 {
        return Ok(None);
    }
    let tick = position.current_tick + 1;
    Ok(Some(NextItem {
        title: position.novel,
        progress: Progress::Pending,
        reason: format!("the story is at tick {}", position.current_tick),
        action: "tl story tick".to_owned(),
        ..build_item(ctx, NextKind::Tick, &format!("tick-{tick}"), "tick")
    }))
}

/// Returns the next command: a node with plannable levels below it is planned further, one at the
/// bottom is carried out.
fn next_action(profile: Option<&Profile>, tree: &Tree, node: &Node) -> String {
    let below = profile.and_then(|profile| {
        profile
            .levels_under(&node.level)
            .find(|level| level.file.is_some() && !level.is_flat())
    });
    let path = tree.alias_path(node);
    let has_children = tree.children(node.id).next().is_some();
    match below {
        Some(level) if !has_children => {
            // The command names the first child, ready to paste; without a number pattern the
            // person has to choose a name.
            let above = profile.and_then(|profile| profile.find_level(&node.level));
            let number = above.and_then(|above| above.number_of(&node.alias));
            let id = level
                .alias
                .format_below(1, &node.alias, number)
                .unwrap_or_else(|| "NAME".to_owned());
            format!("tl plan {} {id} --under {path}", level.name)
        }
        Some(_) => format!("tl progress {path} complete"),
        None if profile.is_some_and(|profile| !profile.work_phases.is_empty()) => {
            format!("tl focus enter {path}")
        }
        None => format!("carry it out, then: tl progress {path} complete"),
    }
}
