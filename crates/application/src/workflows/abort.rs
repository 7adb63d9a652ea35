//! Aborts a workflow run. What it produced stays.

use domain::operation::Verb;
use domain::workflow::FlowState;

use super::{FlowView, RunSelector, find_run, find_workflow, run_changed};
use crate::context::Context;
use crate::failure::Failure;

/// Ends a run before its last step.
///
/// # Errors
/// When there is no active run.
pub fn abort_run(ctx: &Context<'_>, which: &RunSelector) -> Result<FlowView, Failure> {
    let mut tx = ctx.store.begin_write()?;
    let run = find_run(ctx, &*tx, which)?;
    let mut after = run.clone();
    after.state = FlowState::Aborted;
    let mut operation = ctx.new_operation(
        Verb::Flow,
        format!("abort {} on {}", run.workflow, run.subject),
    );
    operation.facts = run_changed(Some(&run), &after).into_iter().collect();
    tx.record_operation(operation)?;
    tx.commit()?;
    // A run whose definition was deleted can be aborted too; it could not be ended otherwise.
    let workflow =
        find_workflow(ctx, &run.workflow).unwrap_or_else(|_| domain::workflow::Workflow {
            name: run.workflow.clone(),
            title: run.workflow.clone(),
            subject: domain::workflow::SubjectKind::Anything,
            roles: Vec::new(),
            steps: Vec::new(),
        });
    Ok(FlowView::from_run(&workflow, &after))
}
