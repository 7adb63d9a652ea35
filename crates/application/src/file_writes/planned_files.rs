//! Overlay over the project's files that shows planned writes as if they were carried out.
//!
//! Reads see the planned content; writes only add to the plan. Nothing reaches the disk here, so a
//! use case that fails halfway leaves no file behind.

use std::cell::{Cell, Ref, RefCell};
use std::collections::HashMap;

use domain::file_writes::FileWrite;
use domain::ids::{Digest32, OperationId, VersionHash};
use domain::ports::{
    CheckedPaths, FileFault, FileReadResult, FileStamp, FileStatResult, FolderEntry,
    FolderEntryKind, PlanFiles, ProcessTable, ScanCacheCheck,
};
use domain::stamp::Stamp;

use super::MAX_FILE_BYTES;
use crate::context::Context;
use crate::failure::Failure;

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
        self.stamp.is_some_and(|stamp| {
            files.stat_file(&self.write.path) == FileStatResult::Present(stamp)
        })
    }
}

/// The project's files, overlaid with planned writes.
pub(crate) struct PlannedFiles<'f> {
    files: &'f dyn PlanFiles,
    max_bytes: u64,
    writes: RefCell<Vec<PlannedWrite>>,
    /// Indexes in `writes`, by path.
    places: RefCell<HashMap<String, usize>>,
    /// Sessions whose files follow the state once it is committed.
    sessions: RefCell<Vec<Stamp>>,
    /// The request the writes follow from.
    pub(super) request: Option<VersionHash>,
    pub(super) processes: &'f dyn ProcessTable,
    /// The operation they were recorded with, and the digest of its redo note.
    pub(super) recorded: Cell<Option<(OperationId, Digest32)>>,
}

impl<'f> PlannedFiles<'f> {
    /// Returns the files of a context, with nothing planned yet.
    pub(crate) fn new(ctx: &Context<'f>, request: Option<VersionHash>) -> Self {
        let (files, max_bytes) = (ctx.files, ctx.policy.max_plan_bytes);
        Self {
            files,
            max_bytes,
            writes: RefCell::default(),
            places: RefCell::default(),
            sessions: RefCell::default(),
            request,
            processes: ctx.processes,
            recorded: Cell::default(),
        }
    }

    pub(super) fn planned_writes(&self) -> Ref<'_, Vec<PlannedWrite>> {
        self.writes.borrow()
    }

    pub(super) fn planned_sessions(&self) -> Vec<Stamp> {
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
    pub(crate) fn put_file(&self, path: &str, text: Option<&str>) -> Result<(), Failure> {
        let most = self.max_bytes;
        // A larger file would be written, then count as unreadable in the next scan.
        if text.is_some_and(|text| text.len() as u64 > most) {
            let what = format!(
                "{path} would have more than policy.max_plan_bytes ({most}) and could not be read again"
            );
            return Err(Failure::refused(what).with_step("raise it in .throughline/config.toml"));
        }
        self.plan_write(path, text)
            .map_err(|why| Failure::refused(format!("{path} cannot be replaced: {why}")))
    }

    /// Plans to replace a file that was read as `before` and whose text the store has.
    ///
    /// Saves the second read that [`Self::put`] needs.
    pub(crate) fn put_over_known(
        &self,
        path: &str,
        before: VersionHash,
        stamp: Option<FileStamp>,
        text: &str,
    ) -> Result<(), Failure> {
        // Without a stamp a later change of the file could not be detected; a path that is planned
        // already no longer shows what is on disk.
        if stamp.is_none() || text.len() as u64 > self.max_bytes || self.is_planned(path) {
            return self.put_file(path, Some(text));
        }
        let after = Some(VersionHash::of_bytes(text.as_bytes()));
        let write = FileWrite {
            path: path.to_owned(),
            before: Some(before),
            after,
        };
        self.push_write(PlannedWrite {
            write,
            text: Some(text.to_owned()),
            before: None,
            stamp,
        });
        Ok(())
    }

    fn push_write(&self, planned: PlannedWrite) {
        let mut writes = self.writes.borrow_mut();
        let mut places = self.places.borrow_mut();
        places.insert(planned.write.path.clone(), writes.len());
        writes.push(planned);
    }

    fn place_of(&self, path: &str) -> Option<usize> {
        self.places.borrow().get(path).copied()
    }

    /// Drops the plan: nothing is written.
    pub(crate) fn discard(&self) {
        self.writes.borrow_mut().clear();
        self.places.borrow_mut().clear();
        self.sessions.borrow_mut().clear();
    }

    /// Returns whether nothing is to be written.
    pub(crate) fn is_empty(&self) -> bool {
        self.writes.borrow().is_empty() && self.sessions.borrow().is_empty()
    }

    /// Returns whether this file is to be written or deleted.
    pub(crate) fn is_planned(&self, path: &str) -> bool {
        self.place_of(path).is_some()
    }

    fn plan_write(&self, path: &str, text: Option<&str>) -> Result<(), String> {
        let after = text.map(|text| VersionHash::of_bytes(text.as_bytes()));
        let text = text.map(str::to_owned);
        if let Some(place) = self.place_of(path) {
            let planned = &mut self.writes.borrow_mut()[place];
            // `before` stays that of the disk: intermediate texts of one transaction never existed
            // there.
            planned.write.after = after;
            planned.text = text;
            return Ok(());
        }
        // Not `max_plan_bytes`: a file that has grown beyond the policy can still be replaced by a
        // restore.
        let reading = self.files.read_file(path, MAX_FILE_BYTES);
        let was = content_hash_of(self.files, path, &reading)?;
        let (before, stamp) = match reading {
            FileReadResult::Text { text, stamp, .. } => (Some(text), stamp),
            FileReadResult::Missing | FileReadResult::Unreadable { .. } => (None, None),
        };
        // Writing the same bytes would change the stamp and make every scan read the file again.
        if was != after {
            let write = FileWrite {
                path: path.to_owned(),
                before: was,
                after,
            };
            self.push_write(PlannedWrite {
                write,
                text,
                before,
                stamp,
            });
        }
        Ok(())
    }

    /// Returns the planned text of a path; `Some(None)` if it is planned to be deleted.
    fn planned_text(&self, path: &str) -> Option<Option<String>> {
        let place = self.place_of(path)?;
        Some(self.writes.borrow()[place].text.clone())
    }
}

