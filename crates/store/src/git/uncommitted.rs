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
use std::hash::{DefaultHasher, Hasher};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ChildStdout;
use std::time::Instant;

use domain::ports::{ChangedLines, GitHead, StoreFault};
use domain::work::file_moves::{LineHashes, pair_moved_files};
use rustix::fs::{Mode, OFlags};

use super::repository_paths::RepositoryPaths;
use super::{command, git_fault, head, named_files, process};

/// A larger file counts as binary, both in git (`core.bigFileThreshold`, set below) and here.
const MAX_TEXT_FILE_BYTES: u64 = 8 * 1024 * 1024;
/// Number of leading bytes in which a NUL marks a file as binary, as in git.
const BINARY_PROBE_BYTES: usize = 8000;
/// Our own folder is never counted: in a large project its mirror would be most of the count.
const OWN_FOLDER: &str = ".throughline";
const EXCLUDE_OWN_FOLDER: &str = ":(exclude,literal).throughline";
/// Maximum number of lines that are hashed to detect moves (8 bytes each).
const MAX_HASHED_LINES: usize = 500_000;
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
    // Both paths of a patch header are then equal, which makes it unambiguous to parse. Moves are
    // found afterwards, among untracked files too, which git leaves out.
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
    /// Tracked files that are deleted or new as a whole, for the detection of moves.
    whole: WholeFiles,
    new: Vec<PathBytes>,
    /// Completely ignored folders.
    ignored: Vec<PathBytes>,
    /// Changed files with CRLF line endings on one side of the patch and LF on the other.
    other_endings: BTreeSet<PathBytes>,
}

/// Line hashes of the files that are deleted or new as a whole.
#[derive(Default)]
struct WholeFiles {
    deleted: BTreeMap<PathBytes, LineHashes>,
    new: BTreeMap<PathBytes, LineHashes>,
    /// Number of hashes in both.
    hashed_lines: usize,
}

impl WholeFiles {
    /// Adds a line of a patch of a whole file.
    fn record_line(&mut self, side: WholeFile, name: &[u8], line: &[u8]) {
        let (files, text) = match (side, line.split_first()) {
            (WholeFile::Deleted, Some((b'-', text))) => (&mut self.deleted, text),
            (WholeFile::New, Some((b'+', text))) => (&mut self.new, text),
            _ => return,
        };
        self.hashed_lines += 1;
        // Beyond the limit a file has too few hashes to resemble any other, so that it counts in
        // full: the safe side.
        if self.hashed_lines <= MAX_HASHED_LINES {
            files
                .entry(name.to_vec())
                .or_default()
                .push(hash_line(text));
        }
    }
}

/// What a patch does to the file as a whole.
#[derive(Clone, Copy)]
enum WholeFile {
    Deleted,
    New,
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
    let mut ended = match process::run_without_attributes(
        place,
        &status(PATCH_OPTIONS),
        parse_status_output,
    )? {
        Some(ended) => ended,
        // Patches of `git status` may come from a `textconv` program that an attribute names;
        // `git diff-index --no-textconv` runs none.
        None => {
            let mut ended = process::run_git(place, &status(&[]), parse_status_output)?;
            let patches = read_tracked_patches(place, paths)?;
            ended.said.changed.extend(patches.changed);
            ended.said.whole = patches.whole;
            ended
        }
    };
    if ended.code != 0 {
        return Err(ended.to_fault("cannot count uncommitted lines"));
    }
    let untracked = read_untracked_files(place, &mut ended.said, deadline)?;
    let mut lines = settle_moves(place, &ended.said, untracked);
    recount_without_line_endings(place, &ended.said.other_endings, &mut lines)?;
    // `git status` limits the list of names to the pathspecs, but not the patches.
    lines.retain(|file| paths.is_empty() || paths.contains(&file.path));
    lines.sort_by(|one, other| one.path.cmp(&other.path));
    let ignored = ended.said.ignored.iter();
    let ignored = ignored.filter_map(|name| to_counted_path(place, name));
    Ok(UncommittedLines {
        lines,
        ignored: ignored.collect(),
    })
}

