//! Rebuild the state from the plan files on disk.
//!
//! The history stays: a rebuild is one more operation, and it can be seen in the log.

use domain::fact::Fact;
use domain::node::Content;
use domain::operation::Verb;
use domain::text::count_with_noun;
use domain::tree::Tree;
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::observe::record_all_changes;
use crate::presence_facts::leave_tree_facts;
use crate::scan::ScanScope;
use crate::views::StatusCounts;

/// Outcome of [`rebuild_state`].
#[derive(Clone, Debug, Serialize)]
pub struct RebuildOutcome {
    pub success: bool,
    pub nodes: usize,
    pub levels: Vec<(String, usize)>,
    pub status_counts: StatusCounts,
    /// Nodes removed because their files are missing.
    pub forgotten: Vec<String>,
}

/// Reads every plan file and removes the nodes without one. Approvals stay valid where the text is
/// exactly the approved one; everything else becomes a draft.
///
/// # Errors
/// When the state cannot be written.
pub fn rebuild_state(ctx: &Context<'_>) -> Result<RebuildOutcome, Failure> {
    let mut tx = ctx.store.begin_write()?;
    // File stamps are part of the state that is in doubt, so every file is read.
    record_all_changes(ctx, &mut *tx, ScanScope::EverythingAnew)?;
    let tree = Tree::new(tx.all_nodes()?);
    let mut facts = Vec::new();
    let mut forgotten = Vec::new();
    // From the bottom up: a node is removed only after everything below it, so that no child loses
    // its parent.
    for node in tree.all_preorder().into_iter().rev() {
        let below_is_gone = tree.children(node.id).all(|child| {
            facts
                .iter()
                .any(|fact| matches!(fact, Fact::NodeRemoved { node } if node.id == child.id))
        });
        if node.content == Content::Missing && node.path.is_some() && below_is_gone {
            forgotten.push(tree.alias_path(node));
            // A rebuild must not lose a decision: the node returns with its file.
            facts.extend(leave_tree_facts(ctx, &*tx, &tree, node, ctx.clock.now())?);
        }
    }
    let nodes = tree.len() - forgotten.len();
    let mut operation = ctx.new_operation(
        Verb::Rebuild,
        format!(
            "rebuild {} from the plan files",
            count_with_noun(nodes, "node", "nodes")
        ),
    );
    operation.facts = facts;
    tx.record_operation(operation)?;
    let tree = Tree::new(tx.all_nodes()?);
    tx.commit()?;
    // The outcome reports the result; the notice of the observation would repeat it.
    ctx.take_notices();
    ctx.sync_mirror();

    let mut status_counts = StatusCounts::default();
    let mut levels: Vec<(String, usize)> = Vec::new();
    for node in tree.all_preorder() {
        status_counts.add_status(node.status());
        match levels.iter_mut().find(|(level, _)| *level == node.level) {
            Some((_, number)) => *number += 1,
            None => levels.push((node.level.clone(), 1)),
        }
    }
    Ok(RebuildOutcome {
        success: true,
        nodes,
        levels,
        status_counts,
        forgotten,
    })
}
