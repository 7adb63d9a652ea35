//! Plan files on disk, accessed without ever leaving the project (`openat` without links).
//!
//! Every path is opened component by component from the project's directory handle with
//! `O_NOFOLLOW`: a path that leaves the project is refused before it is opened, not after, so there
//! is no window between check and use. Does not decide what a change of a file means.

mod batch;

use std::cell::{OnceCell, RefCell};
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read, Write};
#[cfg(target_os = "linux")]
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use domain::ports::{
    CheckedPaths, FileChange, FileFault, FileReadResult, FileStamp, FileStatResult, FolderEntry,
    FolderEntryKind, PlanFiles, ScanCacheCheck,
};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::layout::STATE_FOLDER;
use crate::private_files::{DIRECTORY_MODE, FILE_MODE, is_state_path};
use crate::scan_cache::{PathReader, ScanCache};

/// Racy-timestamp window: a file changed less than this before it was read may change again within
/// the same tick of the kernel's clock, and keep its stamp.
const CLOCK_TICK_NS: i64 = 50_000_000;
/// The same window for file systems with timestamps in whole seconds.
const COARSE_CLOCK_TICK_NS: i64 = 2_500_000_000;

/// The plan files below one directory.
#[derive(Debug)]
pub struct DiskFiles {
    root: Rc<OwnedFd>,
    root_path: PathBuf,
    /// `root_path` with all links resolved.
    real_root: OnceCell<Option<PathBuf>>,
    /// Open handles of the most recently used folder and its ancestors.
    way: RefCell<Vec<OpenFolder>>,
    looks: ScanCache,
    now_ns: fn() -> i64,
}

/// When a new file is synced.
#[derive(Clone, Copy)]
enum FileSync {
    Now,
    /// By [`PlanFiles::sync_file`].
    Later,
}

/// An open folder with its path.
#[derive(Debug)]
struct OpenFolder {
    path: String,
    handle: Rc<OwnedFd>,
}

