//! A workflow under way: where it is, how it moves, who may do what meanwhile.

use serde::{Deserialize, Serialize};

use super::{StepKind, Workflow};
use crate::ids::Principal;
use crate::record::Recorded;
use crate::review::Concluded;
use crate::time::Timestamp;

/// A workflow on a subject, kept under `SUBJECT/WORKFLOW`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowRun {
    pub workflow: String,
    pub subject: String,
    /// The name of the present step.
    pub step: String,
    pub state: FlowState,
    /// The wave that is being carried out, from 1.
    #[serde(default)]
    pub wave: u32,
    /// Who worked on what is reviewed next.
    #[serde(default)]
    pub authors: Vec<Principal>,
    pub moves: Vec<Moved>,
}

impl Recorded for FlowRun {
    const KIND: &'static str = "flow";
}

/// Whether it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlowState {
    Active,
    Finished,
    Aborted,
}

impl FlowState {
    /// Returns the word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Finished => "finished",
            Self::Aborted => "aborted",
        }
    }
}

/// What is said about the present step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Move {
    Done,
    Pass,
    Fail,
}

impl Move {
    /// Returns the word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Pass => "pass",
            Self::Fail => "fail",
        }
    }
}

/// One move that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    pub step: String,
    pub how: Move,
    pub by: Principal,
    pub at: Timestamp,
}

/// Why a workflow does not move.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MoveRefused {
    #[error("step `{step}` is a gate: the review says whether it is passed")]
    IsAGate { step: String },
    #[error("step `{step}` is no gate: it is done, or not yet")]
    NoGate { step: String },
    #[error("step `{step}` is not done yet: {}", missing.join("; "))]
    NotYet { step: String, missing: Vec<String> },
    #[error("{} still fail and stop it: {}", blocking.len(), blocking.join(", "))]
    Blocked { blocking: Vec<String> },
    #[error("no finding stops it any more")]
    NothingFails,
}

impl FlowRun {
    /// Returns a run at its first step.
    #[must_use]
    pub fn start(workflow: &Workflow, subject: &str) -> Self {
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
    pub fn key(&self) -> String {
        format!("{}/{}", self.subject, self.workflow)
    }

    /// Remembers who worked on what will be reviewed.
    pub fn worked(&mut self, by: &Principal) {
        if !self.authors.contains(by) {
            self.authors.push(by.clone());
        }
    }
}

/// Returns the step after the present one, or nothing at the end.
///
/// `missing` is what the step requires and is not so; `concluded` is what its review came to, at a gate.
///
/// # Errors
/// [`MoveRefused`].
pub fn next_step<'w>(
    workflow: &'w Workflow,
    at: usize,
    how: Move,
    missing: Vec<String>,
    concluded: Option<&Concluded>,
) -> Result<Option<&'w str>, MoveRefused> {
    let step = &workflow.steps[at];
    let name = || step.name.clone();
    match (step.kind, how) {
        (StepKind::Gate, Move::Done) => return Err(MoveRefused::IsAGate { step: name() }),
        (StepKind::Work | StepKind::Review, Move::Pass | Move::Fail) => {
            return Err(MoveRefused::NoGate { step: name() });
        }
        _ => {}
    }
    let onward = workflow.steps.get(at + 1).map(|step| step.name.as_str());
    match (how, concluded) {
        (Move::Fail, Some(Concluded::Retry { .. })) => return Ok(step.on_fail.as_deref()),
        (Move::Fail, _) => return Err(MoveRefused::NothingFails),
        (Move::Pass, Some(Concluded::Retry { blocking, .. })) => {
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

/// Says whether a command may be used in a step. A person may do what they like.
#[must_use]
pub fn allows(workflow: &Workflow, step: usize, by: &Principal, command: &str) -> bool {
    if by.is_human() {
        return true;
    }
    let role = workflow
        .steps
        .get(step)
        .and_then(|step| workflow.role(&step.role));
    role.is_some_and(|role| role.may.iter().any(|word| word == command))
}

/// Says in words what follows a step.
#[must_use]
pub fn plain_after(workflow: &Workflow, at: usize, doc: &str) -> Vec<(&'static str, String)> {
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
            vec![("done", format!("tl flow done{flag}   → {onward}"))]
        }
        StepKind::Gate => {
            let back = step.on_fail.as_deref().and_then(|name| workflow.step(name));
            let back = back
                .map(|(_, step)| format!("{} ({})", step.title, step.role))
                .unwrap_or_default();
            vec![
                ("pass", format!("tl flow pass{flag}   → {onward}")),
                ("fail", format!("tl flow fail{flag}   → back to {back}")),
            ]
        }
    }
}
