//! Stores a note on a shelf.

use domain::memory::{DEFAULT_SHELF, MAX_MEM_CHARS, Mem, parse_shelf_name, validate_note_text};
use domain::operation::Verb;
use domain::record;
use domain::session::LogEntryKind;
use schemars::JsonSchema;
use serde::Serialize;

use super::notes::stamps_of_minute;
use super::session_change::open_own_session;
use super::trail_state::free_stamp;
use crate::context::Context;
use crate::failure::Failure;
use crate::file_writes::{PlannedFiles, begin_transaction};

/// A note.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MemView {
    pub stamp: String,
    pub shelf: String,
    pub text: String,
    /// The session it was saved in.
    pub context: Option<String>,
    pub at: domain::time::Timestamp,
}

impl MemView {
    pub(super) fn from_mem(mem: Mem) -> Self {
        Self {
            stamp: mem.stamp.to_string(),
            shelf: mem.shelf,
            text: mem.text,
            context: mem.context.map(|stamp| stamp.to_string()),
            at: mem.at,
        }
    }
}

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
pub fn keep_mem(ctx: &Context<'_>, request: &MemRequest) -> Result<MemView, Failure> {
    let text = validate_note_text(&request.text, MAX_MEM_CHARS)?;
    let shelf = parse_shelf_name(request.shelf.as_deref().unwrap_or(DEFAULT_SHELF))?;
    let mut tx = begin_transaction(ctx)?;
    let planned = PlannedFiles::new(ctx, None);
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
    match change {
        Some(mut change) => {
            change.facts.extend(fact);
            // The log is read as one line per entry; the whole note is found under its stamp.
            let start: String = mem.text.chars().take(160).collect();
            change.append_log(ctx, LogEntryKind::Note, &start, Some(stamp));
            change.record_operation(ctx, &mut *tx, &planned, Verb::Remember, summary)?;
        }
        None => {
            let mut operation = ctx.new_operation(Verb::Remember, summary);
            operation.facts.extend(fact);
            tx.record_operation(operation)?;
        }
    }
    planned.commit_and_write(ctx, tx)?;
    Ok(MemView::from_mem(mem))
}