/// Whether `path` is the folder `above` or below it.
fn is_same_or_below(path: &str, above: &str) -> bool {
    above.is_empty()
        || path
            .strip_prefix(above)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl DiskFiles {
    /// Opens a project directory.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(root: &Path) -> io::Result<Self> {
        let handle = rustix::fs::openat(
            CWD,
            root,
            OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        Ok(Self {
            root: Rc::new(handle),
            root_path: root.to_owned(),
            real_root: OnceCell::new(),
            way: RefCell::new(Vec::new()),
            looks: ScanCache::default(),
            now_ns: wall_clock_ns,
        })
    }

    /// Opens a file without following a link in any part of its path.
    fn open_for_reading(&self, path: &str) -> Result<rustix::fd::OwnedFd, Errno> {
        let (folder, name) = split_path(path)?;
        // O_NONBLOCK: opening a named pipe would otherwise block until there is a writer.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        rustix::fs::openat(&*self.open_folder(folder)?, name, flags, Mode::empty())
    }

    /// Opens a folder of the project, component by component, following no link.
    ///
    /// The handles on the way to the last one are kept: files are mostly visited folder by folder,
    /// and every component would cost an `openat` per file.
    fn open_folder(&self, folder: &str) -> Result<Rc<OwnedFd>, Errno> {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut way = self.way.borrow_mut();
        while way
            .last()
            .is_some_and(|step| !is_same_or_below(folder, &step.path))
        {
            way.pop();
        }
        if way.is_empty() {
            way.push(OpenFolder {
                path: String::new(),
                handle: self.root.clone(),
            });
        }
        // Only the components below the deepest handle that is still valid are opened.
        let known = way.last().map_or(0, |step| step.path.len());
        let rest = folder.get(known..).unwrap_or_default();
        for part in split_folder(rest.strip_prefix('/').unwrap_or(rest))? {
            let Some(above) = way.last() else { break };
            let handle = rustix::fs::openat(&*above.handle, part, flags, Mode::empty())?;
            let path = if above.path.is_empty() {
                part.to_owned()
            } else {
                format!("{}/{part}", above.path)
            };
            way.push(OpenFolder {
                path,
                handle: Rc::new(handle),
            });
        }
        way.last()
            .map(|step| step.handle.clone())
            .ok_or(Errno::INVAL)
    }

    /// Opens a folder, creating missing components.
    fn create_folder(&self, folder: &str) -> Result<Rc<OwnedFd>, Errno> {
        let mut made = String::new();
        // Plan folders belong to the user: their umask decides about the mode.
        let mode = if is_state_path(folder) {
            DIRECTORY_MODE
        } else {
            0o777
        };
        // Mostly it is there. Opened again: a handle that was kept may be of a folder that is gone.
        self.way.borrow_mut().clear();
        match self.open_folder(folder) {
            Err(Errno::NOENT) => {}
            opened => return opened,
        }
        for part in split_folder(folder)? {
            let above = self.open_folder(&made)?;
            // Created one by one through handles: `create_dir_all` would follow a link in the
            // middle.
            match rustix::fs::mkdirat(&*above, part, Mode::from_raw_mode(mode)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
            if !made.is_empty() {
                made.push('/');
            }
            made.push_str(part);
        }
        self.open_folder(folder)
    }

    /// Returns the stat data of a path, not following a link.
    fn stat_no_follow(&self, path: &str) -> Result<Stat, Errno> {
        let (folder, name) = split_path(path)?;
        rustix::fs::statat(&*self.open_folder(folder)?, name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Writes a temporary file in the same folder, and returns its name.
    fn write_temporary(
        &self,
        folder: &OwnedFd,
        path: &str,
        text: &str,
        sync: FileSync,
    ) -> io::Result<(String, File)> {
        let (_, name) = split_path(path)?;
        let mode = if is_state_path(path) {
            FILE_MODE
        } else {
            0o666
        };
        // Names left behind by a killed process with the same pid are skipped.
        for attempt in 0..1_000_u32 {
            let temporary = format!(
                ".tl-{}-{attempt}-{}",
                std::process::id(),
                shorten_name(name)
            );
            let flags =
                OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let handle = match rustix::fs::openat(
                folder,
                temporary.as_str(),
                flags,
                Mode::from_raw_mode(mode),
            ) {
                Ok(handle) => handle,
                Err(Errno::EXIST) => continue,
                Err(error) => return Err(error.into()),
            };
            let mut file = File::from(handle);
            let written = file.write_all(text.as_bytes()).and_then(|()| match sync {
                FileSync::Now => file.sync_all(),
                FileSync::Later => Ok(()),
            });
            if let Err(error) = written {
                let _ = rustix::fs::unlinkat(folder, temporary.as_str(), AtFlags::empty());
                return Err(error);
            }
            return Ok((temporary, file));
        }
        Err(io::Error::other("no free name for a temporary file"))
    }

    /// Creates a file; its name must be free.
    fn create_new_file(&self, path: &str, text: &str, sync: FileSync) -> io::Result<()> {
        let (folder, name) = split_path(path)?;
        let handle = self.create_folder(folder)?;
        refuse_taken_name(&handle, name)?;
        let (temporary, _) = self.write_temporary(&handle, path, text, sync)?;
        link_temporary(&handle, &temporary, name)?;
        match sync {
            FileSync::Now => Ok(rustix::fs::fsync(&*handle)?),
            FileSync::Later => Ok(()),
        }
    }

    /// Classifies an error of a write.
    fn file_fault(path: &str, error: io::Error) -> FileFault {
        match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::LOOP | Errno::INVAL) => FileFault::Outside {
                path: path.to_owned(),
            },
            Some(Errno::NOTDIR) => FileFault::NoFolder {
                path: path.to_owned(),
            },
            Some(Errno::EXIST) => FileFault::Exists {
                path: path.to_owned(),
            },
            _ => FileFault::Io {
                path: path.to_owned(),
                source: error,
            },
        }
    }

    /// Returns the project directory, for messages.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root_path
    }
}

impl PlanFiles for DiskFiles {
    fn stat_file(&self, path: &str) -> FileStatResult {
        let look = match self.stat_no_follow(path) {
            Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => FileStatResult::Present(file_stamp(&stat)),
                FileType::Symlink => {
                    FileStatResult::Refused("it is a link, and links are not followed".to_owned())
                }
                FileType::Directory => FileStatResult::Refused("it is a folder".to_owned()),
                _ => FileStatResult::Refused("it is not a regular file".to_owned()),
            },
            Err(Errno::NOENT) => FileStatResult::Missing,
            Err(error) if is_transient_error(error) => {
                FileStatResult::Unavailable(describe_errno(error))
            }
            Err(error) => FileStatResult::Refused(describe_errno(error)),
        };
        match &look {
            FileStatResult::Present(stamp) => self.looks.record_file(path, Some(*stamp)),
            FileStatResult::Missing => self.looks.record_file(path, None),
            // A refused or unavailable file has no stamp to compare the next time.
            FileStatResult::Refused(_) | FileStatResult::Unavailable(_) => {
                self.looks.discard_recording()
            }
        }
        look
    }

    fn resolve_path(&self, directory: Option<&str>, path: &str) -> Option<String> {
        // Called for every file and every word of a shell command, so the root is resolved once.
        let root = self
            .real_root
            .get_or_init(|| self.root_path.canonicalize().ok())
            .as_deref()?;
        let base = directory.map_or_else(|| root.to_owned(), |directory| root.join(directory));
        let real = crate::path_resolution::resolve_links(&base.join(path))?;
        let inside = real.strip_prefix(root).ok()?.to_str()?;
        (!inside.is_empty()).then(|| inside.to_owned())
    }

    fn read_bytes(&self, path: &str, max_bytes: u64) -> Option<Vec<u8>> {
        let handle = self.open_for_reading(path).ok()?;
        let stat = rustix::fs::fstat(&handle).ok()?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        let size = u64::try_from(stat.st_size).ok()?;
        if !is_file || size > max_bytes {
            return None;
        }
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        // One more than the limit, because the file may grow while it is read.
        let mut file = std::fs::File::from(handle).take(max_bytes + 1);
        file.read_to_end(&mut bytes).ok()?;
        (bytes.len() as u64 <= max_bytes).then_some(bytes)
    }

    fn read_file(&self, path: &str, max_bytes: u64) -> FileReadResult {
        let unreadable = |why: String| FileReadResult::Unreadable {
            why,
            transient: false,
        };
        let failed = |error: Errno| FileReadResult::Unreadable {
            why: describe_errno(error),
            transient: is_transient_error(error),
        };
        let handle = match self.open_for_reading(path) {
            Ok(handle) => handle,
            Err(Errno::NOENT) => return FileReadResult::Missing,
            Err(error) => return failed(error),
        };
        let stat = match rustix::fs::fstat(&handle) {
            Ok(stat) => stat,
            Err(error) => return failed(error),
        };
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return unreadable("it is not a regular file".to_owned());
        }
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        if size > max_bytes {
            return unreadable(format!(
                "it has {size} bytes, more than policy.max_plan_bytes ({max_bytes})"
            ));
        }
        let (bytes, after) = match read_bytes(std::fs::File::from(handle), size, max_bytes) {
            Ok(read) => read,
            Err(error) => return failed(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
        };
        if bytes.len() as u64 > max_bytes {
            return unreadable(format!(
                "it is larger than policy.max_plan_bytes ({max_bytes})"
            ));
        }
        // A stamp is only returned if it did not change during the read and is not racy; without
        // one the file is read again the next time.
        match String::from_utf8(bytes) {
            Ok(text) if text.contains('\0') => {
                unreadable("it is binary: it holds a NUL byte".to_owned())
            }
            Ok(text) => {
                let stamp = file_stamp(&stat);
                let settled = after == Some(stamp) && self.is_settled(&stamp);
                FileReadResult::Text {
                    text,
                    stamp: settled.then_some(stamp),
                }
            }
            Err(error) => unreadable(format!(
                "it is not UTF-8 text (byte {} is not)",
                error.utf8_error().valid_up_to() + 1
            )),
        }
    }

    fn list_folder(&self, folder: &str) -> Vec<FolderEntry> {
        let handle = match self.open_folder(folder) {
            Ok(handle) => handle,
            Err(Errno::NOENT) => {
                self.looks.record_folder(folder, None, &[]);
                return Vec::new();
            }
            Err(_) => {
                self.looks.discard_recording();
                return Vec::new();
            }
        };
        // Taken before the listing: an entry added during it then changes the stamp.
        let stamp = rustix::fs::fstat(&*handle).map(|stat| file_stamp(&stat));
        let found = read_entries(&handle);
        match stamp {
            Ok(stamp) if self.is_settled(&stamp) => {
                self.looks.record_folder(folder, Some(stamp), &found);
            }
            _ => self.looks.discard_recording(),
        }
        found
    }

    fn visit_names(&self, folder: &str, each: &mut dyn FnMut(&str)) {
        // Neither sorted nor copied: a folder of ten thousand tickets is gone through for one id.
        let Ok(handle) = self.open_folder(folder) else {
            return;
        };
        let _ = each_entry(&handle, |name, _| {
            if let Ok(name) = name.to_str()
                && name != "."
                && name != ".."
            {
                each(name);
            }
        });
    }

    fn start_scan_recording(&self) {
        self.looks.start_recording();
    }

    fn save_scan_cache(&self, mark: &str) {
        self.looks
            .save_to(&self.root_path.join(STATE_FOLDER).join("looks.bin"), mark);
    }

    fn check_scan_cache(
        &self,
        extent: CheckedPaths,
        most: fn(usize) -> usize,
    ) -> Option<ScanCacheCheck> {
        let present = PathReader {
            root: &self.root,
            stat: |root, path| {
                // By path and not by handles, for speed: a link put into the middle of the path
                // leads to another inode, so it shows as a change.
                rustix::fs::statat(root, path, AtFlags::SYMLINK_NOFOLLOW)
                    .ok()
                    .map(|stat| file_stamp(&stat))
            },
            is_settled: &|stamp| self.is_settled(stamp),
            list: &|folder| Some(read_entries(&*self.open_folder(folder).ok()?)),
        };
        let file = self.root_path.join(STATE_FOLDER).join("looks.bin");
        self.looks.find_changes(&file, (extent, most), &present)
    }

    fn replace_file(&self, path: &str, text: &str) -> Result<(), FileFault> {
        let (folder, name) =
            split_path(path).map_err(|error| Self::file_fault(path, error.into()))?;
        let write = || -> io::Result<()> {
            let handle = self.create_folder(folder)?;
            refuse_special_file(&handle, name)?;
            let (temporary, _) = self.write_temporary(&handle, path, text, FileSync::Now)?;
            rustix::fs::renameat(&*handle, temporary.as_str(), &*handle, name)?;
            // Syncs the folder, without which the rename may be lost in a power cut.
            rustix::fs::fsync(&*handle)?;
            Ok(())
        };
        write().map_err(|error| Self::file_fault(path, error))
    }

    fn create_file(&self, path: &str, text: &str) -> Result<(), FileFault> {
        self.create_new_file(path, text, FileSync::Now)
            .map_err(|error| Self::file_fault(path, error))
    }

    fn create_unsynced_file(&self, path: &str, text: &str) -> Result<(), FileFault> {
        self.create_new_file(path, text, FileSync::Later)
            .map_err(|error| Self::file_fault(path, error))
    }

    fn sync_file(&self, path: &str) -> Result<(), FileFault> {
        let sync = || -> io::Result<()> {
            let (folder, name) = split_path(path)?;
            let handle = self.open_folder(folder)?;
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = rustix::fs::openat(&*handle, name, flags, Mode::empty())?;
            rustix::fs::fsync(&file)?;
            rustix::fs::fsync(&*handle)?;
            Ok(())
        };
        sync().map_err(|error| Self::file_fault(path, error))
    }

    fn remove_file(&self, path: &str) -> Result<(), FileFault> {
        let remove = || -> io::Result<()> {
            let (folder, name) = split_path(path)?;
            let handle = self.open_folder(folder)?;
            rustix::fs::unlinkat(&*handle, name, AtFlags::empty())?;
            rustix::fs::fsync(&*handle)?;
            Ok(())
        };
        remove().map_err(|error| Self::file_fault(path, error))
    }

    fn apply_changes(
        &self,
        changes: &[FileChange<'_>],
        confirm: &mut dyn FnMut(usize) -> bool,
    ) -> Vec<Result<(), FileFault>> {
        self.apply_in_batches(changes, confirm)
    }

    fn remove_empty_folder(&self, folder: &str) {
        let remove = || -> Result<(), Errno> {
            let (above, name) = split_path(folder)?;
            rustix::fs::unlinkat(&*self.open_folder(above)?, name, AtFlags::REMOVEDIR)
        };
        // Errors are expected: the folder is not empty, or already gone.
        let _ = remove();
    }
}

/// Refuses a name that is taken before a temporary file is written and synced: every backup tries to
/// create the `.gitignore` beside it, and several edits in a second try the same names.
fn refuse_taken_name(folder: &OwnedFd, name: &str) -> Result<(), Errno> {
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => Err(Errno::EXIST),
        Err(_) => Ok(()),
    }
}

