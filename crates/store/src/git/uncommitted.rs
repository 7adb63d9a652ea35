//! Uncommitted lines of tracked and untracked files, from one run of `git status -vv`.
//!
//! `git diff --numstat` omits untracked files, and the porcelain formats of `git status` have no
//! line counts. The long format with `-vv` has both: the list of untracked files, then the staged
//! and the unstaged changes as patches. With no context lines a hunk header gives the numbers of
//! removed and added lines, and every line of a file is prefixed by `+` or `-`, so file content
//! cannot be mistaken for a header.

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

use super::repository_paths::RepositoryPaths;
use super::{git_fault, named_files, process};

/// A larger file counts as binary, both in git (`core.bigFileThreshold`, set below) and here.
const MAX_TEXT_FILE_BYTES: u64 = 8 * 1024 * 1024;
/// Number of leading bytes in which a NUL marks a file as binary, as in git.
const BINARY_PROBE_BYTES: usize = 8000;
/// Our own folder is never counted: in a large project its mirror would be most of the count.
const OWN_FOLDER: &str = ".throughline";
const EXCLUDE_OWN_FOLDER: &str = ":(exclude,literal).throughline";
/// Width of the labels before unmerged paths (`both modified:   `), padded by git.
const CONFLICT_LABEL_BYTES: usize = 17;

/// Arguments of `git status`; every user setting that changes the output we parse is fixed here.
const STATUS_ARGUMENTS: &[&str] = &[
    // Overrides GIT_LITERAL_PATHSPECS: our own folder is excluded by a pathspec with magic. Named
    // paths carry `:(literal)`.
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
    // Non-ASCII names unquoted; only names with quotes or control characters stay quoted.
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
    // The other formats start a git inside the submodule.
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
    // Files, not just their folders: the lines of each one are counted.
    "--untracked-files=all",
    "--ignored=matching",
    "--ignore-submodules=dirty",
    // Both paths of a patch header are then equal, which makes it unambiguous to parse.
    "--no-renames",
    // Comparing with the upstream branch walks history, for a line that is not read.
    "--no-ahead-behind",
    "--no-column",
];

/// Makes the long format print staged and unstaged patches.
const PATCH_OPTIONS: &[&str] = &["-v", "-v"];

/// A path relative to the top of the working tree, in bytes as git has it.
type PathBytes = Vec<u8>;

/// Parsed output of `git status`.
#[derive(Default)]
struct StatusOutput {
    /// Added and removed lines.
    changed: BTreeMap<PathBytes, (u64, u64)>,
    new: Vec<PathBytes>,
    /// Completely ignored folders.
    ignored: Vec<PathBytes>,
    /// Changed files with CRLF line endings on one side of the patch and LF on the other.
    other_endings: BTreeSet<PathBytes>,
}

/// Uncommitted lines, with the ignored folders the cache needs.
pub(super) struct UncommittedLines {
    pub(super) lines: Vec<ChangedLines>,
    /// Completely ignored folders below the project.
    pub(super) ignored: Vec<String>,
}

