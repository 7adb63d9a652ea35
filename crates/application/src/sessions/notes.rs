//! Notes and anchors in one view, in which a pinned note is an anchor.
//!
//! Both stay the records they are: briefings read anchors, full-text search reads both, and MCP
//! clients know each by its own tool. A note that is pinned keeps its record, and so its shelf; an
//! anchor with the same stamp and text is added beside it. An anchor without such a note is a
//! pinned note that is on no shelf.

use std::collections::BTreeMap;

use domain::fact::Fact;
use domain::ids::OperationId;
use domain::memory::{
    Anchor, DEFAULT_SHELF, MAX_ANCHOR_CHARS, Mem, parse_shelf_name, validate_note_text,
};
use domain::operation::Verb;
use domain::ports::{Snapshot, StoreFault, Transaction};
use domain::record::{self, ChangeRecords, Recorded};
use domain::search::{MatchMode, SearchQuery};
use domain::session::LogEntryKind;
use domain::stamp::Stamp;
use serde::Serialize;

use super::recall_mems::{RecallRequest, empty_query};
use super::session_change::{SessionChange, open_own_session};
use crate::context::Context;
use crate::decisions::attach_note_decisions;
use crate::failure::Failure;
use crate::file_writes::{PlannedFiles, begin_transaction};

/// A note, pinned or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NoteView {
    pub stamp: String,
    /// `None` for an anchor that is on no shelf.
    pub shelf: Option<String>,
    pub text: String,
    pub pinned: bool,
    /// The session it was saved in.
    pub context: Option<String>,
    /// The same for a pinned note, under the name that anchors have for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_stamp: Option<Option<String>>,
    pub at: domain::time::Timestamp,
}

/// Which notes are listed.
#[derive(Clone, Debug, Default)]
pub struct NoteFilter {
    pub pinned: bool,
    pub shelf: Option<String>,
}

/// The records behind one note; at least one of them exists.
#[derive(Default)]
struct StoredNote {
    mem: Option<Mem>,
    anchor: Option<Anchor>,
}

impl StoredNote {
    fn to_view(&self) -> Option<NoteView> {
        let view = self.mem.as_ref().map(|mem| NoteView {
            stamp: mem.stamp.to_string(),
            shelf: Some(mem.shelf.clone()),
            text: mem.text.clone(),
            pinned: false,
            context: mem.context.map(|stamp| stamp.to_string()),
            session_stamp: None,
            at: mem.at,
        });
        let Some(anchor) = &self.anchor else {
            return view;
        };
        let session = anchor.session_stamp.map(|stamp| stamp.to_string());
        Some(NoteView {
            // The time it was written: pinning gives the anchor another one, and the list must not
            // reorder.
            at: view.as_ref().map_or(anchor.at, |view| view.at),
            shelf: view.and_then(|view| view.shelf),
            stamp: anchor.stamp.to_string(),
            text: anchor.text.clone(),
            pinned: true,
            context: session.clone(),
            session_stamp: Some(session),
        })
    }
}

/// Pairs notes with the anchors that pin them.
// Until both kinds drew from one set of stamps, a note and an anchor of the same minute could have
// the same stamp. They are told apart by their text, and stay two notes.
fn pair_records(mems: Vec<Mem>, anchors: Vec<Anchor>) -> Vec<StoredNote> {
    let mut pinned: BTreeMap<String, Anchor> = anchors
        .into_iter()
        .map(|anchor| (anchor.stamp.to_string(), anchor))
        .collect();
    let mut notes = Vec::new();
    for mem in mems {
        let stamp = mem.stamp.to_string();
        let is_pinned = pinned
            .get(&stamp)
            .is_some_and(|anchor| anchor.text == mem.text);
        notes.push(StoredNote {
            anchor: is_pinned.then(|| pinned.remove(&stamp)).flatten(),
            mem: Some(mem),
        });
    }
    notes.extend(pinned.into_values().map(|anchor| StoredNote {
        mem: None,
        anchor: Some(anchor),
    }));
    notes
}

fn load_notes_by_prefix(state: &dyn Snapshot, stamp: &str) -> Result<Vec<StoredNote>, StoreFault> {
    let mems = record::read_records::<Mem>(state, stamp)?;
    let anchors = record::read_records::<Anchor>(state, stamp)?;
    Ok(pair_records(
        mems.into_iter().map(|(_, mem)| mem).collect(),
        anchors.into_iter().map(|(_, anchor)| anchor).collect(),
    ))
}