/// Gives a temporary file its name. `linkat` fails if the name exists, where `rename` would overwrite
/// it: no check-then-write race.
fn link_temporary(folder: &OwnedFd, temporary: &str, name: &str) -> Result<(), Errno> {
    let linked = rustix::fs::linkat(folder, temporary, folder, name, AtFlags::empty());
    rustix::fs::unlinkat(folder, temporary, AtFlags::empty())?;
    linked
}

/// Refuses to replace a link, a socket or a device, as a rename would: the user put it there.
fn refuse_special_file(folder: &OwnedFd, name: &str) -> Result<(), Errno> {
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile => {
            Err(Errno::LOOP)
        }
        _ => Ok(()),
    }
}

/// Visits the entries of a folder.
#[cfg(target_os = "linux")]
pub(crate) fn each_entry(
    folder: &OwnedFd,
    mut visit: impl FnMut(&CStr, FileType),
) -> Result<(), Errno> {
    // Reads from the existing handle: `Dir` would reopen it, which costs as much as the listing.
    rustix::fs::seek(folder, rustix::fs::SeekFrom::Start(0))?;
    let mut buffer = [MaybeUninit::uninit(); 8 * 1024];
    let mut entries = rustix::fs::RawDir::new(folder, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        visit(entry.file_name(), entry.file_type());
    }
    Ok(())
}

