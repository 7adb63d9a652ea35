//! Scan cache: the stat data of every plan file and folder of the last scan.
//!
//! While all of it is unchanged, a hook need not load the tree from the database to know that no
//! file changed. One file, replaced atomically and regenerated when it is missing, damaged or of
//! another version. A folder's entries are unchanged as long as its own stamp is, or the digest of
//! their names: a checkout replaces files, which changes the folder's times and no name. Does not
//! judge what a change means.
//!
//! The paths are stored in parts, each with its own checksum, and a hook checks a few parts in turn:
//! its cost does not grow with the project.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use domain::ids::Digest32;
use domain::ports::{CheckedPaths, FileStamp, FolderEntry, FolderEntryKind, ScanCacheCheck};

use crate::durable::{Durability, replace_file};

const MAGIC: &[u8] = b"throughline looks 3\n";
/// Number of paths in a part.
const PATHS_PER_PART: usize = 512;
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
    /// Digest of a folder's entries.
    names: NamesDigest,
}

/// Digest of the names and kinds of a folder's entries; of a file it is all zeros, and not stored.
type NamesDigest = [u8; 16];

fn digest_names(entries: &[FolderEntry]) -> NamesDigest {
    let mut bytes = Vec::with_capacity(entries.len() * 32);
    for entry in entries {
        bytes.push(match entry.kind {
            FolderEntryKind::File => 1,
            FolderEntryKind::Folder => 2,
            FolderEntryKind::Other => 3,
        });
        push_text(&mut bytes, &entry.name);
    }
    let mut digest = NamesDigest::default();
    for (to, from) in digest.iter_mut().zip(Digest32::of_bytes(&bytes).0) {
        *to = from;
    }
    digest
}

/// A path of the stored scan.
struct StoredPath<'b> {
    path: &'b str,
    stamp: Option<FileStamp>,
    names: NamesDigest,
}

impl StoredPath<'_> {
    fn is_folder(&self) -> bool {
        self.path.ends_with('/')
    }
}

/// The recording of the current scan, and the reusable result of an earlier one.
#[derive(Debug, Default)]
pub(crate) struct ScanCache {
    noted: RefCell<ScanRecording>,
    /// The stored scan that was checked, if it may be saved again.
    checked: RefCell<Option<CheckedScan>>,
    /// What was scanned since that check; `None` if something's later change a stamp might not show.
    since_check: RefCell<Option<Vec<ScannedPath>>>,
    /// Git's index, if all paths were just compared because it is another one.
    other_index: RefCell<Option<Option<FileStamp>>>,
}

/// A stored scan that was compared with the files.
#[derive(Debug)]
struct CheckedScan {
    /// Its mark: another process may save another scan before this one is saved again.
    mark: String,
    /// The paths with another stamp, and that stamp.
    restamped: HashMap<String, FileStamp>,
    /// The folders with other entries: it may be saved again only with what was scanned since.
    renamed: Vec<String>,
}

