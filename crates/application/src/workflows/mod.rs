//! Workflow runs: find, start, show the next step, advance, abort. One use case per file.

mod definitions;
mod step_context;

pub mod abort;
pub mod advance;
pub mod apply;
pub mod next;
pub mod start;
pub mod status;
pub mod take;

use domain::fact::Fact;
use domain::node::Progress;
use domain::plan_document::DocumentRecord;
use domain::ports::{Snapshot, StoreFault};
use domain::record;
use domain::workflow::{FlowRun, FlowState, Workflow, WorkflowStep};
use schemars::JsonSchema;
use serde::Serialize;

pub(crate) use self::definitions::find_workflow;
pub use self::definitions::{WorkflowLine, list_workflows};
pub use self::step_context::WaveMilestone;
pub(crate) use self::take::list_handed_out;
use crate::context::Context;
use crate::failure::{Failure, FailureKind};
use crate::observe::observe_then_read;
use crate::plan_documents::list_first_documents;
use crate::scan::ScanScope;

/// Selects a workflow run.
#[derive(Clone, Debug, Default)]
pub struct RunSelector {
    /// The subject; without it the current document.
    pub subject: Option<String>,
    /// The workflow's name, where a subject has several.
    pub workflow: Option<String>,
}

/// The position of a workflow run, for people and programs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FlowView {
    pub workflow: String,
    pub subject: String,
    #[schemars(with = "String")]
    pub state: FlowState,
    pub step: String,
    /// From 1.
    pub number: usize,
    pub steps: usize,
    pub title: String,
    pub role: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wave: Option<u32>,
    pub moves: usize,
}

impl FlowView {
    pub(crate) fn from_run(workflow: &Workflow, run: &FlowRun) -> Self {
        let found = workflow.find_step(&run.step);
        let in_waves = found.is_some_and(|(_, step)| {
            step.requires
                .contains(&domain::workflow::Requirement::Waves)
        });
        Self {
            workflow: run.workflow.clone(),
            subject: run.subject.clone(),
            state: run.state,
            step: run.step.clone(),
            number: found.map_or(0, |(at, _)| at + 1),
            steps: workflow.steps.len(),
            title: found
                .map(|(_, step)| step.title.clone())
                .unwrap_or_default(),
            role: found.map(|(_, step)| step.role.clone()).unwrap_or_default(),
            wave: in_waves.then_some(run.wave),
            moves: run.moves.len(),
        }
    }
}

/// Records what changed in the files, and in the decisions that git brought: a milestone that a
/// merged branch completed is not handed out or waited for again.
fn observe_milestones<'s>(ctx: &Context<'s>) -> Result<Box<dyn Snapshot + 's>, Failure> {
    observe_then_read(ctx, ScanScope::Everything)
}

/// Returns the active runs on a subject.
pub(crate) fn active_runs(
    state: &dyn Snapshot,
    subject: &str,
) -> Result<Vec<(String, FlowRun)>, StoreFault> {
    // The key prefix also matches subjects below this one, hence the filter.
    let found = record::read_records::<FlowRun>(state, &format!("{subject}/"))?;
    Ok(found
        .into_iter()
        .filter(|(_, run)| run.subject == subject && run.state == FlowState::Active)
        .collect())
}

/// Finds the selected run.
pub(crate) fn find_run(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    which: &RunSelector,
) -> Result<FlowRun, Failure> {
    let named = |run: &FlowRun| {
        which
            .workflow
            .as_ref()
            .is_none_or(|name| *name == run.workflow)
    };
    let all = match &which.subject {
        Some(subject) => active_runs(state, subject)?,
        None => {
            // The current document first, else the only run of the project: most projects have one,
            // and a person should not have to name it.
            let current = crate::plan_documents::resolve_document(ctx, state, None).ok();
            let own = current
                .map(|current| active_runs(state, &current))
                .transpose()?
                .unwrap_or_default();
            if own.is_empty() {
                let every = record::read_records::<FlowRun>(state, "")?;
                every
                    .into_iter()
                    .filter(|(_, run)| run.state == FlowState::Active)
                    .collect()
            } else {
                own
            }
        }
    };
    let mut fitting: Vec<FlowRun> = all.into_iter().map(|(_, run)| run).filter(named).collect();
    match fitting.len() {
        1 => Ok(fitting.remove(0)),
        0 => Err(describe_no_run(ctx, state)?),
        _ => {
            let failure = Failure::invalid("several workflows are under way");
            Err(fitting.iter().fold(failure, |failure, run| {
                failure.with_step(format!(
                    "tl flow next --for {} --flow {}   # name one of them",
                    run.subject, run.workflow
                ))
            }))
        }
    }
}

/// Describes that no workflow is under way, with the one that could be started.
fn describe_no_run(ctx: &Context<'_>, state: &dyn Snapshot) -> Result<Failure, Failure> {
    let failure = Failure::not_found("no workflow is under way here");
    let mut frozen = Vec::new();
    for (id, record) in record::read_records::<DocumentRecord>(state, "")? {
        let node = state.load_node(record.node)?;
        let is_open = node.is_some_and(|node| node.progress != Progress::Complete);
        if record.frozen.is_some() && is_open {
            frozen.push((record.frozen.map(|frozen| frozen.at), id));
        }
    }
    // The newest is meant, most likely.
    let newest = frozen.into_iter().max();
    let failure = match newest {
        Some((_, id)) => failure.with_step(start_executor_step(&id)),
        None => list_first_documents(ctx, state)?
            .into_iter()
            .fold(failure, Failure::with_step),
    };
    Ok(failure.with_step("tl flow list"))
}

/// Returns the command that begins to carry out a frozen document.
pub(crate) fn start_executor_step(document: &str) -> String {
    format!("tl flow start executor --for {document}   # carry out the frozen plan")
}

/// Returns the current step of a run.
pub(crate) fn current_step<'w>(
    workflow: &'w Workflow,
    run: &FlowRun,
) -> Result<(usize, &'w WorkflowStep), Failure> {
    workflow.find_step(&run.step).ok_or_else(|| {
        Failure::new(
            // Workflows are files that users edit: a step may have been renamed while a run was at
            // it.
            FailureKind::Conflict,
            format!(
                "`{}` is at step `{}`, which the workflow `{}` no longer has",
                run.subject, run.step, run.workflow
            ),
        )
        .with_step(format!(
            "tl flow abort --for {} --flow {}",
            run.subject, run.workflow
        ))
    })
}

/// Returns the fact that a run changed.
pub(crate) fn run_changed(before: Option<&FlowRun>, after: &FlowRun) -> Option<Fact> {
    record::record_changed_fact(&after.record_key(), before, Some(after))
}
