//! Revalidate stale nodes: show what changed in their parents, and keep them as they are.
//!
//! The other choices, editing or planning again, are ordinary changes of the text.

use domain::approval::{ApprovalRefused, ApprovalRequest, Force, decide_approval};
use domain::expected_version::ExpectedVersions;
use domain::ids::{NodeId, OperationId, VersionHash};
use domain::node::{Node, Status};
use domain::operation::{Channel, Verb};
use domain::ports::{Snapshot, Transaction};
use domain::revalidation::{
    KeepRefused, compared_parent_version, keep_stale_node, stale_by_urgency,
};
use domain::tree::Tree;
use serde::Serialize;

use crate::answer_question::AskedQuestion;
use crate::approval_need::{decision_next_step, find_undecided_above};
use crate::approve::refuse_unavailable;
use crate::context::Context;
use crate::decisions::record_with_decisions;
use crate::duplicate_ids::refuse_duplicate;
use crate::failure::Failure;
use crate::file_writes::PlannedFiles;
use crate::keep_plans::KeptPlans;
use crate::locate::{
    find_subtree_root, load_ancestors, load_node, load_node_path, load_parent, reject_extra_words,
};
use crate::observe::{observe_node, observe_tree, with_observed_files, with_observed_node_files};
use crate::plan_documents::refuse_frozen_edit;
use crate::plan_warnings::collect_warnings;
use crate::precise_cascade::digest_relied_sections;
use crate::record_policy::resolve_deciding_policy;
use crate::scan::ScanScope;
use crate::status_cascade::cascade_statuses;
use crate::transitions::collect_transitions;
use crate::views::{DiffView, NodeView, TransitionView, describe_cause};
use crate::working_copy::refuse_differing_copy;

/// A stale node and the change it has to be compared with.
#[derive(Clone, Debug, Serialize)]
pub struct StaleView {
    pub entity_id: String,
    pub entity_type: String,
    pub path: String,
    pub title: Option<String>,
    pub file_path: Option<String>,
    /// The text to judge, and the parent's text to judge it against. A decision names both.
    pub version_hash: Option<VersionHash>,
    pub current_parent_hash: Option<VersionHash>,
    pub reason: Option<String>,
    /// The change of the parent since this was approved, or of a draft's parent since the parent
    /// was approved, if there is one.
    pub parent_changes: Option<DiffView>,
    pub warnings: Vec<String>,
    /// The possible next commands: keep, edit, plan again.
    pub choices: Vec<String>,
}

/// Returns one stale node with the changes of its parent.
///
/// # Errors
/// When there is no such node, or it is not stale.
pub fn review_one(ctx: &Context<'_>, words: &[String]) -> Result<StaleView, Failure> {
    let seen = observe_node(ctx, words, ScanScope::Lineage)?;
    reject_extra_words(seen.rest)?;
    let state = seen.state;
    let node = load_node(&*state, seen.id)?;
    if node.status() != Status::RequiresRevalidation {
        let path = load_node_path(&*state, &node)?;
        return Err(Failure::refused(format!(
            "`{path}` is `{}`: there is nothing to revalidate",
            node.status()
        )));
    }
    build_stale_view(ctx, &*state, &node)
}

/// Returns every stale node (below one, or all), the most urgent first.
///
/// # Errors
/// When there is no such node, or the state cannot be read.
pub fn review_all(ctx: &Context<'_>, words: &[String]) -> Result<Vec<StaleView>, Failure> {
    let (state, tree) = observe_tree(ctx)?;
    let top = find_subtree_root(ctx, &*state, words)?;
    stale_by_urgency(&tree, &nodes_below(&tree, top))
        .into_iter()
        .map(|node| build_stale_view(ctx, &*state, node))
        .collect()
}

/// Returns a subtree, or the whole tree.
fn nodes_below(tree: &Tree, top: Option<NodeId>) -> Vec<&Node> {
    match top {
        Some(top) => tree.subtree_preorder(top),
        None => tree.all_preorder(),
    }
}