/// How a check reads the present state of the paths.
pub(crate) struct PathReader<'f> {
    pub(crate) root: &'f OwnedFd,
    /// Returns the stamp of a path.
    pub(crate) stat: fn(&OwnedFd, &str) -> Option<FileStamp>,
    /// Whether every later change is certain to alter a stamp that was just read.
    pub(crate) is_settled: &'f dyn Fn(&FileStamp) -> bool,
    /// Returns the entries of a folder.
    pub(crate) list: &'f dyn Fn(&str) -> Option<Vec<FolderEntry>>,
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
        self.since_check.replace(None);
        self.noted.replace(ScanRecording::Looks(Vec::new()));
    }

    /// Records the stamp of a file.
    pub(crate) fn record_file(&self, path: &str, stamp: Option<FileStamp>) {
        self.record_path(|| ScannedPath {
            path: path.to_owned(),
            stamp,
            names: NamesDigest::default(),
        });
    }

    fn record_path(&self, scanned: impl Fn() -> ScannedPath) {
        if let ScanRecording::Looks(looks) = &mut *self.noted.borrow_mut() {
            looks.push(scanned());
        }
        if let Some(since) = &mut *self.since_check.borrow_mut() {
            since.push(scanned());
        }
    }

    /// Records the stamp and the entries of a listed folder.
    pub(crate) fn record_folder(
        &self,
        folder: &str,
        stamp: Option<FileStamp>,
        entries: &[FolderEntry],
    ) {
        self.record_path(|| ScannedPath {
            path: format!("{folder}/"),
            stamp,
            names: digest_names(entries),
        });
    }

    /// Discards the recording: a stamp of this scan would not reveal the next change.
    pub(crate) fn discard_recording(&self) {
        self.since_check.replace(None);
        let mut noted = self.noted.borrow_mut();
        // Sticky until the next start: one unreliable stamp makes the whole cache unreliable, and a
        // false hit would hide an edited plan.
        if matches!(*noted, ScanRecording::Looks(_)) {
            *noted = ScanRecording::Spoilt;
        }
    }

    /// Writes the recording; without one, the stored scan that was checked, with the present stamps
    /// of the paths that changed, under a new mark.
    pub(crate) fn save_to(&self, file: &Path, mark: &str) {
        // Without it, every hook would compare all paths until all are as they were.
        let index = || {
            self.other_index
                .take()
                .unwrap_or_else(|| stored_index(file))
        };
        match (self.noted.take(), self.checked.take()) {
            (ScanRecording::Looks(looks), _) => {
                write_cache(file, mark, &encode_parts(&looks), index().as_ref());
            }
            (ScanRecording::Nothing, Some(checked)) if !checked.renamed.is_empty() => {
                let since = self.since_check.take();
                let looks = since.and_then(|since| add_scanned_paths(file, &checked, since));
                if let Some(looks) = looks {
                    write_cache(file, mark, &encode_parts(&looks), index().as_ref());
                }
            }
            (ScanRecording::Nothing, Some(checked)) if checked.restamped.is_empty() => {
                Self::replace_mark(file, |was| (was == checked.mark).then(|| mark.to_owned()));
            }
            (ScanRecording::Nothing, Some(checked)) => {
                // Errors are ignored: without the cache the next command scans everything.
                if let Some(looks) = load_restamped(file, &checked) {
                    write_cache(file, mark, &encode_parts(&looks), index().as_ref());
                }
            }
            _ => {}
        }
    }

    /// Replaces the mark of the stored scan without checking any file; `change` maps the old mark.
    pub(crate) fn replace_mark(file: &Path, change: impl FnOnce(&str) -> Option<String>) {
        let Some(bytes) = read_cache(file) else {
            return;
        };
        let Some((header, body)) = CacheHeader::read_from(&bytes) else {
            return;
        };
        if let Some(mark) = change(&header.mark) {
            let parts = header.split_parts(body);
            if let Some(parts) = parts.collect::<Option<Vec<_>>>() {
                write_cache(file, &mark, &parts, stored_index(file).as_ref());
            }
        }
    }

    /// Compares the stored scan, or a part of it, with the files.
    ///
    /// `None` when there is no usable cache, or when more paths changed than the limit allows.
    pub(crate) fn find_changes(
        &self,
        file: &Path,
        (extent, most): (CheckedPaths, fn(usize) -> usize),
        present: &PathReader<'_>,
    ) -> Option<ScanCacheCheck> {
        let stored = StoredParts::open(file, extent)?;
        let mut looks: Vec<StoredPath<'_>> = Vec::with_capacity(stored.header.paths);
        for part in &stored.parts {
            let mut reader = CacheReader { rest: part };
            while !reader.rest.is_empty() {
                looks.push(reader.take_path()?);
            }
        }
        let mut changed = find_restamped(present, &looks)?;
        // With many changes a full scan is cheaper than handling each path on its own.
        if changed.len() > most(stored.header.paths) {
            return None;
        }
        // Stamps before names and texts: what changes after they are read alters its stamp.
        let restamped =
            read_stamps(present, &changed).filter(|stamps| stamps.is_empty() || stored.is_whole);
        changed.retain(|look| !look.is_folder() || !has_same_names(look, present.list));
        let renamed = changed.iter().filter(|look| look.is_folder());
        let renamed = renamed.map(|look| look.path.to_owned()).collect();
        self.checked.replace(restamped.map(|restamped| CheckedScan {
            mark: stored.header.mark.clone(),
            restamped,
            renamed,
        }));
        self.since_check.replace(stored.is_whole.then(Vec::new));
        self.other_index.replace(stored.other_index);
        if let (true, Some(index)) = (changed.is_empty(), stored.other_index) {
            let mut bytes = Vec::with_capacity(STAMP_SIZE);
            push_stamp(&mut bytes, index.as_ref());
            overwrite_at(file, &bytes, INDEX_OFFSET);
        }
        let known_names = match stored.is_whole {
            true => collect_names(&looks, &changed),
            false => BTreeMap::new(),
        };
        Some(ScanCacheCheck {
            changed: changed.iter().map(|look| look.path.to_owned()).collect(),
            mark: stored.header.mark,
            known: stored.header.paths,
            is_whole: stored.is_whole,
            known_names,
        })
    }
}

