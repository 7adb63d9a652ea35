//! Scan cache: the stat data of every plan file and folder of the last scan.
//!
//! While all of it is unchanged, a hook need not load the tree from the database to know that no
//! file changed. One file, replaced atomically and regenerated when it is missing, damaged or of
//! another version. A folder's entries are unchanged as long as its own stamp is. Does not judge
//! what a change means.

use std::cell::RefCell;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::Path;

use domain::ports::{FileStamp, ScanCacheCheck};

use crate::durable::{Durability, replace_file};

const MAGIC: &[u8] = b"throughline looks 1\n";
/// From this many paths on, a second thread saves more time than it costs to start.
const MIN_PATHS_FOR_SECOND_THREAD: usize = 400;
/// Maximum size that is read; a larger file is not one of ours.
const MAX_CACHE_BYTES: u64 = 64 * 1024 * 1024;

/// One scanned path with its stamp; `None` where nothing existed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ScannedPath {
    /// A folder's path ends with a slash, so that it cannot be confused with a file's.
    path: String,
    stamp: Option<FileStamp>,
}

/// The recording of the current scan, and the reusable result of an earlier one.
#[derive(Debug, Default)]
pub(crate) struct ScanCache {
    noted: RefCell<ScanRecording>,
    /// Encoded paths of the stored scan, when they were found unchanged.
    held: RefCell<Option<Vec<u8>>>,
}

/// State of the recording.
#[derive(Debug, Default)]
enum ScanRecording {
    #[default]
    Nothing,
    Looks(Vec<ScannedPath>),
    /// Something was scanned whose later change the stamp might not show.
    Spoilt,
}

impl ScanCache {
    /// Starts a new recording.
    pub(crate) fn start_recording(&self) {
        self.noted.replace(ScanRecording::Looks(Vec::new()));
    }

    /// Records the stamp of a file.
    pub(crate) fn record_file(&self, path: &str, stamp: Option<FileStamp>) {
        if let ScanRecording::Looks(looks) = &mut *self.noted.borrow_mut() {
            looks.push(ScannedPath {
                path: path.to_owned(),
                stamp,
            });
        }
    }

    /// Records the stamp of a listed folder.
    pub(crate) fn record_folder(&self, folder: &str, stamp: Option<FileStamp>) {
        if let ScanRecording::Looks(looks) = &mut *self.noted.borrow_mut() {
            looks.push(ScannedPath {
                path: format!("{folder}/"),
                stamp,
            });
        }
    }

    /// Discards the recording: a stamp of this scan would not reveal the next change.
    pub(crate) fn discard_recording(&self) {
        let mut noted = self.noted.borrow_mut();
        // Sticky until the next start: one unreliable stamp makes the whole cache unreliable, and a
        // false hit would hide an edited plan.
        if matches!(*noted, ScanRecording::Looks(_)) {
            *noted = ScanRecording::Spoilt;
        }
    }

    /// Writes the recording; without one, the stored scan that was found unchanged, under a new
    /// mark.
    pub(crate) fn save_to(&self, file: &Path, mark: &str) {
        let body = match (self.noted.take(), self.held.take()) {
            (ScanRecording::Looks(looks), _) => encode_paths(&looks),
            (ScanRecording::Nothing, Some(held)) => held,
            _ => return,
        };
        let mut bytes = Vec::with_capacity(body.len() + mark.len() + 64);
        bytes.extend_from_slice(MAGIC);
        push_text(&mut bytes, mark);
        bytes.extend_from_slice(&body);
        // Written without a sync, so a power cut can leave any bytes; the checksum rejects them.
        let sum = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        // Errors are ignored: without the cache the next command scans everything.
        let _ = replace_file(file, &bytes, Durability::Atomic);
    }

    /// Replaces the mark of the stored scan without checking any file; `change` maps the old mark.
    pub(crate) fn replace_mark(file: &Path, change: impl FnOnce(&str) -> Option<String>) {
        let Some(bytes) = read_cache(file) else {
            return;
        };
        let Some((mark, body)) = CacheReader::verify_and_open(&bytes)
            .and_then(|mut reader| Some((reader.take_text()?, reader.rest)))
        else {
            return;
        };
        if let Some(mark) = change(mark) {
            Self {
                held: RefCell::new(Some(body.to_vec())),
                ..Self::default()
            }
            .save_to(file, &mark);
        }
    }

