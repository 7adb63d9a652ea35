//! The command a person typed, found again in what the host made of it.
//!
//! Only the very start of a prompt counts: text further down may come from files or from the agent.

/// The line our command files begin with.
const EXPANDED: &str = "Throughline command: ";

/// Returns the prompt as it was typed.
pub(super) fn typed(prompt: String) -> String {
    match prompt.trim_start().strip_prefix(EXPANDED) {
        Some(rest) => rest.lines().next().unwrap_or_default().trim().to_owned(),
        None => prompt,
    }
}

/// Returns the prompt as it was typed where commands are mentioned: `$approve-plan act 1`.
pub(super) fn typed_or_mentioned(prompt: String) -> String {
    let prompt = typed(prompt);
    match prompt.trim_start().strip_prefix('$') {
        Some(mention) if is_command(mention) => format!("/{}", mention.trim_end()),
        _ => prompt,
    }
}

/// Says whether the first word could be a command's name: neither `$5` nor `$HOME` is.
fn is_command(mention: &str) -> bool {
    let name = mention.split_whitespace().next().unwrap_or_default();
    mention.starts_with(|first: char| first.is_ascii_lowercase())
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | ':'))
}
