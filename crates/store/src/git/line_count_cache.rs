//! Cache of uncommitted line counts, valid while the files' stat data is unchanged.
//!
//! A shell command of an agent may change anything, but mostly changes no tracked file. Then every
//! file's stat data equals the index or the cached entry, every folder is unchanged, and the cached
//! counts hold without a `git` process. If a few files differ, git counts those alone.
//!
//! A wrong hit would let the `loc` gate pass, so every doubt (racy mtime, other inode, unknown
//! index version) is a miss. The cache file is in `.throughline`; lost or unreadable, everything is
//! counted.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use domain::ports::{ChangedLines, CheckedPaths, FileStamp, GitHead, StoreFault};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use serde::{Deserialize, Serialize};

use super::index::{self, IndexStat};
use super::repository_paths::RepositoryPaths;
use super::uncommitted::{UncommittedLines, count_file_lines};
use super::{attributes, head, named_files};
use crate::layout::STATE_FOLDER;
use crate::plan_files::{each_entry, file_stamp, is_stamp_settled_at, wall_clock_ns};
use crate::scan_cache::{PathReader, ScanCache};

/// Maximum number of changed files that are recounted by name; with more, everything is counted.
const MAX_RECOUNTED_FILES: usize = 64;
/// Number of index entries from which a second thread pays for its start.
const MIN_ENTRIES_FOR_THREAD: usize = 1_000;
/// Number of files in a folder from which opening it saves more path lookups than it costs.
const MIN_FILES_FOR_FOLDER_HANDLE: usize = 8;
/// Coarsest tick of the kernel clock that stamps files (10 ms at HZ=100). A file modified within
/// the last tick could change again without a new mtime, so its stamp is not trusted.
const CLOCK_TICK_NS: i64 = 10_000_000;
/// File mode of a submodule (gitlink) in the index.
const SUBMODULE_MODE: u32 = 0o160_000;

/// Stat data of a file, as far as it identifies its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum FileStat {
    Gone,
    Like([u64; 4]),
    /// Modified within the current clock tick (racy): it may change again and keep this stamp.
    Unsure,
}

/// The cached count of one file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct CachedCount {
    looks: FileStat,
    added: u64,
    removed: u64,
    untracked: bool,
    /// The former path of a moved file.
    #[serde(default)]
    moved_from: Option<String>,
    #[serde(default)]
    generated: bool,
    /// Whether the content differs from the commit; otherwise only the stat data does.
    differs: bool,
}

impl CachedCount {
    /// Returns the entry of a file with this count; without one its content is as committed.
    fn from_lines(looks: FileStat, lines: Option<&ChangedLines>) -> Self {
        let (counted, differs) = (lines.cloned().unwrap_or_default(), lines.is_some());
        Self {
            looks,
            added: counted.added,
            removed: counted.removed,
            untracked: counted.untracked,
            moved_from: counted.moved_from,
            generated: counted.generated,
            differs,
        }
    }
}

/// The moment a count began, with the commit it is relative to.
///
/// Git reads the files in an unknown order while it counts. A file or folder that changes after
/// this moment may have been read before or after the change, so its stat data is not cached.
pub(super) struct CountStart {
    head: GitHead,
    at_ns: i64,
}

impl CountStart {
    pub(super) fn take(place: &RepositoryPaths) -> Result<Self, StoreFault> {
        let head = head::resolve_head(place)?;
        let at_ns = wall_clock_ns();
        Ok(Self { head, at_ns })
    }
}

/// The cache's content, stored as the mark of the folder scan.
#[derive(Debug, Serialize, Deserialize)]
struct CachedCounts {
    head: String,
    /// By path below the project.
    files: BTreeMap<String, CachedCount>,
    /// Completely ignored folders; they are not scanned for new files.
    ignored: BTreeSet<String>,
}

/// Result of a cache lookup.
pub(super) enum CacheLookup {
    Stands(Vec<ChangedLines>),
    /// A miss: no cache, or too many changes. `unlike` are the files whose stat data differs from
    /// the index, as far as they are known.
    Not {
        unlike: Vec<String>,
    },
}

