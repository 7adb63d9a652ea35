//! Redo record of an operation that writes project files (write-ahead logging for plan files).
//!
//! An operation is committed with the texts of its files and this record. The files are written
//! afterwards, and if the process dies in between, the next command writes the rest. It is a record
//! and not a note of the store, because only the journal survives a kill between the journal's sync
//! and the database's commit. Each working copy has one: that of its last operation with files.

use serde::{Deserialize, Serialize};

use crate::decision;
use crate::fact::Fact;
use crate::ids::{Digest32, OperationId, VersionHash};
use crate::operation::Operation;
use crate::plan_document;
use crate::record::Recorded;
use crate::stamp::Stamp;

/// Note of a state that was built from operations, by a recovery, a restore or a move: the last of
/// them.
///
/// Their files were written by the state before, or belong to another working copy. The notes of
/// that state are gone, and a file that has its former content again was changed back by a user.
pub const BUILT_NOTE: &str = "built-through";

/// The files an operation writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileWrites {
    pub operation: OperationId,
    /// Digest of the request, by which a repeated request is recognised (idempotency).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<VersionHash>,
    pub files: Vec<FileWrite>,
    /// Sessions whose files are updated. They are rendered from the state, so no text is recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<Stamp>,
    /// Proves that this working copy made the record, if the store is shared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seal: Option<Digest32>,
}

/// One file with its content hashes before and after; `None` if it does not exist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileWrite {
    pub path: String,
    pub before: Option<VersionHash>,
    pub after: Option<VersionHash>,
}

/// What a redo has to do about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedoAction {
    Nothing,
    Write,
    /// The file was changed since; it must not be overwritten.
    LeaveAlone,
}

impl Recorded for FileWrites {
    const KIND: &'static str = "file-writes";
}

impl FileWrites {
    /// Returns the record key of a working copy.
    #[must_use]
    pub fn record_key(working_copy: &str) -> String {
        // A digest, because keys are visible to every client of the store, and the id is
        // the secret the seal is made with.
        match working_copy {
            "" => String::new(),
            name => Digest32::of_bytes(format!("file-writes of {name}").as_bytes()).to_string(),
        }
    }

    /// Returns the record with the seal of a working copy.
    #[must_use]
    pub fn with_seal(mut self, working_copy: &str) -> Self {
        self.seal = self.expected_seal(working_copy);
        self
    }

    /// Whether this working copy made the record.
    ///
    /// Every writer of a shared store could forge a record, and have files written on this machine.
    #[must_use]
    pub fn has_valid_seal(&self, working_copy: &str) -> bool {
        self.seal == self.expected_seal(working_copy)
    }

    fn expected_seal(&self, working_copy: &str) -> Option<Digest32> {
        let files = || {
            self.files
                .iter()
                .map(|file| format!("\n{:?} {:?} {:?}", file.path, file.before, file.after))
        };
        let sessions = || {
            self.sessions
                .iter()
                .map(|stamp| format!("\nsession {stamp}"))
        };
        // Covers every field that decides what is written. Paths are quoted by `{:?}`, so that a
        // line break in one cannot imitate another entry.
        (!working_copy.is_empty()).then(|| {
            let lines: String = files().chain(sessions()).collect();
            let text = format!("{working_copy} {}{lines}", self.operation);
            Digest32::of_bytes(text.as_bytes())
        })
    }

    /// Returns the files an operation wrote, except readable backups and decisions, which an undo
    /// keeps.
    #[must_use]
    pub fn files_of_operation(operation: &Operation) -> Vec<FileWrite> {
        let written = operation.facts.iter().find_map(|fact| match fact {
            Fact::RecordChanged {
                record,
                after: Some(after),
                ..
            } if record.kind == Self::KIND => serde_json::from_value::<Self>(after.clone()).ok(),
            _ => None,
        });
        let is_backup = |path: &str| {
            operation.facts.iter().any(
                |fact| matches!(fact, Fact::BackupWritten { path: backup, .. } if backup == path),
            )
        };
        // The id inside has to match: an operation that restores an older record wrote no files by
        // it.
        let files = written
            .filter(|written| written.operation == operation.id)
            .map(|written| written.files);
        files
            .unwrap_or_default()
            .into_iter()
            .filter(|file| !is_backup(&file.path) && !decision::is_decision_file(&file.path))
            .collect()
    }
}

impl FileWrite {
    /// Returns what a redo has to do about a file whose current content is `found`.
    #[must_use]
    pub fn redo_action(&self, found: Option<VersionHash>) -> RedoAction {
        // Idempotent: a redo may itself be interrupted and repeated.
        if found == self.after {
            RedoAction::Nothing
        } else if found == self.before {
            RedoAction::Write
        } else {
            RedoAction::LeaveAlone
        }
    }

