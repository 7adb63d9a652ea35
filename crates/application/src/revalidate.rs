//! Revalidate stale nodes: show what changed in their parents, and keep them as they are.
//!
//! The other choices, editing or planning again, are ordinary changes of the text.

use domain::approval::{Force, Request, decide};
use domain::ids::{NodeId, OperationId, VersionHash};
use domain::node::{Node, Status};
use domain::operation::Verb;
use domain::ports::{Snapshot, Transaction};
use domain::revalidation::{against, by_urgency, keep};
use domain::shown::Shown;
use domain::tree::Tree;
use serde::Serialize;

use crate::approve::{refuse_unavailable, warnings};
use crate::context::Context;
use crate::failure::{Failure, FailureKind};
use crate::locate::{find_top, get, nothing_left, parent, path_of};
use crate::observe::{observed_node, observed_tree, with_node, with_observed};
use crate::record_policy::deciding_policy;
use crate::settle::settle;
use crate::survey::Scope;
use crate::transitions::transitions;
use crate::views::{DiffView, NodeView, TransitionView, reason};

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
    /// The change of the parent since this was written or approved, if there is one.
    pub parent_changes: Option<DiffView>,
    pub warnings: Vec<String>,
    /// The possible next commands: keep, edit, plan again.
    pub choices: Vec<String>,
}

/// Returns one stale node with the changes of its parent.
///
/// # Errors
/// When there is no such node, or it is not stale.
pub fn review(ctx: &Context<'_>, words: &[String]) -> Result<StaleView, Failure> {
    let seen = observed_node(ctx, words, Scope::Lineage)?;
    nothing_left(seen.rest)?;
    let state = seen.state;
    let node = get(&*state, seen.id)?;
    if node.status() != Status::RequiresRevalidation {
        let path = path_of(&*state, &node)?;
        return Err(Failure::new(
            FailureKind::Refused,
            format!(
                "`{path}` is `{}`: there is nothing to revalidate",
                node.status()
            ),
        ));
    }
    stale_view(ctx, &*state, &node)
}

/// Returns every stale node (below one, or all), the most urgent first.
///
/// # Errors
/// When there is no such node, or the state cannot be read.
pub fn review_all(ctx: &Context<'_>, words: &[String]) -> Result<Vec<StaleView>, Failure> {
    let (state, tree) = observed_tree(ctx)?;
    let top = find_top(ctx, &*state, words)?;
    by_urgency(&tree, &within(&tree, top))
        .into_iter()
        .map(|node| stale_view(ctx, &*state, node))
        .collect()
}

/// Returns a subtree, or the whole tree.
fn within(tree: &Tree, top: Option<NodeId>) -> Vec<&Node> {
    match top {
        Some(top) => tree.preorder(top),
        None => tree.all_in_order(),
    }
}

/// Builds the view of a stale node.
fn stale_view(ctx: &Context<'_>, state: &dyn Snapshot, node: &Node) -> Result<StaleView, Failure> {
    let path = path_of(state, node)?;
    let parent = parent(state, node)?;
    let parent_changes = match &parent {
        Some(parent) => parent_changes(state, node, parent)?,
        None => None,
    };
    let file = node.path.as_deref().unwrap_or("the plan");
    let version_hash = node.content.version();
    let current_parent_hash = parent.as_ref().and_then(|parent| parent.content.version());
    let option = |name: &str, hash: Option<VersionHash>| {
        hash.map(|hash| format!(" --{name} {}", hash.short()))
            .unwrap_or_default()
    };
    // The command carries the shown versions, so that pasted later it cannot keep a text that was
    // not compared.
    let bound = option("version", version_hash) + &option("parent-version", current_parent_hash);
    let mut choices = vec![
        format!("tl revalidate {path} --keep{bound}   # it still holds as it is"),
        format!("edit {file}"),
        format!("tl plan {} {path}   # plan it again", node.level),
    ];
    if let Some(parent) = &parent
        && matches!(
            parent.status(),
            Status::RequiresRevalidation | Status::Invalid | Status::Draft
        )
    {
        // Keeping a node below an undecided parent is refused, so the command that works is listed
        // first.
        let verb = if parent.status() == Status::RequiresRevalidation {
            "revalidate"
        } else {
            "approve"
        };
        choices.insert(
            0,
            format!(
                "tl {verb} {}   # its parent comes first",
                path_of(state, parent)?
            ),
        );
    }
    Ok(StaleView {
        entity_id: node.alias.clone(),
        entity_type: node.level.clone(),
        title: node.description.title.clone(),
        file_path: node.path.clone(),
        version_hash,
        current_parent_hash,
        reason: reason(state, node)?,
        parent_changes,
        warnings: warnings(ctx, state, node, parent.as_ref())?,
        choices,
        path,
    })
}

