//! Aborts a workflow run. What it produced stays.

use domain::operation::Verb;
use domain::workflow::FlowState;

use super::{FlowView, Which, changed, find, under_way};
use crate::context::Context;
use crate::failure::Failure;

/// Ends a run before its last step.
///
/// # Errors
/// When there is no active run.
pub fn abort(ctx: &Context<'_>, which: &Which) -> Result<FlowView, Failure> {
    let mut tx = ctx.store.write()?;
    let run = under_way(ctx, &*tx, which)?;
    let mut after = run.clone();
    after.state = FlowState::Aborted;
    let mut operation = ctx.operation(
        Verb::Flow,
        format!("abort {} on {}", run.workflow, run.subject),
    );
    operation.facts = changed(Some(&run), &after).into_iter().collect();
    tx.record(operation)?;
    tx.commit()?;
    // A run whose definition was deleted can be aborted too; it could not be ended otherwise.
    let workflow = find(ctx, &run.workflow).unwrap_or_else(|_| domain::workflow::Workflow {
        name: run.workflow.clone(),
        title: run.workflow.clone(),
        subject: domain::workflow::SubjectKind::Anything,
        roles: Vec::new(),
        steps: Vec::new(),
    });
    Ok(FlowView::of(&workflow, &after))
}
