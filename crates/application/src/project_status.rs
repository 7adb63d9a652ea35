//! Status of the whole project: counts per level, and the nodes that need a decision.

use domain::approval::approval_next_step;
use domain::briefing::TrailPlace;
use domain::duplicate_ids::{id_of_alias, is_duplicate, renumber_command};
use domain::node::{Node, Progress, Status};
use domain::plan_document::{DocumentPosition, DocumentStage};
use domain::ports::Snapshot;
use domain::tree::Tree;
use schemars::JsonSchema;
use serde::Serialize;

use crate::approval_need::{asks_for_approval, decision_next_step};
use crate::commit_overlay::{StateAtHead, overlay_commits};
use crate::context::Context;
use crate::decisions::describe_unsigned_approval;
use crate::failure::Failure;
use crate::live_sessions::{LiveSessionView, list_other_sessions};
use crate::observe::{load_plan_tree, observe_then_read};
use crate::plan_documents::{find_frozen_edit, list_document_positions};
use crate::plan_summary::{PlanSummary, StoredSummary};
use crate::scan::{ScanScope, report_misplaced_at_root};
use crate::sessions::{load_current_trail, trail_places};
use crate::stated_completion::list_unproved_completions;
use crate::views::{ChangeRequestView, OperationView, StatusCounts, describe_cause};
use crate::waiting_plans::MIN_LISTED_PLANS;
use crate::working_copy::CopyDifference;

/// The project at a glance.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProjectStatus {
    pub profiles: Vec<String>,
    pub nodes: usize,
    pub status_counts: StatusCounts,
    /// Counts per level, from the top down.
    pub levels: Vec<LevelCounts>,
    /// Nodes that need a decision: invalid and stale ones, and drafts below an approved parent.
    pub attention: Vec<Attention>,
    /// Number of such nodes, where the list is limited.
    #[serde(skip)]
    pub attention_total: usize,
    /// Plans of which changes are requested: the agent's turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes_requested: Vec<ReturnedPlan>,
    /// Plans with the id of another one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub duplicates: Vec<DuplicateView>,
    /// Nodes that are complete because a file that came with git says so, and nothing else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unproved: Vec<String>,
    /// From the trajectory to the cursor, if the project keeps a trail; empty if no session has
    /// one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<crate::views::Object>>")]
    pub trail: Option<Vec<TrailPlace>>,
    /// Other sessions at work now, in any worktree.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_sessions: Vec<LiveSessionView>,
    pub last_operation: Option<OperationView>,
    /// On a state that other working copies share: the plans of this one that differ from it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub copy_differences: Vec<CopyDifference>,
}

/// Number of nodes of a level, per status.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LevelCounts {
    pub level: String,
    pub status_counts: StatusCounts,
    /// Number of nodes whose work is complete.
    #[serde(skip)]
    pub completed: usize,
    /// Whether the approval of one of its nodes matters.
    #[serde(skip)]
    pub asks_approval: bool,
}

/// A node that needs a decision, and the next command.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Attention {
    pub path: String,
    /// Its title, for pages.
    #[serde(skip)]
    pub title: Option<String>,
    #[serde(skip)]
    pub level: String,
    pub status: Status,
    pub reason: Option<String>,
    pub next_step: String,
}

impl Attention {
    /// Describes a node that needs a decision.
    pub(crate) fn describe_node(
        ctx: &Context<'_>,
        state: &dyn Snapshot,
        tree: &Tree,
        node: &Node,
    ) -> Result<Self, Failure> {
        let path = tree.alias_path(node);
        let next_step = match node.status() {
            Status::Invalid => format!("tl why {path}"),
            Status::RequiresRevalidation => decision_next_step(ctx, &path, node.status()),
            Status::Draft | Status::Approved => match find_frozen_edit(state, node)? {
                Some(restore) => restore,
                None => approval_next_step(&path, ctx.policy.approval, &ctx.actor),
            },
        };
        Ok(Self {
            path,
            title: node.description.title.clone(),
            level: node.level.clone(),
            status: node.status(),
            reason: match describe_cause(state, node)? {
                None if node.status() == Status::Draft => {
                    describe_unsigned_approval(ctx, state, node)?
                }
                cause => cause,
            },
            next_step,
        })
    }

    /// Returns the place of a status in the list: the most urgent is 0.
    pub(crate) fn rank_of_status(status: Status) -> u8 {
        match status {
            Status::Invalid => 0,
            Status::RequiresRevalidation => 1,
            Status::Draft => 2,
            Status::Approved => 3,
        }
    }
}