    /// Returns the inverse write.
    #[must_use]
    pub fn into_inverse(self) -> Self {
        Self {
            path: self.path,
            before: self.after,
            after: self.before,
        }
    }

    /// Whether the path is an ordinary project file, not settings, hooks or the git repository.
    #[must_use]
    pub fn is_project_file(&self) -> bool {
        is_project_path(&self.path)
    }
}

/// Whether a path is that of an ordinary project file, not of settings, hooks or the git repository.
#[must_use]
pub fn is_project_path(path: &str) -> bool {
    if decision::is_decision_file(path) {
        return true;
    }
    // Rejects hidden components and with them `..`. The only other hidden folder allowed is the one of
    // plan documents, and the only hidden file the one that keeps readable backups out of git.
    let documents = path
        .strip_prefix(plan_document::PLANS_FOLDER)
        .and_then(|rest| rest.strip_prefix('/'));
    let rest = documents.unwrap_or(path);
    let rest = match rest.strip_suffix("/.gitignore") {
        Some(folder) if folder == "backups" || folder.ends_with("/backups") => folder,
        _ => rest,
    };
    rest.split('/')
        .all(|part| !part.is_empty() && !part.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(before: Option<&str>, after: Option<&str>) -> FileWrite {
        let hash = |text: &str| VersionHash::of_bytes(text.as_bytes());
        FileWrite {
            path: "acts/plan.md".to_owned(),
            before: before.map(hash),
            after: after.map(hash),
        }
    }

    #[test]
    fn only_a_file_with_its_former_content_is_written() {
        let found = |text: &str| Some(VersionHash::of_bytes(text.as_bytes()));
        let replaced = write(Some("old"), Some("new"));
        assert_eq!(replaced.redo_action(found("old")), RedoAction::Write);
        assert_eq!(replaced.redo_action(found("new")), RedoAction::Nothing);
        assert_eq!(
            replaced.redo_action(found("edited")),
            RedoAction::LeaveAlone
        );
        assert_eq!(replaced.redo_action(None), RedoAction::LeaveAlone);
        assert_eq!(
            write(None, Some("new")).redo_action(None),
            RedoAction::Write
        );
        assert_eq!(
            write(Some("old"), None).redo_action(found("old")),
            RedoAction::Write
        );
        assert_eq!(
            write(Some("old"), None).redo_action(None),
            RedoAction::Nothing
        );
    }

    #[test]
    fn a_record_made_by_another_working_copy_has_no_valid_seal() {
        let files = vec![write(None, Some("new"))];
        let writes = FileWrites {
            operation: OperationId(7),
            request: None,
            files,
            sessions: Vec::new(),
            seal: None,
        };
        assert!(
            writes.clone().with_seal("").has_valid_seal(""),
            "where there is only one, nothing has to be proved"
        );
        let sealed = writes.clone().with_seal("copy-1");
        assert!(sealed.has_valid_seal("copy-1"));
        assert!(!sealed.has_valid_seal("copy-2"));
        assert!(!writes.has_valid_seal("copy-1"));
        let forged = FileWrites {
            files: vec![write(None, Some("evil"))],
            ..sealed.clone()
        };
        assert!(!forged.has_valid_seal("copy-1"));
        let forged = FileWrites {
            sessions: vec![Stamp::from_timestamp(crate::time::Timestamp::from_millis(
                0,
            ))],
            ..sealed
        };
        assert!(!forged.has_valid_seal("copy-1"));
        assert_ne!(
            FileWrites::record_key("copy-1"),
            "copy-1",
            "the name is not told to others"
        );
    }

    #[test]
    fn settings_and_the_repository_are_no_files_of_the_project() {
        for (path, is_ours) in [
            ("acts/a.md", true),
            ("acts/backups/.gitignore", true),
            ("backups/.gitignore", true),
            ("acts/.gitignore", false),
            (".backups/backups/.gitignore", false),
            (".claude/backups/.gitignore", false),
            ("../backups/.gitignore", false),
            (".throughline/plans/search/plan.json", true),
            (
                ".throughline/decisions/ab/ab00000000000000000000000000000000000000.json",
                true,
            ),
            (".throughline/decisions/ab/config.toml", false),
            (".throughline/decisions/../config.toml", false),
            (".throughline/plans/../config.toml", false),
            (".throughline/config.toml", false),
            ("a/.git/config", false),
            ("../x", false),
            ("", false),
        ] {
            let write = FileWrite {
                path: path.to_owned(),
                ..write(None, None)
            };
            assert_eq!(write.is_project_file(), is_ours, "{path}");
        }
    }
}
