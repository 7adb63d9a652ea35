//! Lines that are not committed, of files that git follows and of new ones, from one run of `git status`.
//!
//! `git diff --numstat` knows no new files, and the machine formats of `git status` know no lines. Its long format, asked
//! twice to be verbose, has both: the list of new files, then the staged and the unstaged changes as patches. Without
//! context the head of a hunk says how many lines it takes away and brings, and each line of a file stands behind a
//! `+` or `-`, so nothing in a file can look like a head.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ChildStdout;
use std::time::Instant;

use domain::ports::{ChangedLines, StoreFault};
use rustix::fs::{Mode, OFlags};

use super::place::Place;
use super::{fault, named, process};

/// A larger file counts as binary, with git (`core.bigFileThreshold`) and with us.
const MOST_BYTES: u64 = 8 * 1024 * 1024;
/// Git looks for a zero byte in as many to tell a binary file.
const LOOKED_AT: usize = 8000;
/// What we write ourselves is never counted: in a large project it would be most of what there is to count.
const OURS: &str = ".throughline";
const NOT_OURS: &str = ":(exclude,literal).throughline";
/// `both modified:   ` and its like are filled up to one width.
const CONFLICT_LABEL: usize = 17;

/// What a user may have set otherwise is set here, where it changes what we read.
const STATUS: &[&str] = &[
    // What is ours is left out by a pattern; a name that is asked for is a name.
    "--no-literal-pathspecs",
    "-c",
    "advice.statusHints=false",
    "-c",
    "color.diff=false",
    "-c",
    "color.status=false",
    "-c",
    "core.bigFileThreshold=8m",
    "-c",
    "core.quotePath=false",
    "-c",
    "diff.context=0",
    "-c",
    "diff.interHunkContext=0",
    "-c",
    "diff.mnemonicPrefix=false",
    "-c",
    "diff.noPrefix=false",
    "-c",
    "diff.relative=false",
    "-c",
    "diff.submodule=short",
    "-c",
    "status.displayCommentPrefix=false",
    "-c",
    "status.relativePaths=false",
    "-c",
    "status.showStash=false",
    "-c",
    "status.submoduleSummary=false",
    "status",
    "--long",
    "--untracked-files=all",
    "--ignored=matching",
    "--ignore-submodules=dirty",
    "--no-renames",
    "--no-ahead-behind",
    "--no-column",
];

/// Asked twice to be verbose, the long format has the patches.
const WITH_PATCHES: &[&str] = &["-v", "-v"];

/// A path as git has it, relative to the top of the working tree.
type Name = Vec<u8>;

/// What one run of `git status` told.
#[derive(Default)]
struct Told {
    /// Added and removed lines.
    changed: BTreeMap<Name, (u64, u64)>,
    new: Vec<Name>,
    /// Folders git does not look into.
    ignored: Vec<Name>,
    /// Changed files of which some lines end with a carriage return on one side and without on the other.
    other_endings: BTreeSet<Name>,
}

/// What is not committed.
pub(super) struct Found {
    pub(super) lines: Vec<ChangedLines>,
    /// Folders below the project that are ignored as a whole.
    pub(super) ignored: Vec<String>,
}

