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

use domain::ports::{ChangedLines, FileStamp, Head, StoreFault};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use serde::{Deserialize, Serialize};

use super::index::{self, Seen};
use super::place::Place;
use super::uncommitted::{Found, lines_of};
use super::{head, named};
use crate::layout::HOME;
use crate::looks::Looks as Noted;
use crate::plan_files::{each_entry, is_settled, stamp};

/// Maximum number of changed files that are recounted by name; with more, everything is counted.
const MOST_OTHERS: usize = 64;
/// Number of index entries from which a second thread pays for its start.
const WORTH_A_THREAD: usize = 1_000;
/// Number of files in a folder from which opening it saves more path lookups than it costs.
const FEW_IN_A_FOLDER: usize = 8;
/// Coarsest tick of the kernel clock that stamps files (10 ms at HZ=100). A file modified within
/// the last tick could change again without a new mtime, so its stamp is not trusted.
const TICK_NS: i64 = 10_000_000;
/// File mode of a submodule (gitlink) in the index.
const REPOSITORY: u32 = 0o160_000;

/// Stat data of a file, as far as it identifies its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Looks {
    Gone,
    Like([u64; 4]),
    /// Modified within the current clock tick (racy): it may change again and keep this stamp.
    Unsure,
}

/// The cached count of one file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Counted {
    looks: Looks,
    added: u64,
    removed: u64,
    untracked: bool,
    /// Whether the content differs from the commit; otherwise only the stat data does.
    differs: bool,
}

/// The cache's content, stored as the mark of the folder scan.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    head: String,
    /// By path below the project.
    files: BTreeMap<String, Counted>,
    /// Completely ignored folders; they are not scanned for new files.
    ignored: BTreeSet<String>,
}

/// Result of a cache lookup.
pub(super) enum TakenUp {
    Stands(Vec<ChangedLines>),
    /// A miss: no cache, or too many changes. `unlike` are the files whose stat data differs from
    /// the index, as far as they are known.
    Not {
        unlike: Vec<String>,
    },
}

/// Returns the path of the cache file.
fn file(place: &Place) -> PathBuf {
    place.project.join(HOME).join("counted.bin")
}

