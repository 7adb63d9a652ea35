//! `.throughline/.gitignore`: everything is ignored except the user's own files.
//!
//! An allowlist, so that a file of ours that a later version adds never shows up in `git status`.

use std::path::Path;

use application::Failure;
use store::DiskGit;

/// The file, relative to the project.
pub(crate) const GITIGNORE_PATH: &str = ".throughline/.gitignore";

/// Text of a new project's file. The session folder has a `.gitignore` of its own unless sessions
/// are shared (`git.share_sessions`).
pub(crate) const GITIGNORE_TEXT: &str = "\
# Throughline: your own files are in git, everything else is kept for this machine only.
/*
!/.gitignore
!/config.toml
!/config.schema.json
!/allowed_signers
!/decisions/
!/phases/
!/plans/
!/profiles/
!/sessions/
!/templates/
!/workflows/
.tl-*
";

/// Ignores the folder also on branches that do not have the project: the tracked file is not there, and git would
/// stash and commit the state.
pub(crate) fn ignore_on_all_branches(root: &Path) {
    // Where it cannot be written, the tracked file still ignores on the branches that have it.
    let _ = DiskGit::open(root).exclude_on_all_branches(".throughline", GITIGNORE_TEXT);
}

/// The lines that earlier versions wrote. Others in a file are the user's.
const FORMER_LINES: &[&str] = &[
    "# Kept by Throughline for this machine; the mirror in state/ and config.toml belong into git.",
    "/state.db",
    "/state.db-*",
    "/state-before-format-*.db",
    "/journal.jsonl",
    "/lock",
    "/place",
    "/acknowledged",
    "/notes.json",
    "/vectors.bin",
    "/looks.bin",
    "/counted.bin",
    "/rebuild.lock",
    "/replacing.json",
    "/replacing/",
    "/logs/",
    "/hooks.jsonl",
    "/hooks.1.jsonl",
    "/hook-faults",
    "/host-backups/",
    "/damaged/",
    ".tl-*",
];

/// Replaces the file of an earlier version and keeps the user's lines. Returns whether it changed.
pub(crate) fn rewrite_former_gitignore(root: &Path) -> Result<bool, Failure> {
    let path = root.join(GITIGNORE_PATH);
    let former = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(cannot_write(&error)),
    };
    let Some(text) = upgrade_gitignore(&former) else {
        return Ok(false);
    };
    // In one step: while the file is empty, git would offer the whole state for a commit.
    store::write_atomically(&path, text.as_bytes()).map_err(|error| cannot_write(&error))?;
    Ok(true)
}

fn cannot_write(error: &std::io::Error) -> Failure {
    Failure::unavailable(format!("cannot rewrite `{GITIGNORE_PATH}`: {error}"))
}

/// Returns the present text with the user's lines at the end; `None` if it is the present one.
fn upgrade_gitignore(former: &str) -> Option<String> {
    // The line that makes it an allowlist. A file that has it is the present one or the user's own
    // version of it, and is left alone.
    if former.lines().any(|line| line == "/*") {
        return None;
    }
    let mut text = GITIGNORE_TEXT.to_owned();
    let own = former
        .lines()
        .filter(|line| !line.trim().is_empty() && !FORMER_LINES.contains(line));
    for line in own {
        text.push_str(line);
        text.push('\n');
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::{FORMER_LINES, GITIGNORE_TEXT, upgrade_gitignore};

    #[test]
    fn an_upgrade_keeps_the_lines_of_the_user_and_is_done_once() {
        let former = FORMER_LINES.join("\n") + "\n";
        assert_eq!(upgrade_gitignore(&former).as_deref(), Some(GITIGNORE_TEXT));
        assert_eq!(upgrade_gitignore("").as_deref(), Some(GITIGNORE_TEXT));
        let with_own = format!("# mine\n{former}/scratch/\n");
        let upgraded = upgrade_gitignore(&with_own).unwrap();
        assert_eq!(upgraded, format!("{GITIGNORE_TEXT}# mine\n/scratch/\n"));
        assert_eq!(upgrade_gitignore(&upgraded), None);
    }
}