/// Converts a path of the repository into one of the project; `None` outside it and for our own
/// files.
fn to_counted_path(place: &RepositoryPaths, name: &[u8]) -> Option<String> {
    let path = Path::new(OsStr::from_bytes(name))
        .strip_prefix(&place.prefix)
        .ok()?;
    (!path.as_os_str().is_empty() && !path.starts_with(OWN_FOLDER))
        .then(|| path.to_string_lossy().into_owned())
}

/// Counts the lines of the untracked files, by path in the repository.
fn read_untracked_files(
    place: &RepositoryPaths,
    said: &mut StatusOutput,
    deadline: Instant,
) -> Result<BTreeMap<PathBytes, u64>, StoreFault> {
    let mut counts = BTreeMap::new();
    // Without a deleted file nothing was moved, and no line has to be hashed.
    let may_be_moved = !said.whole.deleted.is_empty();
    for name in std::mem::take(&mut said.new) {
        let Some(path) = to_counted_path(place, &name) else {
            continue;
        };
        // These files are read here, not by git, so the time limit is checked here as well.
        if Instant::now() > deadline {
            return Err(git_fault(
                "cannot count uncommitted lines",
                "too many untracked files",
            ));
        }
        let file = place.project.join(path);
        let added = match read_text_file(&file) {
            Some(text) => {
                if may_be_moved {
                    for line in split_lines(&text) {
                        let line = [b"+", line].concat();
                        said.whole.record_line(WholeFile::New, &name, &line);
                    }
                }
                count_lines(&text)
            }
            None => count_file_lines(&file),
        };
        counts.insert(name, added);
    }
    Ok(counts)
}

/// Combines tracked and untracked files, with moved ones counted by what changed in them.
fn settle_moves(
    place: &RepositoryPaths,
    said: &StatusOutput,
    untracked: BTreeMap<PathBytes, u64>,
) -> Vec<ChangedLines> {
    let whole = &said.whole;
    let mut counts: BTreeMap<PathBytes, ChangedLines> = BTreeMap::new();
    for (name, (added, removed)) in &said.changed {
        let found = counts.entry(name.clone()).or_default();
        (found.added, found.removed) = (*added, *removed);
    }
    for (name, added) in untracked {
        let found = counts.entry(name).or_default();
        found.added += added;
        found.untracked = true;
    }
    let length = |files: &BTreeMap<PathBytes, LineHashes>, name: &PathBytes| {
        files
            .get(name)
            .map_or(0, |lines| u64::try_from(lines.len()).unwrap_or(0))
    };
    for one in pair_moved_files(&whole.deleted, &whole.new) {
        // Only the whole-file part is replaced: a file that was moved, staged and edited again
        // keeps the count of that edit.
        let (older, newer) = (
            length(&whole.deleted, &one.from),
            length(&whole.new, &one.to),
        );
        if let Some(from) = counts.get_mut(&one.from) {
            from.removed = from.removed.saturating_sub(older);
            if (from.added, from.removed) == (0, 0) {
                counts.remove(&one.from);
            }
        }
        if let Some(to) = counts.get_mut(&one.to) {
            to.added = to.added.saturating_sub(newer).saturating_add(one.added);
            to.removed = to.removed.saturating_add(one.removed);
            // `git rm --cached` leaves a file that is deleted and untracked under one path.
            to.moved_from = to_counted_path(place, &one.from).filter(|_| one.from != one.to);
        }
    }
    let named = counts.into_iter().filter_map(|(name, lines)| {
        let path = to_counted_path(place, &name)?;
        Some(ChangedLines { path, ..lines })
    });
    named.collect()
}

/// Arguments of `git diff-index` for patches like those of `git status -vv`, without the programs
/// that attributes may name.
const PATCH_ARGUMENTS: &[&str] = &[
    "-c",
    "core.bigFileThreshold=8m",
    "-c",
    "core.quotePath=false",
    "diff-index",
    "--patch",
    "--unified=0",
    "--no-color",
    "--no-renames",
    "--no-ext-diff",
    "--no-textconv",
    "--ignore-submodules=dirty",
    "--ignore-cr-at-eol",
];