/// Returns the diff between the present parent and the version the node was written or approved
/// against.
pub(crate) fn parent_changes(
    state: &dyn Snapshot,
    node: &Node,
    parent: &Node,
) -> Result<Option<DiffView>, Failure> {
    let (Some(before), Some(now)) = (against(node), parent.content.version()) else {
        return Ok(None);
    };
    // The same version: the node is stale for another reason, such as a parent that lost its
    // approval.
    if before.version == now {
        return Ok(None);
    }
    let (Some(older), Some(newer)) = (state.text(before.version)?, state.text(now)?) else {
        return Ok(None);
    };
    let name = |version: VersionHash| format!("{} {}", parent.alias, version.short());
    Ok(Some(DiffView::of(
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
    pub shown: Option<Shown>,
}

/// Keeps one stale node as it is.
///
/// # Errors
/// When another version was shown, the node is not stale, its parent is undecided, or policy
/// forbids it.
pub fn keep_one(ctx: &Context<'_>, request: &KeepRequest) -> Result<KeepOutcome, Failure> {
    with_node(ctx, &request.node, |tx, id, rest| {
        nothing_left(rest)?;
        let (kept, reinstated, operation) =
            keep_within(ctx, tx, id, request.force, request.shown.as_ref())?;
        Ok(KeepOutcome {
            success: true,
            kept: vec![kept],
            reinstated_entities: reinstated,
            refused: Vec::new(),
            operation: Some(operation),
        })
    })
}

/// Keeps every stale node below one (or all), the most urgent first, in one transaction.
///
/// # Errors
/// When there is no such node, or the state cannot be written.
pub fn keep_all(ctx: &Context<'_>, words: &[String], force: Force) -> Result<KeepOutcome, Failure> {
    with_observed(ctx, Scope::Everything, |tx| {
        let top = find_top(ctx, &*tx, words)?;
        let tree = Tree::new(tx.all_nodes()?);
        // Ids instead of nodes: the nodes change while the loop below runs.
        let order: Vec<NodeId> = by_urgency(&tree, &within(&tree, top))
            .into_iter()
            .map(|node| node.id)
            .collect();
        let mut outcome = KeepOutcome {
            success: true,
            kept: Vec::new(),
            reinstated_entities: Vec::new(),
            refused: Vec::new(),
            operation: None,
        };
        for id in order {
            // Keeping a parent may make its descendants approved again, so each status is read when
            // its turn comes.
            let node = get(&*tx, id)?;
            if node.status() != Status::RequiresRevalidation {
                continue;
            }
            match keep_within(ctx, tx, id, force, None) {
                Ok((kept, reinstated, operation)) => {
                    outcome.kept.push(kept);
                    outcome.reinstated_entities.extend(reinstated);
                    outcome.operation = Some(operation);
                }
                // One refused node does not stop the others; they are independent decisions.
                Err(failure) if failure.is_answer() => {
                    outcome.refused.push(RefusedView {
                        path: path_of(&*tx, &node)?,
                        reason: failure.message,
                    });
                }
                Err(failure) => return Err(failure),
            }
        }
        outcome.success = outcome.refused.is_empty();
        Ok(outcome)
    })
}

/// Keeps one node in a running transaction.
fn keep_within(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    id: NodeId,
    force: Force,
    shown: Option<&Shown>,
) -> Result<(NodeView, Vec<TransitionView>, OperationId), Failure> {
    let node = get(&*tx, id)?;
    let parent = parent(&*tx, &node)?;
    refuse_unavailable(ctx, &node)?;
    // Checked here as well, because a stale draft is kept without an approval and skips the check
    // in the approval rules.
    if let Some(shown) = shown {
        shown.check(&node, parent.as_ref())?;
    }
    let now = ctx.clock.now();
    // Not returned at once: a refusal matters only if there is an approval to renew.
    let approval = decide(
        Request {
            node: &node,
            parent: parent.as_ref(),
            by: &ctx.actor,
            now,
            force,
            shown,
            warnings: warnings(ctx, &*tx, &node, parent.as_ref())?,
        },
        &deciding_policy(ctx, &*tx)?,
    );
    let mut facts = keep(&node, parent.as_ref(), approval)?;
    settle(ctx, tx, &mut facts, &[], now, None)?;
    let changed = transitions(&*tx, &facts, Some(id))?;
    let mut operation = ctx.operation(
        Verb::Revalidate,
        format!("keep {} as it is", path_of(&*tx, &node)?),
    );
    operation.at = now;
    operation.facts = facts;
    let operation = tx.record(operation)?;
    Ok((
        NodeView::of(&*tx, &get(&*tx, id)?)?,
        changed.reinstated,
        operation,
    ))
}