/// Returns the uncommitted lines from the cache, after recounting the files that changed; starts at
/// most one process.
pub(super) fn take_up(place: &Place) -> Result<TakenUp, StoreFault> {
    let not = || Ok(TakenUp::Not { unlike: Vec::new() });
    let root = open(&place.project)?;
    let Some(looked) = Noted::default().again(&file(place), &root, 0, stat_any) else {
        return not();
    };
    let Ok(mut kept) = serde_json::from_str::<Kept>(&looked.mark) else {
        return not();
    };
    // Counts are relative to HEAD: after a commit or a checkout none of them holds.
    if head::head(place)? != Head::At(kept.head.clone()) {
        return not();
    }
    let Some(unlike) = unlike_the_index(place, kept.head.len() / 2)? else {
        return not();
    };
    // Stat before the count below, so that an edit in between makes the entry stale, not wrong.
    let mut others: BTreeMap<String, Looks> = BTreeMap::new();
    for path in unlike.iter().chain(kept.files.keys()) {
        let now = looks(&root, path);
        if now == Looks::Unsure
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
    if others.len() > MOST_OTHERS || others.keys().any(decides) {
        return Ok(TakenUp::Not { unlike });
    }
    if !others.is_empty() {
        // Untracked files are counted here without a process; git counts the tracked ones only.
        let is_new = |path: &&String| {
            kept.files
                .get(*path)
                .is_some_and(|counted| counted.untracked)
        };
        let (new, followed): (Vec<&String>, Vec<&String>) = others.keys().partition(is_new);
        let followed: Vec<String> = followed.into_iter().cloned().collect();
        let counted = if followed.is_empty() {
            Some(Vec::new())
        } else {
            named::changed(place, &followed)?
        };
        let Some(counted) = counted else { return not() };
        let mut found: Vec<(String, Counted)> = Vec::new();
        for path in new {
            let added = lines_of(&place.project.join(path));
            let one = Counted {
                looks: others[path],
                added,
                removed: 0,
                untracked: true,
                differs: true,
            };
            found.push((path.clone(), one));
        }
        for path in followed {
            let lines = counted.iter().find(|lines| lines.path == path);
            let (added, removed) = lines.map_or((0, 0), |lines| (lines.added, lines.removed));
            let one = Counted {
                looks: others[&path],
                added,
                removed,
                untracked: false,
                differs: lines.is_some(),
            };
            found.push((path, one));
        }
        kept.files.extend(found);
        keep(place, &root, &kept)?;
    }
    Ok(TakenUp::Stands(lines(&kept)))
}

/// Caches a full count. Files of `unlike` that git did not count have changed stat data only; they
/// are cached as unchanged.
pub(super) fn remember(place: &Place, found: &Found, unlike: &[String]) -> Result<(), StoreFault> {
    let Head::At(head) = head::head(place)? else {
        return Ok(());
    };
    let root = open(&place.project)?;
    let the_same = |path: &String| {
        let looks = looks(&root, path);
        (
            path.clone(),
            Counted {
                looks,
                added: 0,
                removed: 0,
                untracked: false,
                differs: false,
            },
        )
    };
    let mut files: BTreeMap<String, Counted> = unlike.iter().map(the_same).collect();
    for lines in &found.lines {
        let (looks, added, removed) = (looks(&root, &lines.path), lines.added, lines.removed);
        files.insert(
            lines.path.clone(),
            Counted {
                looks,
                added,
                removed,
                untracked: lines.untracked,
                differs: true,
            },
        );
    }
    keep(
        place,
        &root,
        &Kept {
            head,
            files,
            ignored: found.ignored.iter().cloned().collect(),
        },
    )
}

/// Returns the stat data of a few files, to be taken before they are counted.
pub(super) fn looks_of(place: &Place, paths: &[String]) -> Result<Vec<Looks>, StoreFault> {
    let root = open(&place.project)?;
    Ok(paths.iter().map(|path| looks(&root, path)).collect())
}

/// Updates the cached counts of a few files. Best effort: without a cache file nothing happens.
pub(super) fn correct(place: &Place, paths: &[String], before: &[Looks], counted: &[ChangedLines]) {
    Noted::mark_anew(&file(place), |mark| {
        let mut kept: Kept = serde_json::from_str(mark).ok()?;
        let at = Head::At(kept.head.clone());
        // The counts belong to the present HEAD; the cached ones may belong to another.
        head::head(place)
            .is_ok_and(|head| head == at)
            .then_some(())?;
        for (path, looks) in paths.iter().zip(before) {
            let lines = counted.iter().find(|lines| lines.path == *path);
            let (added, removed) = lines.map_or((0, 0), |lines| (lines.added, lines.removed));
            let (untracked, differs) =
                (lines.is_some_and(|lines| lines.untracked), lines.is_some());
            kept.files.insert(
                path.clone(),
                Counted {
                    looks: *looks,
                    added,
                    removed,
                    untracked,
                    differs,
                },
            );
        }
        serde_json::to_string(&kept).ok()
    });
}

/// Writes the cache, with the stat data of every folder in which a new file could appear.
fn keep(place: &Place, root: &OwnedFd, kept: &Kept) -> Result<(), StoreFault> {
    let noted = Noted::default();
    noted.begin();
    // These three decide which files are tracked or ignored, so the cache depends on them too.
    let also = [
        place.own.join("index"),
        place.common.join("config"),
        place.common.join("info/exclude"),
    ];
    for path in also.iter().filter_map(|path| path.to_str()) {
        let seen = stat_any(root, path);
        // A racy stamp would hide a second change; no cache is written, and the next call counts.
        if seen.is_some_and(|seen| !is_settled(&seen, TICK_NS)) {
            return Ok(());
        }
        noted.note(path, seen);
    }
    if note_folders(&noted, root, "", &kept.ignored).is_some()
        && let Ok(mark) = serde_json::to_string(kept)
    {
        noted.keep(&file(place), &mark);
    }
    Ok(())
}

/// Records a folder and all below it; `None` if one has a racy stamp, so that an entry added now
/// would go unnoticed later.
fn note_folders(
    noted: &Noted,
    root: &OwnedFd,
    folder: &str,
    ignored: &BTreeSet<String>,
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
        .map(|found| stamp(&found))
        .filter(|seen| is_settled(seen, TICK_NS))?;
    noted.note_folder(folder, Some(seen));
    let mut below = Vec::new();
    each_entry(&handle, |name, kind| {
        let name = name.to_string_lossy();
        if kind == FileType::Directory && !matches!(&*name, "." | ".." | ".git" | HOME) {
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
        .try_for_each(|path| note_folders(noted, root, path, ignored))
}

fn lines(kept: &Kept) -> Vec<ChangedLines> {
    let one = |(path, counted): (&String, &Counted)| ChangedLines {
        path: path.clone(),
        added: counted.added,
        removed: counted.removed,
        untracked: counted.untracked,
    };
    kept.files
        .iter()
        .filter(|(_, counted)| counted.differs)
        .map(one)
        .collect()
}

/// Returns the tracked files below the project whose stat data differs from the index; `None` if
/// the index cannot be parsed.
fn unlike_the_index(place: &Place, hash: usize) -> Result<Option<Vec<String>>, StoreFault> {
    let Some(bytes) = read_index(place) else {
        return Ok(None);
    };
    let Some(entries) = index::entries(&bytes, hash) else {
        return Ok(None);
    };
    let root = open(&place.top)?;
    // Racy git: a file with the index's own mtime may have changed after git compared it and still
    // have the recorded stat data. Git rehashes such files; here they count as changed.
    let index_modified = std::fs::symlink_metadata(place.own.join("index")).map(|found| {
        use std::os::unix::fs::MetadataExt;
        (cut(found.mtime()), cut(found.mtime_nsec()))
    });
    let Ok(index_modified) = index_modified else {
        return Ok(None);
    };
    let unlike = |entries: &[index::Entry<'_>]| -> Vec<String> {
        let mut found = Vec::new();
        for folder in entries.chunk_by(|one, other| parted(one.name).0 == parted(other.name).0) {
            let names = folder.first().map_or(&[][..], |entry| parted(entry.name).0);
            // One handle per folder with many files: `fstatat` relative to it skips the path
            // lookup.
            let handle = match folder.len() {
                ..FEW_IN_A_FOLDER => None,
                _ => {
                    rustix::fs::openat(&root, names, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
                        .ok()
                }
            };
            for entry in folder {
                let seen = entry.seen();
                // The stat data of a submodule is its folder's, which changes with any file in it.
                if entry.left_alone || seen.mode == REPOSITORY {
                    continue;
                }
                let now = match &handle {
                    Some(handle) => {
                        rustix::fs::statat(handle, parted(entry.name).1, AtFlags::SYMLINK_NOFOLLOW)
                    }
                    None => rustix::fs::statat(&root, entry.name, AtFlags::SYMLINK_NOFOLLOW),
                };
                if now.map_or(true, |now| {
                    seen_now(&now) != seen || seen.modified >= index_modified
                }) {
                    found.extend(below(place, entry.name));
                }
            }
        }
        found
    };
    if entries.len() < WORTH_A_THREAD {
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
fn parted(name: &[u8]) -> (&[u8], &[u8]) {
    match name.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (
            name.get(..at).unwrap_or_default(),
            name.get(at + 1..).unwrap_or_default(),
        ),
        None => (&[], name),
    }
}

fn read_index(place: &Place) -> Option<Vec<u8>> {
    std::fs::read(place.own.join("index")).ok()
}

/// Converts a path relative to the working tree into one relative to the project; `None` outside
/// the project and inside `.throughline`.
fn below(place: &Place, name: &[u8]) -> Option<String> {
    let path = Path::new(OsStr::from_bytes(name))
        .strip_prefix(&place.prefix)
        .ok()?;
    (!path.starts_with(HOME)).then(|| path.to_str().map(str::to_owned))?
}

fn open(folder: &Path) -> Result<OwnedFd, StoreFault> {
    let opened = File::open(folder);
    opened
        .map(OwnedFd::from)
        .map_err(|error| super::fault(format!("cannot open `{}`", folder.display()), error))
}

fn stat_any(root: &OwnedFd, path: &str) -> Option<FileStamp> {
    rustix::fs::statat(root, path, AtFlags::SYMLINK_NOFOLLOW)
        .ok()
        .map(|found| stamp(&found))
}

fn looks(root: &OwnedFd, path: &str) -> Looks {
    match stat_any(root, path) {
        None => Looks::Gone,
        Some(stamp) if is_settled(&stamp, TICK_NS) => Looks::Like([
            stamp.size,
            stamp.modified_ns.cast_unsigned(),
            stamp.changed_ns.cast_unsigned(),
            stamp.inode,
        ]),
        Some(_) => Looks::Unsure,
    }
}

/// Converts `stat` output to the index's representation.
fn seen_now(now: &Stat) -> Seen {
    // Git records only these three modes for files; anything else compares as different.
    let mode = match FileType::from_raw_mode(now.st_mode) {
        FileType::Symlink => 0o120_000,
        FileType::RegularFile if now.st_mode & 0o100 != 0 => 0o100_755,
        FileType::RegularFile => 0o100_644,
        _ => 0,
    };
    Seen {
        changed: (cut(now.st_ctime), cut(now.st_ctime_nsec)),
        modified: (cut(now.st_mtime), cut(now.st_mtime_nsec)),
        inode: cut(now.st_ino),
        mode,
        size: cut(now.st_size),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "git keeps the low 32 bits")]
fn cut(number: impl Into<i128>) -> u32 {
    number.into() as u32
}
