//! How HEAD moved, told by the history itself: for repositories that keep no log of HEAD.
//!
//! It sees what is, not what was done: an amended commit is a commit, and after a reset nothing is known.

use domain::ports::{HeadMove, MoveKind, StoreFault};

use super::place::Place;
use super::{is_hash, is_none, process};

/// More than that between two looks is not work of one session.
const MOST_COMMITS: &str = "--max-count=1000";

/// Returns the commits between `since` and HEAD; `None` when HEAD did not come from there in a straight line.
pub(super) fn moves(place: &Place, since: &str) -> Result<Option<Vec<HeadMove>>, StoreFault> {
    let from_start = is_none(since);
    if !from_start && !is_hash(since) {
        return Ok(None);
    }
    let range = if from_start {
        "HEAD".to_owned()
    } else {
        format!("{since}..HEAD")
    };
    let ended = process::run(
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
            MOST_COMMITS,
            &range,
            "--",
        ],
        process::text,
    )?;
    if ended.code != 0 {
        // Most of all: a commit that is not there any more.
        return Ok(None);
    }
    let moves: Option<Vec<HeadMove>> = ended.said.split_terminator('\0').map(one).collect();
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

/// Reads one commit: its hash, its parents, its subject, a line each.
fn one(record: &str) -> Option<HeadMove> {
    let mut lines = record.splitn(3, '\n');
    let (to, parents, subject) = (lines.next()?, lines.next()?, lines.next()?);
    let mut parents = parents.split(' ').filter(|parent| !parent.is_empty());
    let from = parents.next().map(str::to_owned);
    let kind = if parents.next().is_some() {
        MoveKind::Merge
    } else {
        MoveKind::Commit
    };
    Some(HeadMove {
        from,
        to: to.to_owned(),
        kind,
        subject: subject.to_owned(),
    })
}
