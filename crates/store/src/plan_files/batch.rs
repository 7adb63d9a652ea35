//! Changes of many files with few syncs: contents first, then names, then one sync per folder.
//!
//! The order is that of a single write: a content is synced before it gets its name, and its folder
//! afterwards, so a power cut leaves every file old or new. Measured on ext4 with 300 files: 135 ms
//! of CPU time with two syncs for each file, 50 ms in batches. Syncs run side by side, because the
//! file system commits those that wait at the same time together: for 1,002 new files in 256 folders,
//! on a busy disk, 7.4 s one after the other and 0.5 s by eight threads. Not `syncfs`, which is as
//! fast but waits for what every other program has written.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use domain::ports::{FileAction, FileChange, FileFault};
use rustix::fs::AtFlags;

use super::{
    DiskFiles, FileSync, link_temporary, refuse_special_file, refuse_taken_name, split_path,
};

/// Number of files changed together. Each is open until it is synced, as is its folder, and a process
/// may have only 256 open files on some systems.
const BATCH_FILES: usize = 64;

/// Number of threads that sync.
const SYNC_THREADS: usize = 8;
/// Minimum number of syncs that are worth threads.
const MIN_SYNCS_FOR_THREADS: usize = 4;

/// A content that is written under a temporary name.
struct StagedFile<'t> {
    index: usize,
    folder: &'t str,
    name: &'t str,
    temporary: String,
    file: File,
    is_new: bool,
}

/// The files of a batch, and what became of them.
struct Batch<'b> {
    files: &'b DiskFiles,
    changes: &'b [FileChange<'b>],
    folders: HashMap<&'b str, Rc<OwnedFd>>,
    results: Vec<io::Result<()>>,
}

impl DiskFiles {
    /// Implements [`domain::ports::PlanFiles::apply_changes`].
    pub(super) fn apply_in_batches(
        &self,
        changes: &[FileChange<'_>],
        confirm: &mut dyn FnMut(usize) -> bool,
    ) -> Vec<Result<(), FileFault>> {
        let (mut written, mut removed): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
        for (index, change) in changes.iter().enumerate() {
            match change.action {
                FileAction::Remove => removed.push(index),
                FileAction::Replace(_) | FileAction::Create(_) => written.push(index),
            }
        }
        // Files of a folder together: the folder is synced once.
        for order in [&mut written, &mut removed] {
            order.sort_by_key(|index| changes[*index].path);
        }
        let mut batch = Batch {
            files: self,
            changes,
            folders: HashMap::new(),
            results: changes.iter().map(|_| Ok(())).collect(),
        };
        for indexes in written.chunks(BATCH_FILES) {
            batch.write_files(indexes, confirm);
        }
        for indexes in removed.chunks(BATCH_FILES) {
            batch.remove_files(indexes, confirm);
        }
        let results = changes.iter().zip(batch.results);
        results
            .map(|(change, result)| result.map_err(|error| Self::file_fault(change.path, error)))
            .collect()
    }
}

impl<'b> Batch<'b> {
    fn write_files(&mut self, indexes: &[usize], confirm: &mut dyn FnMut(usize) -> bool) {
        self.folders.clear();
        let mut staged = Vec::with_capacity(indexes.len());
        for index in indexes {
            match self.stage_file(*index) {
                Ok(file) => staged.push(file),
                Err(error) => self.results[*index] = Err(error),
            }
        }
        start_writeback(&staged);
        // All before the first name: a rename between two syncs waits for the file system's journal.
        let synced = run_side_by_side(&staged, |file| file.file.sync_all());
        let mut named = Vec::with_capacity(staged.len());
        for (file, synced) in staged.into_iter().zip(synced) {
            let index = file.index;
            // Synced before it has its name: the other order can leave an empty file.
            let outcome = synced.and_then(|()| {
                if confirm(index) {
                    self.name_file(&file)?;
                    named.push(index);
                    return Ok(());
                }
                self.remove_temporary(&file)
            });
            if outcome.is_err() {
                let _ = self.remove_temporary(&file);
            }
            self.results[index] = outcome;
        }
        self.sync_folders(&named);
    }

    /// Writes a content under a temporary name.
    fn stage_file(&mut self, index: usize) -> io::Result<StagedFile<'b>> {
        let change = self.changes[index];
        let (folder, name) = split_path(change.path)?;
        let handle = match self.folders.get(folder) {
            Some(handle) => handle.clone(),
            None => {
                let handle = self.files.create_folder(folder)?;
                self.folders.insert(folder, handle.clone());
                handle
            }
        };
        let (text, is_new) = match change.action {
            FileAction::Create(text) => (text, true),
            FileAction::Replace(text) => (text, false),
            FileAction::Remove => ("", false),
        };
        match is_new {
            true => refuse_taken_name(&handle, name)?,
            false => refuse_special_file(&handle, name)?,
        }
        let (temporary, file) =
            self.files
                .write_temporary(&handle, change.path, text, FileSync::Later)?;
        Ok(StagedFile {
            index,
            folder,
            name,
            temporary,
            file,
            is_new,
        })
    }

