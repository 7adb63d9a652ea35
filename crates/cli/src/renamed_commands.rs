//! Former command names: rewritten to the present ones before parsing.
//!
//! The parser knows only the present names, so former ones cost nothing in help, completion and
//! the start of other commands. Scripts and agents that use them keep working and are told the new
//! name once per call.

use std::ffi::OsString;

/// Former words, and what they are now. Longer entries come first: `mem save` before `mem`.
pub(crate) const RENAMED: &[(&[&str], &[&str])] = &[
    (&["anchor", "add"], &["note", "add", "--pin"]),
    (&["anchor", "list"], &["note", "list", "--pinned"]),
    (&["mem", "recall"], &["note", "find"]),
    (&["mem", "save"], &["note", "add"]),
    (&["mem", "shelves"], &["note", "shelves"]),
    (&["novel", "compile"], &["story", "compile"]),
    (&["novel", "new"], &["story", "new"]),
    (&["novel", "stats"], &["story", "stats"]),
    (&["adopt"], &["state", "adopt"]),
    (&["anchor"], &["note"]),
    (&["backup"], &["state", "backup"]),
    (&["compact"], &["trail", "compact"]),
    (&["doctor"], &["host", "doctor"]),
    (&["drift"], &["trail", "drift"]),
    (&["generation"], &["story", "generation"]),
    (&["intent"], &["trail", "intent"]),
    (&["join"], &["team", "join"]),
    (&["leave"], &["team", "leave"]),
    (&["llm"], &["story", "model"]),
    (&["map"], &["trail", "map"]),
    (&["mem"], &["note"]),
    (&["memory"], &["story", "memory"]),
    (&["migrate"], &["trail", "migrate"]),
    (&["novel"], &["story"]),
    (&["prune"], &["trail", "prune"]),
    (&["rate"], &["trail", "rate"]),
    (&["rebuild"], &["state", "rebuild"]),
    (&["reconcile"], &["doc", "reconcile"]),
    (&["repair"], &["state", "repair"]),
    (&["replay"], &["host", "replay"]),
    (&["restore-backup"], &["state", "restore"]),
    (&["scan"], &["trail", "scan"]),
    (&["scenario"], &["ticket", "scenario"]),
    (&["secret"], &["state", "secret"]),
    (&["session"], &["trail", "session"]),
    (&["sync-hashes"], &["state", "sync-hashes"]),
    (&["think-back"], &["trail", "back"]),
    (&["tick"], &["story", "tick"]),
    (&["token"], &["team", "token"]),
    (&["trace"], &["trail", "trace"]),
    (&["uninstall"], &["host", "uninstall"]),
    (&["write"], &["story", "write"]),
];

/// A command line with present names, and the former name it used.
#[derive(Debug)]
pub(crate) struct RenamedLine {
    pub(crate) arguments: Vec<OsString>,
    /// One line about the new name; `None` if the names were the present ones.
    pub(crate) notice: Option<String>,
}

/// Replaces a former command name by the present one.
pub(crate) fn rename_former_command(mut arguments: Vec<OsString>) -> RenamedLine {
    let mut positions = word_positions(&arguments);
    // `tl help intent` is about `intent`.
    if positions
        .first()
        .is_some_and(|first| arguments.get(*first).is_some_and(|word| word == "help"))
    {
        positions.remove(0);
    }
    let is_former = |former: &&(&[&str], &[&str])| {
        former.0.len() <= positions.len()
            && former
                .0
                .iter()
                .zip(&positions)
                .all(|(name, at)| arguments.get(*at).is_some_and(|word| word == name))
    };
    // The first match wins, which is why longer entries come first in the table.
    let Some((former, present)) = RENAMED.iter().find(is_former) else {
        return RenamedLine {
            arguments,
            notice: None,
        };
    };
    // From behind, so that the positions before stay right.
    let replaced = positions.get(..former.len()).unwrap_or_default();
    for at in replaced.iter().rev() {
        arguments.remove(*at);
    }
    let first = replaced.first().copied().unwrap_or_default();
    arguments.splice(first..first, present.iter().map(OsString::from));
    RenamedLine {
        arguments,
        notice: Some(format!(
            "`tl {}` is now `tl {}`",
            former.join(" "),
            present.join(" ")
        )),
    }
}

/// Returns the positions of words that can be command names: global options and the value of
/// `--project` may come before and between them.
pub(crate) fn word_positions(arguments: &[OsString]) -> Vec<usize> {
    let mut positions = Vec::new();
    let mut is_value = false;
    for (at, argument) in arguments.iter().enumerate().skip(1) {
        // A name of a command is always UTF-8, so anything else is a value.
        let is_option = argument.to_str().is_none_or(|word| word.starts_with('-'));
        if !is_option && !is_value {
            positions.push(at);
        }
        is_value = argument == "--project";
    }
    positions
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renamed(line: &str) -> String {
        let arguments = line.split(' ').map(OsString::from).collect();
        let words = rename_former_command(arguments).arguments;
        words
            .iter()
            .map(|word| word.to_str().unwrap_or_default())
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn former_names_are_replaced_wherever_options_stand() {
        for (line, expected) in [
            ("tl mem save x", "tl note add x"),
            (
                "tl --json mem --project p save x",
                "tl --json note add --project p x",
            ),
            (
                "tl --project mem intent x",
                "tl --project mem trail intent x",
            ),
            ("tl help scan", "tl help trail scan"),
            ("tl anchor --help", "tl note --help"),
            ("tl move --was 001 002", "tl move --was 001 002"),
            ("tl show mem", "tl show mem"),
            ("tl", "tl"),
        ] {
            assert_eq!(renamed(line), expected, "{line}");
        }
    }
}