/// A plan of which changes are requested.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReturnedPlan {
    pub path: String,
    #[serde(flatten)]
    pub request: ChangeRequestView,
}

/// A plan with the id of another one, and the command that changes it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DuplicateView {
    /// Its path, with the label it is shown by.
    pub path: String,
    pub id: String,
    pub file_path: Option<String>,
    pub next_step: String,
}

impl DuplicateView {
    fn from_node(tree: &Tree, node: &Node) -> Self {
        let path = tree.alias_path(node);
        Self {
            id: id_of_alias(&node.alias).to_owned(),
            file_path: node.path.clone(),
            next_step: renumber_command(&path),
            path,
        }
    }
}

/// Returns the status of the project, with every node that needs a decision.
///
/// # Errors
/// When the state cannot be read.
pub fn load_project_status(ctx: &Context<'_>) -> Result<ProjectStatus, Failure> {
    load_status_limited(ctx, usize::MAX)
}

/// Maximum number of nodes that need a decision in [`load_brief_status`].
pub const MAX_BRIEF_ATTENTION: usize = MIN_LISTED_PLANS;

/// Like [`load_project_status`], with the first nodes that need a decision: for a terminal. Does not
/// read the whole tree, as far as the stored summary is enough.
///
/// # Errors
/// When the state cannot be read.
pub fn load_brief_status(ctx: &Context<'_>) -> Result<ProjectStatus, Failure> {
    load_status_limited(ctx, MAX_BRIEF_ATTENTION)
}

fn load_status_limited(ctx: &Context<'_>, most: usize) -> Result<ProjectStatus, Failure> {
    // A command about the whole project also completes the part of the mirror that earlier commits
    // deferred.
    ctx.store.finish_mirror();
    report_misplaced_at_root(ctx);
    let state = observe_then_read(ctx, ScanScope::Everything)?;
    let (stored, is_costly) = StoredSummary::load_for_command(ctx, &*state)?;
    let StateAtHead { state, operations } = overlay_commits(ctx, state)?;
    let summary = stored.summary.with_overlaid(ctx, &*state, &operations)?;
    let status = match status_from_summary(ctx, &*state, &summary, most)? {
        Some(status) => complete_status(ctx, &*state, status)?,
        None => {
            let tree = load_plan_tree(&*state)?;
            let order: Vec<&Node> = tree.all_preorder();
            let status = summarise_status(ctx, &*state, &tree, &order, most)?;
            complete_status(ctx, &*state, status)?
        }
    };
    // The write lock may not be taken under a snapshot.
    drop(state);
    if is_costly {
        stored.keep_for_commands(ctx);
    }
    Ok(status)
}

/// Returns the status from a summary of the plans, with at most `most` nodes that need a decision;
/// `None` if the summary does not list all that are to be named.
fn status_from_summary(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    summary: &PlanSummary,
    most: usize,
) -> Result<Option<ProjectStatus>, Failure> {
    let (urgent, drafts) = (&summary.urgent, &summary.drafts);
    // Of duplicates the summary has only the number.
    let is_listed = summary.duplicates == 0
        && summary.returned.is_complete()
        && urgent.lists_first(most)
        && drafts.lists_first(most.saturating_sub(urgent.total));
    if !is_listed {
        return Ok(None);
    }
    // With no nodes: the parts that do not depend on plans come from the one place that knows them.
    let mut status = summarise_status(ctx, state, &Tree::default(), &[], usize::MAX)?;
    status.nodes = summary.count_plans();
    for profile in ctx.profiles {
        for level in &profile.levels {
            let Some(count) = summary.count_of_level(&level.name) else {
                continue;
            };
            // Two profiles may have a level of one name, which the summary counts together.
            if status.levels.iter().any(|known| known.level == level.name) {
                continue;
            }
            status.status_counts.add_counts(&count.by_status);
            status.levels.push(LevelCounts {
                level: level.name.clone(),
                status_counts: count.by_status,
                completed: count.completed,
                asks_approval: count.asking > 0,
            });
        }
    }
    for waiting in [urgent, drafts] {
        let left = most - status.attention.len();
        let described = PlanSummary::describe_waiting(ctx, state, waiting, left)?;
        status.attention.extend(described);
    }
    status.attention_total = urgent.total + drafts.total;
    let requests = summary.list_requests(state, usize::MAX)?;
    status.changes_requested = requests
        .iter()
        .map(|(path, objection)| ReturnedPlan {
            path: path.clone(),
            request: ChangeRequestView::from_objection(objection),
        })
        .collect();
    Ok(Some(status))
}

