//! Shows the position of every workflow run.

use domain::record;
use domain::workflow::{FlowRun, FlowState, RecordedMove};
use serde::Serialize;

use super::{FlowView, find_workflow};
use crate::context::Context;
use crate::failure::Failure;

/// A run with its moves so far.
#[derive(Clone, Debug, Serialize)]
pub struct FlowLine {
    #[serde(flatten)]
    pub flow: FlowView,
    pub way: Vec<RecordedMove>,
}

/// Returns the runs on a subject, or all active ones.
///
/// # Errors
/// When the state cannot be read.
pub fn list_runs(ctx: &Context<'_>, subject: Option<&str>) -> Result<Vec<FlowLine>, Failure> {
    let state = ctx.store.begin_read()?;
    let mut lines = Vec::new();
    for (_, run) in record::read_records::<FlowRun>(&*state, "")? {
        let wanted = match subject {
            Some(subject) => run.subject == subject,
            None => run.state == FlowState::Active,
        };
        if !wanted {
            continue;
        }
        let flow = match find_workflow(ctx, &run.workflow) {
            Ok(workflow) => FlowView::from_run(&workflow, &run),
            // A run whose definition cannot be loaded is listed with the reason, so that it can be
            // aborted.
            Err(failure) => FlowView {
                workflow: run.workflow.clone(),
                subject: run.subject.clone(),
                state: run.state,
                step: run.step.clone(),
                number: 0,
                steps: 0,
                title: failure.message,
                role: String::new(),
                wave: None,
                moves: run.moves.len(),
            },
        };
        lines.push(FlowLine {
            flow,
            way: run.moves,
        });
    }
    Ok(lines)
}
