//! Redo note for memory files: stored with the commit, written after it, completed by the next
//! command.
//!
//! The store has the text a file should get. The note lists the texts of ours the file may have
//! until then, so that a person's edit is never overwritten, however late the file is written.

use std::collections::BTreeMap;

use domain::fact::Fact;
use domain::ids::VersionHash;
use domain::memory::{EntryKind, entry_file};
use domain::operation::Verb;
use domain::ports::{FileReadResult, Snapshot, StoreFault, Transaction};
use serde::{Deserialize, Serialize};

use super::memory_files::{
    COMPARED_HEAD_NOTE, MAX_FILE_BYTES, import_edits, load_entry, touched_entry,
};
use crate::context::{Context, Notice};
use crate::failure::Failure;

/// Note that exists only while a file is to be written.
const UNWRITTEN_NOTE: &str = "memory-files/unwritten";

/// Entries whose files are to be written or deleted, each with the hashes of our texts that the
/// file may have until then.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct UnwrittenEntries(BTreeMap<String, Vec<VersionHash>>);

impl UnwrittenEntries {
    /// Loads the note. An unreadable one counts as none.
    pub(super) fn load_noted(state: &dyn Snapshot) -> Result<Self, StoreFault> {
        let text = state.load_note(UNWRITTEN_NOTE)?;
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
    pub(super) fn add_entry(&mut self, id: &str, texts: impl IntoIterator<Item = VersionHash>) {
        let known = self.0.entry(id.to_owned()).or_default();
        for text in texts {
            if !known.contains(&text) {
                known.push(text);
            }
        }
    }

    /// Stores them in addition to those already noted.
    pub(super) fn add_to_note(
        &self,
        ctx: &Context<'_>,
        tx: &mut dyn Transaction,
    ) -> Result<(), Failure> {
        if self.is_empty() {
            return Ok(());
        }
        // Merged with the stored note: files of an earlier commit may still be due.
        let mut noted = Self::load_noted(&*tx)?;
        self.0
            .iter()
            .for_each(|(id, texts)| noted.add_entry(id, texts.iter().copied()));
        noted.store_note(ctx, tx)
    }

    fn store_note(&self, ctx: &Context<'_>, tx: &mut dyn Transaction) -> Result<(), Failure> {
        let text = (!self.is_empty()).then(|| serde_json::to_string(self).unwrap_or_default());
        Ok(tx.save_note(UNWRITTEN_NOTE, text.as_deref(), ctx.clock.now())?)
    }

    fn file_paths(&self) -> impl Iterator<Item = String> {
        self.0
            .keys()
            .filter_map(|id| Some(entry_file::entry_file_path(EntryKind::parse_id(id)?.0, id)))
    }

    /// Writes the files of a commit. A failure is reported and retried by the next command.
    pub(super) fn write_files(&self, ctx: &Context<'_>) {
        if self.is_empty() {
            return;
        }
        if let Err(failure) = write_noted_files(ctx) {
            for path in self.file_paths() {
                ctx.push_notice(Notice::NotWritten {
                    path,
                    why: failure.message.clone(),
                });
            }
        }
    }
}

/// Returns whether a process left memory files unwritten.
pub(crate) fn has_unwritten_files(state: &dyn Snapshot) -> Result<bool, StoreFault> {
    let head = state.last_operation_id()?;
    let compared = state.load_note(COMPARED_HEAD_NOTE)?;
    let is_compared = compared
        .as_ref()
        .is_some_and(|text| *text == head.to_string());
    if compared.is_some() && state.load_note(UNWRITTEN_NOTE)?.is_some() {
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
        .load_operation(head)?
        .is_some_and(|operation| operation.facts.iter().any(is_memory)))
}

/// Writes the memory files that an interrupted process left.
pub(crate) fn complete_memory_writes(ctx: &Context<'_>) -> Result<(), Failure> {
    let written = write_noted_files(ctx)?;
    if !written.is_empty() {
        let what = format!(
            "memory was changed before; its files are written now: {}",
            written.join(", ")
        );
        ctx.push_notice(Notice::CaughtUp { what });
    }
    // The operation came from the journal without notes; a full comparison finds its files.
    if has_unwritten_files(&*ctx.store.begin_read()?)? {
        import_edits(ctx)?;
    }
    Ok(())
}

/// Writes the noted files as the store has them now, and returns the written paths.
///
/// Holds the write lock: another process may have written them since the commit, and changed the
/// entries again.
fn write_noted_files(ctx: &Context<'_>) -> Result<Vec<String>, Failure> {
    let mut tx = ctx.store.begin_write()?;
    let noted = UnwrittenEntries::load_noted(&*tx)?;
    let (mut left, mut written) = (UnwrittenEntries::default(), Vec::new());
    for (id, ours) in &noted.0 {
        let Some((kind, _)) = EntryKind::parse_id(id) else {
            continue;
        };
        let path = entry_file::entry_file_path(kind, id);
        let wanted = load_entry(&*tx, kind, id)?
            .as_ref()
            .map(entry_file::render_entry);
        match write_entry_file(ctx, &path, wanted.as_deref(), ours) {
            Ok(true) => written.push(path),
            Ok(false) => {}
            Err(why) => {
                ctx.push_notice(Notice::NotWritten { path, why });
                left.add_entry(id, ours.iter().copied());
            }
        }
    }
    if left.0 != noted.0 {
        left.store_note(ctx, &mut *tx)?;
        // A failed commit loses only the note; the next command finds the files already correct.
        let _ = tx.commit();
    }
    Ok(written)
}

/// Writes one file; returns whether that was necessary.
fn write_entry_file(
    ctx: &Context<'_>,
    path: &str,
    wanted: Option<&str>,
    ours: &[VersionHash],
) -> Result<bool, String> {
    match (ctx.files.read_file(path, MAX_FILE_BYTES), wanted) {
        (FileReadResult::Text { text, .. }, Some(wanted)) if text == wanted => return Ok(false),
        (FileReadResult::Missing, None) => return Ok(false),
        (FileReadResult::Missing, Some(_)) => {}
        // Only a text of ours may be replaced; anything else is a person's edit.
        (FileReadResult::Text { text, .. }, _)
            if ours.contains(&VersionHash::of_bytes(text.as_bytes())) => {}
        (
            FileReadResult::Unreadable {
                why,
                transient: true,
            },
            _,
        ) => return Err(why),
        (FileReadResult::Text { .. } | FileReadResult::Unreadable { .. }, _) => {
            let why = "it was edited before it could be written, and is left as it is".to_owned();
            ctx.push_notice(Notice::NotWritten {
                path: path.to_owned(),
                why,
            });
            return Ok(false);
        }
    }
    let done = match wanted {
        Some(text) => ctx.files.replace_file(path, text),
        None => ctx.files.remove_file(path),
    };
    done.map(|()| true)
        .map_err(|fault| Failure::from(fault).message)
}
