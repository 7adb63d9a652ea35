//! Prunes the trail: replaces finished branches by one line each, and deletes expired notes.

use domain::fact::Fact;
use domain::memory::Mem;
use domain::node::Node;
use domain::operation::Verb;
use domain::ports::Transaction;
use domain::record::{self, ChangeRecords};
use domain::session::LogEntryKind;
use domain::stamp::{Stamp, stamp_in_name};
use domain::time::Timestamp;
use domain::trail::{BranchSummary, plan_branch_pruning};
use domain::tree::Tree;
use schemars::JsonSchema;
use serde::Serialize;

use super::session_change::{open_session, used_stamp_key};
use super::trail_state::require_trail;
use crate::context::Context;
use crate::failure::Failure;
use crate::file_writes::{PlannedFiles, begin_transaction};

/// The pruned branches and notes.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct PruneOutcome {
    pub branches: usize,
    pub nodes: usize,
    pub notes: usize,
    /// A line about each branch.
    pub summaries: Vec<String>,
}

/// Prunes the session's trail.
///
/// # Errors
/// When the project keeps no trail, or the state cannot be written.
pub fn prune_trail(ctx: &Context<'_>) -> Result<PruneOutcome, Failure> {
    require_trail(ctx)?;
    let mut tx = begin_transaction(ctx)?;
    let planned = PlannedFiles::new(ctx, None);
    let mut outcome = PruneOutcome::default();
    let old = expired_notes(ctx, &*tx)?;
    outcome.notes = old.len();
    // Notes expire also in projects where no trail is open.
    let Some((mut change, trail)) = open_session(ctx, &*tx)? else {
        if !old.is_empty() {
            let mut operation =
                ctx.new_operation(Verb::Prune, format!("prune {} notes", old.len()));
            operation.facts = old;
            tx.record_operation(operation)?;
            planned.commit_and_write(ctx, tx)?;
        }
        return Ok(outcome);
    };
    let tree = Tree::new(tx.load_subtree(trail.root().id)?);
    let pruned = plan_branch_pruning(&tree, trail.root().id, Some(trail.cursor().id));
    outcome.branches = pruned.branch_count();
    outcome.nodes = pruned.removed.len();
    for (parent, lines) in &pruned.lines {
        let Some(parent) = tree.get(*parent) else {
            continue;
        };
        let before = record::read_record::<BranchSummary>(&*tx, &parent.alias)?;
        let after = before
            .clone()
            .unwrap_or_default()
            .with_branches(lines.clone());
        change
            .facts
            .change_record(&parent.alias, before.as_ref(), Some(&after));
        outcome.summaries.extend(lines.iter().cloned());
    }
    for node in pruned.removed.iter().filter_map(|id| tree.get(*id)) {
        remember_used_stamp(ctx, &mut *tx, node)?;
        // The node's own summary became part of its branch's line.
        let summary = record::read_record::<BranchSummary>(&*tx, &node.alias)?;
        change
            .facts
            .change_record(&node.alias, summary.as_ref(), None);
        change.facts.push(Fact::NodeRemoved {
            node: Box::new(node.clone()),
        });
    }
    // No operation for nothing: the history would fill with empty prunes.
    if outcome.branches == 0 && old.is_empty() {
        return Ok(outcome);
    }
    change.facts.extend(old);
    if outcome.branches > 0 {
        change.append_log(
            ctx,
            LogEntryKind::Prune,
            &outcome.summaries.join("; "),
            None,
        );
    }
    let summary = format!(
        "prune {} branches, {} notes",
        outcome.branches, outcome.notes
    );
    change.record_operation(ctx, &mut *tx, &planned, Verb::Prune, summary)?;
    planned.commit_and_write(ctx, tx)?;
    Ok(outcome)
}

/// Keeps the stamp of a node that is removed in the minute it was given.
fn remember_used_stamp(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    node: &Node,
) -> Result<(), Failure> {
    let now = Stamp::from_timestamp(ctx.clock.now());
    let given = stamp_in_name(&node.alias);
    if given.is_some_and(|given| given.minute_digits() == now.minute_digits()) {
        let at = ctx.clock.now();
        tx.save_note(&used_stamp_key(&node.alias), Some("pruned"), at)?;
    }
    Ok(())
}

/// Returns the facts that delete notes older than `notes_kept_days`.
fn expired_notes(ctx: &Context<'_>, tx: &dyn Transaction) -> Result<Vec<Fact>, Failure> {
    let days = i64::from(ctx.policy.notes_kept_days);
    // Zero means: keep forever.
    if days == 0 {
        return Ok(Vec::new());
    }
    let limit = Timestamp::from_millis(ctx.clock.now().as_millis() - days * 24 * 60 * 60 * 1000);
    let notes = record::read_records::<Mem>(tx, "")?;
    let old = notes.into_iter().filter(|(_, note)| note.at < limit);
    Ok(old
        .filter_map(|(key, note)| record::record_changed_fact(&key, Some(&note), None))
        .collect())
}