/// Counts everything below the project, or just these paths of it, in the order of the paths.
pub(super) fn uncommitted(place: &Place, paths: &[String]) -> Result<Found, StoreFault> {
    let deadline = Instant::now() + process::PATIENCE;
    let named: Vec<String> = paths
        .iter()
        .map(|path| format!(":(literal){path}"))
        .collect();
    let wanted: Vec<&str> = match paths {
        [] => vec![".", NOT_OURS],
        _ => named.iter().map(String::as_str).collect(),
    };
    let status = |more: &[&'static str]| [STATUS, more, &["--"], &wanted].concat();
    let (ended, apart) = match process::run_without_attributes(place, &status(WITH_PATCHES), told)?
    {
        Some(ended) => (ended, None),
        // The patches of `git status` may be made by a program that an attribute names; those of `git diff-index` are not.
        None => (
            process::run(place, &status(&[]), told)?,
            Some(changed_apart(place, paths)?),
        ),
    };
    if ended.code != 0 {
        return Err(ended.fault("cannot count what is not committed"));
    }
    let inside = |name: &[u8]| {
        let path = Path::new(OsStr::from_bytes(name))
            .strip_prefix(&place.prefix)
            .ok()?;
        (!path.as_os_str().is_empty() && !path.starts_with(OURS)).then(|| path.to_owned())
    };
    let mut lines = Vec::new();
    for (name, (added, removed)) in &ended.said.changed {
        if let Some(path) = inside(name) {
            let path = path.to_string_lossy().into_owned();
            lines.push(ChangedLines {
                path,
                added: *added,
                removed: *removed,
                untracked: false,
            });
        }
    }
    match apart {
        None => leave_out_line_endings(place, &ended.said.other_endings, &mut lines)?,
        Some(counted) => {
            lines.retain(|file| !counted.iter().any(|other| other.path == file.path));
            lines.extend(counted);
        }
    }
    for path in ended.said.new.iter().filter_map(|name| inside(name)) {
        if Instant::now() > deadline {
            return Err(fault(
                "cannot count what is not committed",
                "there are too many new files",
            ));
        }
        let added = lines_of(&place.project.join(&path));
        lines.push(ChangedLines {
            path: path.to_string_lossy().into_owned(),
            added,
            removed: 0,
            untracked: true,
        });
    }
    // The list of names heeds which are asked for, the patches do not.
    lines.retain(|file| paths.is_empty() || paths.contains(&file.path));
    lines.sort_by(|one, other| one.path.cmp(&other.path));
    let ignored = ended.said.ignored.iter().filter_map(|name| inside(name));
    Ok(Found {
        lines,
        ignored: ignored
            .map(|path| path.to_string_lossy().into_owned())
            .collect(),
    })
}

/// Counts files that git follows without `git status`: staged and unstaged changes together.
fn changed_apart(place: &Place, paths: &[String]) -> Result<Vec<ChangedLines>, StoreFault> {
    let here = [".".to_owned()];
    let counted = named::changed(place, if paths.is_empty() { &here } else { paths })?;
    let mut counted = counted.ok_or_else(|| {
        fault(
            "cannot count what is not committed",
            "git cannot compare the files",
        )
    })?;
    counted.retain(|file| !Path::new(&file.path).starts_with(OURS));
    Ok(counted)
}

/// Counts files again whose line endings differ, without these: `git status` cannot.
fn leave_out_line_endings(
    place: &Place,
    others: &BTreeSet<Name>,
    lines: &mut Vec<ChangedLines>,
) -> Result<(), StoreFault> {
    let is_other =
        |file: &ChangedLines| others.contains(place.prefix.join(&file.path).as_os_str().as_bytes());
    let paths: Vec<String> = lines
        .iter()
        .filter(|file| is_other(file))
        .map(|file| file.path.clone())
        .collect();
    if paths.is_empty() {
        return Ok(());
    }
    if let Some(counted) = named::changed(place, &paths)? {
        lines.retain(|file| !is_other(file));
        lines.extend(counted);
    }
    Ok(())
}

/// Which part of the answer a line belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Other,
    Conflicts,
    New,
    Ignored,
    Patches,
}

/// How the removed and the added lines of a file end: with or without a carriage return.
#[derive(Default)]
struct Endings {
    removed: [bool; 2],
    added: [bool; 2],
}

impl Endings {
    /// Takes a line of a patch; says whether it ends as none on the other side did.
    fn differ_with(&mut self, line: &[u8]) -> bool {
        let returns = usize::from(line.ends_with(b"\r"));
        let (own, other) = match line.first() {
            Some(b'-') => (&mut self.removed, &self.added),
            Some(b'+') => (&mut self.added, &self.removed),
            _ => return false,
        };
        own[returns] = true;
        other[1 - returns]
    }
}