/// Returns the path to stat for a scanned one.
fn path_on_disk(scanned: &str) -> &str {
    // The root folder is recorded as `/` and is the handle itself.
    match scanned.strip_suffix('/').unwrap_or(scanned) {
        "" => ".",
        path => path,
    }
}

/// Returns the present stamps of paths; `None` if one is gone, or not settled.
fn read_stamps(
    present: &PathReader<'_>,
    changed: &[&StoredPath<'_>],
) -> Option<HashMap<String, FileStamp>> {
    let stamps = changed.iter().map(|look| {
        let stamp = (present.stat)(present.root, path_on_disk(look.path))?;
        (present.is_settled)(&stamp).then(|| (look.path.to_owned(), stamp))
    });
    stamps.collect()
}

/// Returns git's index when all paths of the stored scan were last compared.
fn stored_index(file: &Path) -> Option<FileStamp> {
    let mut start = [0; FIXED_SIZE];
    File::open(file).ok()?.read_exact_at(&mut start, 0).ok()?;
    FixedHeader::parse(&start)?.index
}

/// Returns the stored scan with what was scanned since a check: the new entries of folders, under their
/// present digest. `None` if such a folder was not listed, or a path was seen in two states.
fn add_scanned_paths(
    file: &Path,
    checked: &CheckedScan,
    since: Vec<ScannedPath>,
) -> Option<Vec<ScannedPath>> {
    let mut looks = load_restamped(file, checked)?;
    let mut scanned: HashMap<String, ScannedPath> = HashMap::with_capacity(since.len());
    for one in since {
        match scanned.get(&one.path) {
            Some(known) if *known != one => return None,
            _ => scanned.insert(one.path.clone(), one),
        };
    }
    for look in &mut looks {
        let again = scanned.remove(&look.path);
        if checked.renamed.contains(&look.path) {
            *look = again?;
        }
    }
    let mut new: Vec<ScannedPath> = scanned.into_values().collect();
    new.sort_by(|a, b| a.path.cmp(&b.path));
    looks.extend(new);
    Some(looks)
}

/// Returns the paths of the stored scan with their present stamps; `None` if it cannot be read, or is
/// another one.
fn load_restamped(file: &Path, checked: &CheckedScan) -> Option<Vec<ScannedPath>> {
    let bytes = read_cache(file)?;
    let (header, body) = CacheHeader::read_from(&bytes)?;
    (header.mark == checked.mark).then_some(())?;
    let mut looks = Vec::with_capacity(header.paths);
    for part in header.split_parts(body) {
        let part = part?;
        let mut reader = CacheReader { rest: &part.bytes };
        while !reader.rest.is_empty() {
            let StoredPath { path, stamp, names } = reader.take_path()?;
            looks.push(ScannedPath {
                path: path.to_owned(),
                stamp: checked.restamped.get(path).copied().or(stamp),
                names,
            });
        }
    }
    Some(looks)
}

/// Returns the paths that have another stamp now.
fn find_restamped<'l, 'b>(
    present: &PathReader<'_>,
    looks: &'l [StoredPath<'b>],
) -> Option<Vec<&'l StoredPath<'b>>> {
    let (root, stat) = (present.root, present.stat);
    let others = |looks: &'l [StoredPath<'b>]| -> Vec<&'l StoredPath<'b>> {
        let is_other = |look: &&StoredPath<'_>| stat(root, path_on_disk(look.path)) != look.stamp;
        looks.iter().filter(is_other).collect()
    };
    if looks.len() < MIN_PATHS_FOR_SECOND_THREAD {
        return Some(others(looks));
    }
    // Thousands of `stat` calls are the whole cost of a cache hit, and the kernel runs those of two
    // threads in parallel.
    std::thread::scope(|scope| {
        let (one, other) = looks.split_at(looks.len() / 2);
        let other = scope.spawn(|| others(other));
        let mut changed = others(one);
        changed.extend(other.join().ok()?);
        Some(changed)
    })
}

