//! Condemn a node's text, which makes everything below it stale.
//!
//! A condemnation ends when the text changes; the node is not deleted.

use domain::operation::Verb;
use domain::revalidation::condemn;
use domain::shown::Shown;

use crate::context::Context;
use crate::failure::{Failure, FailureKind};
use crate::locate::{get, nothing_left, parent, path_of};
use crate::observe::with_node;
use crate::settle::settle;
use crate::transitions::transitions;
use crate::views::CascadeView;

/// Request of [`invalidate`].
#[derive(Clone, Debug)]
pub struct InvalidateRequest {
    pub node: Vec<String>,
    pub reason: String,
    /// The versions shown to the person before the decision, if any were.
    pub shown: Option<Shown>,
}

/// Condemns a node, in MCP `cascade_invalidate`. The node itself is not in the returned list.
///
/// # Errors
/// When there is no such node, no reason, or the state cannot be written.
pub fn invalidate(ctx: &Context<'_>, request: &InvalidateRequest) -> Result<CascadeView, Failure> {
    let reason = request.reason.trim();
    if reason.is_empty() {
        return Err(Failure::new(
            FailureKind::Invalid,
            "a reason is needed: it is what everyone below will see",
        ));
    }
    with_node(ctx, &request.node, |tx, id, rest| {
        nothing_left(rest)?;
        let node = get(&*tx, id)?;
        // Compared inside the transaction, as for an approval: a text stored in between was not the
        // one the person rejected.
        if let Some(shown) = &request.shown {
            shown.check(&node, parent(&*tx, &node)?.as_ref())?;
        }
        let now = ctx.clock.now();
        let mut facts = vec![condemn(&node, reason, &ctx.actor, now)];
        settle(ctx, tx, &mut facts, &[], now, Some(reason))?;
        let changed = transitions(&*tx, &facts, Some(id))?;
        let mut operation = ctx.operation(
            Verb::Invalidate,
            format!("invalidate {}: {reason}", path_of(&*tx, &node)?),
        );
        operation.at = now;
        operation.facts = facts;
        let operation = tx.record(operation)?;
        Ok(CascadeView {
            success: true,
            invalidated_entities: changed.stale,
            reinstated_entities: changed.reinstated,
            operation,
        })
    })
}
