//! Repair the findings of `check_state` that need no person's judgement.

use domain::fact::Fact;
use domain::ids::{NodeId, OperationId};
use domain::node::{Content, Node};
use domain::operation::Verb;
use domain::ports::{Snapshot, Transaction};
use domain::text::count_with_noun;
use domain::tree::Tree;
use serde::Serialize;

use crate::check_state::{CheckOutcome, check_state};
use crate::context::{Context, Notice};
use crate::failure::Failure;
use crate::file_writes::{PlannedFiles, begin_transaction};
use crate::observe::{observe_within, record_planned};
use crate::presence_facts::leave_tree_facts;
use crate::scan::ScanScope;
use crate::status_cascade::cascade_statuses;
use crate::unmask_version::unmask_version;

/// Which repairs to make.
#[derive(Clone, Copy, Debug, Default)]
pub struct RepairRequest {
    /// Record every file as it is now, and compute every status again.
    pub fix_hashes: bool,
    /// Restore missing plan files of nodes that have children.
    pub rebuild_orphans: bool,
    /// Remove nodes without a file and without children.
    pub forget_missing: bool,
}

/// Outcome of [`repair_state`].
#[derive(Clone, Debug, Serialize)]
pub struct RepairOutcome {
    pub success: bool,
    pub actions: Vec<String>,
    pub operations: Vec<OperationId>,
    /// The findings that remain.
    pub remaining: CheckOutcome,
}

/// Makes the repairs and brings the mirror up to date. Damage of the store itself was repaired when
/// it was opened.
///
/// # Errors
/// When the state cannot be written.
pub fn repair_state(ctx: &Context<'_>, request: RepairRequest) -> Result<RepairOutcome, Failure> {
    let mut actions = Vec::new();
    let mut operations = Vec::new();
    let mut tx = begin_transaction(ctx)?;
    let planned = PlannedFiles::new(ctx, None);
    let scope = if request.fix_hashes {
        ScanScope::EverythingAnew
    } else {
        ScanScope::Everything
    };
    if let Some(operation) = observe_within(ctx, &mut *tx, scope)? {
        operations.push(operation);
        let summary = tx
            .operation_head(operation)?
            .map(|operation| operation.summary)
            .unwrap_or_default();
        actions.push(format!("recorded the files as they are ({summary})"));
    }
    // Before the statuses, so that none is corrected for a node about to be removed.
    if request.forget_missing
        && let Some((operation, names)) = forget_missing(ctx, &mut *tx)?
    {
        operations.push(operation);
        actions.push(format!("forgot {}", names.join(", ")));
    }
    if request.fix_hashes
        && let Some((operation, nodes)) = recompute_all_statuses(ctx, &mut *tx)?
    {
        operations.push(operation);
        actions.push(format!(
            "corrected the status of {}",
            count_with_noun(nodes, "node", "nodes")
        ));
    }
    if request.rebuild_orphans {
        let restored = rebuild_orphans(ctx, &planned, &*tx)?;
        if !restored.is_empty() {
            let summary = format!(
                "restore {}",
                count_with_noun(restored.len(), "missing plan", "missing plans")
            );
            operations.extend(record_planned(
                ctx,
                &mut *tx,
                &planned,
                Verb::Repair,
                summary,
                Vec::new(),
            )?);
        }
        actions.extend(restored);
    }
    // All repairs are one transaction: an interrupted repair leaves the state as it was.
    planned.commit_and_write(ctx, tx)?;
    let files = ctx.sync_mirror();
    if files > 0 {
        actions.push(format!(
            "wrote {} of the mirror",
            count_with_noun(files, "file", "files")
        ));
    }
    // Checked afterwards rather than assumed: some findings are only visible once others are
    // repaired.
    let remaining = check_state(ctx)?;
    Ok(RepairOutcome {
        success: remaining.ok,
        actions,
        operations,
        remaining,
    })
}

/// Plans the last recorded text of missing parents back into their files.
fn rebuild_orphans(
    ctx: &Context<'_>,
    planned: &PlannedFiles<'_>,
    state: &dyn Snapshot,
) -> Result<Vec<String>, Failure> {
    let tree = Tree::new(state.all_nodes()?);
    let mut actions = Vec::new();
    for node in tree.all_preorder() {
        let has_children = tree.children(node.id).next().is_some();
        let (Some(file), Content::Missing, true) = (&node.path, &node.content, has_children) else {
            continue;
        };
        let Some(version) = state.load_versions(node.id)?.into_iter().next() else {
            continue;
        };
        if state.load_text(version.hash)?.is_some() {
            // The secrets of a masked version can only be taken from the file, which is missing; a
            // file with masks in their place is not written.
            let text = match unmask_version(ctx, state, version.hash, file) {
                Err(failure) if failure.is_rejection() => {
                    ctx.push_notice(Notice::NotWritten {
                        path: file.clone(),
                        why: failure.message,
                    });
                    continue;
                }
                other => other?,
            };
            planned.put_file(file, Some(&text))?;
            actions.push(format!(
                "restored `{file}` as last recorded ({})",
                version.hash.short_hex()
            ));
        }
    }
    Ok(actions)
}

/// Removes nodes whose files are missing, from the bottom up.
fn forget_missing(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
) -> Result<Option<(OperationId, Vec<String>)>, Failure> {
    let tree = Tree::new(tx.all_nodes()?);
    let mut gone: Vec<NodeId> = Vec::new();
    let mut facts = Vec::new();
    let mut names = Vec::new();
    for node in tree.all_preorder().into_iter().rev() {
        let is_leaf = tree.children(node.id).all(|child| gone.contains(&child.id));
        if node.content == Content::Missing && is_leaf {
            gone.push(node.id);
            // Forgotten is what people see; if the file ever returns, its history does too.
            facts.extend(leave_tree_facts(ctx, &*tx, &tree, node, ctx.clock.now())?);
            names.push(tree.alias_path(node));
        }
    }
    if facts.is_empty() {
        return Ok(None);
    }
    let mut operation = ctx.new_operation(
        Verb::Repair,
        format!(
            "forget {}",
            count_with_noun(names.len(), "missing plan", "missing plans")
        ),
    );
    operation.facts = facts;
    Ok(Some((tx.record_operation(operation)?, names)))
}

/// Computes every status again.
fn recompute_all_statuses(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
) -> Result<Option<(OperationId, usize)>, Failure> {
    let roots: Vec<Node> = tx
        .all_nodes()?
        .into_iter()
        .filter(|node| node.parent.is_none())
        .collect();
    // A change to the same value has no effect of its own, but makes the cascade visit the whole
    // tree. These facts are dropped again below.
    let touch = roots.into_iter().map(|root| Fact::ApprovalChanged {
        node: root.id,
        before: root.approval.clone(),
        after: root.approval,
    });
    let mut facts: Vec<Fact> = touch.collect();
    let untouched = facts.len();
    cascade_statuses(ctx, tx, &mut facts, &[], ctx.clock.now(), None)?;
    let settled: Vec<Fact> = facts.split_off(untouched);
    let nodes: usize = settled.iter().map(|fact| fact.changed_nodes().len()).sum();
    if nodes == 0 {
        return Ok(None);
    }
    let mut operation = ctx.new_operation(
        Verb::Repair,
        format!(
            "correct the status of {}",
            count_with_noun(nodes, "node", "nodes")
        ),
    );
    operation.facts = settled;
    Ok(Some((tx.record_operation(operation)?, nodes)))
}
