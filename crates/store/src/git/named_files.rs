//! Uncommitted lines of a few named files, at a third of the cost of a full `git status`.
//!
//! One process for these files: `diff-index` for tracked ones, `ls-files` for untracked ones. Which
//! kind they are is read from the index. If that fails (unknown index version, or both kinds at
//! once) the result is `None`, and the caller counts with `git status`.

use std::io::{BufRead, BufReader};
use std::process::ChildStdout;

use domain::ports::{ChangedLines, GitHead, StoreFault};

use super::repository_paths::RepositoryPaths;
use super::uncommitted::count_file_lines;
use super::{command, head, index, process};

const DIFF_ARGUMENTS: &[&str] = &[
    // Preloading starts threads, which costs more than it gains for a few files.
    "-c",
    "core.preloadIndex=false",
    "diff-index",
    "--numstat",
    "-z",
    "--no-renames",
    "--no-ext-diff",
    "--no-textconv",
    // Looking into a submodule starts another git, with that repository's configuration.
    "--ignore-submodules=dirty",
    // Without attributes git does not convert line endings: a file with `eol=crlf` would count as
    // changed completely.
    "--ignore-cr-at-eol",
];

const LIST_UNTRACKED_ARGUMENTS: &[&str] =
    &["ls-files", "-z", "--others", "--exclude-standard", "--"];

/// Counts the uncommitted lines of these files; `None` if one process cannot do it.
pub(super) fn count_uncommitted_lines(
    place: &RepositoryPaths,
    paths: &[String],
) -> Result<Option<Vec<ChangedLines>>, StoreFault> {
    // The length of the commit's id gives the hash size, which the index parser needs. Before the
    // first commit `git status` counts.
    let GitHead::At(commit) = head::resolve_head(place)? else {
        return Ok(None);
    };
    let Ok(index) = std::fs::read(place.own.join("index")) else {
        return Ok(None);
    };
    let names: Vec<String> = paths
        .iter()
        .map(|path| place.prefix.join(path).to_string_lossy().into_owned())
        .collect();
    let Some(followed) = find_tracked_names(&index, commit.len() / 2, &names) else {
        return Ok(None);
    };
    if followed.iter().all(|follows| *follows) {
        return count_tracked_lines(place, paths);
    }
    if followed.iter().any(|follows| *follows) {
        return Ok(None);
    }
    count_untracked_lines(place, paths)
}

/// Counts the changed lines of tracked files against HEAD.
pub(super) fn count_tracked_lines(
    place: &RepositoryPaths,
    paths: &[String],
) -> Result<Option<Vec<ChangedLines>>, StoreFault> {
    // Before the first commit everything in the index is new: compare with the empty tree.
    let base = match head::resolve_head(place)? {
        GitHead::At(_) => "HEAD",
        _ => command::empty_tree(place),
    };
    let ended = process::run_git(
        place,
        &append_path_arguments(&[DIFF_ARGUMENTS, &[base, "--"]].concat(), paths),
        read_nul_records,
    )?;
    if ended.code != 0 {
        return Ok(None);
    }
    let mut found = Vec::new();
    for record in &ended.said {
        let mut parts = record.splitn(3, '\t');
        let (Some(added), Some(removed), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        // Git writes `-` for a binary file, which counts as no lines.
        let (added, removed) = (added.parse().unwrap_or(0), removed.parse().unwrap_or(0));
        let Ok(path) = std::path::Path::new(path).strip_prefix(&place.prefix) else {
            continue;
        };
        found.push(ChangedLines {
            path: path.to_string_lossy().into_owned(),
            added,
            removed,
            ..ChangedLines::default()
        });
    }
    Ok(Some(found))
}

fn count_untracked_lines(
    place: &RepositoryPaths,
    paths: &[String],
) -> Result<Option<Vec<ChangedLines>>, StoreFault> {
    let ended = process::run_git(
        place,
        &append_path_arguments(LIST_UNTRACKED_ARGUMENTS, paths),
        read_nul_records,
    )?;
    if ended.code != 0 {
        return Ok(None);
    }
    // A path that is a folder lists the files in it; only the named paths are counted.
    let found = ended
        .said
        .iter()
        .filter(|path| paths.contains(path))
        .map(|path| ChangedLines {
            path: path.clone(),
            added: count_file_lines(&place.project.join(path)),
            untracked: true,
            ..ChangedLines::default()
        });
    Ok(Some(found.collect()))
}

fn append_path_arguments<'a>(command: &[&'a str], paths: &'a [String]) -> Vec<&'a str> {
    command
        .iter()
        .copied()
        .chain(paths.iter().map(String::as_str))
        .collect()
}

/// Reads NUL-terminated records (`-z`).
pub(super) fn read_nul_records(mut answer: BufReader<ChildStdout>) -> Vec<String> {
    let mut found = Vec::new();
    let mut record = Vec::new();
    while answer
        .read_until(0, &mut record)
        .is_ok_and(|length| length > 0)
    {
        let text = record.strip_suffix(&[0]).unwrap_or(&record);
        found.push(String::from_utf8_lossy(text).into_owned());
        record.clear();
    }
    found
}

/// Returns for each name whether it is in the index; `None` if the index cannot be parsed.
fn find_tracked_names(index: &[u8], hash: usize, names: &[String]) -> Option<Vec<bool>> {
    let mut found = vec![false; names.len()];
    for entry in index::parse_index_entries(index, hash)? {
        for (found, wanted) in found.iter_mut().zip(names) {
            *found |= wanted.as_bytes() == entry.name;
        }
    }
    Some(found)
}