/// Visits the entries of a folder.
#[cfg(not(target_os = "linux"))]
pub(crate) fn each_entry(
    folder: &OwnedFd,
    mut visit: impl FnMut(&CStr, FileType),
) -> Result<(), Errno> {
    for entry in rustix::fs::Dir::read_from(folder)? {
        let entry = entry?;
        visit(entry.file_name(), entry.file_type());
    }
    Ok(())
}

/// Reads a file of a known size, and returns its stamp after that. A file that grew is read to one
/// byte more than `max_bytes`.
fn read_bytes(
    mut file: std::fs::File,
    size: u64,
    max_bytes: u64,
) -> io::Result<(Vec<u8>, Option<FileStamp>)> {
    // Some room more than the size, or the reader probes for the end first.
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 64);
    // One `read`, without another one that finds the end: the size afterwards tells whether the file
    // grew meanwhile. Some file systems report no size at all.
    Read::by_ref(&mut file).take(size).read_to_end(&mut bytes)?;
    let after = rustix::fs::fstat(&file).map(|stat| file_stamp(&stat)).ok();
    let is_whole = size > 0 && bytes.len() as u64 == size;
    if !is_whole || after.is_none_or(|after| after.size != size) {
        let left = (max_bytes + 1).saturating_sub(bytes.len() as u64);
        Read::by_ref(&mut file).take(left).read_to_end(&mut bytes)?;
    }
    Ok((bytes, after))
}