/// Returns the path of the cache file.
fn cache_path(place: &RepositoryPaths) -> PathBuf {
    place.project.join(STATE_FOLDER).join("counted.bin")
}

/// Returns the uncommitted lines from the cache, after recounting the files that changed; starts at
/// most one process.
pub(super) fn look_up_cached_counts(
    place: &RepositoryPaths,
    start: &CountStart,
) -> Result<CacheLookup, StoreFault> {
    let not = || Ok(CacheLookup::Not { unlike: Vec::new() });
    let root = open_folder(&place.project)?;
    let present = PathReader {
        root: &root,
        stat: stat_path,
        // A cache with changes is not saved again.
        is_settled: &|_| false,
        list: &|_| None,
    };
    let checked = (CheckedPaths::All, (|_| 0) as fn(usize) -> usize);
    let Some(looked) = ScanCache::default().find_changes(&cache_path(place), checked, &present)
    else {
        return not();
    };
    let Ok(mut kept) = serde_json::from_str::<CachedCounts>(&looked.mark) else {
        return not();
    };
    // Counts are relative to HEAD: after a commit or a checkout none of them holds.
    if start.head != GitHead::At(kept.head.clone()) {
        return not();
    }
    let Some(unlike) = find_index_mismatches(place, kept.head.len() / 2)? else {
        return not();
    };
    // Stat before the count below, so that an edit in between makes the entry stale, not wrong.
    let mut others: BTreeMap<String, FileStat> = BTreeMap::new();
    for path in unlike.iter().chain(kept.files.keys()) {
        let now = stat_file(&root, path, start.at_ns);
        if now == FileStat::Unsure
            || kept
                .files
                .get(path)
                .is_none_or(|counted| counted.looks != now)
        {
            others.insert(path.clone(), now);
        }
    }
    // A changed `.gitignore` or `.gitattributes` changes how other files count.
    let decides = |path: &String| path.ends_with(".gitignore") || path.ends_with(".gitattributes");
    if others.len() > MAX_RECOUNTED_FILES
        || others.keys().any(decides)
        || may_change_moves(&kept, others.keys())
    {
        return Ok(CacheLookup::Not { unlike });
    }
    if !others.is_empty() {
        let Some(found) = recount_files(place, &kept, &others)? else {
            return not();
        };
        for (path, looks) in &others {
            let lines = found.iter().find(|lines| lines.path == *path);
            let one = CachedCount::from_lines(*looks, lines);
            kept.files.insert(path.clone(), one);
        }
        write_count_cache(place, &root, &kept, start)?;
    }
    Ok(CacheLookup::Stands(to_changed_lines(&kept)))
}

/// Whether a change of these files may begin or end a move, which only a full count finds: one of
/// them is part of a move, or it is new while another file is gone.
fn may_change_moves<'p>(kept: &CachedCounts, mut paths: impl Iterator<Item = &'p String>) -> bool {
    let is_left = |path: &String| {
        let moves = kept
            .files
            .values()
            .filter_map(|file| file.moved_from.as_ref());
        moves.into_iter().any(|from| from == path)
    };
    let has_gone = kept
        .files
        .iter()
        .any(|(path, file)| file.looks == FileStat::Gone && file.differs && !is_left(path));
    paths.any(|path| {
        let known = kept.files.get(path);
        is_left(path)
            || known.is_some_and(|file| file.moved_from.is_some())
            || (has_gone && known.is_some_and(|file| file.untracked || file.removed == 0))
    })
}