/// Whether a folder has the same entries, although its stamp is another one. One that was not there
/// before, or is not now, does not.
fn has_same_names(look: &StoredPath<'_>, list: &dyn Fn(&str) -> Option<Vec<FolderEntry>>) -> bool {
    let folder = look.path.trim_end_matches('/');
    look.stamp.is_some() && list(folder).is_some_and(|entries| digest_names(&entries) == look.names)
}

/// Returns the names that the cached paths have in the changed folders, sorted.
fn collect_names(
    looks: &[StoredPath<'_>],
    changed: &[&StoredPath<'_>],
) -> BTreeMap<String, Vec<String>> {
    let folders = changed.iter().filter(|look| look.is_folder());
    let names_in = |folder: &str| -> Vec<String> {
        // The root folder is recorded as `/`.
        let prefix = if folder == "/" { "" } else { folder };
        let below = looks
            .iter()
            .filter_map(|look| look.path.strip_prefix(prefix));
        let mut names: Vec<&str> = below
            .filter_map(|rest| rest.split('/').next())
            .filter(|name| !name.is_empty())
            .collect();
        names.sort_unstable();
        names.dedup();
        names.into_iter().map(str::to_owned).collect()
    };
    folders
        .map(|folder| (folder.path.to_owned(), names_in(folder.path)))
        .collect()
}

/// The parts of a cache file that a check reads.
struct StoredParts {
    header: CacheHeader,
    parts: Vec<Vec<u8>>,
    is_whole: bool,
    /// Git's index, if all paths are compared because it is another one.
    other_index: Option<Option<FileStamp>>,
}

impl StoredParts {
    /// Reads the parts of a check: all, or the next ones after those of the last check.
    fn open(path: &Path, extent: CheckedPaths) -> Option<Self> {
        let file = File::open(path).ok()?;
        let mut start = vec![0; FIXED_SIZE];
        file.read_exact_at(&mut start, 0).ok()?;
        let sizes = FixedHeader::parse(&start)?;
        start.resize(sizes.header_size(), 0);
        file.read_exact_at(start.get_mut(FIXED_SIZE..)?, FIXED_SIZE as u64)
            .ok()?;
        let (header, _) = CacheHeader::read_from(&start)?;
        let (least, other_index) = match extent {
            CheckedPaths::All => (header.paths, None),
            CheckedPaths::NextPart { least, index } if sizes.index == index => (least, None),
            CheckedPaths::NextPart { index, .. } => (header.paths, Some(index)),
        };
        let count = header.parts.len();
        let is_whole = header.paths <= least;
        let first = if is_whole || count == 0 {
            0
        } else {
            sizes.next_part as usize % count
        };
        let (mut parts, mut paths) = (Vec::new(), 0);
        for step in 0..count {
            if paths >= least {
                break;
            }
            let part = header.parts.get((first + step) % count)?;
            let mut bytes = vec![0; part.size as usize];
            let at = sizes.header_size() as u64 + part.offset;
            file.read_exact_at(&mut bytes, at).ok()?;
            parts.push(part.verify(bytes)?);
            paths += part.paths as usize;
        }
        if !is_whole {
            let next = u32::try_from((first + parts.len()) % count).unwrap_or(0);
            overwrite_at(path, &next.to_le_bytes(), NEXT_PART_OFFSET);
        }
        Some(Self {
            header,
            parts,
            is_whole,
            other_index,
        })
    }
}

/// Overwrites a field of the cache file that is not under its checksum: any value is valid, and
/// without it, on a read-only disk, the same paths are checked again.
fn overwrite_at(path: &Path, bytes: &[u8], at: u64) {
    let file = File::options().write(true).open(path);
    let _ = file.and_then(|file| file.write_all_at(bytes, at));
}

fn read_cache(file: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    // Limited: the file lies in the project, where anything may have been put in its place.
    File::open(file)
        .ok()?
        .take(MAX_CACHE_BYTES)
        .read_to_end(&mut bytes)
        .ok()?;
    Some(bytes)
}

/// Bytes of a stamp that may be missing.
const STAMP_SIZE: usize = 1 + 4 * 8;
/// Bytes before the mark: magic, next part, git's index, size of the rest of the header.
const FIXED_SIZE: usize = MAGIC.len() + 4 + STAMP_SIZE + 4;
const NEXT_PART_OFFSET: u64 = MAGIC.len() as u64;
const INDEX_OFFSET: u64 = NEXT_PART_OFFSET + 4;

/// The beginning of a cache file.
struct FixedHeader {
    /// The part to check next.
    next_part: u32,
    /// Git's index when all paths were last compared.
    index: Option<FileStamp>,
    /// Size of mark, list of parts and checksum.
    rest: u32,
}

impl FixedHeader {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut reader = CacheReader {
            rest: bytes.strip_prefix(MAGIC)?,
        };
        let header = Self {
            next_part: u32::from_le_bytes(reader.take_bytes()?),
            index: reader.take_stamp()?,
            rest: u32::from_le_bytes(reader.take_bytes()?),
        };
        (u64::from(header.rest) <= MAX_CACHE_BYTES).then_some(header)
    }

    fn header_size(&self) -> usize {
        FIXED_SIZE + self.rest as usize
    }
}

/// Mark and list of parts of a cache file, with a checksum of its own.
struct CacheHeader {
    mark: String,
    /// Number of all paths.
    paths: usize,
    parts: Vec<PartEntry>,
}

/// Where a part is in the file, after the header.
struct PartEntry {
    offset: u64,
    size: u32,
    paths: u32,
    sum: u32,
}

impl PartEntry {
    /// Returns the bytes of the part, if they are the ones that were written.
    fn verify(&self, bytes: Vec<u8>) -> Option<Vec<u8>> {
        (crc32fast::hash(&bytes) == self.sum).then_some(bytes)
    }
}

impl CacheHeader {
    /// Reads a header, and returns the bytes after it.
    fn read_from(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let size = FixedHeader::parse(bytes)?.header_size();
        let (header, body) = bytes.split_at_checked(size)?;
        let (listed, sum) = header.get(FIXED_SIZE..)?.split_last_chunk::<4>()?;
        (crc32fast::hash(listed) == u32::from_le_bytes(*sum)).then_some(())?;
        let mut reader = CacheReader { rest: listed };
        let mark = reader.take_text()?.to_owned();
        let (mut parts, mut paths, mut offset) = (Vec::new(), 0, 0);
        while !reader.rest.is_empty() {
            let part = PartEntry {
                offset,
                size: u32::from_le_bytes(reader.take_bytes()?),
                paths: u32::from_le_bytes(reader.take_bytes()?),
                sum: u32::from_le_bytes(reader.take_bytes()?),
            };
            offset += u64::from(part.size);
            paths += part.paths as usize;
            parts.push(part);
        }
        // A size that no file of ours has must not be allocated.
        (offset <= MAX_CACHE_BYTES).then_some(())?;
        Some((Self { mark, paths, parts }, body))
    }

    /// Returns each part of the bytes after the header; `None` for a damaged one.
    fn split_parts<'b>(&self, body: &'b [u8]) -> impl Iterator<Item = Option<EncodedPart<'b>>> {
        self.parts.iter().map(move |part| {
            let from = usize::try_from(part.offset).ok()?;
            let bytes = body.get(from..from + part.size as usize)?;
            (crc32fast::hash(bytes) == part.sum).then_some(EncodedPart {
                paths: part.paths,
                bytes: Cow::Borrowed(bytes),
            })
        })
    }
}

