//! Resolves HEAD to a commit, and detects an operation in progress (merge, rebase, bisect).
//!
//! Loose and packed refs are read directly, because every hook needs HEAD. Reftables are left to
//! git.

use std::fs::File;
use std::io::{BufRead, BufReader};

use domain::ports::{GitHead, StoreFault};

use super::repository_paths::{RepositoryPaths, is_absent, read_first_line};
use super::{git_fault, is_object_hash, process};

/// Maximum depth of symbolic refs, as in git (`SYMREF_MAXDEPTH`).
const MAX_SYMREF_DEPTH: usize = 5;
/// Placeholder target of HEAD in a repository with reftables.
const REFTABLE_TARGET: &str = "refs/heads/.invalid";
/// Prefixes of refs that are stored per working tree.
const PER_WORKTREE_PREFIXES: &[&str] = &["refs/bisect/", "refs/worktree/", "refs/rewritten/"];

/// Marker files of operations in progress. Rebase comes first: it stops in a cherry-pick of its
/// own.
const OPERATION_MARKERS: &[(&str, &str)] = &[
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
];

/// Returns the operation that is in progress, if any.
pub(super) fn operation_in_progress(place: &RepositoryPaths) -> Option<&'static str> {
    OPERATION_MARKERS
        .iter()
        .find(|(file, _)| place.own.join(file).exists())
        .map(|(_, name)| *name)
}

/// Returns the name of the checked-out branch; `None` if HEAD is detached or cannot be read.
pub(super) fn read_branch_name(place: &RepositoryPaths) -> Option<String> {
    let line = read_first_line(&place.own.join("HEAD")).ok()?;
    let target = line.trim().strip_prefix("ref:")?.trim();
    // With reftables the file has a placeholder. The name is only shown, so no process is started
    // for it.
    (target != REFTABLE_TARGET)
        .then(|| target.strip_prefix("refs/heads/").map(str::to_owned))
        .flatten()
}

/// Resolves HEAD.
///
/// # Errors
/// When a ref file cannot be read or does not contain a ref.
pub(super) fn resolve_head(place: &RepositoryPaths) -> Result<GitHead, StoreFault> {
    let mut path = place.own.join("HEAD");
    let mut name = "HEAD".to_owned();
    for _ in 0..=MAX_SYMREF_DEPTH {
        let line = match read_first_line(&path) {
            Ok(line) => line,
            // Loose refs win over packed ones, so packed-refs is read only when the file is
            // missing.
            Err(error) if is_absent(&error) => {
                return Ok(find_packed_ref(place, &name)?.map_or(GitHead::Unborn, GitHead::At));
            }
            Err(error) => {
                return Err(git_fault(
                    format!("cannot read `{}`", path.display()),
                    error,
                ));
            }
        };
        let line = line.trim();
        if is_object_hash(line) {
            return Ok(GitHead::At(line.to_owned()));
        }
        let target = line
            .strip_prefix("ref:")
            .map(str::trim)
            .filter(|target| is_safe_ref_name(target));
        let Some(target) = target else {
            return Err(git_fault(
                format!("cannot read `{}`", path.display()),
                "it names neither a commit nor a ref",
            ));
        };
        // Reftable is a binary format that changes with git; a process is slower but always right.
        if target == REFTABLE_TARGET {
            return resolve_head_with_git(place);
        }
        // A linked working tree has its own bisect refs, but shares the branches.
        let folder = if PER_WORKTREE_PREFIXES
            .iter()
            .any(|own| target.starts_with(own))
        {
            &place.own
        } else {
            &place.common
        };
        path = folder.join(target);
        target.clone_into(&mut name);
    }
    Err(git_fault(
        format!("cannot resolve HEAD in `{}`", place.own.display()),
        "its symbolic refs form a cycle",
    ))
}

/// Whether a ref name may be used as a path: a hostile HEAD must not lead out of `refs/`.
fn is_safe_ref_name(name: &str) -> bool {
    name.starts_with("refs/") && name.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

/// Looks up a ref in `packed-refs`, where `git gc` collects them.
fn find_packed_ref(place: &RepositoryPaths, name: &str) -> Result<Option<String>, StoreFault> {
    let path = place.common.join("packed-refs");
    let action = || format!("cannot read `{}`", path.display());
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(git_fault(action(), error)),
    };
    // Not parsed completely: packed-refs can have tens of thousands of lines, and one is needed.
    let mut file = BufReader::with_capacity(64 * 1024, file);
    let mut line = Vec::new();
    while file
        .read_until(b'\n', &mut line)
        .map_err(|error| git_fault(action(), error))?
        > 0
    {
        let found = std::str::from_utf8(&line)
            .ok()
            .and_then(|line| line.trim_end().split_once(' '));
        if let Some((hash, of)) = found
            && of == name
            && is_object_hash(hash)
        {
            return Ok(Some(hash.to_owned()));
        }
        line.clear();
    }
    Ok(None)
}

/// Resolves HEAD with a git process, for repositories with reftables.
fn resolve_head_with_git(place: &RepositoryPaths) -> Result<GitHead, StoreFault> {
    let ended = process::run_git(
        place,
        &["rev-parse", "--verify", "--quiet", "HEAD"],
        process::read_to_text,
    )?;
    let hash = ended.said.trim();
    match ended.code {
        0 if is_object_hash(hash) => Ok(GitHead::At(hash.to_owned())),
        // Exit code 1 with `--quiet`: the name resolves to nothing. Errors exit with 128.
        1 => Ok(GitHead::Unborn),
        _ => Err(ended.to_fault("cannot resolve HEAD")),
    }
}
