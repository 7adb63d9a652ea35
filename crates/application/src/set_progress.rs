//! Set the progress of a node: pending, active, blocked, complete.

use domain::fact::Fact;
use domain::node::Progress;
use domain::operation::Verb;

use crate::completion::{consume_override, follow_progress, list_open_needs, refuse_incomplete};
use crate::context::{Context, Notice};
use crate::decisions::record_with_decisions;
use crate::failure::Failure;
use crate::locate::{load_node, load_node_path, reject_extra_words};
use crate::observe::with_observed_node_files;
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
    with_observed_node_files(ctx, &request.node, None, |planned, tx, id, rest| {
        reject_extra_words(rest)?;
        let node = load_node(&*tx, id)?;
        // Setting the same progress again records nothing, so that scripts may repeat it.
        if node.progress != request.progress {
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
            follow_progress(ctx, &*tx, &mut operation.facts)?;
            record_with_decisions(ctx, planned, tx, operation)?;
        }
        Ok(load_node_view(&*tx, id)?)
    })
}