/// Returns the notes, newest first.
///
/// # Errors
/// When the shelf's name is invalid, or the state cannot be read.
pub fn list_notes(ctx: &Context<'_>, filter: &NoteFilter) -> Result<Vec<NoteView>, Failure> {
    let shelf = filter.shelf.as_deref().map(parse_shelf_name).transpose()?;
    let state = ctx.store.begin_read()?;
    let mut found: Vec<NoteView> = load_notes_by_prefix(&*state, "")?
        .iter()
        .filter_map(StoredNote::to_view)
        .filter(|note| note.pinned || !filter.pinned)
        .filter(|note| shelf.is_none() || note.shelf == shelf)
        .collect();
    // The stamp breaks ties within a millisecond, so that the order is stable.
    found.sort_by_key(|note| std::cmp::Reverse((note.at, note.stamp.clone())));
    Ok(found)
}

/// Returns the notes that match best, the best first.
///
/// # Errors
/// When the query is empty, or the state cannot be read.
pub fn find_notes(ctx: &Context<'_>, request: &RecallRequest) -> Result<Vec<NoteView>, Failure> {
    let shelf = request.shelf.as_deref().map(parse_shelf_name).transpose()?;
    let query = SearchQuery::parse_query(&request.query);
    if query.is_empty() {
        return Err(empty_query());
    }
    let state = ctx.store.begin_read()?;
    // The index knows no shelves and has a pinned note twice: hits are filtered afterwards, so more
    // of them are fetched.
    let hits = request
        .limit
        .saturating_mul(if shelf.is_some() { 20 } else { 2 });
    let kinds = [Mem::KIND, Anchor::KIND];
    let mut found: Vec<NoteView> = Vec::new();
    for key in state.search_records(&kinds, &query, MatchMode::AllElseAny, hits)? {
        let notes = load_notes_by_prefix(&*state, &key.key)?;
        let views = notes.iter().filter(|note| match &*key.kind {
            Mem::KIND => note.mem.is_some(),
            _ => note.anchor.is_some(),
        });
        for view in views.filter_map(StoredNote::to_view) {
            // Records are read by prefix, which also finds the `-2` of the same minute.
            let is_wanted = view.stamp == key.key && (shelf.is_none() || view.shelf == shelf);
            if is_wanted && !found.contains(&view) && found.len() < request.limit {
                found.push(view);
            }
        }
    }
    Ok(found)
}

/// Pins a note: from now on every briefing repeats it.
///
/// # Errors
/// When there is no such note, or its text is too long for a briefing.
pub fn pin_note(ctx: &Context<'_>, stamp: &str) -> Result<NoteView, Failure> {
    let tx = begin_transaction(ctx)?;
    let mut note = find_stored_note(&*tx, stamp, |note| note.mem.is_some())?;
    let Some(mem) = note.mem.clone() else {
        return Err(unknown_note(stamp));
    };
    if note.anchor.is_none() {
        // A note may be longer than what every briefing repeats.
        let text = validate_note_text(&mem.text, MAX_ANCHOR_CHARS)?;
        let anchor = Anchor {
            stamp: mem.stamp,
            text,
            session_stamp: mem.context,
            // Now, because briefings show the latest decisions first.
            at: ctx.clock.now(),
        };
        // Only an anchor from before stamps were shared can be in the way.
        if record::read_record::<Anchor>(&*tx, stamp)?.is_some() {
            return Err(
                Failure::conflict(format!("another pinned note has the stamp {stamp}"))
                    .with_step(format!("tl note unpin {stamp}")),
            );
        }
        let facts = record::record_changed_fact(stamp, None, Some(&anchor));
        let facts = facts.into_iter().collect();
        let session = open_own_session(ctx, &*tx)?;
        let log = (LogEntryKind::Decision, anchor.text.as_str(), anchor.stamp);
        record_note_change(
            ctx,
            tx,
            session,
            facts,
            format!("pin note {stamp}"),
            Some(log),
        )?;
        note.anchor = Some(anchor);
    }
    note.to_view().ok_or_else(|| unknown_note(stamp))
}

/// Unpins a note; one that is on no shelf goes to the default one, so that it is not lost.
///
/// # Errors
/// When there is no such note.
pub fn unpin_note(ctx: &Context<'_>, stamp: &str) -> Result<NoteView, Failure> {
    let tx = begin_transaction(ctx)?;
    let mut note = find_stored_note(&*tx, stamp, |note| note.anchor.is_some())?;
    if let Some(anchor) = note.anchor.take() {
        let mut facts: Vec<Fact> = record::record_changed_fact(stamp, Some(&anchor), None)
            .into_iter()
            .collect();
        if note.mem.is_none() {
            let mem = Mem {
                stamp: free_note_stamp(&*tx, &anchor)?,
                shelf: DEFAULT_SHELF.to_owned(),
                text: anchor.text,
                context: anchor.session_stamp,
                at: anchor.at,
            };
            facts.change_record(&mem.stamp.to_string(), None, Some(&mem));
            note.mem = Some(mem);
        }
        record_note_change(ctx, tx, None, facts, format!("unpin note {stamp}"), None)?;
    }
    note.to_view().ok_or_else(|| unknown_note(stamp))
}