/// Counts a few files; `None` if git fails. Untracked files are counted here without a process, git
/// counts the tracked ones only.
fn recount_files(
    place: &RepositoryPaths,
    kept: &CachedCounts,
    others: &BTreeMap<String, FileStat>,
) -> Result<Option<Vec<ChangedLines>>, StoreFault> {
    let is_new = |path: &&String| kept.files.get(*path).is_some_and(|file| file.untracked);
    let (new, followed): (Vec<&String>, Vec<&String>) = others.keys().partition(is_new);
    let followed: Vec<String> = followed.into_iter().cloned().collect();
    let mut found = Vec::new();
    if !followed.is_empty() {
        let Some(counted) = named_files::count_tracked_lines(place, &followed)? else {
            return Ok(None);
        };
        found = counted;
    }
    found.extend(new.into_iter().map(|path| ChangedLines {
        path: path.clone(),
        added: count_file_lines(&place.project.join(path)),
        untracked: true,
        ..ChangedLines::default()
    }));
    attributes::mark_generated_files(place, &mut found)?;
    Ok(Some(found))
}

/// Caches a full count. Files of `unlike` that git did not count have changed stat data only; they
/// are cached as unchanged.
pub(super) fn cache_line_counts(
    place: &RepositoryPaths,
    found: &UncommittedLines,
    unlike: &[String],
    start: &CountStart,
) -> Result<(), StoreFault> {
    let GitHead::At(head) = start.head.clone() else {
        return Ok(());
    };
    let root = open_folder(&place.project)?;
    // The former path of a moved file has no count, but is compared like one that has.
    let left = found
        .lines
        .iter()
        .filter_map(|lines| lines.moved_from.as_ref());
    let uncounted = unlike.iter().chain(left).map(|path| (path, None));
    let counted = found.lines.iter().map(|lines| (&lines.path, Some(lines)));
    let files = uncounted.chain(counted).map(|(path, lines)| {
        let looks = stat_file(&root, path, start.at_ns);
        (path.clone(), CachedCount::from_lines(looks, lines))
    });
    let kept = CachedCounts {
        head,
        files: files.collect(),
        ignored: found.ignored.iter().cloned().collect(),
    };
    write_count_cache(place, &root, &kept, start)
}

/// Returns the stat data of a few files, to be taken before they are counted.
pub(super) fn stat_files(
    place: &RepositoryPaths,
    paths: &[String],
) -> Result<Vec<FileStat>, StoreFault> {
    let root = open_folder(&place.project)?;
    let now_ns = wall_clock_ns();
    Ok(paths
        .iter()
        .map(|path| stat_file(&root, path, now_ns))
        .collect())
}

/// Updates the cached counts of a few files. Best effort: without a cache file nothing happens.
pub(super) fn update_cached_counts(
    place: &RepositoryPaths,
    paths: &[String],
    before: &[FileStat],
    counted: &[ChangedLines],
) {
    ScanCache::replace_mark(&cache_path(place), |mark| {
        let mut kept: CachedCounts = serde_json::from_str(mark).ok()?;
        let at = GitHead::At(kept.head.clone());
        // The counts belong to the present HEAD; the cached ones may belong to another.
        head::resolve_head(place)
            .is_ok_and(|head| head == at)
            .then_some(())?;
        // A count by name knows nothing of moves. The stale entries that stay are recognised by
        // their stat data.
        if may_change_moves(&kept, paths.iter()) {
            return None;
        }
        for (path, looks) in paths.iter().zip(before) {
            let lines = counted.iter().find(|lines| lines.path == *path);
            let one = CachedCount::from_lines(*looks, lines);
            kept.files.insert(path.clone(), one);
        }
        serde_json::to_string(&kept).ok()
    });
}

/// Writes the cache, with the stat data of every folder in which a new file could appear.
fn write_count_cache(
    place: &RepositoryPaths,
    root: &OwnedFd,
    kept: &CachedCounts,
    start: &CountStart,
) -> Result<(), StoreFault> {
    let noted = ScanCache::default();
    noted.start_recording();
    // These three decide which files are tracked or ignored, so the cache depends on them too.
    let also = [
        place.own.join("index"),
        place.common.join("config"),
        place.common.join("info/exclude"),
    ];
    for path in also.iter().filter_map(|path| path.to_str()) {
        let seen = stat_path(root, path);
        // A racy stamp would hide a second change; no cache is written, and the next call counts.
        if seen.is_some_and(|seen| !is_stamp_settled_at(&seen, CLOCK_TICK_NS, start.at_ns)) {
            return Ok(());
        }
        noted.record_file(path, seen);
    }
    if record_folder_stats(&noted, root, "", &kept.ignored, start.at_ns).is_some()
        && let Ok(mark) = serde_json::to_string(kept)
    {
        noted.save_to(&cache_path(place), &mark);
    }
    Ok(())
}

