//! Reflog parser: the moves of HEAD since a commit, from the end of `logs/HEAD`.
//!
//! Read backwards in growing pieces, because the log of an old repository has megabytes and the
//! wanted moves are the last few lines.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use domain::ports::{HeadMove, HeadMoveKind, StoreFault};

use super::repository_paths::{RepositoryPaths, is_absent};
use super::{git_fault, is_null_hash, is_object_hash};

/// Sizes of the tail that is read, one after the other, until `since` is found.
const TAIL_SIZES_BYTES: &[u64] = &[16 * 1024, 128 * 1024, 1024 * 1024];

/// Returns the moves since `since`. `None` without a usable reflog, so that another source has to
/// be asked; `Some(None)` if the reflog is valid but does not reach back to `since`.
pub(super) fn read_head_moves(
    place: &RepositoryPaths,
    since: &str,
    now: &str,
) -> Result<Option<Option<Vec<HeadMove>>>, StoreFault> {
    let path = place.own.join("logs/HEAD");
    let action = || format!("cannot read `{}`", path.display());
    let mut file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(git_fault(action(), error)),
    };
    for most in TAIL_SIZES_BYTES {
        let (text, whole) =
            read_file_tail(&mut file, *most).map_err(|error| git_fault(action(), error))?;
        let entries = || text.lines().rev().filter_map(ReflogEntry::parse);
        if entries().next().is_none_or(|last| last.to != now) {
            // HEAD was moved without a reflog entry (another tool, or the log is switched off).
            return Ok(None);
        }
        if let Some(moves) = collect_moves_back_to(since, entries()) {
            return Ok(Some(Some(moves)));
        }
        if whole {
            break;
        }
    }
    Ok(Some(None))
}

/// Returns the branch or commit that the newest entry left, if that entry is a checkout.
pub(super) fn read_branch_left(place: &RepositoryPaths) -> Option<String> {
    let mut file = File::open(place.own.join("logs/HEAD")).ok()?;
    let (text, _) = read_file_tail(&mut file, *TAIL_SIZES_BYTES.first()?).ok()?;
    let last = text.lines().rev().find_map(ReflogEntry::parse)?;
    let (from, _) = last.what.strip_prefix("moving from ")?.split_once(" to ")?;
    (last.action == "checkout").then(|| from.to_owned())
}

/// Returns the size of the log; `None` without one.
pub(super) fn log_size(place: &RepositoryPaths) -> Option<u64> {
    let found = std::fs::metadata(place.own.join("logs/HEAD")).ok()?;
    Some(found.len())
}

/// Returns the commits that the newest part of the log says were made in this working tree. A log that
/// cannot be read has none.
pub(super) fn list_commits(place: &RepositoryPaths) -> BTreeSet<String> {
    let most = TAIL_SIZES_BYTES.last().copied().unwrap_or_default();
    let read = || read_file_tail(&mut File::open(place.own.join("logs/HEAD"))?, most);
    let text = read().map(|(text, _)| text).unwrap_or_default();
    let moves = text.lines().filter_map(ReflogEntry::parse);
    moves
        .filter_map(ReflogEntry::into_move)
        // A merge commit brings what others made.
        .filter(|one| one.kind.commits_work() && one.kind != HeadMoveKind::Merge)
        .map(|one| one.to)
        .collect()
}

/// Whether all moves since the log had `size` bytes are commits and their amendments. A longer part of the
/// log than is read is not.
pub(super) fn has_only_commits_after(place: &RepositoryPaths, size: u64) -> bool {
    let read = || -> io::Result<Option<String>> {
        let mut file = File::open(place.own.join("logs/HEAD"))?;
        let new = file.metadata()?.len().saturating_sub(size);
        let is_read = TAIL_SIZES_BYTES.last().is_some_and(|most| new <= *most);
        file.seek(SeekFrom::Start(size))?;
        let mut bytes = Vec::new();
        file.take(new).read_to_end(&mut bytes)?;
        Ok(is_read.then(|| String::from_utf8_lossy(&bytes).into_owned()))
    };
    let is_commit = |one: &HeadMove| matches!(one.kind, HeadMoveKind::Commit | HeadMoveKind::Amend);
    read().ok().flatten().is_some_and(|text| {
        let mut entries = text.lines().map(ReflogEntry::parse);
        entries.all(|entry| {
            entry.is_some_and(|entry| entry.into_move().as_ref().is_none_or(is_commit))
        })
    })
}