/// Counts all files below the project, or only `paths`; the result is sorted by path.
pub(super) fn count_uncommitted_lines(
    place: &RepositoryPaths,
    paths: &[String],
) -> Result<UncommittedLines, StoreFault> {
    let deadline = Instant::now() + process::GIT_TIMEOUT;
    let named: Vec<String> = paths
        .iter()
        .map(|path| format!(":(literal){path}"))
        .collect();
    let wanted: Vec<&str> = match paths {
        [] => vec![".", EXCLUDE_OWN_FOLDER],
        _ => named.iter().map(String::as_str).collect(),
    };
    let status = |more: &[&'static str]| [STATUS_ARGUMENTS, more, &["--"], &wanted].concat();
    let (ended, apart) = match process::run_without_attributes(
        place,
        &status(PATCH_OPTIONS),
        parse_status_output,
    )? {
        Some(ended) => (ended, None),
        // Patches of `git status` may come from a `textconv` program that an attribute names;
        // `git diff-index --no-textconv` runs none.
        None => (
            process::run_git(place, &status(&[]), parse_status_output)?,
            Some(count_tracked_with_diff(place, paths)?),
        ),
    };
    if ended.code != 0 {
        return Err(ended.to_fault("cannot count uncommitted lines"));
    }
    let inside = |name: &[u8]| {
        let path = Path::new(OsStr::from_bytes(name))
            .strip_prefix(&place.prefix)
            .ok()?;
        (!path.as_os_str().is_empty() && !path.starts_with(OWN_FOLDER)).then(|| path.to_owned())
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
        None => recount_without_line_endings(place, &ended.said.other_endings, &mut lines)?,
        Some(counted) => {
            lines.retain(|file| !counted.iter().any(|other| other.path == file.path));
            lines.extend(counted);
        }
    }
    for path in ended.said.new.iter().filter_map(|name| inside(name)) {
        // These files are read here, not by git, so the time limit is checked here as well.
        if Instant::now() > deadline {
            return Err(git_fault(
                "cannot count uncommitted lines",
                "too many untracked files",
            ));
        }
        let added = count_file_lines(&place.project.join(&path));
        lines.push(ChangedLines {
            path: path.to_string_lossy().into_owned(),
            added,
            removed: 0,
            untracked: true,
        });
    }
    // `git status` limits the list of names to the pathspecs, but not the patches.
    lines.retain(|file| paths.is_empty() || paths.contains(&file.path));
    lines.sort_by(|one, other| one.path.cmp(&other.path));
    let ignored = ended.said.ignored.iter().filter_map(|name| inside(name));
    Ok(UncommittedLines {
        lines,
        ignored: ignored
            .map(|path| path.to_string_lossy().into_owned())
            .collect(),
    })
}

/// Counts tracked files with `git diff-index`: staged and unstaged changes together.
fn count_tracked_with_diff(
    place: &RepositoryPaths,
    paths: &[String],
) -> Result<Vec<ChangedLines>, StoreFault> {
    let here = [".".to_owned()];
    let counted =
        named_files::count_tracked_lines(place, if paths.is_empty() { &here } else { paths })?;
    let mut counted = counted
        .ok_or_else(|| git_fault("cannot count uncommitted lines", "`git diff-index` failed"))?;
    counted.retain(|file| !Path::new(&file.path).starts_with(OWN_FOLDER));
    Ok(counted)
}

/// Recounts files with changed line endings, ignoring the endings; `git status` has no such option.
fn recount_without_line_endings(
    place: &RepositoryPaths,
    others: &BTreeSet<PathBytes>,
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
    if let Some(counted) = named_files::count_tracked_lines(place, &paths)? {
        lines.retain(|file| !is_other(file));
        lines.extend(counted);
    }
    Ok(())
}

/// Section of the long status output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StatusSection {
    Other,
    Conflicts,
    New,
    Ignored,
    Patches,
}

/// Which line endings the removed and the added lines of a file have: LF (0), CRLF (1).
#[derive(Default)]
struct LineEndings {
    removed: [bool; 2],
    added: [bool; 2],
}