    fn name_file(&self, staged: &StagedFile<'_>) -> io::Result<()> {
        let folder = self.folder_of(staged.folder)?;
        match staged.is_new {
            true => link_temporary(folder, &staged.temporary, staged.name)?,
            false => {
                rustix::fs::renameat(folder, staged.temporary.as_str(), folder, staged.name)?;
            }
        }
        Ok(())
    }

    fn remove_temporary(&self, staged: &StagedFile<'_>) -> io::Result<()> {
        let folder = self.folder_of(staged.folder)?;
        rustix::fs::unlinkat(folder, staged.temporary.as_str(), AtFlags::empty())?;
        Ok(())
    }

    fn remove_files(&mut self, indexes: &[usize], confirm: &mut dyn FnMut(usize) -> bool) {
        self.folders.clear();
        let mut removed = Vec::with_capacity(indexes.len());
        for index in indexes {
            if !confirm(*index) {
                continue;
            }
            match self.remove_file(self.changes[*index].path) {
                Ok(()) => removed.push(*index),
                Err(error) => self.results[*index] = Err(error),
            }
        }
        self.sync_folders(&removed);
    }

    fn remove_file(&mut self, path: &'b str) -> io::Result<()> {
        let (folder, name) = split_path(path)?;
        let handle = self.files.open_folder(folder)?;
        rustix::fs::unlinkat(&*handle, name, AtFlags::empty())?;
        self.folders.insert(folder, handle);
        Ok(())
    }

    /// Syncs the folders of these changes, so that their names survive a power cut.
    fn sync_folders(&mut self, indexes: &[usize]) {
        let folder_of = |index: &usize| {
            let path = self.changes[*index].path;
            path.rsplit_once('/').unwrap_or_default().0
        };
        let folders: BTreeSet<&str> = indexes.iter().map(folder_of).collect();
        let handles: Vec<(&str, Option<&OwnedFd>)> = folders
            .into_iter()
            .map(|folder| (folder, self.folders.get(folder).map(|handle| &**handle)))
            .collect();
        let synced = run_side_by_side(&handles, |(folder, handle)| {
            let handle = handle.ok_or(rustix::io::Errno::BADF);
            (*folder, handle.and_then(rustix::fs::fsync))
        });
        let failed: HashMap<&str, rustix::io::Errno> = synced
            .into_iter()
            .filter_map(|(folder, outcome)| Some((folder, outcome.err()?)))
            .collect();
        for index in indexes {
            if let Some(error) = failed.get(folder_of(index)) {
                self.results[*index] = Err((*error).into());
            }
        }
    }

    fn folder_of(&self, folder: &str) -> io::Result<&OwnedFd> {
        let handle = self.folders.get(folder);
        Ok(&**handle.ok_or(rustix::io::Errno::BADF)?)
    }
}

/// Runs `act` for every item, by a few threads, and returns the results in order.
fn run_side_by_side<I: Sync, R: Send>(items: &[I], act: impl Fn(&I) -> R + Sync) -> Vec<R> {
    if items.len() < MIN_SYNCS_FOR_THREADS {
        return items.iter().map(act).collect();
    }
    let act = &act;
    let part = items.len().div_ceil(SYNC_THREADS);
    std::thread::scope(|scope| {
        let threads: Vec<_> = items
            .chunks(part)
            .map(|items| {
                let run = move || items.iter().map(act).collect::<Vec<R>>();
                // Where no thread can be started, this one does the work.
                let started = std::thread::Builder::new().spawn_scoped(scope, run);
                (items, started)
            })
            .collect();
        threads
            .into_iter()
            .flat_map(
                |(items, started)| match started.map(|thread| thread.join()) {
                    Ok(Ok(results)) => results,
                    Ok(Err(panic)) => std::panic::resume_unwind(panic),
                    Err(_) => items.iter().map(act).collect(),
                },
            )
            .collect()
    })
}

/// Starts writing the contents without waiting for it: otherwise the file system writes them one by
/// one, each with a commit of its own journal.
#[cfg(target_os = "linux")]
fn start_writeback(staged: &[StagedFile<'_>]) {
    if let [_, _, ..] = staged {
        for one in staged {
            // A hint, whose failure changes nothing: every file is synced afterwards.
            let _ = rustix::fs::fadvise(&one.file, 0, None, rustix::fs::Advice::DontNeed);
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn start_writeback(_staged: &[StagedFile<'_>]) {}
