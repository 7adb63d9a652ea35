//! Redo note for memory files: stored with the commit, written after it, completed by the next
//! command.
//!
//! The store has the text a file should get. The note lists the texts of ours the file may have
//! until then, so that a person's edit is never overwritten, however late the file is written.

use std::collections::BTreeMap;

use domain::fact::Fact;
use domain::ids::VersionHash;
use domain::memory::{EntryKind, file};
use domain::operation::Verb;
use domain::ports::{Reading, Snapshot, StoreFault, Transaction};
use serde::{Deserialize, Serialize};

use super::files::{HEAD, MAX_FILE_BYTES, observe_anew, stored_entry, touched_entry};
use crate::context::{Context, Noticed};
use crate::failure::Failure;

/// Note that exists only while a file is to be written.
const UNWRITTEN: &str = "memory-files/unwritten";

/// Entries whose files are to be written or deleted, each with the hashes of our texts that the
/// file may have until then.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Unwritten(BTreeMap<String, Vec<VersionHash>>);

impl Unwritten {
    /// Loads the note. An unreadable one counts as none.
    pub(super) fn noted(state: &dyn Snapshot) -> Result<Self, StoreFault> {
        let text = state.note(UNWRITTEN)?;
        Ok(text
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn contains(&self, id: &str) -> bool {
        self.0.contains_key(id)
    }

    /// Adds an entry, and texts its file may have.
    pub(super) fn add(&mut self, id: &str, texts: impl IntoIterator<Item = VersionHash>) {
        let known = self.0.entry(id.to_owned()).or_default();
        for text in texts {
            if !known.contains(&text) {
                known.push(text);
            }
        }
    }

    /// Stores them in addition to those already noted.
    pub(super) fn note(&self, ctx: &Context<'_>, tx: &mut dyn Transaction) -> Result<(), Failure> {
        if self.is_empty() {
            return Ok(());
        }
        // Merged with the stored note: files of an earlier commit may still be due.
        let mut noted = Self::noted(&*tx)?;
        self.0
            .iter()
            .for_each(|(id, texts)| noted.add(id, texts.iter().copied()));
        noted.keep(ctx, tx)
    }

    fn keep(&self, ctx: &Context<'_>, tx: &mut dyn Transaction) -> Result<(), Failure> {
        let text = (!self.is_empty()).then(|| serde_json::to_string(self).unwrap_or_default());
        Ok(tx.keep_note(UNWRITTEN, text.as_deref(), ctx.clock.now())?)
    }

    fn paths(&self) -> impl Iterator<Item = String> {
        self.0
            .keys()
            .filter_map(|id| Some(file::path(EntryKind::of_id(id)?.0, id)))
    }

    /// Writes the files of a commit. A failure is reported and retried by the next command.
    pub(super) fn write(&self, ctx: &Context<'_>) {
        if self.is_empty() {
            return;
        }
        if let Err(failure) = write_noted(ctx) {
            for path in self.paths() {
                ctx.notice(Noticed::NotWritten {
                    path,
                    why: failure.message.clone(),
                });
            }
        }
    }
}

/// Returns whether a process left memory files unwritten.
pub(crate) fn is_any_unwritten(state: &dyn Snapshot) -> Result<bool, StoreFault> {
    let head = state.head()?;
    let compared = state.note(HEAD)?;
    let is_compared = compared
        .as_ref()
        .is_some_and(|text| *text == head.to_string());
    if compared.is_some() && state.note(UNWRITTEN)?.is_some() {
        return Ok(true);
    }
    // An operation recovered from the journal has lost the notes of its commit. The verb is checked
    // first, because reading the head is much cheaper than reading the facts.
    let may_change_memory = |verb| matches!(verb, Verb::Remember | Verb::Tick | Verb::Write);
    if is_compared
        || !state
            .operation_head(head)?
            .is_some_and(|operation| may_change_memory(operation.verb))
    {
        return Ok(false);
    }
    let is_memory = |fact: &Fact| touched_entry(fact).is_some();
    Ok(state
        .operation(head)?
        .is_some_and(|operation| operation.facts.iter().any(is_memory)))
}

/// Writes the memory files that an interrupted process left.
pub(crate) fn complete(ctx: &Context<'_>) -> Result<(), Failure> {
    let written = write_noted(ctx)?;
    if !written.is_empty() {
        let what = format!(
            "memory was changed before; its files are written now: {}",
            written.join(", ")
        );
        ctx.notice(Noticed::CaughtUp { what });
    }
    // The operation came from the journal without notes; a full comparison finds its files.
    if is_any_unwritten(&*ctx.store.read()?)? {
        observe_anew(ctx)?;
    }
    Ok(())
}

/// Writes the noted files as the store has them now, and returns the written paths.
///
/// Holds the write lock: another process may have written them since the commit, and changed the
/// entries again.
fn write_noted(ctx: &Context<'_>) -> Result<Vec<String>, Failure> {
    let mut tx = ctx.store.write()?;
    let noted = Unwritten::noted(&*tx)?;
    let (mut left, mut written) = (Unwritten::default(), Vec::new());
    for (id, ours) in &noted.0 {
        let Some((kind, _)) = EntryKind::of_id(id) else {
            continue;
        };
        let path = file::path(kind, id);
        let wanted = stored_entry(&*tx, kind, id)?.as_ref().map(file::render);
        match write_one(ctx, &path, wanted.as_deref(), ours) {
            Ok(true) => written.push(path),
            Ok(false) => {}
            Err(why) => {
                ctx.notice(Noticed::NotWritten { path, why });
                left.add(id, ours.iter().copied());
            }
        }
    }
    if left.0 != noted.0 {
        left.keep(ctx, &mut *tx)?;
        // A failed commit loses only the note; the next command finds the files already correct.
        let _ = tx.commit();
    }
    Ok(written)
}

/// Writes one file; returns whether that was necessary.
fn write_one(
    ctx: &Context<'_>,
    path: &str,
    wanted: Option<&str>,
    ours: &[VersionHash],
) -> Result<bool, String> {
    match (ctx.files.read(path, MAX_FILE_BYTES), wanted) {
        (Reading::Text { text, .. }, Some(wanted)) if text == wanted => return Ok(false),
        (Reading::Missing, None) => return Ok(false),
        (Reading::Missing, Some(_)) => {}
        // Only a text of ours may be replaced; anything else is a person's edit.
        (Reading::Text { text, .. }, _) if ours.contains(&VersionHash::of(text.as_bytes())) => {}
        (
            Reading::Unreadable {
                why,
                transient: true,
            },
            _,
        ) => return Err(why),
        (Reading::Text { .. } | Reading::Unreadable { .. }, _) => {
            let why = "it was edited before it could be written, and is left as it is".to_owned();
            ctx.notice(Noticed::NotWritten {
                path: path.to_owned(),
                why,
            });
            return Ok(false);
        }
    }
    let done = match wanted {
        Some(text) => ctx.files.replace(path, text),
        None => ctx.files.remove(path),
    };
    done.map(|()| true)
        .map_err(|fault| Failure::from(fault).message)
}