/// The encoded paths of a part.
struct EncodedPart<'b> {
    paths: u32,
    bytes: Cow<'b, [u8]>,
}

/// Encodes paths and stamps in parts, little-endian, each path with its length.
fn encode_parts(looks: &[ScannedPath]) -> Vec<EncodedPart<'static>> {
    let encode = |part: &[ScannedPath]| {
        let mut bytes = Vec::with_capacity(part.len() * 96);
        for look in part {
            push_text(&mut bytes, &look.path);
            push_stamp(&mut bytes, look.stamp.as_ref());
            if look.path.ends_with('/') {
                bytes.extend_from_slice(&look.names);
            }
        }
        EncodedPart {
            paths: u32::try_from(part.len()).unwrap_or(u32::MAX),
            bytes: Cow::Owned(bytes),
        }
    };
    looks.chunks(PATHS_PER_PART).map(encode).collect()
}

/// Writes a cache file; `index` is git's index when all paths were last compared.
fn write_cache(file: &Path, mark: &str, parts: &[EncodedPart<'_>], index: Option<&FileStamp>) {
    let size_of = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let mut listed = Vec::new();
    push_text(&mut listed, mark);
    for part in parts {
        listed.extend_from_slice(&size_of(&part.bytes).to_le_bytes());
        listed.extend_from_slice(&part.paths.to_le_bytes());
        // Written without a sync, so a power cut can leave any bytes; the checksums reject them.
        listed.extend_from_slice(&crc32fast::hash(&part.bytes).to_le_bytes());
    }
    let sum = crc32fast::hash(&listed);
    listed.extend_from_slice(&sum.to_le_bytes());
    let body: usize = parts.iter().map(|part| part.bytes.len()).sum();
    let mut bytes = Vec::with_capacity(FIXED_SIZE + listed.len() + body);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&0u32.to_le_bytes());
    push_stamp(&mut bytes, index);
    bytes.extend_from_slice(&size_of(&listed).to_le_bytes());
    bytes.extend_from_slice(&listed);
    for part in parts {
        bytes.extend_from_slice(&part.bytes);
    }
    // Errors are ignored: without the cache the next command scans everything.
    let _ = replace_file(file, &bytes, Durability::Atomic);
}