/// Records a folder and all below it; `None` if one has a racy stamp, so that an entry added now
/// would go unnoticed later.
fn record_folder_stats(
    noted: &ScanCache,
    root: &OwnedFd,
    folder: &str,
    ignored: &BTreeSet<String>,
    at_ns: i64,
) -> Option<()> {
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = rustix::fs::openat(
        root,
        if folder.is_empty() { "." } else { folder },
        flags,
        Mode::empty(),
    )
    .ok()?;
    let seen = rustix::fs::fstat(&handle)
        .ok()
        .map(|found| file_stamp(&found))
        .filter(|seen| is_stamp_settled_at(seen, CLOCK_TICK_NS, at_ns))?;
    noted.record_folder(folder, Some(seen), &[]);
    let mut below = Vec::new();
    each_entry(&handle, |name, kind| {
        let name = name.to_string_lossy();
        if kind == FileType::Directory && !matches!(&*name, "." | ".." | ".git" | STATE_FOLDER) {
            below.push(if folder.is_empty() {
                name.into_owned()
            } else {
                format!("{folder}/{name}")
            });
        }
    })
    .ok()?;
    // Closed before the recursion, or a deep tree would use up the file descriptors.
    drop(handle);
    below
        .iter()
        .filter(|path| !ignored.contains(*path))
        .try_for_each(|path| record_folder_stats(noted, root, path, ignored, at_ns))
}

fn to_changed_lines(kept: &CachedCounts) -> Vec<ChangedLines> {
    let one = |(path, counted): (&String, &CachedCount)| ChangedLines {
        path: path.clone(),
        added: counted.added,
        removed: counted.removed,
        untracked: counted.untracked,
        moved_from: counted.moved_from.clone(),
        generated: counted.generated,
    };
    kept.files
        .iter()
        .filter(|(_, counted)| counted.differs)
        .map(one)
        .collect()
}

/// Returns the tracked files below the project whose stat data differs from the index; `None` if
/// the index cannot be parsed.
fn find_index_mismatches(
    place: &RepositoryPaths,
    hash: usize,
) -> Result<Option<Vec<String>>, StoreFault> {
    let Some(bytes) = read_index(place) else {
        return Ok(None);
    };
    let Some(entries) = index::parse_index_entries(&bytes, hash) else {
        return Ok(None);
    };
    let root = open_folder(&place.top)?;
    // Racy git: a file with the index's own mtime may have changed after git compared it and still
    // have the recorded stat data. Git rehashes such files; here they count as changed.
    let index_modified = std::fs::symlink_metadata(place.own.join("index")).map(|found| {
        use std::os::unix::fs::MetadataExt;
        (
            truncate_to_u32(found.mtime()),
            truncate_to_u32(found.mtime_nsec()),
        )
    });
    let Ok(index_modified) = index_modified else {
        return Ok(None);
    };
    let unlike = |entries: &[index::IndexEntry<'_>]| -> Vec<String> {
        let mut found = Vec::new();
        for folder in entries.chunk_by(|one, other| {
            split_parent_folder(one.name).0 == split_parent_folder(other.name).0
        }) {
            let names = folder
                .first()
                .map_or(&[][..], |entry| split_parent_folder(entry.name).0);
            // One handle per folder with many files: `fstatat` relative to it skips the path
            // lookup.
            let handle = match folder.len() {
                ..MIN_FILES_FOR_FOLDER_HANDLE => None,
                _ => {
                    rustix::fs::openat(&root, names, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
                        .ok()
                }
            };
            for entry in folder {
                let seen = entry.recorded_stat();
                // The stat data of a submodule is its folder's, which changes with any file in it.
                if entry.left_alone || seen.mode == SUBMODULE_MODE {
                    continue;
                }
                let now = match &handle {
                    Some(handle) => rustix::fs::statat(
                        handle,
                        split_parent_folder(entry.name).1,
                        AtFlags::SYMLINK_NOFOLLOW,
                    ),
                    None => rustix::fs::statat(&root, entry.name, AtFlags::SYMLINK_NOFOLLOW),
                };
                if now.map_or(true, |now| {
                    to_index_stat(&now) != seen || seen.modified >= index_modified
                }) {
                    found.extend(to_project_path(place, entry.name));
                }
            }
        }
        found
    };
    if entries.len() < MIN_ENTRIES_FOR_THREAD {
        return Ok(Some(unlike(&entries)));
    }
    let (one, other) = entries.split_at(entries.len() / 2);
    let (mut one, other) = std::thread::scope(|scope| {
        let other = scope.spawn(|| unlike(other));
        (unlike(one), other.join())
    });
    Ok(other.ok().map(|other| {
        one.extend(other);
        one
    }))
}

/// Splits a name into its folder and its last component.
fn split_parent_folder(name: &[u8]) -> (&[u8], &[u8]) {
    match name.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (
            name.get(..at).unwrap_or_default(),
            name.get(at + 1..).unwrap_or_default(),
        ),
        None => (&[], name),
    }
}