impl LineEndings {
    /// Records a line of a patch; whether the other side has a line with the other ending.
    fn record_line(&mut self, line: &[u8]) -> bool {
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

/// Parses the output of `git status` line by line; a patch may be long and is not kept.
fn parse_status_output(mut answer: BufReader<ChildStdout>) -> StatusOutput {
    let mut told = StatusOutput::default();
    let mut part = StatusSection::Other;
    let mut current: Option<PathBytes> = None;
    let mut endings: Option<LineEndings> = None;
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
            part = StatusSection::Patches;
            current = parse_patch_path(names);
            endings = None;
            if let Some(name) = &current {
                told.changed.entry(name.clone()).or_default();
            }
        } else if part == StatusSection::Patches {
            let Some(name) = &current else { continue };
            if let Some((removed, added)) = parse_hunk_header(text) {
                // Line endings are compared from the first hunk on: `--- a/x` and `+++ b/x` before
                // it only look like lines of the file.
                endings.get_or_insert_default();
                let count = told.changed.entry(name.clone()).or_default();
                count.0 += added;
                count.1 += removed;
            } else if endings
                .as_mut()
                .is_some_and(|endings| endings.record_line(text))
            {
                told.other_endings.insert(name.clone());
                // One difference is enough to recount the file.
                endings = None;
            }
        } else if let Some(entry) = text.strip_prefix(b"\t") {
            match part {
                // A trailing slash marks a nested repository, which has no lines of its own.
                StatusSection::New => told
                    .new
                    .extend(Some(unquote_path(entry)).filter(|name| !name.ends_with(b"/"))),
                // Only folders (trailing slash): the cache skips them. Single ignored files are in
                // folders that it scans anyway.
                StatusSection::Ignored => told
                    .ignored
                    .extend(unquote_path(entry).strip_suffix(b"/").map(<[u8]>::to_vec)),
                // Unmerged files are listed with no lines: their combined diff (`diff --cc`) is not
                // counted.
                StatusSection::Conflicts => {
                    told.changed
                        .entry(unquote_path(
                            entry.get(CONFLICT_LABEL_BYTES..).unwrap_or_default(),
                        ))
                        .or_default();
                }
                StatusSection::Other | StatusSection::Patches => {}
            }
        } else {
            part = match text {
                b"Untracked files:" => StatusSection::New,
                b"Ignored files:" => StatusSection::Ignored,
                b"Unmerged paths:" => StatusSection::Conflicts,
                _ => StatusSection::Other,
            };
        }
    }
}

/// Parses the path in `a/PATH b/PATH`; both halves are equal, because renames are not detected.
fn parse_patch_path(names: &[u8]) -> Option<PathBytes> {
    let name = if names.starts_with(b"\"") {
        unquote_path(names)
    } else {
        names.get(..names.len() / 2)?.to_vec()
    };
    name.get(2..).map(<[u8]>::to_vec)
}

/// Parses a hunk header `@@ -1,2 +3 @@` into the numbers of removed and added lines.
fn parse_hunk_header(line: &[u8]) -> Option<(u64, u64)> {
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

/// Unquotes a C-style quoted path; stops at the closing quote. Unquoted paths are returned as they
/// are.
fn unquote_path(quoted: &[u8]) -> PathBytes {
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

/// Counts the lines of an untracked file as git will once it is added. A vanished file has none.
pub(super) fn count_file_lines(path: &Path) -> u64 {
    let Ok(found) = fs::symlink_metadata(path) else {
        return 0;
    };
    if found.is_symlink() {
        // Git stores a symlink's target as one line.
        return 1;
    }
    if !found.is_file() || found.len() > MAX_TEXT_FILE_BYTES {
        return 0;
    }
    // The file may have been replaced since the `stat`: NOFOLLOW for a link, NONBLOCK for a FIFO,
    // on which the open would hang.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(file) = rustix::fs::open(path, flags, Mode::empty()) else {
        return 0;
    };
    let mut bytes = Vec::new();
    if File::from(file)
        .take(MAX_TEXT_FILE_BYTES)
        .read_to_end(&mut bytes)
        .is_err()
    {
        return 0;
    }
    if bytes.iter().take(BINARY_PROBE_BYTES).any(|byte| *byte == 0) {
        return 0;
    }
    let ends = bytes.iter().filter(|byte| **byte == b'\n').count();
    let unended = bytes.last().is_some_and(|last| *last != b'\n');
    u64::try_from(ends + usize::from(unended)).unwrap_or(u64::MAX)
}
