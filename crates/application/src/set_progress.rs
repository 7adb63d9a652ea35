//! Set the progress of a node: pending, active, blocked, complete.

use domain::fact::Fact;
use domain::ids::OperationId;
use domain::node::{Node, Progress};
use domain::operation::Verb;
use domain::ports::{Snapshot, Transaction};
use domain::record::{ChangeRecords, read_record};
use domain::work::blocked_reason::BlockedReason;

use crate::claim_node::{refuse_claimed_change, release_ended_document};
use crate::completion::{
    completion_scopes, consume_override, follow_progress, list_open_needs, refuse_incomplete,
};
use crate::context::{Context, Notice};
use crate::decisions::record_with_decisions;
use crate::failure::Failure;
use crate::file_writes::PlannedFiles;
use crate::locate::{load_node, load_node_path, reject_extra_words};
use crate::novel::prose_basis::{has_prose, push_prose_basis};
use crate::observe::{with_observed_files_of, with_observed_node_files};
use crate::stated_completion::remove_claim_mark;
use crate::views::{NodeView, load_node_view};

/// Request of [`set_progress`].
#[derive(Clone, Debug)]
pub struct ProgressRequest {
    pub node: Vec<String>,
    pub progress: Progress,
}

/// Sets a node's progress.
///
/// # Errors
/// When there is no such node, something about it is open, or the state cannot be written.
pub fn set_progress(ctx: &Context<'_>, request: &ProgressRequest) -> Result<NodeView, Failure> {
    record_progress(ctx, request, None).map(|(view, _)| view)
}

/// Like [`set_progress`], with the reason of a node that is blocked. Returns the operation it recorded
/// too; none if nothing changed.
///
/// # Errors
/// As [`set_progress`], and when there is a reason although the node is not to be blocked.
pub fn record_progress(
    ctx: &Context<'_>,
    request: &ProgressRequest,
    reason: Option<&str>,
) -> Result<(NodeView, Option<OperationId>), Failure> {
    let reason = reason.map(str::trim).filter(|reason| !reason.is_empty());
    if reason.is_some() && request.progress != Progress::Blocked {
        return Err(Failure::invalid("only a blocked plan has a reason"));
    }
    let set = |planned: &PlannedFiles<'_>, tx: &mut dyn Transaction, id, rest: &[String]| {
        reject_extra_words(rest)?;
        let node = load_node(&*tx, id)?;
        let mut recorded = None;
        let reason_changes = change_blocked_reason(ctx, &*tx, &node, request.progress, reason)?;
        // Setting the same progress again records nothing, so that scripts may repeat it.
        if node.progress == request.progress {
            if reason.is_some() && !reason_changes.is_empty() {
                let path = load_node_path(&*tx, &node)?;
                let summary = format!("{path} is blocked for another reason");
                let mut operation = ctx.new_operation(Verb::Progress, summary);
                operation.facts = reason_changes;
                recorded = Some(record_with_decisions(ctx, planned, tx, operation)?);
            }
            // Said again of prose by hand: the author has looked at it since the plan changed.
            if node.progress == Progress::Complete && has_prose(ctx, &*tx, &node)? {
                let path = load_node_path(&*tx, &node)?;
                let summary = format!("the prose of {path} goes with its plan");
                let mut operation = ctx.new_operation(Verb::Progress, summary);
                push_prose_basis(&*tx, &node, &mut operation.facts)?;
                if !operation.facts.is_empty() {
                    recorded = Some(record_with_decisions(ctx, planned, tx, operation)?);
                }
            }
        } else {
            refuse_claimed_change(ctx, &*tx, &node)?;
            let path = load_node_path(&*tx, &node)?;
            if request.progress == Progress::Complete {
                refuse_incomplete(ctx, &*tx, &node)?;
                consume_override(ctx, tx, &node)?;
            } else if request.progress == Progress::Active {
                // Not refused: who starts early may have a reason, but should know.
                for needed in list_open_needs(ctx, &*tx, &node)? {
                    let (node, by) = (path.clone(), needed);
                    ctx.push_notice(Notice::NeedsOpen { node, by });
                }
            }
            let mut operation =
                ctx.new_operation(Verb::Progress, format!("{path} is {}", request.progress));
            operation.facts = vec![Fact::ProgressChanged {
                node: id,
                before: node.progress,
                after: request.progress,
            }];
            operation.facts.extend(reason_changes);
            operation.facts.extend(remove_claim_mark(&*tx, id)?);
            // Prose by hand is finished when its author says so; it goes with the plan as it is now.
            if request.progress == Progress::Complete && has_prose(ctx, &*tx, &node)? {
                push_prose_basis(&*tx, &node, &mut operation.facts)?;
            }
            follow_progress(ctx, &*tx, &mut operation.facts)?;
            if request.progress == Progress::Complete {
                let released = release_ended_document(ctx, &*tx, &operation.facts)?;
                operation.facts.extend(released);
            }
            recorded = Some(record_with_decisions(ctx, planned, tx, operation)?);
        }
        Ok((load_node_view(&*tx, id)?, recorded))
    };
    match request.progress {
        Progress::Complete => with_observed_files_of(ctx, &request.node, completion_scopes, set),
        _ => with_observed_node_files(ctx, &request.node, None, set),
    }
}

/// Returns the change of the reason why a node is blocked: the new one, or none for another progress.
fn change_blocked_reason(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    progress: Progress,
    reason: Option<&str>,
) -> Result<Vec<Fact>, Failure> {
    let key = BlockedReason::key_of(node.id);
    let before = read_record::<BlockedReason>(state, &key)?;
    let after = reason.map(|text| BlockedReason {
        text: text.to_owned(),
        by: ctx.actor.clone(),
        at: ctx.clock.now(),
    });
    let is_same = before.as_ref().map(|known| known.text.as_str()) == reason;
    let mut facts = Vec::new();
    // The same words again are no other reason.
    if !(is_same && node.progress == progress) {
        facts.change_record(&key, before.as_ref(), after.as_ref());
    }
    Ok(facts)
}