/// Builds the view of a stale node.
fn build_stale_view(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
) -> Result<StaleView, Failure> {
    let path = load_node_path(state, node)?;
    let parent = load_parent(state, node)?;
    let parent_changes = match &parent {
        Some(parent) => parent_changes(state, node, parent)?,
        None => None,
    };
    let file = node.path.as_deref().unwrap_or("the plan");
    let version_hash = node.content.version_hash();
    let current_parent_hash = parent
        .as_ref()
        .and_then(|parent| parent.content.version_hash());
    let option = |name: &str, hash: Option<VersionHash>| {
        hash.map(|hash| format!(" --{name} {}", hash.short_hex()))
            .unwrap_or_default()
    };
    // The command carries the shown versions, so that pasted later it cannot keep a text that was
    // not compared.
    let bound = option("version", version_hash) + &option("parent-version", current_parent_hash);
    let mut choices = vec![
        format!("edit {file}"),
        format!("tl plan {} {path}   # plan it again", node.level),
    ];
    // A draft has no decision to renew; it follows its parent.
    if node.has_approved_text() {
        // Over MCP the tool asks the person itself.
        let may_keep =
            ctx.channel == Channel::Mcp || ctx.policy.approval.accepts_approval_by(&ctx.actor);
        let keep = match may_keep {
            true => format!("tl revalidate {path} --keep{bound}   # it still holds as it is"),
            false => decision_next_step(ctx, &path, Status::RequiresRevalidation),
        };
        choices.insert(0, keep);
    }
    // Keeping a node below an undecided one is refused, so the step that works is listed first.
    let ancestors = load_ancestors(state, node)?;
    if let Some(first) = find_undecided_above(ctx, &ancestors) {
        let step = decision_next_step(ctx, &load_node_path(state, first)?, first.status());
        choices.insert(0, format!("{step}   # it comes first"));
    }
    Ok(StaleView {
        entity_id: node.alias.clone(),
        entity_type: node.level.clone(),
        title: node.description.title.clone(),
        file_path: node.path.clone(),
        version_hash,
        current_parent_hash,
        reason: describe_cause(state, node)?,
        parent_changes,
        warnings: collect_warnings(ctx, state, node, parent.as_ref())?,
        choices,
        path,
    })
}

/// Returns the diff between the present parent and the version it is compared with: the one the
/// node was approved against, or for a draft the approved one.
pub(crate) fn parent_changes(
    state: &dyn Snapshot,
    node: &Node,
    parent: &Node,
) -> Result<Option<DiffView>, Failure> {
    let (Some(before), Some(now)) = (
        compared_parent_version(node, parent),
        parent.content.version_hash(),
    ) else {
        return Ok(None);
    };
    // The same version: the node is stale for another reason, such as a parent that lost its
    // approval.
    if before.version == now {
        return Ok(None);
    }
    let (Some(older), Some(newer)) = (state.load_text(before.version)?, state.load_text(now)?)
    else {
        return Ok(None);
    };
    let name = |version: VersionHash| format!("{} {}", parent.alias, version.short_hex());
    Ok(Some(DiffView::from_texts(
        name(before.version),
        &older,
        name(now),
        &newer,
    )))
}

/// Outcome of [`keep_one`] and [`keep_all`].
#[derive(Clone, Debug, Serialize)]
pub struct KeepOutcome {
    pub success: bool,
    pub kept: Vec<NodeView>,
    /// Descendants that become approved again, because their own parent did not change.
    pub reinstated_entities: Vec<TransitionView>,
    /// Nodes that could not be kept, with the reason.
    pub refused: Vec<RefusedView>,
    /// What has to be decided before these can be kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub next_steps: Vec<String>,
    pub operation: Option<OperationId>,
}

/// A node that could not be kept.
#[derive(Clone, Debug, Serialize)]
pub struct RefusedView {
    pub path: String,
    pub reason: String,
}

/// Request of [`keep_one`].
#[derive(Clone, Debug)]
pub struct KeepRequest {
    pub node: Vec<String>,
    pub force: Force,
    /// The versions shown to the person before the decision, if any were.
    pub shown: Option<ExpectedVersions>,
}

/// Keeps one stale node as it is.
///
/// # Errors
/// When another version was shown, the node is not stale, its parent is undecided, or policy
/// forbids it.
pub fn keep_one(ctx: &Context<'_>, request: &KeepRequest) -> Result<KeepOutcome, Failure> {
    with_observed_node_files(ctx, &request.node, None, |planned, tx, id, rest| {
        reject_extra_words(rest)?;
        refuse_differing_copy(ctx, request.shown.is_some())?;
        let (kept, reinstated, operation) =
            keep_within(ctx, planned, tx, id, request.force, request.shown.as_ref())?;
        Ok(KeepOutcome {
            success: true,
            kept: vec![kept],
            reinstated_entities: reinstated,
            refused: Vec::new(),
            next_steps: Vec::new(),
            operation: Some(operation),
        })
    })
}

