//! Stores an anchor: a decision or a constraint that every briefing repeats.

use domain::memory::{Anchor, MAX_ANCHOR_CHARS, validate_note_text};
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

/// An anchor.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AnchorView {
    pub stamp: String,
    pub text: String,
    pub session_stamp: Option<String>,
    pub at: domain::time::Timestamp,
}

impl AnchorView {
    fn from_anchor(anchor: Anchor) -> Self {
        Self {
            stamp: anchor.stamp.to_string(),
            text: anchor.text,
            session_stamp: anchor.session_stamp.map(|stamp| stamp.to_string()),
            at: anchor.at,
        }
    }
}

/// Stores an anchor.
///
/// # Errors
/// When the text is empty or too long, or the state cannot be written.
pub fn keep_anchor(ctx: &Context<'_>, text: &str) -> Result<AnchorView, Failure> {
    let text = validate_note_text(text, MAX_ANCHOR_CHARS)?;
    let mut tx = begin_transaction(ctx)?;
    let planned = PlannedFiles::new(ctx, None);
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
    let summary = format!("anchor {stamp}");
    match change {
        Some(mut change) => {
            change.facts.extend(fact);
            change.append_log(ctx, LogEntryKind::Decision, &anchor.text, Some(stamp));
            change.record_operation(ctx, &mut *tx, &planned, Verb::Remember, summary)?;
        }
        None => {
            let mut operation = ctx.new_operation(Verb::Remember, summary);
            operation.facts.extend(fact);
            tx.record_operation(operation)?;
        }
    }
    planned.commit_and_write(ctx, tx)?;
    Ok(AnchorView::from_anchor(anchor))
}

/// Returns the anchors, the newest first.
///
/// # Errors
/// When the state cannot be read.
pub fn list_anchors(ctx: &Context<'_>) -> Result<Vec<AnchorView>, Failure> {
    let state = ctx.store.begin_read()?;
    let mut found: Vec<Anchor> = record::read_records::<Anchor>(&*state, "")?
        .into_iter()
        .map(|(_, anchor)| anchor)
        .collect();
    // The stamp breaks ties within a millisecond, so that the order is stable.
    found.sort_by_key(|anchor| std::cmp::Reverse((anchor.at, anchor.stamp.to_string())));
    Ok(found.into_iter().map(AnchorView::from_anchor).collect())
}