fn read_index(place: &RepositoryPaths) -> Option<Vec<u8>> {
    std::fs::read(place.own.join("index")).ok()
}

/// Converts a path relative to the working tree into one relative to the project; `None` outside
/// the project and inside `.throughline`.
fn to_project_path(place: &RepositoryPaths, name: &[u8]) -> Option<String> {
    let path = Path::new(OsStr::from_bytes(name))
        .strip_prefix(&place.prefix)
        .ok()?;
    (!path.starts_with(STATE_FOLDER)).then(|| path.to_str().map(str::to_owned))?
}

fn open_folder(folder: &Path) -> Result<OwnedFd, StoreFault> {
    let opened = File::open(folder);
    opened
        .map(OwnedFd::from)
        .map_err(|error| super::git_fault(format!("cannot open `{}`", folder.display()), error))
}

fn stat_path(root: &OwnedFd, path: &str) -> Option<FileStamp> {
    rustix::fs::statat(root, path, AtFlags::SYMLINK_NOFOLLOW)
        .ok()
        .map(|found| file_stamp(&found))
}

/// Returns the stat data of a file, as far as it was settled at the moment `at_ns`.
fn stat_file(root: &OwnedFd, path: &str, at_ns: i64) -> FileStat {
    match stat_path(root, path) {
        None => FileStat::Gone,
        Some(stamp) if is_stamp_settled_at(&stamp, CLOCK_TICK_NS, at_ns) => FileStat::Like([
            stamp.size,
            stamp.modified_ns.cast_unsigned(),
            stamp.changed_ns.cast_unsigned(),
            stamp.inode,
        ]),
        Some(_) => FileStat::Unsure,
    }
}

/// Converts `stat` output to the index's representation.
pub(super) fn to_index_stat(now: &Stat) -> IndexStat {
    // Git records only these three modes for files; anything else compares as different.
    let mode = match FileType::from_raw_mode(now.st_mode) {
        FileType::Symlink => 0o120_000,
        FileType::RegularFile if now.st_mode & 0o100 != 0 => 0o100_755,
        FileType::RegularFile => 0o100_644,
        _ => 0,
    };
    IndexStat {
        changed: (
            truncate_to_u32(now.st_ctime),
            truncate_to_u32(now.st_ctime_nsec),
        ),
        modified: (
            truncate_to_u32(now.st_mtime),
            truncate_to_u32(now.st_mtime_nsec),
        ),
        inode: truncate_to_u32(now.st_ino),
        mode,
        size: truncate_to_u32(now.st_size),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "git keeps the low 32 bits")]
fn truncate_to_u32(number: impl Into<i128>) -> u32 {
    number.into() as u32
}