/// Keeps every stale node below one (or all), in one operation. Where a person was asked, a node is
/// kept only as the question showed it.
///
/// # Errors
/// When there is no such node, or the state cannot be written.
pub fn keep_all(
    ctx: &Context<'_>,
    words: &[String],
    force: Force,
    asked: Option<&[AskedQuestion]>,
) -> Result<KeepOutcome, Failure> {
    with_observed_files(ctx, ScanScope::Everything, None, |planned, tx| {
        let top = find_subtree_root(ctx, &*tx, words)?;
        let tree = Tree::new(tx.all_nodes()?);
        let plans: Vec<NodeId> = stale_by_urgency(&tree, &nodes_below(&tree, top))
            .into_iter()
            .map(|node| node.id)
            .collect();
        let now = ctx.clock.now();
        let mut decisions = KeptPlans::new(ctx, &tree, force, asked, now);
        decisions.decide_by_level(&*tx, &plans)?;
        let refused = std::mem::take(&mut decisions.refused);
        let kept = decisions.kept.clone();
        let mut outcome = KeepOutcome {
            success: refused.is_empty(),
            kept: Vec::new(),
            reinstated_entities: Vec::new(),
            refused,
            next_steps: list_first_steps(ctx, &tree, &plans, &kept),
            operation: None,
        };
        if kept.is_empty() {
            return Ok(outcome);
        }
        let mut operation = ctx.new_operation(Verb::Revalidate, decisions.render_summary());
        operation.at = now;
        (operation.facts, outcome.reinstated_entities) = decisions.into_facts(&*tx)?;
        outcome.operation = Some(record_with_decisions(ctx, planned, tx, operation)?);
        for id in kept {
            outcome
                .kept
                .push(NodeView::from_node(&*tx, &load_node(&*tx, id)?)?);
        }
        Ok(outcome)
    })
}

/// Keeps one node in a running transaction.
fn keep_within(
    ctx: &Context<'_>,
    planned: &PlannedFiles<'_>,
    tx: &mut dyn Transaction,
    id: NodeId,
    force: Force,
    shown: Option<&ExpectedVersions>,
) -> Result<(NodeView, Vec<TransitionView>, OperationId), Failure> {
    let node = load_node(&*tx, id)?;
    let parent = load_parent(&*tx, &node)?;
    let path = load_node_path(&*tx, &node)?;
    refuse_unavailable(ctx, &node)?;
    refuse_duplicate(ctx, &*tx, &node)?;
    refuse_frozen_edit(&*tx, &node)?;
    // Before the rules of keeping: a person who was shown another version is told that first.
    if let Some(shown) = shown {
        shown.check_current(&path, &node, parent.as_ref())?;
    }
    let now = ctx.clock.now();
    // Not returned at once: a refusal matters only if there is an approval to renew.
    let approval = decide_approval(
        ApprovalRequest {
            node: &node,
            path: &path,
            parent: parent.as_ref(),
            by: &ctx.actor,
            now,
            force,
            shown,
            warnings: collect_warnings(ctx, &*tx, &node, parent.as_ref())?,
            relied_sections: digest_relied_sections(ctx, &*tx, &node, parent.as_ref())?,
        },
        &resolve_deciding_policy(ctx, &*tx)?,
    );
    let mut facts = match keep_stale_node(&path, &node, parent.as_ref(), approval) {
        Ok(facts) => facts,
        Err(refused) => {
            let ancestors = load_ancestors(&*tx, &node)?;
            let first = find_undecided_above(ctx, &ancestors);
            let first = match first {
                Some(first) => Some((load_node_path(&*tx, first)?, first.status())),
                None => None,
            };
            return Err(describe_refusal(ctx, refused, first));
        }
    };
    cascade_statuses(ctx, tx, &mut facts, &[], now, None)?;
    let changed = collect_transitions(&*tx, &facts, Some(id))?;
    let mut operation = ctx.new_operation(Verb::Revalidate, format!("keep {path} as it is"));
    operation.at = now;
    operation.facts = facts;
    let operation = record_with_decisions(ctx, planned, tx, operation)?;
    Ok((
        NodeView::from_node(&*tx, &load_node(&*tx, id)?)?,
        changed.reinstated,
        operation,
    ))
}

/// Describes why a plan cannot be kept; below undecided plans with the step about the topmost of them.
fn describe_refusal(
    ctx: &Context<'_>,
    refused: KeepRefused,
    first: Option<(String, Status)>,
) -> Failure {
    let is_below_undecided = matches!(
        refused,
        KeepRefused::ParentNotApproved { .. }
            | KeepRefused::Approval(ApprovalRefused::ParentNotApproved { .. })
    );
    let mut failure = Failure::from(refused);
    if let Some((path, status)) = first.filter(|_| is_below_undecided) {
        failure.next_steps = vec![first_step(ctx, &path, status)];
    }
    failure
}

/// Returns the step about the topmost undecided plan above one that cannot be kept yet.
fn first_step(ctx: &Context<'_>, path: &str, status: Status) -> String {
    let step = decision_next_step(ctx, path, status);
    format!("{step}   # it comes first")
}

/// Returns the steps that come before plans which could not be kept.
fn list_first_steps(
    ctx: &Context<'_>,
    tree: &Tree,
    plans: &[NodeId],
    kept: &[NodeId],
) -> Vec<String> {
    let mut steps: Vec<String> = Vec::new();
    let refused = plans.iter().filter(|id| !kept.contains(id));
    for node in refused.filter_map(|id| tree.get(*id)) {
        let first = find_undecided_above(ctx, tree.ancestors(node));
        if let Some(first) = first.filter(|first| !kept.contains(&first.id)) {
            let step = first_step(ctx, &tree.alias_path(first), first.status());
            if !steps.contains(&step) {
                steps.push(step);
            }
        }
    }
    steps
}
