//! State of a running workflow: its step, its moves, and which commands are allowed meanwhile.

use serde::{Deserialize, Serialize};

use super::{StepKind, Workflow};
use crate::ids::Principal;
use crate::named_enum::named_enum;
use crate::record::Recorded;
use crate::review::IterationOutcome;
use crate::time::Timestamp;

/// A workflow running on a subject, stored under `SUBJECT/WORKFLOW`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowRun {
    pub workflow: String,
    pub subject: String,
    /// Name of the current step.
    pub step: String,
    pub state: FlowState,
    /// Current wave, from 1.
    #[serde(default)]
    pub wave: u32,
    /// Authors of the work that is reviewed next.
    #[serde(default)]
    pub authors: Vec<Principal>,
    pub moves: Vec<RecordedMove>,
}

impl Recorded for FlowRun {
    const KIND: &'static str = "flow";
}

named_enum! {
    /// Whether a run is active.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum FlowState {
        Active = "active",
        Finished = "finished",
        Aborted = "aborted",
    }
}

named_enum! {
    /// A transition from the current step.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum FlowMove {
        Done = "done",
        Pass = "pass",
        Fail = "fail",
    }
}

/// A transition that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedMove {
    pub step: String,
    pub how: FlowMove,
    pub by: Principal,
    pub at: Timestamp,
}

/// Why a transition was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MoveRefused {
    #[error("step `{step}` is a gate: the review decides whether it is passed")]
    IsAGate { step: String },
    #[error("step `{step}` is not a gate: use `tl flow done`")]
    NoGate { step: String },
    #[error("step `{step}` is not done yet: {}", missing.join("; "))]
    NotYet { step: String, missing: Vec<String> },
    #[error("{} blocking findings: {}", blocking.len(), blocking.join(", "))]
    Blocked { blocking: Vec<String> },
    #[error("no finding blocks the gate")]
    NothingFails,
}

impl FlowRun {
    /// Starts a run at the first step.
    #[must_use]
    pub fn start_run(workflow: &Workflow, subject: &str) -> Self {
        Self {
            workflow: workflow.name.clone(),
            subject: subject.to_owned(),
            step: workflow
                .steps
                .first()
                .map(|step| step.name.clone())
                .unwrap_or_default(),
            state: FlowState::Active,
            wave: 1,
            authors: Vec::new(),
            moves: Vec::new(),
        }
    }

    /// Returns the key of its record.
    #[must_use]
    pub fn record_key(&self) -> String {
        format!("{}/{}", self.subject, self.workflow)
    }

    /// Records an author of the work that will be reviewed.
    pub fn add_author(&mut self, by: &Principal) {
        if !self.authors.contains(by) {
            self.authors.push(by.clone());
        }
    }
}

/// Returns the name of the step after this one, or `None` at the end.
///
/// `missing` lists unmet preconditions of the step; `concluded` is the outcome of its review, at a
/// gate.
///
/// # Errors
/// [`MoveRefused`].
pub fn next_step<'w>(
    workflow: &'w Workflow,
    at: usize,
    how: FlowMove,
    missing: Vec<String>,
    concluded: Option<&IterationOutcome>,
) -> Result<Option<&'w str>, MoveRefused> {
    let step = &workflow.steps[at];
    let name = || step.name.clone();
    match (step.kind, how) {
        (StepKind::Gate, FlowMove::Done) => return Err(MoveRefused::IsAGate { step: name() }),
        (StepKind::Work | StepKind::Review, FlowMove::Pass | FlowMove::Fail) => {
            return Err(MoveRefused::NoGate { step: name() });
        }
        _ => {}
    }
    // The review decides, not the caller: `pass` and `fail` are only accepted when they agree with
    // its outcome. An agent that wants to be done cannot pass its own gate.
    let onward = workflow.steps.get(at + 1).map(|step| step.name.as_str());
    match (how, concluded) {
        // Preconditions are not asked for on the way back: what is missing is what will be redone.
        (FlowMove::Fail, Some(IterationOutcome::Retry { .. })) => {
            return Ok(step.on_fail.as_deref());
        }
        (FlowMove::Fail, _) => return Err(MoveRefused::NothingFails),
        (FlowMove::Pass, Some(IterationOutcome::Retry { blocking, .. })) => {
            return Err(MoveRefused::Blocked {
                blocking: blocking.clone(),
            });
        }
        _ => {}
    }
    if !missing.is_empty() {
        return Err(MoveRefused::NotYet {
            step: name(),
            missing,
        });
    }
    Ok(onward)
}

/// Whether a command is allowed in a step. People are not restricted.
#[must_use]
pub fn is_command_allowed(workflow: &Workflow, step: usize, by: &Principal, command: &str) -> bool {
    // Roles keep agents to their part of the work; a person who intervenes needs every command.
    if by.is_human() {
        return true;
    }
    let role = workflow
        .steps
        .get(step)
        .and_then(|step| workflow.find_role(&step.role));
    // An unknown step or role allows nothing: workflows are data that a project may have edited.
    role.is_some_and(|role| role.may.iter().any(|word| word == command))
}

/// Describes the transitions out of a step, with their commands.
#[must_use]
pub fn describe_moves(workflow: &Workflow, at: usize, doc: &str) -> Vec<(&'static str, String)> {
    let step = &workflow.steps[at];
    let onward = match workflow.steps.get(at + 1) {
        Some(next) => format!("{} ({})", next.title, next.role),
        None => "the end of the workflow".to_owned(),
    };
    let flag = if doc.is_empty() {
        String::new()
    } else {
        format!(" --for {doc}")
    };
    match step.kind {
        StepKind::Work | StepKind::Review => {
            vec![("done", format!("tl flow done{flag}   # → {onward}"))]
        }
        StepKind::Gate => {
            let back = step
                .on_fail
                .as_deref()
                .and_then(|name| workflow.find_step(name));
            let back = back
                .map(|(_, step)| format!("{} ({})", step.title, step.role))
                .unwrap_or_default();
            vec![
                ("pass", format!("tl flow pass{flag}   # → {onward}")),
                ("fail", format!("tl flow fail{flag}   # → back to {back}")),
            ]
        }
    }
}
