//! Next step of a message, parsed: a command of ours, or an instruction.
//!
//! Use cases name commands, because most readers have a shell. An edge whose reader has none
//! translates them: an MCP client gets tools with arguments.

use domain::shell_line::ShellLine;

/// A step that a message suggests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// `tl` with these arguments.
    Command {
        arguments: Vec<String>,
        /// The comment behind it.
        comment: Option<String>,
    },
    /// Anything else, for the reader to understand.
    Instruction(String),
}

impl NextStep {
    /// Parses a step as messages contain it: `tl show act-1   # read it as it is now`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
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
            None => Self::Instruction(text.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::NextStep;

    #[test]
    fn commands_are_told_from_instructions() {
        let parsed = NextStep::parse("tl trail intent \"what it is for\"   # first");
        let NextStep::Command { arguments, comment } = parsed else {
            panic!("{parsed:?}");
        };
        assert_eq!(arguments, ["trail", "intent", "what it is for"]);
        assert_eq!(comment.as_deref(), Some("first"));
        for text in ["edit the plan", "ask the person: tl approve act-1", "tls"] {
            assert_eq!(
                NextStep::parse(text),
                NextStep::Instruction(text.to_owned())
            );
        }
    }
}