/// Appends a stamp, in the same number of bytes if it is missing.
fn push_stamp(bytes: &mut Vec<u8>, stamp: Option<&FileStamp>) {
    bytes.push(u8::from(stamp.is_some()));
    let (size, modified, changed, inode) = stamp.map_or((0, 0, 0, 0), |stamp| {
        (stamp.size, stamp.modified_ns, stamp.changed_ns, stamp.inode)
    });
    bytes.extend_from_slice(&size.to_le_bytes());
    bytes.extend_from_slice(&modified.to_le_bytes());
    bytes.extend_from_slice(&changed.to_le_bytes());
    bytes.extend_from_slice(&inode.to_le_bytes());
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

    fn take_path(&mut self) -> Option<StoredPath<'b>> {
        let (path, stamp) = (self.take_text()?, self.take_stamp()?);
        let names = match path.ends_with('/') {
            true => self.take_bytes()?,
            false => NamesDigest::default(),
        };
        Some(StoredPath { path, stamp, names })
    }

    fn take_stamp(&mut self) -> Option<Option<FileStamp>> {
        // In one step: a check of a large project reads twenty thousand of them.
        let ([there, fields @ ..], rest) = self.rest.split_first_chunk::<STAMP_SIZE>()?;
        self.rest = rest;
        let (fields, _) = fields.as_chunks::<8>();
        let stamp = FileStamp {
            size: u64::from_le_bytes(fields[0]),
            modified_ns: i64::from_le_bytes(fields[1]),
            changed_ns: i64::from_le_bytes(fields[2]),
            inode: u64::from_le_bytes(fields[3]),
        };
        Some((*there != 0).then_some(stamp))
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write files of their own")]
mod tests;
