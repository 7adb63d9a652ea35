//! Next step of a message: a command of ours, or an instruction.
//!
//! Its stored form is a line of text, most often a command line, because most readers have a shell.
//! Edges whose readers have none render the parsed step: an MCP client gets a tool with arguments, a
//! browser a link.

use crate::approval::{ASK_PERSON, ASK_TO_REVALIDATE};
use crate::shell_line::ShellLine;

const WRITE_PLAN: &str = "write the plan `";

/// Returns the step that writes the text of a plan.
#[must_use]
pub fn write_plan_next_step(node: &str) -> String {
    format!("{WRITE_PLAN}{node}`")
}

/// A step that a message suggests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// `tl` with these arguments.
    Command {
        arguments: Vec<String>,
        /// The comment behind it.
        comment: Option<String>,
    },
    /// Have a person approve this plan.
    AskPerson { node: String },
    /// Have a person revalidate this plan.
    AskToRevalidate { node: String },
    /// Write the text of this plan.
    WritePlan { node: String },
    /// Read a file, to judge or to change it.
    OpenFile { path: String, purpose: FilePurpose },
    /// Anything else, for the reader to understand.
    Instruction(String),
}

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilePurpose {
    Edit,
    Review,
}

impl FilePurpose {
    const ALL: [Self; 2] = [Self::Edit, Self::Review];

    fn verb(self) -> &'static str {
        match self {
            Self::Edit => "edit ",
            Self::Review => "review ",
        }
    }
}

impl NextStep {
    /// Returns the plan that a command shows or decides about: a page about it leads on.
    #[must_use]
    pub fn concerned_node(&self) -> Option<&str> {
        let arguments = match self {
            Self::Command { arguments, .. } => arguments,
            Self::AskPerson { node }
            | Self::AskToRevalidate { node }
            | Self::WritePlan { node } => return Some(node),
            Self::OpenFile { .. } | Self::Instruction(_) => return None,
        };
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        match words.as_slice() {
            [
                "show" | "why" | "approve" | "revalidate" | "versions" | "diff" | "comment"
                | "progress" | "invalidate" | "wait" | "children",
                node,
                ..,
            ] if !node.starts_with('-') => Some(node),
            _ => None,
        }
    }

    /// Parses a step as messages contain it: `tl show act-1   # read it as it is now`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        // Two blanks: a single one before `#` may be part of an argument.
        let (command, comment) = match text.split_once("  #") {
            Some((command, comment)) => (command.trim_end(), Some(comment.trim().to_owned())),
            None => (text, None),
        };
        let mut calls = match command.starts_with("tl ") {
            true => ShellLine::parse(command).own_calls(),
            false => Vec::new(),
        };
        match calls.pop() {
            Some(arguments) => Self::Command { arguments, comment },
            None => Self::parse_instruction(text),
        }
    }

    fn parse_instruction(text: &str) -> Self {
        let named_after = |start: &str| {
            let (node, _) = text.strip_prefix(start)?.split_once('`')?;
            Some(node.to_owned())
        };
        if let Some(node) = named_after(ASK_PERSON) {
            return Self::AskPerson { node };
        }
        if let Some(node) = named_after(ASK_TO_REVALIDATE) {
            return Self::AskToRevalidate { node };
        }
        if let Some(node) = named_after(WRITE_PLAN) {
            return Self::WritePlan { node };
        }
        let file = FilePurpose::ALL.into_iter().find_map(|purpose| {
            let path = text.strip_prefix(purpose.verb())?;
            // `edit the plan` names no file.
            let is_path = !path.contains(char::is_whitespace) && path.contains(['/', '.']);
            is_path.then_some((path, purpose))
        });
        match file {
            Some((path, purpose)) => Self::OpenFile {
                path: path.to_owned(),
                purpose,
            },
            None => Self::Instruction(text.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FilePurpose, NextStep};
    use crate::approval::{ask_person_next_step, decision_next_step};
    use crate::node::Status;

    #[test]
    fn commands_are_told_from_instructions() {
        let parsed = NextStep::parse("tl trail intent \"what it is for\"   # first");
        let NextStep::Command { arguments, comment } = parsed else {
            panic!("{parsed:?}");
        };
        assert_eq!(arguments, ["trail", "intent", "what it is for"]);
        assert_eq!(comment.as_deref(), Some("first"));
        let node = |text: &str| {
            let step = NextStep::parse(text);
            step.concerned_node().map(str::to_owned)
        };
        assert_eq!(node("tl why act-1   # the cause").as_deref(), Some("act-1"));
        assert_eq!(node("tl revalidate --all"), None);
        assert_eq!(node("edit the plan"), None);
        let ask = NextStep::parse(&ask_person_next_step("act-1/chapter-01"));
        assert_eq!(ask.concerned_node(), Some("act-1/chapter-01"), "{ask:?}");
        assert_eq!(
            NextStep::parse("edit acts/act-1/strategic-plan.md"),
            NextStep::OpenFile {
                path: "acts/act-1/strategic-plan.md".to_owned(),
                purpose: FilePurpose::Edit,
            }
        );
        for text in ["edit the plan", "ask the person: tl approve act-1", "tls"] {
            assert_eq!(
                NextStep::parse(text),
                NextStep::Instruction(text.to_owned())
            );
        }
    }

    #[test]
    fn asking_for_a_stale_plan_names_it() {
        let step = NextStep::parse(&decision_next_step(
            "act-1/chapter-01",
            Status::RequiresRevalidation,
            false,
        ));
        assert_eq!(step.concerned_node(), Some("act-1/chapter-01"));
        assert!(matches!(step, NextStep::AskToRevalidate { .. }), "{step:?}");
    }
}
