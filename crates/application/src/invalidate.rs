//! Condemn a node's text, which makes everything below it stale.
//!
//! A condemnation ends when the text changes; the node is not deleted.

use domain::expected_version::ExpectedVersions;
use domain::operation::Verb;
use domain::revalidation::condemnation_facts;

use crate::context::Context;
use crate::decisions::record_with_decisions;
use crate::failure::Failure;
use crate::locate::{load_node, load_node_path, load_parent, reject_extra_words};
use crate::observe::with_observed_node_files;
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

/// Condemns a node, in MCP `cascade_invalidate`. The node itself is not in the returned list.
///
/// # Errors
/// When there is no such node, no reason, or the state cannot be written.
pub fn invalidate_node(
    ctx: &Context<'_>,
    request: &InvalidateRequest,
) -> Result<CascadeView, Failure> {
    let reason = request.reason.trim();
    if reason.is_empty() {
        return Err(Failure::invalid(
            "a reason is needed: it is what everyone below will see",
        ));
    }
    with_observed_node_files(ctx, &request.node, None, |planned, tx, id, rest| {
        reject_extra_words(rest)?;
        let node = load_node(&*tx, id)?;
        // Compared inside the transaction, as for an approval: a text stored in between was not the
        // one the person rejected.
        if let Some(shown) = &request.shown {
            shown.check_current(&node, load_parent(&*tx, &node)?.as_ref())?;
        }
        let now = ctx.clock.now();
        let mut facts = condemnation_facts(&node, reason, &ctx.actor, now);
        cascade_statuses(ctx, tx, &mut facts, &[], now, Some(reason))?;
        let changed = collect_transitions(&*tx, &facts, Some(id))?;
        let mut operation = ctx.new_operation(
            Verb::Invalidate,
            format!("invalidate {}: {reason}", load_node_path(&*tx, &node)?),
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