/// Returns the entries of a folder, sorted by name.
fn read_entries(folder: &OwnedFd) -> Vec<FolderEntry> {
    let mut found = Vec::new();
    // An error in the middle leaves the entries found so far; a scan reports missing files itself.
    let _ = each_entry(folder, |name, kind| {
        // A name that is not UTF-8 cannot match a profile's pattern, so it cannot be a plan.
        let Ok(name) = name.to_str() else { return };
        if name == "." || name == ".." {
            return;
        }
        let kind = match kind {
            // Some file systems do not report the type in the listing.
            FileType::Unknown => rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |stat| {
                    FileType::from_raw_mode(stat.st_mode)
                }),
            kind => kind,
        };
        let kind = match kind {
            FileType::RegularFile => FolderEntryKind::File,
            FileType::Directory => FolderEntryKind::Folder,
            _ => FolderEntryKind::Other,
        };
        found.push(FolderEntry {
            name: name.to_owned(),
            kind,
        });
    });
    // The kernel's order differs between file systems and runs.
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

impl DiskFiles {
    fn is_settled(&self, stamp: &FileStamp) -> bool {
        is_stamp_settled_at(stamp, CLOCK_TICK_NS, (self.now_ns)())
    }
}

/// Whether every change from the moment `now_ns` on is certain to alter a stamp, given timestamps
/// with a granularity of at most `tick_ns`.
pub(crate) fn is_stamp_settled_at(stamp: &FileStamp, tick_ns: i64, now_ns: i64) -> bool {
    // Both times: `mtime` can be set back by the user, `ctime` cannot.
    let newest = stamp.modified_ns.max(stamp.changed_ns);
    // Whole seconds in both are taken as a coarse file system. A false match costs one read.
    let coarse = stamp.modified_ns % 1_000_000_000 == 0 && stamp.changed_ns % 1_000_000_000 == 0;
    now_ns.saturating_sub(newest)
        > if coarse {
            COARSE_CLOCK_TICK_NS
        } else {
            tick_ns
        }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a stamp is compared with the clock that produced it"
)]
pub(crate) fn wall_clock_ns() -> i64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .ok()
        .and_then(|since| i64::try_from(since.as_nanos()).ok())
        .unwrap_or(0)
}

