//! What was counted the last time, taken up again where it still holds.
//!
//! A command that an agent runs may have changed anything, and mostly changed nothing that git follows. Then every file looks
//! as the index says, or as it did when it was counted, and no folder has other entries than it had: the count stands, and git is
//! not asked. Where a few files differ, git is asked about those alone.
//!
//! What is kept is a cache in our own folder: lost or not understood, everything is counted.

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

/// With more files that differ, everything is counted.
const MOST_OTHERS: usize = 64;
/// So many files are worth a second thread.
const WORTH_A_THREAD: usize = 1_000;
/// With fewer files in a folder it is not worth opening.
const FEW_IN_A_FOLDER: usize = 8;
/// The clock that stamps files ticks every ten milliseconds at the latest. A hook comes soon after an edit, and what is
/// not trusted is counted again.
const TICK_NS: i64 = 10_000_000;
/// Where git keeps the mode of a repository in a repository.
const REPOSITORY: u32 = 0o160_000;

/// What a file looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Looks {
    Gone,
    Like([u64; 4]),
    /// It may change again within the same tick of the clock, and look the same.
    Unsure,
}

/// A file that was counted.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Counted {
    looks: Looks,
    added: u64,
    removed: u64,
    untracked: bool,
    /// Whether it is another one than the committed; its stamps alone may differ.
    differs: bool,
}

/// What is kept beside the looks at folders.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    head: String,
    /// By path below the project.
    files: BTreeMap<String, Counted>,
    /// Folders that are ignored as a whole.
    ignored: BTreeSet<String>,
}

/// What became of a count that was kept.
pub(super) enum TakenUp {
    Stands(Vec<ChangedLines>),
    /// There is none, or too much is other than it was: these files look other than the index says.
    Not {
        unlike: Vec<String>,
    },
}

/// The place where a count is kept.
fn file(place: &Place) -> PathBuf {
    place.project.join(HOME).join("counted.bin")
}

/// Returns what is not committed, if it can be said from what was counted before; at most one process is started.
pub(super) fn take_up(place: &Place) -> Result<TakenUp, StoreFault> {
    let not = || Ok(TakenUp::Not { unlike: Vec::new() });
    let root = open(&place.project)?;
    let Some(looked) = Noted::default().again(&file(place), &root, 0, stat_any) else {
        return not();
    };
    let Ok(mut kept) = serde_json::from_str::<Kept>(&looked.mark) else {
        return not();
    };
    if head::head(place)? != Head::At(kept.head.clone()) {
        return not();
    }
    let Some(unlike) = unlike_the_index(place, kept.head.len() / 2)? else {
        return not();
    };
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
    // What says which files are git's decides about more than itself.
    let decides = |path: &String| path.ends_with(".gitignore") || path.ends_with(".gitattributes");
    if others.len() > MOST_OTHERS || others.keys().any(decides) {
        return Ok(TakenUp::Not { unlike });
    }
    if !others.is_empty() {
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

/// Keeps what git counted, and of which files it found that they only look other than its index says.
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

/// What a few files look like before they are counted.
pub(super) fn looks_of(place: &Place, paths: &[String]) -> Result<Vec<Looks>, StoreFault> {
    let root = open(&place.project)?;
    Ok(paths.iter().map(|path| looks(&root, path)).collect())
}

/// Puts what was counted of a few files over what is kept of them.
pub(super) fn correct(place: &Place, paths: &[String], before: &[Looks], counted: &[ChangedLines]) {
    Noted::mark_anew(&file(place), |mark| {
        let mut kept: Kept = serde_json::from_str(mark).ok()?;
        let at = Head::At(kept.head.clone());
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

/// Writes it, with a look at every folder that could get a new file.
fn keep(place: &Place, root: &OwnedFd, kept: &Kept) -> Result<(), StoreFault> {
    let noted = Noted::default();
    noted.begin();
    let also = [
        place.own.join("index"),
        place.common.join("config"),
        place.common.join("info/exclude"),
    ];
    for path in also.iter().filter_map(|path| path.to_str()) {
        let seen = stat_any(root, path);
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

/// Notes a folder and those below it; `None` when an entry that comes now would not show later.
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

/// Returns the files git follows below the project that look other than its index says.
fn unlike_the_index(place: &Place, hash: usize) -> Result<Option<Vec<String>>, StoreFault> {
    let Some(bytes) = read_index(place) else {
        return Ok(None);
    };
    let Some(entries) = index::entries(&bytes, hash) else {
        return Ok(None);
    };
    let root = open(&place.top)?;
    // What was written in the moment the index was may have changed after it without looking other.
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
            // The way to a folder is gone once where many files are in it.
            let handle = match folder.len() {
                ..FEW_IN_A_FOLDER => None,
                _ => {
                    rustix::fs::openat(&root, names, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
                        .ok()
                }
            };
            for entry in folder {
                let seen = entry.seen();
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

/// Parts a name into its folder and the rest.
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

/// Returns the path below the project of a name below the top; nothing for what is ours or elsewhere.
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

/// Cuts `stat` to what git keeps of it.
fn seen_now(now: &Stat) -> Seen {
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
