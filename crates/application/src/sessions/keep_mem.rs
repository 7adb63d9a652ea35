//! Stores a note on a shelf.

use domain::memory::{DEFAULT_SHELF, MAX_MEM_CHARS, Mem, parse_shelf_name, validate_note_text};
use domain::record;
use domain::session::LogEntryKind;

use super::notes::{record_note_change, stamps_of_minute};
use super::session_change::open_own_session;
use super::trail_state::free_stamp;
use crate::context::Context;
use crate::failure::Failure;
use crate::file_writes::begin_transaction;

/// Request to store a note.
#[derive(Clone, Debug, Default)]
pub struct MemRequest {
    pub text: String,
    pub shelf: Option<String>,
}

/// Stores a note.
///
/// # Errors
/// When the text is empty or too long, the shelf's name is invalid, or the state cannot be written.
pub fn keep_mem(ctx: &Context<'_>, request: &MemRequest) -> Result<Mem, Failure> {
    let text = validate_note_text(&request.text, MAX_MEM_CHARS)?;
    let shelf = parse_shelf_name(request.shelf.as_deref().unwrap_or(DEFAULT_SHELF))?;
    let tx = begin_transaction(ctx)?;
    let stamp = free_stamp(ctx, |digits| Ok(stamps_of_minute(&*tx, digits)?))?;
    // Notes can be kept without a session and without a trail.
    let change = open_own_session(ctx, &*tx)?;
    let mem = Mem {
        stamp,
        shelf,
        text,
        context: change.as_ref().map(|change| change.session.stamp),
        at: ctx.clock.now(),
    };
    let fact = record::record_changed_fact(&stamp.to_string(), None, Some(&mem));
    let summary = format!("note {stamp} on shelf {}", mem.shelf);
    // The log is read as one line per entry; the whole note is found under its stamp.
    let start: String = mem.text.chars().take(160).collect();
    let log = (LogEntryKind::Note, start.as_str(), stamp);
    let facts = fact.into_iter().collect();
    record_note_change(ctx, tx, change, facts, summary, Some(log))?;
    Ok(mem)
}