/// Adds what does not depend on the plans.
fn complete_status(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    mut status: ProjectStatus,
) -> Result<ProjectStatus, Failure> {
    status.copy_differences = ctx.copy_differences();
    status.unproved = list_unproved_completions(ctx, state)?;
    let changed = list_changed_documents(state)?;
    status.attention_total += changed.len();
    status.attention.splice(0..0, changed);
    if domain::trail::has_trail_profile(ctx.profiles) {
        status.trail = Some(
            load_current_trail(ctx, state)?
                .map(|trail| trail_places(&trail.path))
                .unwrap_or_default(),
        );
    }
    Ok(status)
}

/// Returns the plan documents whose file was changed outside of `tl`. Frozen ones are stale plans and
/// listed as such.
fn list_changed_documents(state: &dyn Snapshot) -> Result<Vec<Attention>, Failure> {
    let positions = list_document_positions(state)?.into_iter();
    let changed = positions.filter(|one| one.stage == DocumentStage::ChangedOutside);
    let describe = |one: DocumentPosition| {
        let step = one.next_step()?;
        Some(Attention {
            path: one.document,
            title: one.title,
            level: "plan".to_owned(),
            status: Status::Draft,
            reason: Some(step.what),
            next_step: step.command,
        })
    };
    Ok(changed.filter_map(describe).collect())
}

/// Returns the status of these nodes of a tree, with at most `most` nodes that need a decision.
pub(crate) fn summarise_status(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &Tree,
    order: &[&Node],
    most: usize,
) -> Result<ProjectStatus, Failure> {
    let mut status_counts = StatusCounts::default();
    let mut levels: Vec<LevelCounts> = Vec::new();
    for profile in ctx.profiles {
        levels.extend(profile.levels.iter().map(|level| LevelCounts {
            level: level.name.clone(),
            status_counts: StatusCounts::default(),
            completed: 0,
            asks_approval: false,
        }));
    }
    let mut waiting: Vec<&Node> = Vec::new();
    let mut duplicates: Vec<DuplicateView> = Vec::new();
    let mut changes_requested: Vec<ReturnedPlan> = Vec::new();
    for node in order {
        changes_requested.extend(node.change_request().map(|objection| ReturnedPlan {
            path: tree.alias_path(node),
            request: ChangeRequestView::from_objection(objection),
        }));
        if is_duplicate(&node.alias) {
            duplicates.push(DuplicateView::from_node(tree, node));
        }
        status_counts.add_status(node.status());
        if let Some(counts) = levels.iter_mut().find(|counts| counts.level == node.level) {
            counts.status_counts.add_status(node.status());
            counts.completed += usize::from(node.progress == Progress::Complete);
            counts.asks_approval |= asks_for_approval(ctx, node);
        }
        if needs_decision(ctx, tree, node) {
            waiting.push(node);
        }
    }
    // A stable sort: within a status the order of the tree remains, parents before children.
    waiting.sort_by_key(|node| Attention::rank_of_status(node.status()));
    let attention_total = waiting.len();
    let mut attention = Vec::with_capacity(attention_total.min(most));
    // Reasons and paths are built for the listed nodes only; each reason may read another node.
    for node in waiting.into_iter().take(most) {
        attention.push(Attention::describe_node(ctx, state, tree, node)?);
    }
    let newest = state.operation_heads(None, 1)?.pop();
    let last_operation = newest
        .map(|operation| OperationView::from_head(state, operation))
        .transpose()?;
    // Levels without nodes are left out at the end, not at the start, so that the order of the
    // profile is kept.
    levels.retain(|counts| counts.status_counts != StatusCounts::default());
    Ok(ProjectStatus {
        profiles: ctx
            .profiles
            .iter()
            .map(|profile| profile.name.clone())
            .collect(),
        nodes: order.len(),
        status_counts,
        levels,
        attention,
        attention_total,
        changes_requested,
        duplicates,
        unproved: Vec::new(),
        trail: None,
        other_sessions: list_other_sessions(ctx, state)?,
        last_operation,
        copy_differences: Vec::new(),
    })
}

/// Whether a node waits for a decision that can be made now.
pub(crate) fn needs_decision(ctx: &Context<'_>, tree: &Tree, node: &Node) -> bool {
    let parent_ok = tree
        .parent_of(node)
        .is_none_or(|parent| parent.status() == Status::Approved);
    match node.status() {
        Status::Invalid => true,
        // The agent's turn: the next text comes back to the person.
        _ if node.change_request().is_some() => false,
        // Below an undecided parent the decision would have to be repeated once the parent is
        // decided.
        Status::RequiresRevalidation | Status::Draft => parent_ok && asks_for_approval(ctx, node),
        Status::Approved => false,
    }
}
