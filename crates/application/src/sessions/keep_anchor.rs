//! Stores an anchor: a decision or a constraint that every briefing repeats.

use domain::memory::{Anchor, MAX_ANCHOR_CHARS, validate_note_text};
use domain::record;
use domain::session::LogEntryKind;

use super::notes::{record_note_change, stamps_of_minute};
use super::session_change::open_own_session;
use super::trail_state::free_stamp;
use crate::context::Context;
use crate::failure::Failure;
use crate::file_writes::begin_transaction;

/// Stores an anchor.
///
/// # Errors
/// When the text is empty or too long, or the state cannot be written.
pub fn keep_anchor(ctx: &Context<'_>, text: &str) -> Result<Anchor, Failure> {
    let text = validate_note_text(text, MAX_ANCHOR_CHARS)?;
    let tx = begin_transaction(ctx)?;
    let stamp = free_stamp(ctx, |digits| Ok(stamps_of_minute(&*tx, digits)?))?;
    // An anchor needs no session; with one it is also a turning point in the session's log.
    let change = open_own_session(ctx, &*tx)?;
    let session_stamp = change.as_ref().map(|change| change.session.stamp);
    let anchor = Anchor {
        stamp,
        text,
        session_stamp,
        at: ctx.clock.now(),
    };
    let fact = record::record_changed_fact(&stamp.to_string(), None, Some(&anchor));
    let log = (LogEntryKind::Decision, anchor.text.as_str(), stamp);
    let facts = fact.into_iter().collect();
    record_note_change(ctx, tx, change, facts, format!("anchor {stamp}"), Some(log))?;
    Ok(anchor)
}
