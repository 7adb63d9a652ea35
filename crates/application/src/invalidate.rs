//! Condemn a node's text; everything below it must be looked at again.

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

/// What is asked.
#[derive(Clone, Debug)]
pub struct InvalidateRequest {
    pub node: Vec<String>,
    pub reason: String,
    /// What was shown before it was asked, where something was.
    pub shown: Option<Shown>,
}

/// Condemns a node: `cascade_invalidate`. The node itself is not in the returned list.
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
