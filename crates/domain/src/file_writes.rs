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

/// Number of files up to which they are in the record itself, and number of files in a list.
///
/// Every hook reads the record to see whether the last operation was completed. After an approval of a
/// thousand plans a list within it made every later hook parse and hash two hundred kilobytes. The
/// lists are short too: SQLite reads a long row as a whole only to pass it on the way to another.
const MAX_FILES_IN_RECORD: usize = 8;

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
    /// The files; none are here while [`Self::listed`] stands for them.
    pub files: Vec<FileWrite>,
    /// Digest of the files, where they are many and in records of their own ([`FileList`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listed: Option<Digest32>,
    /// Sessions whose files are updated. They are rendered from the state, so no text is recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<Stamp>,
    /// Proves that this working copy made the record, if the store is shared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seal: Option<Digest32>,
}

/// A part of the files of a redo record that has too many for itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FileList(pub Vec<FileWrite>);

impl Recorded for FileList {
    const KIND: &'static str = "file-list";
}

impl FileList {
    /// Returns what the keys of all lists of a redo record begin with.
    #[must_use]
    pub fn key_prefix(record_key: &str) -> String {
        format!("{record_key}#")
    }

    /// Returns the key of a list of a redo record.
    #[must_use]
    pub fn record_key(record_key: &str, index: usize) -> String {
        format!("{}{index:06}", Self::key_prefix(record_key))
    }

    fn digest_all(lists: &[Self]) -> Digest32 {
        let files = lists.iter().flat_map(|list| &list.0);
        let lines: String = files.map(FileWrite::render_line).collect();
        Digest32::of_bytes(lines.as_bytes())
    }
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
    /// Whether a record of this kind is part of a redo entry: the record itself or its list of files.
    #[must_use]
    pub fn is_redo_record(kind: &str) -> bool {
        kind == Self::KIND || kind == FileList::KIND
    }

    /// Moves many files into lists of their own.
    #[must_use]
    pub fn split_off_lists(mut self) -> (Self, Vec<FileList>) {
        if self.files.len() <= MAX_FILES_IN_RECORD {
            return (self, Vec::new());
        }
        let files = std::mem::take(&mut self.files);
        let lists = files.chunks(MAX_FILES_IN_RECORD);
        let lists: Vec<FileList> = lists.map(|files| FileList(files.to_vec())).collect();
        self.listed = Some(FileList::digest_all(&lists));
        (self, lists)
    }

    /// Puts the files back; `None` if these are not the lists that were split off.
    #[must_use]
    pub fn with_lists(mut self, lists: Vec<FileList>) -> Option<Self> {
        if self.listed.take() != Some(FileList::digest_all(&lists)) {
            return None;
        }
        self.files = lists.into_iter().flat_map(|list| list.0).collect();
        Some(self)
    }

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
        let files = || self.files.iter().map(FileWrite::render_line);
        let sessions = || {
            self.sessions
                .iter()
                .map(|stamp| format!("\nsession {stamp}"))
        };
        // Covers every field that decides what is written.
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
        let written = changed_records::<Self>(operation).next();
        let written = written.and_then(|written| match written.listed {
            None => Some(written),
            Some(_) => written.with_lists(changed_records(operation).collect()),
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

/// Returns the records of a type that an operation set.
fn changed_records<T: Recorded>(operation: &Operation) -> impl Iterator<Item = T> {
    operation.facts.iter().filter_map(|fact| match fact {
        Fact::RecordChanged {
            record,
            after: Some(after),
            ..
        } if record.kind == T::KIND => serde_json::from_value(after.clone()).ok(),
        _ => None,
    })
}

impl FileWrite {
    /// Renders the file as a line of what seals and digests cover. The path is quoted, so that a line break
    /// in one cannot imitate another file.
    fn render_line(&self) -> String {
        format!("\n{:?} {:?} {:?}", self.path, self.before, self.after)
    }

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
            listed: None,
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
    fn many_files_have_lists_of_their_own_and_only_those_lists_fit() {
        let file = |number: usize| FileWrite {
            path: format!("acts/{number}.md"),
            ..write(None, Some("new"))
        };
        let of = |count: usize| FileWrites {
            operation: OperationId(7),
            request: None,
            files: (0..count).map(file).collect(),
            listed: None,
            sessions: Vec::new(),
            seal: None,
        };
        let few = of(MAX_FILES_IN_RECORD);
        assert_eq!(few.clone().split_off_lists(), (few, Vec::new()));
        let many = of(2 * MAX_FILES_IN_RECORD + 1).with_seal("copy");
        let (record, lists) = many.clone().split_off_lists();
        assert!(record.files.is_empty());
        assert_eq!(lists.len(), 3);
        assert!(!record.has_valid_seal("copy"), "the seal covers the files");
        let mut other = lists.clone();
        other[1].0[0].path = "acts/evil.md".to_owned();
        assert_eq!(record.clone().with_lists(other), None);
        assert_eq!(record.clone().with_lists(lists[..2].to_vec()), None);
        assert_eq!(record.with_lists(lists), Some(many));
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
