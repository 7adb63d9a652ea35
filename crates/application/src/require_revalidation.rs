//! Require revalidation of everything below a node, without touching the node itself.
//!
//! Its children are marked, and what is below them follows from their status. A mark ends when the
//! child is kept, approved or changed.

use domain::approval::ObjectionKind;
use domain::expected_version::ExpectedVersions;
use domain::node::{Node, Status};
use domain::operation::Verb;
use domain::revalidation::objection_facts;

use crate::approve::refuse_agents_decision;
use crate::context::Context;
use crate::decisions::record_with_decisions;
use crate::failure::Failure;
use crate::invalidate::require_reason;
use crate::locate::{load_node, load_node_path, load_parent, reject_extra_words};
use crate::observe::with_observed_node_files;
use crate::status_cascade::cascade_statuses;
use crate::transitions::collect_transitions;
use crate::views::CascadeView;

/// Request of [`require_revalidation`].
#[derive(Clone, Debug)]
pub struct RevalidationRequest {
    pub node: Vec<String>,
    pub reason: String,
    /// The versions shown to the caller before, if any were.
    pub shown: Option<ExpectedVersions>,
}

/// Marks everything below a node for revalidation, in MCP `cascade_invalidate`.
///
/// # Errors
/// When there is no such node, no reason, only a person may decide, or the state cannot be written.
pub fn require_revalidation(
    ctx: &Context<'_>,
    request: &RevalidationRequest,
) -> Result<CascadeView, Failure> {
    let reason = require_reason(&request.reason)?;
    with_observed_node_files(ctx, &request.node, None, |planned, tx, id, rest| {
        reject_extra_words(rest)?;
        let node = load_node(&*tx, id)?;
        let path = load_node_path(&*tx, &node)?;
        refuse_agents_decision(ctx, &*tx, &path, "require revalidation below")?;
        if let Some(shown) = &request.shown {
            shown.check_current(&path, &node, load_parent(&*tx, &node)?.as_ref())?;
        }
        let now = ctx.clock.now();
        let kind = ObjectionKind::RevalidationRequired;
        let mut facts = Vec::new();
        for child in tx
            .load_children(id)?
            .iter()
            .filter(|child| can_be_marked(child))
        {
            facts.extend(objection_facts(child, kind, reason, &ctx.actor, now));
        }
        // The marks are on the children alone; what is below them follows here, in the same
        // operation.
        cascade_statuses(ctx, tx, &mut facts, &[], now, Some(reason))?;
        let changed = collect_transitions(&*tx, &facts, Some(id))?;
        let mut operation = ctx.new_operation(
            Verb::Invalidate,
            format!("require revalidation below {path}: {reason}"),
        );
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

/// Whether a child is settled, so that a mark says something new; a stricter objection stays.
fn can_be_marked(child: &Node) -> bool {
    matches!(child.status(), Status::Approved | Status::Draft)
        && child.content.version_hash().is_some()
        && child.change_request().is_none()
}