/// A removed note, with the operation that an undo has to name.
#[derive(Clone, Debug, Serialize)]
pub struct RemovedNote {
    #[serde(flatten)]
    pub note: NoteView,
    pub operation: OperationId,
}

/// Removes a note, pinned or not.
///
/// # Errors
/// When there is no such note.
pub fn remove_note(ctx: &Context<'_>, stamp: &str) -> Result<RemovedNote, Failure> {
    let tx = begin_transaction(ctx)?;
    let note = find_stored_note(&*tx, stamp, |_| true)?;
    let mem = note
        .mem
        .as_ref()
        .and_then(|mem| record::record_changed_fact(stamp, Some(mem), None));
    let anchor = note
        .anchor
        .as_ref()
        .and_then(|anchor| record::record_changed_fact(stamp, Some(anchor), None));
    let facts = mem.into_iter().chain(anchor).collect();
    let operation = record_note_change(ctx, tx, None, facts, format!("remove note {stamp}"), None)?;
    let note = note.to_view().ok_or_else(|| unknown_note(stamp))?;
    Ok(RemovedNote { note, operation })
}

/// Returns the note with this very stamp. Two of them are an error: the caller must not act on the
/// wrong one.
fn find_stored_note(
    tx: &dyn Transaction,
    stamp: &str,
    is_meant: impl Fn(&StoredNote) -> bool,
) -> Result<StoredNote, Failure> {
    let mut found: Vec<StoredNote> = load_notes_by_prefix(tx, stamp)?
        .into_iter()
        .filter(|note| note.to_view().is_some_and(|view| view.stamp == stamp))
        .filter(&is_meant)
        .collect();
    match (found.pop(), found.len()) {
        (Some(note), 0) => Ok(note),
        (Some(_), _) => Err(Failure::conflict(format!(
            "a pinned note and another one have the stamp {stamp}"
        ))
        .with_step(format!("tl note unpin {stamp}"))),
        (None, _) => Err(unknown_note(stamp)),
    }
}

fn unknown_note(stamp: &str) -> Failure {
    Failure::not_found(format!("no such note: `{stamp}`")).with_step("tl note list")
}

/// Returns the anchor's own stamp, or the next one that no note has.
fn free_note_stamp(tx: &dyn Transaction, anchor: &Anchor) -> Result<Stamp, StoreFault> {
    if record::read_record::<Mem>(tx, &anchor.stamp.to_string())?.is_none() {
        return Ok(anchor.stamp);
    }
    let digits = Stamp::from_timestamp(anchor.at).minute_digits();
    let taken: Vec<String> = stamps_of_minute(tx, &digits)?;
    Ok(Stamp::first_free_from(anchor.at, |stamp| {
        taken.contains(&stamp.to_string())
    }))
}

/// Returns the stamps of notes and anchors that start with these digits. Both kinds share them, so
/// that a stamp names one note.
pub(super) fn stamps_of_minute(
    tx: &dyn Transaction,
    digits: &str,
) -> Result<Vec<String>, StoreFault> {
    let mut stamps = Vec::new();
    for kind in [Mem::KIND, Anchor::KIND] {
        stamps.extend(
            tx.records_by_prefix(kind, digits)?
                .into_iter()
                .map(|(key, _)| key),
        );
    }
    Ok(stamps)
}

/// Records the change of a note as one operation, with a line in the log of the session, if there is
/// one.
pub(super) fn record_note_change(
    ctx: &Context<'_>,
    mut tx: Box<dyn Transaction + '_>,
    session: Option<SessionChange>,
    mut facts: Vec<Fact>,
    summary: String,
    log: Option<(LogEntryKind, &str, Stamp)>,
) -> Result<OperationId, Failure> {
    let planned = PlannedFiles::new(ctx, None);
    let now = ctx.clock.now();
    // Before the operation is built: the decisions are a part of its facts, whichever of the two
    // ways below records them.
    attach_note_decisions(ctx, &planned, &*tx, &ctx.actor, now, &mut facts)?;
    let operation = match (session, log) {
        (Some(mut change), Some((kind, text, stamp))) => {
            change.facts.extend(facts);
            change.append_log(ctx, kind, text, Some(stamp));
            change
                .record_operation(ctx, &mut *tx, &planned, Verb::Remember, summary)?
                .1
        }
        _ => {
            let mut operation = ctx.new_operation(Verb::Remember, summary);
            operation.facts.extend(facts);
            planned.record_operation(&mut *tx, operation)?
        }
    };
    planned.commit_and_write(ctx, tx)?;
    Ok(operation)
}