/// Reads the answer line by line: a patch may be long, what is kept of it is not.
fn told(mut answer: BufReader<ChildStdout>) -> Told {
    let mut told = Told::default();
    let mut part = Part::Other;
    let mut current: Option<Name> = None;
    let mut endings: Option<Endings> = None;
    let mut line = Vec::new();
    loop {
        line.clear();
        if !answer
            .read_until(b'\n', &mut line)
            .is_ok_and(|length| length > 0)
        {
            return told;
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        if let Some(names) = text.strip_prefix(b"diff --git ") {
            part = Part::Patches;
            current = patched(names);
            endings = None;
            if let Some(name) = &current {
                told.changed.entry(name.clone()).or_default();
            }
        } else if part == Part::Patches {
            let Some(name) = &current else { continue };
            if let Some((removed, added)) = hunk(text) {
                // The lines before the first hunk only look like lines of the file.
                endings.get_or_insert_default();
                let count = told.changed.entry(name.clone()).or_default();
                count.0 += added;
                count.1 += removed;
            } else if endings
                .as_mut()
                .is_some_and(|endings| endings.differ_with(text))
            {
                told.other_endings.insert(name.clone());
                // Once is enough.
                endings = None;
            }
        } else if let Some(entry) = text.strip_prefix(b"\t") {
            match part {
                // A nested repository is named with a slash at its end: it is no file.
                Part::New => told
                    .new
                    .extend(Some(plain(entry)).filter(|name| !name.ends_with(b"/"))),
                // Single files that are ignored do not matter: they are not counted, and come with their folder.
                Part::Ignored => told
                    .ignored
                    .extend(plain(entry).strip_suffix(b"/").map(<[u8]>::to_vec)),
                Part::Conflicts => {
                    told.changed
                        .entry(plain(entry.get(CONFLICT_LABEL..).unwrap_or_default()))
                        .or_default();
                }
                Part::Other | Part::Patches => {}
            }
        } else {
            part = match text {
                b"Untracked files:" => Part::New,
                b"Ignored files:" => Part::Ignored,
                b"Unmerged paths:" => Part::Conflicts,
                _ => Part::Other,
            };
        }
    }
}

/// Reads the name in `c/name i/name`: both are the same, as renames are not looked for.
fn patched(names: &[u8]) -> Option<Name> {
    let name = if names.starts_with(b"\"") {
        plain(names)
    } else {
        names.get(..names.len() / 2)?.to_vec()
    };
    name.get(2..).map(<[u8]>::to_vec)
}

/// Reads `@@ -1,2 +3 @@`: how many lines go and how many come.
fn hunk(line: &[u8]) -> Option<(u64, u64)> {
    let rest = line.strip_prefix(b"@@ -")?;
    let end = rest.windows(3).position(|window| window == b" @@")?;
    let (removed, added) = std::str::from_utf8(rest.get(..end)?)
        .ok()?
        .split_once(" +")?;
    let count = |range: &str| {
        range
            .split_once(',')
            .map_or(Some(1), |(_, count)| count.parse().ok())
    };
    Some((count(removed)?, count(added)?))
}

/// Takes a name out of its quotes, if it has any, and ends with them.
fn plain(quoted: &[u8]) -> Name {
    let Some(rest) = quoted.strip_prefix(b"\"") else {
        return quoted.to_vec();
    };
    let mut name = Vec::new();
    let mut bytes = rest.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => break,
            b'\\' => name.push(match bytes.next() {
                Some(b'a') => 0x07,
                Some(b'b') => 0x08,
                Some(b't') => b'\t',
                Some(b'n') => b'\n',
                Some(b'v') => 0x0b,
                Some(b'f') => 0x0c,
                Some(b'r') => b'\r',
                Some(high @ b'0'..=b'3') => {
                    let mut digit = || bytes.next().map_or(0, |digit| digit.wrapping_sub(b'0') & 7);
                    (high - b'0') << 6 | digit() << 3 | digit()
                }
                Some(itself) => itself,
                None => break,
            }),
            _ => name.push(byte),
        }
    }
    name
}

/// Counts the lines of a new file as git will once it is added. A file that went away meanwhile has none.
pub(super) fn lines_of(path: &Path) -> u64 {
    let Ok(found) = fs::symlink_metadata(path) else {
        return 0;
    };
    if found.is_symlink() {
        // Git keeps where it leads to as one line.
        return 1;
    }
    if !found.is_file() || found.len() > MOST_BYTES {
        return 0;
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(file) = rustix::fs::open(path, flags, Mode::empty()) else {
        return 0;
    };
    let mut bytes = Vec::new();
    if File::from(file)
        .take(MOST_BYTES)
        .read_to_end(&mut bytes)
        .is_err()
    {
        return 0;
    }
    if bytes.iter().take(LOOKED_AT).any(|byte| *byte == 0) {
        return 0;
    }
    let ends = bytes.iter().filter(|byte| **byte == b'\n').count();
    let unended = bytes.last().is_some_and(|last| *last != b'\n');
    u64::try_from(ends + usize::from(unended)).unwrap_or(u64::MAX)
}
