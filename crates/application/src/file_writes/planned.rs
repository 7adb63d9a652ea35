//! Overlay over the project's files that shows planned writes as if they were carried out.
//!
//! Reads see the planned content; writes only add to the plan. Nothing reaches the disk here, so a
//! use case that fails halfway leaves no file behind.

use std::cell::{Cell, Ref, RefCell};

use domain::file_writes::FileWrite;
use domain::ids::{Digest32, OperationId, VersionHash};
use domain::ports::{
    Entry, EntryKind, FileFault, FileLook, FileStamp, LookedAgain, PlanFiles, Reading,
};
use domain::stamp::Stamp;

use super::MAX_FILE_BYTES;
use crate::context::Context;
use crate::failure::{Failure, FailureKind};

/// A file that is going to be written.
#[derive(Clone, Debug)]
pub(crate) struct PlannedWrite {
    pub(super) write: FileWrite,
    /// The text to write; `None` deletes the file.
    pub(super) text: Option<String>,
    /// The current text, where the store may not have it.
    pub(super) before: Option<String>,
    /// Detects a change of the file without reading it.
    pub(super) stamp: Option<FileStamp>,
}

impl PlannedWrite {
    /// Returns whether the file is still the one that was read.
    pub(super) fn is_untouched(&self, files: &dyn PlanFiles) -> bool {
        self.stamp
            .is_some_and(|stamp| files.look(&self.write.path) == FileLook::Present(stamp))
    }
}

/// The project's files, overlaid with planned writes.
pub(crate) struct PlannedFiles<'f> {
    files: &'f dyn PlanFiles,
    max_bytes: u64,
    writes: RefCell<Vec<PlannedWrite>>,
    /// Sessions whose files follow the state once it is committed.
    sessions: RefCell<Vec<Stamp>>,
    /// The request the writes follow from.
    pub(super) request: Option<VersionHash>,
    /// The operation they were recorded with, and the digest of its redo note.
    pub(super) recorded: Cell<Option<(OperationId, Digest32)>>,
}

impl<'f> PlannedFiles<'f> {
    /// Returns the files of a context, with nothing planned yet.
    pub(crate) fn of(ctx: &Context<'f>, request: Option<VersionHash>) -> Self {
        let (files, max_bytes) = (ctx.files, ctx.policy.max_plan_bytes);
        let (writes, sessions) = (RefCell::default(), RefCell::default());
        Self {
            files,
            max_bytes,
            writes,
            sessions,
            request,
            recorded: Cell::default(),
        }
    }

    pub(super) fn writes(&self) -> Ref<'_, Vec<PlannedWrite>> {
        self.writes.borrow()
    }

    pub(super) fn sessions(&self) -> Vec<Stamp> {
        self.sessions.borrow().clone()
    }

    /// Plans to render the files of a session from the state as it will be committed.
    pub(crate) fn put_session(&self, stamp: Stamp) {
        let mut sessions = self.sessions.borrow_mut();
        if !sessions.contains(&stamp) {
            sessions.push(stamp);
        }
    }

    /// Plans to replace a file, or to delete it when `text` is `None`.
    pub(crate) fn put(&self, path: &str, text: Option<&str>) -> Result<(), Failure> {
        let most = self.max_bytes;
        // A larger file would be written, then count as unreadable in the next scan.
        if text.is_some_and(|text| text.len() as u64 > most) {
            let what = format!(
                "{path} would have more than policy.max_plan_bytes ({most}) and could not be read again"
            );
            return Err(Failure::new(FailureKind::Refused, what)
                .step("raise it in .throughline/config.toml"));
        }
        self.plan(path, text).map_err(|why| {
            Failure::new(
                FailureKind::Refused,
                format!("{path} cannot be replaced: {why}"),
            )
        })
    }

    /// Plans to replace a file that was read as `before` and whose text the store has.
    ///
    /// Saves the second read that [`Self::put`] needs.
    pub(crate) fn put_over(
        &self,
        path: &str,
        before: VersionHash,
        stamp: Option<FileStamp>,
        text: &str,
    ) -> Result<(), Failure> {
        // Without a stamp a later change of the file could not be detected; a path that is planned
        // already no longer shows what is on disk.
        if stamp.is_none() || text.len() as u64 > self.max_bytes || self.is_planned(path) {
            return self.put(path, Some(text));
        }
        let after = Some(VersionHash::of(text.as_bytes()));
        let write = FileWrite {
            path: path.to_owned(),
            before: Some(before),
            after,
        };
        self.writes.borrow_mut().push(PlannedWrite {
            write,
            text: Some(text.to_owned()),
            before: None,
            stamp,
        });
        Ok(())
    }

    /// Returns whether nothing is to be written.
    pub(crate) fn is_empty(&self) -> bool {
        self.writes.borrow().is_empty() && self.sessions.borrow().is_empty()
    }

    fn is_planned(&self, path: &str) -> bool {
        self.writes
            .borrow()
            .iter()
            .any(|planned| planned.write.path == path)
    }

    fn plan(&self, path: &str, text: Option<&str>) -> Result<(), String> {
        let after = text.map(|text| VersionHash::of(text.as_bytes()));
        let text = text.map(str::to_owned);
        let mut writes = self.writes.borrow_mut();
        if let Some(planned) = writes.iter_mut().find(|planned| planned.write.path == path) {
            // `before` stays that of the disk: intermediate texts of one transaction never existed
            // there.
            planned.write.after = after;
            planned.text = text;
            return Ok(());
        }
        // Not `max_plan_bytes`: a file that has grown beyond the policy can still be replaced by a
        // restore.
        let reading = self.files.read(path, MAX_FILE_BYTES);
        let was = content_of(self.files, path, &reading)?;
        let (before, stamp) = match reading {
            Reading::Text { text, stamp, .. } => (Some(text), stamp),
            Reading::Missing | Reading::Unreadable { .. } => (None, None),
        };
        // Writing the same bytes would change the stamp and make every scan read the file again.
        if was != after {
            let write = FileWrite {
                path: path.to_owned(),
                before: was,
                after,
            };
            writes.push(PlannedWrite {
                write,
                text,
                before,
                stamp,
            });
        }
        Ok(())
    }

    /// Returns the planned text of a path; `Some(None)` if it is planned to be deleted.
    fn planned(&self, path: &str) -> Option<Option<String>> {
        self.writes
            .borrow()
            .iter()
            .find(|planned| planned.write.path == path)
            .map(|planned| planned.text.clone())
    }
}