/// Reads the patches of tracked files: staged and unstaged changes together.
fn read_tracked_patches(
    place: &RepositoryPaths,
    paths: &[String],
) -> Result<StatusOutput, StoreFault> {
    let base = match head::resolve_head(place)? {
        GitHead::At(_) => "HEAD",
        _ => command::empty_tree(place),
    };
    let mut arguments = [PATCH_ARGUMENTS, &[base, "--"]].concat();
    match paths {
        [] => arguments.push("."),
        _ => arguments.extend(paths.iter().map(String::as_str)),
    }
    let ended = process::run_git(place, &arguments, parse_status_output)?;
    match ended.code {
        0 => Ok(ended.said),
        _ => Err(ended.to_fault("cannot count uncommitted lines")),
    }
}

/// Recounts files with changed line endings, ignoring the endings; `git status` has no such option.
fn recount_without_line_endings(
    place: &RepositoryPaths,
    others: &BTreeSet<PathBytes>,
    lines: &mut Vec<ChangedLines>,
) -> Result<(), StoreFault> {
    // Not a moved file: compared with the same path of the commit, all its lines would be new.
    let is_other = |file: &ChangedLines| {
        file.moved_from.is_none()
            && others.contains(place.prefix.join(&file.path).as_os_str().as_bytes())
    };
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
    // Set from the header of a patch that deletes or adds the whole file.
    let mut whole: Option<WholeFile> = None;
    let mut whole_lines_left = 0;
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
            (endings, whole) = (None, None);
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
                whole_lines_left = removed + added;
            } else if let (Some(side), Some(_)) = (whole, &endings) {
                // One side of such a patch is empty: there are no endings to compare. Counted,
                // because the rule of dashes after the staged patches looks like a removed line.
                if whole_lines_left > 0 {
                    told.whole.record_line(side, name, text);
                    whole_lines_left -= 1;
                }
            } else if endings
                .as_mut()
                .is_some_and(|endings| endings.record_line(text))
            {
                told.other_endings.insert(name.clone());
                // One difference is enough to recount the file.
                endings = None;
            } else if endings.is_none() {
                whole = whole.or_else(|| parse_whole_file_header(text));
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

/// Parses the header line of a patch that deletes or adds a file.
fn parse_whole_file_header(line: &[u8]) -> Option<WholeFile> {
    if line.starts_with(b"deleted file mode ") {
        return Some(WholeFile::Deleted);
    }
    line.starts_with(b"new file mode ")
        .then_some(WholeFile::New)
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
    // Git stores a symlink's target as one line.
    let is_link = || fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    match read_text_file(path) {
        Some(text) => count_lines(&text),
        None => u64::from(is_link()),
    }
}

/// Reads a file; `None` for anything but a regular file of text.
fn read_text_file(path: &Path) -> Option<Vec<u8>> {
    let found = fs::symlink_metadata(path).ok()?;
    if !found.is_file() || found.len() > MAX_TEXT_FILE_BYTES {
        return None;
    }
    // The file may have been replaced since the `stat`: NOFOLLOW for a link, NONBLOCK for a FIFO,
    // on which the open would hang.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    let mut bytes = Vec::new();
    File::from(file)
        .take(MAX_TEXT_FILE_BYTES)
        .read_to_end(&mut bytes)
        .ok()?;
    let is_binary = bytes.iter().take(BINARY_PROBE_BYTES).any(|byte| *byte == 0);
    (!is_binary).then_some(bytes)
}

fn count_lines(text: &[u8]) -> u64 {
    u64::try_from(split_lines(text).count()).unwrap_or(u64::MAX)
}

/// Splits a text into lines; a last one without a line feed counts as well.
fn split_lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\n").unwrap_or(line))
}

/// Hashes a line without its carriage return: changed line endings do not count.
fn hash_line(line: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(line.strip_suffix(b"\r").unwrap_or(line));
    hasher.finish()
}