/// Returns the file stamp of stat data.
pub(crate) fn file_stamp(stat: &Stat) -> FileStamp {
    let ns = |seconds: i64, nanoseconds: u64| {
        seconds
            .saturating_mul(1_000_000_000)
            .saturating_add(i64::try_from(nanoseconds).unwrap_or(0))
    };
    FileStamp {
        size: u64::try_from(stat.st_size).unwrap_or(0),
        modified_ns: ns(stat.st_mtime, stat.st_mtime_nsec),
        changed_ns: ns(stat.st_ctime, stat.st_ctime_nsec),
        inode: stat.st_ino,
    }
}

/// Splits a relative path into folder and name. A name that could leave the folder is refused here,
/// a folder that could leave the project when it is opened.
fn split_path(path: &str) -> Result<(&str, &str), Errno> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    if matches!(name, "" | "." | "..") || name.contains('\0') {
        return Err(Errno::INVAL);
    }
    Ok((folder, name))
}

/// Splits a folder path into components, refusing `.`, `..` and empty ones.
fn split_folder(folder: &str) -> Result<Vec<&str>, Errno> {
    if folder.is_empty() {
        return Ok(Vec::new());
    }
    folder
        .split('/')
        .map(|part| {
            if matches!(part, "" | "." | "..") || part.contains('\0') {
                Err(Errno::INVAL)
            } else {
                Ok(part)
            }
        })
        .collect()
}

/// Whether an error is transient: it says nothing about the file, and the same call may succeed
/// later.
fn is_transient_error(error: Errno) -> bool {
    matches!(
        error,
        Errno::IO
            | Errno::ACCESS
            | Errno::PERM
            | Errno::MFILE
            | Errno::NFILE
            | Errno::NOMEM
            | Errno::NOBUFS
            | Errno::INTR
            | Errno::AGAIN
            | Errno::BUSY
            | Errno::STALE
            | Errno::TIMEDOUT
            | Errno::NODEV
            | Errno::NOTCONN
            | Errno::CONNRESET
            | Errno::HOSTDOWN
            | Errno::HOSTUNREACH
            | Errno::NETDOWN
            | Errno::NETUNREACH
    )
}

/// Describes an error of a read. The text is stored as the reason of unreadable content, so another
/// wording is recorded as a change.
fn describe_errno(error: Errno) -> String {
    match error {
        Errno::LOOP | Errno::NOTDIR => {
            "it is reached through a link, and links are not followed".to_owned()
        }
        Errno::ACCESS | Errno::PERM => "no permission to read it".to_owned(),
        Errno::INVAL => "its path leaves the project".to_owned(),
        Errno::NXIO => "it is not a regular file".to_owned(),
        other => io::Error::from(other).to_string(),
    }
}

/// Returns the start of a name, so that a long one still fits with the prefix (255 bytes).
fn shorten_name(name: &str) -> String {
    name.chars().take(40).collect()
}