/// Returns a hash of the content a reading showed, for a later comparison; `None` if there is no
/// file.
///
/// A file that can be replaced but not read (binary, or too large) is identified by the reason
/// alone.
pub(super) fn content_of(
    files: &dyn PlanFiles,
    path: &str,
    reading: &Reading,
) -> Result<Option<VersionHash>, String> {
    match reading {
        Reading::Text { text, .. } => Ok(Some(VersionHash::of(text.as_bytes()))),
        Reading::Missing => Ok(None),
        // A link, a folder or a device is refused before anything is recorded; so is a transient
        // error, which says nothing about the content.
        Reading::Unreadable { why, transient }
            if *transient || !matches!(files.look(path), FileLook::Present(_)) =>
        {
            Err(why.clone())
        }
        Reading::Unreadable { why, .. } => Ok(Some(VersionHash::of(
            format!("unreadable: {why}").as_bytes(),
        ))),
    }
}

/// Returns a stamp for a file that is not written yet; no file on disk has it.
fn stamp_of(text: &str) -> FileStamp {
    FileStamp {
        // A stamp that a disk could return would be kept, and the real file never read.
        size: text.len() as u64,
        modified_ns: i64::MIN,
        changed_ns: i64::MIN,
        inode: 0,
    }
}

fn unreadable(path: &str) -> impl FnOnce(String) -> FileFault {
    let path = path.to_owned();
    move |why| FileFault::Io {
        path,
        source: std::io::Error::other(why),
    }
}

impl PlanFiles for PlannedFiles<'_> {
    fn look(&self, path: &str) -> FileLook {
        match self.planned(path) {
            Some(Some(text)) => FileLook::Present(stamp_of(&text)),
            Some(None) => FileLook::Missing,
            None => self.files.look(path),
        }
    }

    fn lead(&self, directory: Option<&str>, path: &str) -> Option<String> {
        self.files.lead(directory, path)
    }

    fn read(&self, path: &str, max_bytes: u64) -> Reading {
        match self.planned(path) {
            Some(Some(text)) => Reading::Text {
                text,
                stamp: None,
                modified_ns: 0,
            },
            Some(None) => Reading::Missing,
            None => self.files.read(path, max_bytes),
        }
    }

    fn list(&self, folder: &str) -> Vec<Entry> {
        let mut found = self.files.list(folder);
        let prefix = if folder.is_empty() {
            String::new()
        } else {
            format!("{folder}/")
        };
        for planned in self.writes.borrow().iter() {
            let Some(rest) = planned.write.path.strip_prefix(&prefix) else {
                continue;
            };
            let (name, kind) = match rest.split_once('/') {
                Some((name, _)) => (name, EntryKind::Folder),
                None => (rest, EntryKind::File),
            };
            let known = found.iter().position(|entry| entry.name == name);
            match (known, &planned.text) {
                (None, Some(_)) => found.push(Entry {
                    name: name.to_owned(),
                    kind,
                }),
                // A folder stays listed: other files in it may not be planned for deletion.
                (Some(at), None) if kind == EntryKind::File => drop(found.remove(at)),
                _ => {}
            }
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        found
    }

    // The scan cache is bypassed: it would hold stamps of files that are not on disk yet.
    fn note_looks(&self) {}

    fn keep_looks(&self, _mark: &str) {}

    fn look_again(&self, _most: usize) -> Option<LookedAgain> {
        None
    }

    fn replace(&self, path: &str, text: &str) -> Result<(), FileFault> {
        self.plan(path, Some(text)).map_err(unreadable(path))
    }

    fn create(&self, path: &str, text: &str) -> Result<(), FileFault> {
        match self.look(path) {
            FileLook::Missing => self.plan(path, Some(text)).map_err(unreadable(path)),
            FileLook::Unavailable(why) => Err(unreadable(path)(why)),
            FileLook::Present(_) | FileLook::Refused(_) => Err(FileFault::Exists {
                path: path.to_owned(),
            }),
        }
    }

    fn remove(&self, path: &str) -> Result<(), FileFault> {
        self.plan(path, None).map_err(unreadable(path))
    }
}
