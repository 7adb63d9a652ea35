//! Stores a note on a shelf.

use domain::memory::{LONGEST_MEM, Mem, SHELF, kept_text, shelf_name};
use domain::operation::Verb;
use domain::record;
use domain::session::EntryKind;
use serde::Serialize;

use super::change::open_own;
use super::trail_state::free_stamp;
use crate::context::Context;
use crate::failure::Failure;
use crate::file_writes::{PlannedFiles, begin};

/// A note.
#[derive(Clone, Debug, Serialize)]
pub struct MemView {
    pub stamp: String,
    pub shelf: String,
    pub text: String,
    /// The session it was saved in.
    pub context: Option<String>,
    pub at: domain::time::Timestamp,
}

impl MemView {
    pub(super) fn of(mem: Mem) -> Self {
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
    let text = kept_text(&request.text, LONGEST_MEM)?;
    let shelf = shelf_name(request.shelf.as_deref().unwrap_or(SHELF))?;
    let mut tx = begin(ctx)?;
    let planned = PlannedFiles::of(ctx, None);
    let stamp = free_stamp(ctx, |digits| {
        Ok(tx
            .records("mem", digits)?
            .into_iter()
            .map(|(key, _)| key)
            .collect())
    })?;
    // Notes can be kept without a session and without a trail.
    let change = open_own(ctx, &*tx)?;
    let mem = Mem {
        stamp,
        shelf,
        text,
        context: change.as_ref().map(|change| change.session.stamp),
        at: ctx.clock.now(),
    };
    let fact = record::changed(&stamp.to_string(), None, Some(&mem));
    let summary = format!("note {stamp} on shelf {}", mem.shelf);
    match change {
        Some(mut change) => {
            change.facts.extend(fact);
            // The log is read as one line per entry; the whole note is found under its stamp.
            let start: String = mem.text.chars().take(160).collect();
            change.log(ctx, EntryKind::Note, &start, Some(stamp));
            change.finish(ctx, &mut *tx, &planned, Verb::Remember, summary)?;
        }
        None => {
            let mut operation = ctx.operation(Verb::Remember, summary);
            operation.facts.extend(fact);
            tx.record(operation)?;
        }
    }
    planned.commit(ctx, tx)?;
    Ok(MemView::of(mem))
}