    /// Compares the stored scan with the files; `stat` returns a path's present stamp.
    ///
    /// `None` when there is no usable cache, or when more than `most` paths changed.
    pub(crate) fn find_changes(
        &self,
        file: &Path,
        root: &OwnedFd,
        most: usize,
        stat: fn(&OwnedFd, &str) -> Option<FileStamp>,
    ) -> Option<ScanCacheCheck> {
        let bytes = read_cache(file)?;
        let mut reader = CacheReader::verify_and_open(&bytes)?;
        let mark = reader.take_text()?.to_owned();
        let body = reader.rest;
        let mut looks: Vec<(&str, Option<FileStamp>)> = Vec::new();
        while !reader.rest.is_empty() {
            looks.push((reader.take_text()?, reader.take_stamp()?));
        }
        let others = |looks: &[(&str, Option<FileStamp>)]| -> Vec<String> {
            let is_other = |(path, stamp): &&(&str, Option<FileStamp>)| {
                // The root folder is recorded as `/` and is the handle itself.
                let at = path.strip_suffix('/').unwrap_or(path);
                stat(root, if at.is_empty() { "." } else { at }) != *stamp
            };
            looks
                .iter()
                .filter(is_other)
                .map(|(path, _)| (*path).to_owned())
                .collect()
        };
        let changed = match looks.len() {
            ..MIN_PATHS_FOR_SECOND_THREAD => others(&looks),
            // Thousands of `stat` calls are the whole cost of a cache hit, and the kernel runs
            // those of two threads in parallel.
            many => std::thread::scope(|scope| {
                let (one, other) = looks.split_at(many / 2);
                let other = scope.spawn(|| others(other));
                let mut changed = others(one);
                changed.extend(other.join().ok()?);
                Some(changed)
            })?,
        };
        // With many changes a full scan is cheaper than handling each path on its own.
        if changed.len() > most {
            return None;
        }
        let looked = looks.len();
        // Only an unchanged scan may be saved again; otherwise the changed paths would look
        // current.
        self.held.replace(changed.is_empty().then(|| body.to_vec()));
        Some(ScanCacheCheck {
            mark,
            looked,
            changed,
        })
    }
}

fn read_cache(file: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    // Limited: the file lies in the project, where anything may have been put in its place.
    std::fs::File::open(file)
        .ok()?
        .take(MAX_CACHE_BYTES)
        .read_to_end(&mut bytes)
        .ok()?;
    Some(bytes)
}

/// Encodes paths and stamps, little-endian, each path with its length.
fn encode_paths(looks: &[ScannedPath]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(looks.len() * 96);
    for look in looks {
        push_text(&mut bytes, &look.path);
        bytes.push(u8::from(look.stamp.is_some()));
        if let Some(stamp) = &look.stamp {
            bytes.extend_from_slice(&stamp.size.to_le_bytes());
            bytes.extend_from_slice(&stamp.modified_ns.to_le_bytes());
            bytes.extend_from_slice(&stamp.changed_ns.to_le_bytes());
            bytes.extend_from_slice(&stamp.inode.to_le_bytes());
        }
    }
    bytes
}

/// Appends a length-prefixed string.
fn push_text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend_from_slice(&u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

/// Decoder of the cache file; every truncated or invalid value is `None`.
struct CacheReader<'b> {
    rest: &'b [u8],
}

impl<'b> CacheReader<'b> {
    /// Verifies the checksum and the magic bytes.
    fn verify_and_open(bytes: &'b [u8]) -> Option<Self> {
        let (body, sum) = bytes.split_last_chunk::<4>()?;
        (crc32fast::hash(body) == u32::from_le_bytes(*sum)).then_some(())?;
        Some(Self {
            rest: body.strip_prefix(MAGIC)?,
        })
    }

    fn take_bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*taken)
    }

    fn take_text(&mut self) -> Option<&'b str> {
        let length = usize::try_from(u32::from_le_bytes(self.take_bytes()?)).ok()?;
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        std::str::from_utf8(taken).ok()
    }

    fn take_stamp(&mut self) -> Option<Option<FileStamp>> {
        let [there] = self.take_bytes::<1>()?;
        if there == 0 {
            return Some(None);
        }
        Some(Some(FileStamp {
            size: u64::from_le_bytes(self.take_bytes()?),
            modified_ns: i64::from_le_bytes(self.take_bytes()?),
            changed_ns: i64::from_le_bytes(self.take_bytes()?),
            inode: u64::from_le_bytes(self.take_bytes()?),
        }))
    }
}
