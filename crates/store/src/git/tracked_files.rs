//! Tracked files: whether paths are in the index, and whether they are as git last saw them.
//!
//! The index is enough to tell a branch switch from a deletion: checkout, stash, reset and `git rm`
//! all update it, and it is one file to read. Formats the parser does not know (version 4, split and
//! sparse indexes) are listed by one `git ls-files`.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;

use domain::ports::{GitHead, StoreFault, TrackedState};
use rustix::fs::AtFlags;

use super::index::{IndexEntry, parse_index_entries};
use super::line_count_cache::to_index_stat;
use super::named_files::read_nul_records;
use super::repository_paths::{RepositoryPaths, is_absent};
use super::{command, git_fault, head, process};

/// Lists the index relative to the project; `-t` marks the files a sparse checkout leaves out.
const LIST_TRACKED_ARGUMENTS: &[&str] = &["ls-files", "-z", "-t", "--cached", "--", "."];

/// Returns for each path, relative to the project, whether git tracks it.
pub(super) fn read_tracked_states(
    place: &RepositoryPaths,
    paths: &[String],
) -> Result<Vec<TrackedState>, StoreFault> {
    let file = place.own.join("index");
    let index = match std::fs::read(&file) {
        Ok(index) => index,
        // Nothing was ever added.
        Err(error) if is_absent(&error) => return Ok(vec![TrackedState::Untracked; paths.len()]),
        Err(error) => {
            return Err(git_fault(
                format!("cannot read `{}`", file.display()),
                error,
            ));
        }
    };
    let object_id = match head::resolve_head(place)? {
        GitHead::At(commit) => commit.len() / 2,
        GitHead::NoRepository | GitHead::Unborn => command::empty_tree(place).len() / 2,
    };
    let Some(entries) = parse_index_entries(&index, object_id) else {
        return list_tracked_with_git(place, paths);
    };
    // Sorted by name, as git keeps them: a checkout of 500 plans asks for 500 names of 10,000.
    Ok(paths
        .iter()
        .map(|path| {
            let name = place.prefix.join(path);
            let name = name.as_os_str().as_bytes();
            entries
                .binary_search_by(|entry| entry.name.cmp(name))
                .ok()
                .and_then(|at| entries.get(at))
                .map_or(TrackedState::Untracked, |entry| compare_file(place, entry))
        })
        .collect())
}

/// Compares a tracked file with the stat data in the index.
fn compare_file(place: &RepositoryPaths, entry: &IndexEntry<'_>) -> TrackedState {
    let path = place.top.join(std::ffi::OsStr::from_bytes(entry.name));
    match rustix::fs::statat(rustix::fs::CWD, &path, AtFlags::SYMLINK_NOFOLLOW) {
        // Left out by a sparse checkout: nobody deleted it.
        Err(_) if entry.left_alone => TrackedState::Untracked,
        Err(_) => TrackedState::Changed,
        Ok(now) if to_index_stat(&now) == entry.recorded_stat() => TrackedState::Unchanged,
        Ok(_) => TrackedState::Changed,
    }
}

/// Lists the tracked files with a git process.
fn list_tracked_with_git(
    place: &RepositoryPaths,
    paths: &[String],
) -> Result<Vec<TrackedState>, StoreFault> {
    let ended = process::run_git(place, LIST_TRACKED_ARGUMENTS, read_nul_records)?;
    if ended.code != 0 {
        return Err(ended.to_fault("cannot list the tracked files"));
    }
    let tracked: HashMap<&str, bool> = ended
        .said
        .iter()
        .filter_map(|record| record.split_once(' '))
        .map(|(mark, path)| (path, mark.eq_ignore_ascii_case("S")))
        .collect();
    Ok(paths
        .iter()
        .map(|path| match tracked.get(path.as_str()) {
            None => TrackedState::Untracked,
            Some(true) if !place.project.join(path).exists() => TrackedState::Untracked,
            // Whether it was edited is not asked: unknown counts as edited.
            Some(_) => TrackedState::Changed,
        })
        .collect())
}
