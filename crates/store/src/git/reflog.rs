//! How HEAD moved, as git noted it: a line per move, the last one last.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use domain::ports::{HeadMove, MoveKind, StoreFault};

use super::place::{Place, is_absent};
use super::{fault, is_hash, is_none};

/// How much of the log's end is looked at, until `since` is found.
const LOOKS: &[u64] = &[16 * 1024, 128 * 1024, 1024 * 1024];

/// Returns what the log tells: the moves, or that it does not know. `None` when there is no log to ask.
pub(super) fn moves(
    place: &Place,
    since: &str,
    now: &str,
) -> Result<Option<Option<Vec<HeadMove>>>, StoreFault> {
    let path = place.own.join("logs/HEAD");
    let action = || format!("cannot read `{}`", path.display());
    let mut file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(fault(action(), error)),
    };
    for most in LOOKS {
        let (text, whole) = ending(&mut file, *most).map_err(|error| fault(action(), error))?;
        let entries = || text.lines().rev().filter_map(Entry::read);
        if entries().next().is_none_or(|last| last.to != now) {
            // Something moved HEAD without a note.
            return Ok(None);
        }
        if let Some(moves) = back_to(since, entries()) {
            return Ok(Some(Some(moves)));
        }
        if whole {
            break;
        }
    }
    Ok(Some(None))
}

/// Reads whole lines from the end of a file, and says whether that was all of it.
fn ending(file: &mut File, most: u64) -> io::Result<(String, bool)> {
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

/// Goes back, newest first, until HEAD was at `since`.
fn back_to<'log>(since: &str, entries: impl Iterator<Item = Entry<'log>>) -> Option<Vec<HeadMove>> {
    let mut moves = Vec::new();
    let mut found = false;
    for entry in entries {
        found = entry.to == since;
        if found {
            break;
        }
        found = entry.from == since || (is_none(since) && entry.starts_history());
        moves.extend(entry.into_move());
        if found {
            break;
        }
    }
    moves.reverse();
    found.then_some(moves)
}

/// A line: `old new name <mail> seconds zone<tab>action: what`.
struct Entry<'log> {
    from: &'log str,
    to: &'log str,
    action: &'log str,
    what: &'log str,
}

impl<'log> Entry<'log> {
    fn read(line: &'log str) -> Option<Self> {
        let (who, message) = line.split_once('\t').unwrap_or((line, ""));
        let mut words = who.splitn(3, ' ');
        let (from, to) = (words.next()?, words.next()?);
        let (action, what) = message.split_once(": ").unwrap_or((message, ""));
        (is_hash(from) && is_hash(to)).then_some(Self {
            from,
            to,
            action,
            what,
        })
    }

    /// Says whether there was no commit before. A branch that is renamed is noted as gone and come again.
    fn starts_history(&self) -> bool {
        is_none(self.from) && self.action != "Branch"
    }

    /// `None` where HEAD stayed: another branch at the same commit, a branch renamed, a rebase that ends.
    fn into_move(self) -> Option<HeadMove> {
        if self.from == self.to || self.action == "Branch" {
            return None;
        }
        let kind = kind(self.action, self.what);
        // These note something else than the commit's message.
        let has_no_subject = kind == MoveKind::Other
            || self.action.starts_with("merge ")
            || self.action.ends_with("(start)");
        Some(HeadMove {
            from: (!is_none(self.from)).then(|| self.from.to_owned()),
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

/// Tells what was done by what git noted. A note of another program is [`MoveKind::Other`].
fn kind(action: &str, what: &str) -> MoveKind {
    // `merge topic`, `rebase (pick)`, `pull --rebase origin main (pick)`: the command, then what it was at.
    let (command, rest) = action.split_once(' ').unwrap_or((action, ""));
    let made_nothing = matches!(what, "Fast-forward" | "fast-forward");
    match (command, rest) {
        ("commit", "(amend)") => MoveKind::Amend,
        ("commit", "(merge)") => MoveKind::Merge,
        ("commit", "(cherry-pick)") => MoveKind::CherryPick,
        ("commit", "(rebase)") | ("rebase", _) => MoveKind::Rebase,
        ("pull", step) if step.ends_with(')') => MoveKind::Rebase,
        ("commit", _) => MoveKind::Commit,
        ("merge" | "cherry-pick", _) if made_nothing => MoveKind::Other,
        ("merge", _) => MoveKind::Merge,
        // A patch that is applied is picked from a mail.
        ("cherry-pick" | "am", _) => MoveKind::CherryPick,
        ("revert", _) => MoveKind::Revert,
        _ => MoveKind::Other,
    }
}
