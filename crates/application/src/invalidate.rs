//! Reject a node's text, which makes everything below it stale.
//!
//! A rejection ends when the text changes; the node is not deleted.

use domain::approval::ObjectionKind;
use domain::expected_version::ExpectedVersions;
use domain::ids::NodeId;
use domain::node::Status;
use domain::operation::Verb;
use domain::ports::Snapshot;
use domain::revalidation::objection_facts;

use crate::approve::refuse_agents_decision;
use crate::context::Context;
use crate::decisions::record_with_decisions;
use crate::failure::Failure;
use crate::locate::{PathCache, load_node, load_node_path, load_parent, reject_extra_words};
use crate::observe::{observe_node, with_observed_node_files};
use crate::scan::ScanScope;
use crate::status_cascade::cascade_statuses;
use crate::transitions::collect_transitions;
use crate::views::CascadeView;

/// Request of [`invalidate`].
#[derive(Clone, Debug)]
pub struct InvalidateRequest {
    pub node: Vec<String>,
    pub reason: String,
    /// The versions shown to the person before the decision, if any were.
    pub shown: Option<ExpectedVersions>,
}

/// Rejects the present text of a node. The node itself is not in the returned list.
///
/// # Errors
/// When there is no such node, no reason, only a person may decide, or the state cannot be written.
pub fn invalidate_node(
    ctx: &Context<'_>,
    request: &InvalidateRequest,
) -> Result<CascadeView, Failure> {
    let reason = require_reason(&request.reason)?;
    with_observed_node_files(ctx, &request.node, None, |planned, tx, id, rest| {
        reject_extra_words(rest)?;
        let node = load_node(&*tx, id)?;
        let path = load_node_path(&*tx, &node)?;
        refuse_agents_decision(ctx, &*tx, &path, "reject")?;
        // Compared inside the transaction, as for an approval: a text stored in between was not the
        // one the person rejected.
        if let Some(shown) = &request.shown {
            shown.check_current(&path, &node, load_parent(&*tx, &node)?.as_ref())?;
        }
        let now = ctx.clock.now();
        let kind = ObjectionKind::Rejected;
        let mut facts = objection_facts(&node, kind, reason, &ctx.actor, now);
        cascade_statuses(ctx, tx, &mut facts, &[], now, Some(reason))?;
        let changed = collect_transitions(&*tx, &facts, Some(id))?;
        let mut operation =
            ctx.new_operation(Verb::Invalidate, format!("invalidate {path}: {reason}"));
        operation.at = now;
        operation.facts = facts;
        let operation = record_with_decisions(ctx, planned, tx, operation)?;
        Ok(CascadeView {
            success: true,
            invalidated_entities: changed.stale,
            reinstated_entities: changed.reinstated,
            operation,
        })
    })
}

/// Returns the plans below a node that become stale when it is rejected.
///
/// # Errors
/// When there is no such node, or the state cannot be read.
pub fn preview_rejection(ctx: &Context<'_>, words: &[String]) -> Result<Vec<String>, Failure> {
    let seen = observe_node(ctx, words, ScanScope::Lineage)?;
    reject_extra_words(seen.rest)?;
    list_settled_below(&*seen.state, seen.id)
}

/// Returns the settled plans below a node; below a rejected one all of them become stale.
pub(crate) fn list_settled_below(state: &dyn Snapshot, id: NodeId) -> Result<Vec<String>, Failure> {
    let mut paths = PathCache::new(state);
    let mut found = Vec::new();
    for node in state.load_subtree(id)? {
        let is_settled = matches!(node.status(), Status::Approved | Status::Draft);
        if node.id != id && is_settled {
            found.push(paths.path_of(&node)?);
        }
    }
    Ok(found)
}

/// Returns the given reason, without blanks around it.
pub(crate) fn require_reason(reason: &str) -> Result<&str, Failure> {
    match reason.trim() {
        "" => Err(Failure::invalid(
            "a reason is needed: it is what everyone below will see",
        )),
        reason => Ok(reason),
    }
}
