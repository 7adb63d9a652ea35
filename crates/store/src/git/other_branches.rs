//! Names in a folder as other branches and other working trees have them, so that a new id is free
//! there too.
//!
//! One `git ls-tree` lists the folder at the tip of a local or remote-tracking branch. A tip never changes
//! its content, so its listing is cached by commit. Other working trees are read from disk: their newest
//! tickets are not committed yet.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use domain::ports::StoreFault;
use serde::{Deserialize, Serialize};

use super::branch_tips::list_branch_tips;
use super::process;
use super::repository_paths::{RepositoryPaths, read_first_line};
use crate::durable::{Durability, replace_file};
use crate::layout::STATE_FOLDER;

/// Time for the listings that are not cached. What is left over is listed by the next call.
const LISTING_TIME: Duration = Duration::from_secs(3);
/// Maximum number of entries read from a folder of another working tree.
const MAX_ENTRIES: usize = 100_000;
/// Maximum size of the cache file.
const MAX_CACHE_BYTES: u64 = 16 * 1024 * 1024;

/// The names in folders at the tips of branches, by folder and commit. A cache: lost, it is built again.
///
/// The names of a folder are one text, each followed by `/`, which no name contains: ten thousand texts of
/// their own take most of the time of a new ticket to parse.
#[derive(Debug, Default, Serialize, Deserialize)]
struct CachedFolders(BTreeMap<String, BTreeMap<String, String>>);

/// Passes on the names in `folder` (relative to the project) on all local and remote-tracking branches
/// and in all other working trees; a name may come several times.
pub(super) fn visit_names_elsewhere(
    place: &RepositoryPaths,
    folder: &str,
    each: &mut dyn FnMut(&str),
) -> Result<(), StoreFault> {
    for worktree in find_other_worktrees(place) {
        visit_directory(&worktree.join(&place.prefix).join(folder), each);
    }
    let tips = list_branch_tips(place)?;
    let cache = cache_path(place);
    let mut folders = read_cache(&cache);
    let cached = folders.0.entry(folder.to_owned()).or_default();
    let known = cached.len();
    // Of deleted and moved branches nothing is kept, so that the cache does not grow.
    cached.retain(|tip, _| tips.contains(tip));
    let mut is_changed = cached.len() != known;
    let deadline = Instant::now() + LISTING_TIME;
    for tip in &tips {
        if cached.contains_key(tip) || Instant::now() > deadline {
            continue;
        }
        if let Some(listed) = list_tree(place, tip, folder)? {
            cached.insert(tip.clone(), listed);
            is_changed = true;
        }
    }
    for names in cached.values() {
        names.split_terminator('/').for_each(&mut *each);
    }
    if is_changed {
        write_cache(&cache, &folders);
    }
    Ok(())
}

/// Lists the folder in a commit; `None` if git does not have the commit (a partial clone).
fn list_tree(
    place: &RepositoryPaths,
    tip: &str,
    folder: &str,
) -> Result<Option<String>, StoreFault> {
    let inside = format!("{folder}/");
    let arguments = ["ls-tree", "-z", "--name-only", tip, "--", inside.as_str()];
    let ended = process::run_git(place, &arguments, process::read_to_text)?;
    let mut names = String::with_capacity(ended.said.len());
    for path in ended.said.split_terminator('\0') {
        names.push_str(path.rsplit('/').next().unwrap_or_default());
        names.push('/');
    }
    Ok((ended.code == 0).then_some(names))
}

/// Returns the top directories of the other working trees of the repository.
fn find_other_worktrees(place: &RepositoryPaths) -> Vec<PathBuf> {
    let linked = fs::read_dir(place.common.join("worktrees"));
    let linked = linked.into_iter().flatten().flatten().filter_map(|entry| {
        // `gitdir` names the working tree's `.git` file.
        let dot_git = read_first_line(&entry.path().join("gitdir")).ok()?;
        Some(entry.path().join(dot_git).parent()?.to_owned())
    });
    // A bare repository has no main working tree; its directory then has no plan folder.
    // Resolved first: in a linked working tree the path ends in `..`.
    let common = place.common.canonicalize().ok();
    let main = common.and_then(|common| Some(common.parent()?.to_owned()));
    linked
        .chain(main)
        .filter_map(|top| top.canonicalize().ok())
        .filter(|top| *top != place.top)
        .collect()
}

/// Passes on the names in a directory; none if it cannot be read.
fn visit_directory(folder: &Path, each: &mut dyn FnMut(&str)) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.take(MAX_ENTRIES) {
        if let Some(name) = entry.file_name().to_str() {
            each(name);
        }
    }
}

fn cache_path(place: &RepositoryPaths) -> PathBuf {
    place
        .project
        .join(STATE_FOLDER)
        .join("cache/branch-folders.json")
}

fn read_cache(file: &Path) -> CachedFolders {
    let is_small = fs::metadata(file).is_ok_and(|about| about.len() <= MAX_CACHE_BYTES);
    let text = is_small.then(|| fs::read(file).ok()).flatten();
    text.and_then(|text| serde_json::from_slice(&text).ok())
        .unwrap_or_default()
}

/// Writes the cache. Errors are ignored: without it the next call lists every branch again.
fn write_cache(file: &Path, cached: &CachedFolders) {
    let (Some(folder), Ok(bytes)) = (file.parent(), serde_json::to_vec(cached)) else {
        return;
    };
    // Only beside a state: a look at a repository creates no folder of ours.
    if folder.parent().is_none_or(|state| !state.is_dir()) {
        return;
    }
    let is_new = fs::create_dir(folder).is_ok();
    // Ignores itself, so that the working tree stays clean in projects of older versions as well.
    if is_new && replace_file(&folder.join(".gitignore"), b"*\n", Durability::Atomic).is_err() {
        return;
    }
    let _ = replace_file(file, &bytes, Durability::Atomic);
}