/// Returns a hash of the content a reading showed, for a later comparison; `None` if there is no
/// file.
///
/// A file that can be replaced but not read (binary, or too large) is identified by the reason
/// alone.
pub(super) fn content_hash_of(
    files: &dyn PlanFiles,
    path: &str,
    reading: &FileReadResult,
) -> Result<Option<VersionHash>, String> {
    match reading {
        FileReadResult::Text { text, .. } => Ok(Some(VersionHash::of_bytes(text.as_bytes()))),
        FileReadResult::Missing => Ok(None),
        // A link, a folder or a device is refused before anything is recorded; so is a transient
        // error, which says nothing about the content.
        FileReadResult::Unreadable { why, transient }
            if *transient || !matches!(files.stat_file(path), FileStatResult::Present(_)) =>
        {
            Err(why.clone())
        }
        FileReadResult::Unreadable { why, .. } => Ok(Some(VersionHash::of_bytes(
            format!("unreadable: {why}").as_bytes(),
        ))),
    }
}

/// Returns a stamp for a file that is not written yet; no file on disk has it.
fn placeholder_stamp(text: &str) -> FileStamp {
    FileStamp {
        // A stamp that a disk could return would be kept, and the real file never read.
        size: text.len() as u64,
        modified_ns: i64::MIN,
        changed_ns: i64::MIN,
        inode: 0,
    }
}

fn to_io_fault(path: &str) -> impl FnOnce(String) -> FileFault {
    let path = path.to_owned();
    move |why| FileFault::Io {
        path,
        source: std::io::Error::other(why),
    }
}

impl PlanFiles for PlannedFiles<'_> {
    fn stat_file(&self, path: &str) -> FileStatResult {
        match self.planned_text(path) {
            Some(Some(text)) => FileStatResult::Present(placeholder_stamp(&text)),
            Some(None) => FileStatResult::Missing,
            None => self.files.stat_file(path),
        }
    }

    fn resolve_path(&self, directory: Option<&str>, path: &str) -> Option<String> {
        self.files.resolve_path(directory, path)
    }

    fn read_file(&self, path: &str, max_bytes: u64) -> FileReadResult {
        match self.planned_text(path) {
            Some(Some(text)) => FileReadResult::Text { text, stamp: None },
            Some(None) => FileReadResult::Missing,
            None => self.files.read_file(path, max_bytes),
        }
    }

    fn list_folder(&self, folder: &str) -> Vec<FolderEntry> {
        let mut found = self.files.list_folder(folder);
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
                Some((name, _)) => (name, FolderEntryKind::Folder),
                None => (rest, FolderEntryKind::File),
            };
            let known = found.iter().position(|entry| entry.name == name);
            match (known, &planned.text) {
                (None, Some(_)) => found.push(FolderEntry {
                    name: name.to_owned(),
                    kind,
                }),
                // A folder stays listed: other files in it may not be planned for deletion.
                (Some(at), None) if kind == FolderEntryKind::File => drop(found.remove(at)),
                _ => {}
            }
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        found
    }

    // The scan cache is bypassed: it would hold stamps of files that are not on disk yet.
    fn start_scan_recording(&self) {}

    fn save_scan_cache(&self, _mark: &str) {}

    fn check_scan_cache(
        &self,
        _extent: CheckedPaths,
        _most: fn(usize) -> usize,
    ) -> Option<ScanCacheCheck> {
        None
    }

    fn replace_file(&self, path: &str, text: &str) -> Result<(), FileFault> {
        self.plan_write(path, Some(text)).map_err(to_io_fault(path))
    }

    fn create_file(&self, path: &str, text: &str) -> Result<(), FileFault> {
        match self.stat_file(path) {
            FileStatResult::Missing => self.plan_write(path, Some(text)).map_err(to_io_fault(path)),
            FileStatResult::Unavailable(why) => Err(to_io_fault(path)(why)),
            FileStatResult::Present(_) | FileStatResult::Refused(_) => Err(FileFault::Exists {
                path: path.to_owned(),
            }),
        }
    }

    fn remove_file(&self, path: &str) -> Result<(), FileFault> {
        self.plan_write(path, None).map_err(to_io_fault(path))
    }
}
