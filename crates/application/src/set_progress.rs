//! Set the progress of a node: pending, active, blocked, complete.

use domain::fact::Fact;
use domain::node::Progress;
use domain::operation::Verb;

use crate::context::Context;
use crate::evidence::{completing, refuse_unproved};
use crate::failure::Failure;
use crate::locate::{get, nothing_left, path_of};
use crate::observe::with_node;
use crate::views::{NodeView, node_view};

/// Request of [`set_progress`].
#[derive(Clone, Debug)]
pub struct ProgressRequest {
    pub node: Vec<String>,
    pub progress: Progress,
}

/// Sets a node's progress.
///
/// # Errors
/// When there is no such node, it is not proved, or the state cannot be written.
pub fn set_progress(ctx: &Context<'_>, request: &ProgressRequest) -> Result<NodeView, Failure> {
    with_node(ctx, &request.node, |tx, id, rest| {
        nothing_left(rest)?;
        let node = get(&*tx, id)?;
        // Setting the same progress again records nothing, so that scripts may repeat it.
        if node.progress != request.progress {
            if request.progress == Progress::Complete {
                refuse_unproved(ctx, &*tx, &node)?;
                completing(ctx, tx, &node)?;
            }
            let path = path_of(&*tx, &node)?;
            let mut operation =
                ctx.operation(Verb::Progress, format!("{path} is {}", request.progress));
            operation.facts = vec![Fact::ProgressChanged {
                node: id,
                before: node.progress,
                after: request.progress,
            }];
            tx.record(operation)?;
        }
        Ok(node_view(&*tx, id)?)
    })
}
