//! Workflows: an ordered set of steps with roles and review gates, as data.
//!
//! Built in are `planner`, `executor` and `story-planning`, TOML files beside this one; users write theirs into
//! `.throughline/workflows`. Pure: what a step needs to know is gathered by the caller.

mod commands;
mod parse;
mod prompt;
mod run;
mod sections;

pub use commands::{COMMANDS, usage};
pub use parse::{WorkflowProblem, parse};
pub use prompt::{StepPrompt, compose};
pub use run::{FlowRun, FlowState, Move, MoveRefused, Moved, allows, next_step, plain_after};
pub use sections::{Material, Section, section};

/// The folder of the user's workflows.
pub const FOLDER: &str = ".throughline/workflows";

/// A workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workflow {
    pub name: String,
    pub title: String,
    pub subject: SubjectKind,
    pub roles: Vec<Role>,
    pub steps: Vec<Step>,
}

/// What a workflow is carried out on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubjectKind {
    /// A plan document.
    Document,
    /// A node of a tree that is to be planned.
    Node,
    /// Just a name.
    Anything,
}

/// Who does a step, and what they may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    pub name: String,
    /// What is said to whoever takes the role.
    pub text: String,
    /// Words of [`COMMANDS`].
    pub may: Vec<String>,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub name: String,
    pub title: String,
    pub role: String,
    pub kind: StepKind,
    /// The phase that is reviewed, for steps that have to do with a review.
    pub phase: Option<String>,
    /// The context the prompt carries.
    pub gives: Vec<Given>,
    /// What must be true before the step is done.
    pub requires: Vec<Requirement>,
    /// What happens when it is.
    pub effects: Vec<StepEffect>,
    /// Where a gate that fails leads back to.
    pub on_fail: Option<String>,
    pub prompt: String,
}

/// How a step is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// When it is said to be done.
    Work,
    /// When every check has a verdict.
    Review,
    /// As the review says: passed, or failed and back.
    Gate,
}

/// Declares words of TOML together with their values.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($variant:ident $word:literal),+ $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($variant),+ }

        impl $name {
            /// Every word with its value.
            pub const ALL: &'static [(&'static str, Self)] = &[$(($word, Self::$variant)),+];
        }
    };
}

words! {
    /// A piece of context.
    Given {
        Context "context",
        Overview "overview",
        Decisions "decisions",
        Constraints "constraints",
        Knowledge "knowledge",
        Milestones "milestones",
        Intents "intents",
        Changes "changes",
        Documentation "documentation",
        Problems "problems",
        Findings "findings",
        Checks "checks",
        Wave "wave",
        Criteria "criteria",
        Node "node",
    }
}

words! {
    /// Something that must be true before a step is done.
    Requirement {
        Context "context",
        Whole "whole",
        Complete "complete",
        Changes "changes",
        Frozen "frozen",
        Wave "wave",
        Waves "waves",
        NodeWritten "node-written",
    }
}

words! {
    /// Something that happens when a step is done.
    StepEffect {
        FreezeContext "freeze-context",
        Render "render",
        Freeze "freeze",
    }
}

impl Workflow {
    /// Returns a step and its place.
    #[must_use]
    pub fn step(&self, name: &str) -> Option<(usize, &Step)> {
        self.steps
            .iter()
            .enumerate()
            .find(|(_, step)| step.name == name)
    }

    /// Returns a role.
    #[must_use]
    pub fn role(&self, name: &str) -> Option<&Role> {
        self.roles.iter().find(|role| role.name == name)
    }
}

/// The built-in workflows, name and text.
pub const BUILT_IN: [(&str, &str); 3] = [
    ("planner", include_str!("planner.toml")),
    ("executor", include_str!("executor.toml")),
    ("story-planning", include_str!("story-planning.toml")),
];

/// Returns a built-in workflow.
#[must_use]
pub fn built_in(name: &str) -> Option<Workflow> {
    let (_, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
    Some(parse(name, text).expect("BUG: built-in workflows are parsed by a test"))
}
