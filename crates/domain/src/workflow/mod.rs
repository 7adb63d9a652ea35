//! Workflows: an ordered list of steps with roles and review gates, as data.
//!
//! Built in are `planner`, `executor` and `story-planning`, TOML files beside this one; users add
//! their own in `.throughline/workflows`. Pure: the caller gathers the context a step needs.

mod commands;
mod parse;
mod prompt;
mod run;
mod sections;

pub use commands::{ROLE_COMMANDS, command_usage};
pub use parse::parse_workflow;
pub use prompt::{StepPrompt, render_step_prompt};
pub use run::{
    FlowMove, FlowRun, FlowState, MoveRefused, RecordedMove, describe_moves, is_command_allowed,
    next_step,
};
pub use sections::{PromptSection, SectionSources, build_section};

/// Folder of the user's workflows.
pub const WORKFLOWS_FOLDER: &str = ".throughline/workflows";

/// A workflow: roles and steps for one kind of subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workflow {
    pub name: String,
    pub title: String,
    pub subject: SubjectKind,
    pub roles: Vec<WorkflowRole>,
    pub steps: Vec<WorkflowStep>,
}

/// Kind of subject a workflow runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubjectKind {
    /// A plan document.
    Document,
    /// A node of a tree that is to be planned.
    Node,
    /// Any name.
    Anything,
}

/// A role: its instructions and allowed commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowRole {
    pub name: String,
    /// Instructions for the agent or person in this role.
    pub text: String,
    /// Allowed commands, by their names in [`COMMANDS`].
    pub may: Vec<String>,
}

/// One step of a workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowStep {
    pub name: String,
    pub title: String,
    pub role: String,
    pub kind: StepKind,
    /// The reviewed phase, for reviews and gates.
    pub phase: Option<String>,
    /// Context sections of the prompt.
    pub gives: Vec<Given>,
    /// Preconditions for completing the step.
    pub requires: Vec<Requirement>,
    /// Effects of completing the step.
    pub effects: Vec<StepEffect>,
    /// Step to which a failed gate returns.
    pub on_fail: Option<String>,
    pub prompt: String,
}

/// How a step is completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// By `tl flow done`.
    Work,
    /// By `tl flow done`, once every check has a verdict.
    Review,
    /// By the review's outcome: passed, or failed and back.
    Gate,
}

/// Declares an enum together with the words that name its values in TOML.
// A macro, so that a new value cannot be missing from the list that the parser accepts and names
// in its error messages.
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
    /// A context section of a prompt.
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
    /// A precondition for completing a step.
    Requirement {
        Context "context",
        Whole "whole",
        Complete "complete",
        Changes "changes",
        Applies "applies",
        Documented "documented",
        DocumentationBuilt "documentation-built",
        Frozen "frozen",
        Wave "wave",
        Waves "waves",
        Reconciled "reconciled",
        NodeWritten "node-written",
    }
}

words! {
    /// An effect of completing a step.
    StepEffect {
        FreezeContext "freeze-context",
        Render "render",
        Freeze "freeze",
    }
}

impl Workflow {
    /// Returns the step with this name and its index.
    #[must_use]
    pub fn find_step(&self, name: &str) -> Option<(usize, &WorkflowStep)> {
        self.steps
            .iter()
            .enumerate()
            .find(|(_, step)| step.name == name)
    }

    /// Returns the role with this name.
    #[must_use]
    pub fn find_role(&self, name: &str) -> Option<&WorkflowRole> {
        self.roles.iter().find(|role| role.name == name)
    }
}

/// Built-in workflows: name and TOML text.
pub const BUILT_IN_WORKFLOWS: [(&str, &str); 3] = [
    ("planner", include_str!("planner.toml")),
    ("executor", include_str!("executor.toml")),
    ("story-planning", include_str!("story-planning.toml")),
];

/// Returns the built-in workflow with this name.
#[must_use]
pub fn built_in_workflow(name: &str) -> Option<Workflow> {
    let (_, text) = BUILT_IN_WORKFLOWS
        .iter()
        .find(|(known, _)| *known == name)?;
    // Parsed on demand, not in a static: a process needs one workflow at most, mostly none.
    Some(parse_workflow(name, text).expect("BUG: built-in workflows are parsed by a test"))
}
