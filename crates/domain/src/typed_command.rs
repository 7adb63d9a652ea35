//! Parser for slash commands typed into a host: `/plan-chapter 2`, `/approve-plan act 1`.
//!
//! Only the commands that hooks act on; the others just tell the agent which command to run. In a
//! text that an agent hands to a subagent, planning commands are found wherever they are; approvals
//! are not, because no agent's text is a person's decision.

use serde::{Deserialize, Serialize};

/// A parsed slash command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypedCommand {
    /// Plan a node of a level.
    Plan { level: String, id: String },
    /// A person approves.
    Approve { node: Vec<String> },
    /// A person takes the ticket that was offered for the first prompt.
    AcceptTicket,
}

/// A command to plan a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanCommand {
    pub level: String,
    pub id: String,
    /// The parent, if the command names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under: Option<String>,
}

/// Returns the planning commands in a text: `/plan-chapter 2`, `$plan-chapter 2`, `tl plan chapter 2
/// --under act-1`. Whether a level and an id exist is for the caller to judge.
#[must_use]
pub fn find_plan_commands(text: &str) -> Vec<PlanCommand> {
    const QUOTES: &[char] = &['`', '"', '\'', '(', ')', '[', ']', '*', '<', '>'];
    const STOPS: &[char] = &['.', ',', ';', ':', '!', '?'];
    let words: Vec<&str> = text
        .split_whitespace()
        .map(|word| word.trim_matches(QUOTES).trim_end_matches(STOPS))
        .map(|word| word.trim_matches(QUOTES))
        .collect();
    let parse_at = |at: usize| {
        let word_after = |distance: usize| words.get(at + distance).copied();
        let named = words[at].strip_prefix(['/', '$']).and_then(|name| {
            let level = name.rsplit(':').next()?.strip_prefix("plan-")?;
            Some((level, word_after(1)?, 2))
        });
        let is_own = || words[at] == "tl" || words[at].ends_with("/tl");
        let own = || {
            (is_own() && word_after(1) == Some("plan"))
                .then(|| Some((word_after(2)?, word_after(3)?, 4)))
                .flatten()
        };
        let (level, id, length) = named.or_else(own)?;
        let under = (word_after(length) == Some("--under")).then(|| word_after(length + 1));
        Some(PlanCommand {
            level: level.to_owned(),
            id: id.to_owned(),
            under: under.flatten().map(str::to_owned),
        })
    };
    (0..words.len()).filter_map(parse_at).collect()
}

/// Parses a prompt; `None` if it is not a command that hooks act on.
#[must_use]
pub fn parse_typed_command(prompt: &str) -> Option<TypedCommand> {
    // The one word that accepts an offer, with or without the slash.
    let word = prompt.trim().trim_end_matches(['.', '!']).to_lowercase();
    if matches!(word.as_str(), "ticket" | "/ticket" | "/throughline:ticket") {
        return Some(TypedCommand::AcceptTicket);
    }
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
    use super::{TypedCommand, find_plan_commands, parse_typed_command};

    #[test]
    fn planning_commands_are_found_anywhere_in_a_text() {
        let found = |text: &str| -> Vec<String> {
            find_plan_commands(text)
                .into_iter()
                .map(|one| format!("{} {} {:?}", one.level, one.id, one.under))
                .collect()
        };
        let cases: [(&str, &[&str]); 8] = [
            ("/plan-chapter 2", &["chapter 2 None"]),
            ("$plan-chapter 2", &["chapter 2 None"]),
            (
                "First `/throughline:plan-scene 0204`, then stop.",
                &["scene 0204 None"],
            ),
            (
                "Run `tl plan chapter 2 --under act-1`.",
                &["chapter 2 Some(\"act-1\")"],
            ),
            ("/plan-act 1\n/plan-act 2.", &["act 1 None", "act 2 None"]),
            ("/plan-chapter", &[]),
            ("plan chapter 2 with tl", &[]),
            ("", &[]),
        ];
        for (text, expected) in cases {
            assert_eq!(found(text), expected, "{text}");
        }
    }

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
            ("ticket", Some(TypedCommand::AcceptTicket)),
            (" Ticket.\n", Some(TypedCommand::AcceptTicket)),
            ("/ticket", Some(TypedCommand::AcceptTicket)),
            ("/ticket 017", None),
            ("ticket please", None),
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
