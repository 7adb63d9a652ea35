//! Recovers the command a person typed from the prompt the host expanded it to.
//!
//! Only the start of a prompt counts. Text further down may come from files or from the agent, and
//! must not be able to pass for a person's command.

use domain::host_event::Happening;

use super::fields::Fields;

/// Prefix of the first line in our command files.
const COMMAND_PREFIX: &str = "Throughline command: ";

/// Parses the prompt of a payload that has it at the top level.
pub(crate) fn read_submitted_prompt(fields: &Fields<'_>) -> Happening {
    let prompt = fields.first_text(&["prompt"]).unwrap_or_default();
    Happening::PromptSubmitted {
        prompt: restore_typed_prompt(prompt),
    }
}

/// Returns the prompt as it was typed.
pub(crate) fn restore_typed_prompt(prompt: String) -> String {
    match prompt.trim_start().strip_prefix(COMMAND_PREFIX) {
        Some(rest) => rest.lines().next().unwrap_or_default().trim().to_owned(),
        None => prompt,
    }
}

/// Returns the prompt as it was typed, for hosts where commands are mentions: `$approve-plan act
/// 1`.
pub(crate) fn restore_mentioned_prompt(prompt: String) -> String {
    let prompt = restore_typed_prompt(prompt);
    match prompt.trim_start().strip_prefix('$') {
        Some(mention) if is_command_mention(mention) => format!("/{}", mention.trim_end()),
        _ => prompt,
    }
}

/// Whether the first word can be a command's name, unlike `$5` and `$HOME`.
fn is_command_mention(mention: &str) -> bool {
    let name = mention.split_whitespace().next().unwrap_or_default();
    mention.starts_with(|first: char| first.is_ascii_lowercase())
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | ':'))
}
