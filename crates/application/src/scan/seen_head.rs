//! The branch and commit of the last recorded scan, to tell a checkout from edits by hand.
//!
//! A note of the store: it belongs to this working copy, and without it a change counts as an edit.

use std::collections::BTreeSet;

use domain::ports::{CommitHistory, GitHead, HeadMoveKind, Snapshot, Transaction};
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::failure::Failure;

const NOTE_KEY: &str = "scan/head";

/// HEAD as it was when changes were last recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct SeenHead {
    commit: Option<String>,
    branch: Option<String>,
    /// Size of the log of HEAD's moves: HEAD may have been elsewhere and come back since.
    moves: Option<u64>,
}

impl SeenHead {
    fn read_current(ctx: &Context<'_>) -> Self {
        Self {
            commit: match ctx.git.read_head() {
                Ok(GitHead::At(commit)) => Some(commit),
                // An unreadable repository counts as none: changes are then edits.
                Ok(GitHead::NoRepository | GitHead::Unborn) | Err(_) => None,
            },
            branch: ctx.git.current_branch(),
            moves: ctx.git.head_log_size(),
        }
    }

    fn load(state: &dyn Snapshot) -> Result<Self, Failure> {
        let note = state.load_note(NOTE_KEY)?;
        Ok(note
            .and_then(|body| serde_json::from_str(&body).ok())
            .unwrap_or_default())
    }
}

/// Saves the present HEAD, if it differs from the one on record.
///
/// After a scan of a part of the files only if there is none: the rest of what a checkout changed
/// is still to be recorded, and has to be recognised as such.
pub(crate) fn save_seen_head(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    is_whole: bool,
) -> Result<(), Failure> {
    let known = SeenHead::load(&*tx)?;
    if !is_whole && known.commit.is_some() {
        return Ok(());
    }
    let now = SeenHead::read_current(ctx);
    if now.commit.is_none() || now == known {
        return Ok(());
    }
    let body = serde_json::to_string(&now).unwrap_or_default();
    Ok(tx.save_note(NOTE_KEY, Some(&body), ctx.clock.now())?)
}

/// Whether git moved HEAD to another commit since the last recorded scan, other than by a commit
/// made here.
pub(crate) fn was_checked_out(ctx: &Context<'_>, state: &dyn Snapshot) -> Result<bool, Failure> {
    let (seen, present) = (SeenHead::load(state)?, SeenHead::read_current(ctx));
    let (Some(before), Some(now)) = (seen.commit, present.commit) else {
        return Ok(false);
    };
    if let (Some(from), Some(to)) = (seen.moves, present.moves)
        && from < to
    {
        return Ok(!ctx.git.has_only_commits_after(from));
    }
    if before == now {
        return Ok(false);
    }
    let is_commit = |kind: HeadMoveKind| matches!(kind, HeadMoveKind::Commit | HeadMoveKind::Amend);
    Ok(match ctx.git.head_moves_since(&before) {
        Ok(Some(moves)) => !moves.iter().all(|one| is_commit(one.kind)),
        // The reflog does not reach back: a new clone, or another tool.
        Ok(None) | Err(_) => true,
    })
}

/// Returns the files that were changed since the last recorded scan by commits made in this working copy.
/// Starts a process.
pub(crate) fn list_files_committed_here(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> Result<BTreeSet<String>, Failure> {
    let made = ctx.git.list_commits_made_here();
    let history = match made.is_empty() {
        true => None,
        false => load_unseen_history(ctx, state)?,
    };
    let commits = history.map_or_else(Vec::new, |(_, history)| history.commits);
    Ok(commits
        .into_iter()
        .filter(|commit| made.contains(&commit.hash))
        .flat_map(|commit| commit.changed_files)
        .collect())
}

/// Returns the commit of the last recorded scan, and those that HEAD has since; `None` if there is none, or
/// it is not known any more. Starts a process.
pub(crate) fn load_unseen_history(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> Result<Option<(String, CommitHistory)>, Failure> {
    let Some(seen) = SeenHead::load(state)?.commit else {
        return Ok(None);
    };
    // A history that cannot be read changes nothing: a hook must not fail for it.
    let history = ctx.git.commits_since(Some(&seen)).ok().flatten();
    Ok(history.map(|history| (seen, history)))
}

/// Returns the branch on which plans that are gone now were seen last.
pub(crate) fn last_seen_branch(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> Result<Option<String>, Failure> {
    let now = ctx.git.current_branch();
    let seen = SeenHead::load(state)?.branch;
    // The note is from the last recorded change; a branch that was made since is in the reflog only.
    Ok(match seen {
        Some(seen) if Some(&seen) != now.as_ref() => Some(seen),
        seen => ctx.git.branch_left_last().or(seen).or(now),
    })
}
