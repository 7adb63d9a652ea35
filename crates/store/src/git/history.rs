//! Moves of HEAD derived from the commit graph, for repositories without a reflog.
//!
//! The graph shows the result, not the commands: an amended commit looks like a commit, and after a
//! reset nothing is known.

use domain::ports::{HeadMove, HeadMoveKind, StoreFault};

use super::repository_paths::RepositoryPaths;
use super::{is_null_hash, is_object_hash, process};

/// Limit of the walk; more commits than that between two hooks are not the work of one session.
const MAX_COUNT_OPTION: &str = "--max-count=1000";

/// Returns the commits between `since` and HEAD; `None` if `since` is not a first-parent ancestor
/// of HEAD.
pub(super) fn read_head_moves(
    place: &RepositoryPaths,
    since: &str,
) -> Result<Option<Vec<HeadMove>>, StoreFault> {
    let from_start = is_null_hash(since);
    if !from_start && !is_object_hash(since) {
        return Ok(None);
    }
    let range = if from_start {
        "HEAD".to_owned()
    } else {
        format!("{since}..HEAD")
    };
    // First parents only: commits that a merge brings in were made on another branch.
    let ended = process::run_git(
        place,
        &[
            "log",
            "--first-parent",
            "--reverse",
            "--no-color",
            "--no-show-signature",
            "--encoding=UTF-8",
            "-z",
            "--format=%H%n%P%n%s",
            MAX_COUNT_OPTION,
            &range,
            "--",
        ],
        process::read_to_text,
    )?;
    if ended.code != 0 {
        // Usually `since` was garbage-collected.
        return Ok(None);
    }
    let moves: Option<Vec<HeadMove>> = ended
        .said
        .split_terminator('\0')
        .map(parse_commit)
        .collect();
    // `A..HEAD` also lists commits when A is on another branch; then the first one has another
    // parent, and these commits are not moves from A.
    let starts_there = |moves: &Vec<HeadMove>| {
        moves.first().is_some_and(|first| {
            first
                .from
                .as_deref()
                .map_or(from_start, |from| from == since)
        })
    };
    Ok(moves.filter(starts_there))
}

/// Parses one record: hash, parents and subject, one line each.
fn parse_commit(record: &str) -> Option<HeadMove> {
    let mut lines = record.splitn(3, '\n');
    let (to, parents, subject) = (lines.next()?, lines.next()?, lines.next()?);
    let mut parents = parents.split(' ').filter(|parent| !parent.is_empty());
    let from = parents.next().map(str::to_owned);
    let kind = if parents.next().is_some() {
        HeadMoveKind::Merge
    } else {
        HeadMoveKind::Commit
    };
    Some(HeadMove {
        from,
        to: to.to_owned(),
        kind,
        subject: subject.to_owned(),
    })
}
