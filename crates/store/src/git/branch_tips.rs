//! Commits at the tips of all local and remote-tracking branches.
//!
//! Refs that are files are read directly: a process takes longer than the rest of a new ticket. Reftables, very
//! many branches and everything unexpected are left to git.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use domain::ports::StoreFault;

use super::repository_paths::{RepositoryPaths, is_absent, read_first_line};
use super::{is_object_hash, process};

/// Maximum number of branches that are looked at, the newest first.
const MAX_BRANCHES: usize = 512;
/// Folders of the refs, relative to the common git directory.
const REF_FOLDERS: [&str; 2] = ["refs/heads", "refs/remotes"];
/// Maximum size of the list of packed refs that is read.
const MAX_PACKED_BYTES: u64 = 1024 * 1024;
/// Maximum depth of folders of refs: `refs/remotes/origin/feature/…`.
const MAX_FOLDER_DEPTH: usize = 16;

/// Returns the commits, each once; the newest first where git listed them.
pub(super) fn list_branch_tips(place: &RepositoryPaths) -> Result<Vec<String>, StoreFault> {
    match read_ref_files(&place.common) {
        Some(refs) if refs.len() <= MAX_BRANCHES => {
            let tips: BTreeSet<String> = refs.into_values().collect();
            Ok(tips.into_iter().collect())
        }
        _ => list_with_git(place),
    }
}

/// Returns the commit of each branch; `None` if the refs are not files, or one of them is not as expected.
fn read_ref_files(common: &Path) -> Option<BTreeMap<String, String>> {
    if common.join("reftable").exists() {
        return None;
    }
    let mut refs = read_packed_refs(&common.join("packed-refs"))?;
    for folder in REF_FOLDERS {
        // Loose refs win over packed ones.
        read_loose_refs(common, folder, MAX_FOLDER_DEPTH, &mut refs)?;
    }
    Some(refs)
}

fn read_packed_refs(file: &Path) -> Option<BTreeMap<String, String>> {
    let size = match fs::metadata(file) {
        Ok(about) => about.len(),
        Err(error) => return is_absent(&error).then(BTreeMap::new),
    };
    let text = (size <= MAX_PACKED_BYTES).then(|| fs::read_to_string(file).ok())??;
    // Comments begin with `#`, the commits of tags with `^`; neither is followed by a name of a branch.
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    let is_branch = |name: &str| {
        let mut folders = REF_FOLDERS.iter();
        folders.any(|folder| {
            name.strip_prefix(folder)
                .is_some_and(|rest| rest.starts_with('/'))
        })
    };
    let branches = lines.filter(|(hash, name)| is_object_hash(hash) && is_branch(name));
    Some(
        branches
            .map(|(hash, name)| (name.to_owned(), hash.to_owned()))
            .collect(),
    )
}

fn read_loose_refs(
    common: &Path,
    folder: &str,
    depth: usize,
    refs: &mut BTreeMap<String, String>,
) -> Option<()> {
    let entries = match fs::read_dir(common.join(folder)) {
        Ok(entries) => entries,
        Err(error) => return is_absent(&error).then_some(()),
    };
    for entry in entries {
        let entry = entry.ok()?;
        let name = format!("{folder}/{}", entry.file_name().to_str()?);
        let kind = entry.file_type().ok()?;
        if kind.is_dir() {
            read_loose_refs(common, &name, depth.checked_sub(1)?, refs)?;
        } else if kind.is_file() {
            // Being written.
            if name.ends_with(".lock") {
                continue;
            }
            let line = read_first_line(&entry.path()).ok()?;
            let line = line.trim();
            // `refs/remotes/origin/HEAD` names another branch, which is listed itself.
            if is_object_hash(line) {
                refs.insert(name, line.to_owned());
            } else if !line.starts_with("ref:") {
                return None;
            }
        } else {
            return None;
        }
    }
    Some(())
}

fn list_with_git(place: &RepositoryPaths) -> Result<Vec<String>, StoreFault> {
    let most = format!("--count={MAX_BRANCHES}");
    let mut arguments = vec![
        "for-each-ref",
        "--sort=-committerdate",
        &most,
        "--format=%(objectname)",
    ];
    arguments.extend(REF_FOLDERS);
    let ended = process::run_git(place, &arguments, process::read_to_text)?;
    if ended.code != 0 {
        return Err(ended.to_fault("cannot list the branches"));
    }
    let mut tips: Vec<String> = Vec::new();
    for tip in ended.said.lines().filter(|tip| is_object_hash(tip)) {
        if !tips.iter().any(|known| known == tip) {
            tips.push(tip.to_owned());
        }
    }
    Ok(tips)
}
