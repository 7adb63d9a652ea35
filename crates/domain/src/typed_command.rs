//! Parser for slash commands typed into a host: `/plan-chapter 2`, `/approve-plan act 1`.
//!
//! Only the commands that hooks act on; the others just tell the agent which command to run.

/// A parsed slash command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypedCommand {
    /// Plan a node of a level.
    Plan { level: String, id: String },
    /// A person approves.
    Approve { node: Vec<String> },
}

/// Parses a prompt; `None` if it is not a command that hooks act on.
#[must_use]
pub fn parse_typed_command(prompt: &str) -> Option<TypedCommand> {
    // Only at the start of the prompt: a command quoted in a sentence is not an approval.
    let line = prompt.trim_start().strip_prefix('/')?.lines().next()?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let name = words.next()?;
    // A plugin's commands carry its name: `/throughline:plan-act`.
    let name = name.rsplit(':').next().unwrap_or_default();
    let arguments: Vec<String> = words.collect();
    if name == "approve-plan" {
        return (!arguments.is_empty()).then_some(TypedCommand::Approve { node: arguments });
    }
    // Levels come from profiles, so any word is accepted here and resolved by the use case.
    let level = name.strip_prefix("plan-")?.to_owned();
    let id = arguments.into_iter().next()?;
    Some(TypedCommand::Plan { level, id })
}

#[cfg(test)]
mod tests {
    use super::{TypedCommand, parse_typed_command};

    #[test]
    fn only_what_stands_at_the_start_is_a_command() {
        let plan = |level: &str, id: &str| {
            Some(TypedCommand::Plan {
                level: level.to_owned(),
                id: id.to_owned(),
            })
        };
        let approve = |node: &[&str]| {
            Some(TypedCommand::Approve {
                node: node.iter().map(|word| (*word).to_owned()).collect(),
            })
        };
        let cases = [
            ("/plan-chapter 2", plan("chapter", "2")),
            ("  /plan-scene 0204 please\nand more", plan("scene", "0204")),
            ("/throughline:plan-act act-1", plan("act", "act-1")),
            ("/approve-plan act 1", approve(&["act", "1"])),
            ("/approve-plan акт-1/глава-02", approve(&["акт-1/глава-02"])),
            ("/approve-plan", None),
            ("/plan-story", None),
            ("/plan-chapter", None),
            ("please run /approve-plan act 1", None),
            ("/revalidate-all", None),
            ("approve-plan act 1", None),
            ("", None),
            ("/", None),
        ];
        for (prompt, expected) in cases {
            assert_eq!(parse_typed_command(prompt), expected, "{prompt}");
        }
    }
}