/// Reads the complete lines in the last `most` bytes of a file, and whether that is the whole file.
fn read_file_tail(file: &mut File, most: u64) -> io::Result<(String, bool)> {
    let length = file.seek(SeekFrom::End(0))?;
    let start = length.saturating_sub(most);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    if start > 0 {
        let torn = bytes
            .iter()
            .position(|byte| *byte == b'\n')
            .map_or(bytes.len(), |end| end + 1);
        bytes.drain(..torn);
    }
    Ok((String::from_utf8_lossy(&bytes).into_owned(), start == 0))
}

/// Collects the moves back to `since` from entries in reverse order; `None` if `since` is not among
/// them.
fn collect_moves_back_to<'log>(
    since: &str,
    entries: impl Iterator<Item = ReflogEntry<'log>>,
) -> Option<Vec<HeadMove>> {
    let mut moves = Vec::new();
    let mut found = false;
    for entry in entries {
        // HEAD was at `since` after this entry, so the entry itself is older than the wanted moves.
        found = entry.to == since;
        if found {
            break;
        }
        // HEAD was at `since` before this entry, so it is the first of the wanted moves.
        found = entry.from == since || (is_null_hash(since) && entry.starts_history());
        moves.extend(entry.into_move());
        if found {
            break;
        }
    }
    moves.reverse();
    found.then_some(moves)
}

/// One line: `OLD NEW NAME <MAIL> SECONDS ZONE<TAB>ACTION: DETAIL`.
struct ReflogEntry<'log> {
    from: &'log str,
    to: &'log str,
    action: &'log str,
    what: &'log str,
}

impl<'log> ReflogEntry<'log> {
    fn parse(line: &'log str) -> Option<Self> {
        let (who, message) = line.split_once('\t').unwrap_or((line, ""));
        let mut words = who.splitn(3, ' ');
        let (from, to) = (words.next()?, words.next()?);
        let (action, what) = message.split_once(": ").unwrap_or((message, ""));
        (is_object_hash(from) && is_object_hash(to)).then_some(Self {
            from,
            to,
            action,
            what,
        })
    }

    /// Whether this is the first commit. Renaming a branch also logs a null hash, but as `Branch`.
    fn starts_history(&self) -> bool {
        is_null_hash(self.from) && self.action != "Branch"
    }

    /// Converts to a move; `None` if HEAD kept its commit: a switch to a branch at the same commit,
    /// a renamed branch, the end of a rebase.
    fn into_move(self) -> Option<HeadMove> {
        if self.from == self.to || self.action == "Branch" {
            return None;
        }
        let kind = classify_head_move(self.action, self.what);
        // For these the detail is not the commit's subject: a branch name, `Fast-forward`, a
        // target.
        let has_no_subject = kind == HeadMoveKind::Other
            || self.action.starts_with("merge ")
            || self.action.ends_with("(start)");
        Some(HeadMove {
            from: (!is_null_hash(self.from)).then(|| self.from.to_owned()),
            to: self.to.to_owned(),
            kind,
            subject: if has_no_subject {
                String::new()
            } else {
                self.what.to_owned()
            },
        })
    }
}

/// Classifies a reflog message. Messages of other programs are [`MoveKind::Other`].
fn classify_head_move(action: &str, what: &str) -> HeadMoveKind {
    // `merge topic`, `rebase (pick)`, `pull --rebase origin main (pick)`: the command, then
    // arguments or the step it was at.
    let (command, rest) = action.split_once(' ').unwrap_or((action, ""));
    let made_nothing = matches!(what, "Fast-forward" | "fast-forward");
    match (command, rest) {
        ("commit", "(amend)") => HeadMoveKind::Amend,
        ("commit", "(merge)") => HeadMoveKind::Merge,
        ("commit", "(cherry-pick)") => HeadMoveKind::CherryPick,
        ("commit", "(rebase)") | ("rebase", _) => HeadMoveKind::Rebase,
        ("pull", step) if step.ends_with(')') => HeadMoveKind::Rebase,
        ("commit", _) => HeadMoveKind::Commit,
        ("merge" | "cherry-pick", _) if made_nothing => HeadMoveKind::Other,
        ("merge", _) => HeadMoveKind::Merge,
        // `git am` applies a commit made elsewhere, like a cherry-pick.
        ("cherry-pick" | "am", _) => HeadMoveKind::CherryPick,
        ("revert", _) => HeadMoveKind::Revert,
        _ => HeadMoveKind::Other,
    }
}
