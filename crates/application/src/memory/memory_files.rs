//! Two-way sync of the story's memory between store and files: people's edits are imported, our
//! changes are written.
//!
//! Files are written after the commit. A note in the store holds the text a file should have and
//! had before, so that a file that is behind (a process died, an operation was undone) is
//! distinguished from one that was edited. A file that cannot be parsed is reported and never
//! overwritten.

use std::collections::btree_map::Entry as Slot;
use std::collections::{BTreeMap, BTreeSet};

use domain::fact::Fact;
use domain::ids::{OperationId, Principal, VersionHash};
use domain::memory::{Entry, EntryKind, StoryMemory, entry_file};
use domain::operation::Verb;
use domain::ports::{
    FileReadResult, FileStamp, FileStatResult, FolderEntryKind as OnDisk, NewOperation, Snapshot,
    StoreFault, Transaction,
};
use domain::secrets::mask_secrets;
use domain::text::count_with_noun;
use serde::{Deserialize, Serialize};

use super::unwritten_files::UnwrittenEntries;
use crate::context::{Context, Notice};
use crate::failure::Failure;
use crate::overlay::Overlay;
use crate::working_copy::is_state_shared;

/// Maximum size of a memory file.
pub(super) const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// Number of operations after which the position of the comparison is stored again.
const MAX_UNSAVED_OPERATIONS: usize = 64;

/// Returns the names of each character and place that has several.
pub(crate) fn load_alias_groups(state: &dyn Snapshot) -> Result<Vec<Vec<String>>, StoreFault> {
    let mut groups = Vec::new();
    for kind in [EntryKind::Character, EntryKind::Location] {
        for (_, body) in state.records_by_prefix(kind.as_str(), "")? {
            let (name, aliases) = match Entry::from_value(kind, body) {
                Ok(Entry::Character(it)) => (it.name, it.aliases),
                Ok(Entry::Location(it)) => (it.name, it.aliases),
                _ => continue,
            };
            if !aliases.is_empty() {
                groups.push(std::iter::once(name).chain(aliases).collect());
            }
        }
    }
    Ok(groups)
}

/// The known state of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct SeenFile {
    /// Hash of the text it has, or is about to have.
    text: Option<VersionHash>,
    /// Hash of the text it had before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<VersionHash>,
    stamp: Option<[i64; 4]>,
}

type SeenFolder = BTreeMap<String, SeenFile>;

/// The result of comparing files and records.
#[derive(Debug, Default)]
struct FileComparison {
    /// Edited or added by a person.
    edited: Vec<(Entry, SeenFile)>,
    /// Behind the store; have to be written again.
    behind: BTreeSet<String>,
    /// Not parsable, with the reason; never overwritten.
    broken: BTreeMap<String, String>,
    /// Read and up to date.
    confirmed: Vec<(EntryKind, String, SeenFile)>,
    operations: usize,
}

/// The memory files as one transaction sees them: scanned once, with the writes due after its
/// commit.
#[must_use = "the files are written after the commit"]
#[derive(Debug, Default)]
pub(crate) struct MemoryFiles {
    notes: FileNotes,
    /// Never overwritten.
    broken: BTreeSet<String>,
    /// Stored with the commit.
    unwritten: UnwrittenEntries,
}

impl MemoryFiles {
    /// Registers the files that a change of the memory is going to alter. The change itself is part
    /// of the caller's operation, which is recorded by now.
    pub(crate) fn register_changes(
        &mut self,
        ctx: &Context<'_>,
        tx: &mut dyn Transaction,
        memory: &StoryMemory,
    ) -> Result<(), Failure> {
        for (id, entry) in memory.changed_entries() {
            let Some((kind, _)) = EntryKind::parse_id(&id) else {
                continue;
            };
            if !self.broken.contains(&id) {
                // Read back from the store, where secrets are masked; the entry in memory still has
                // them.
                let stored = if entry.is_some() {
                    load_entry(&*tx, kind, &id)?
                } else {
                    None
                };
                self.register_file(&*tx, kind, &id, stored.as_ref())?;
            }
        }
        self.store_notes(ctx, tx)
    }

    /// Stores the notes about the files, and which of them are to be written.
    fn store_notes(&mut self, ctx: &Context<'_>, tx: &mut dyn Transaction) -> Result<(), Failure> {
        self.unwritten.add_to_note(ctx, tx)?;
        self.notes.store_changed(ctx, tx)
    }

    /// Registers that the file of an entry is going to be written or deleted.
    fn register_file(
        &mut self,
        state: &dyn Snapshot,
        kind: EntryKind,
        id: &str,
        entry: Option<&Entry>,
    ) -> Result<(), Failure> {
        let known = self.notes.folder_notes_mut(state, kind)?;
        let was = known.get(id).cloned().unwrap_or_default();
        match entry {
            Some(entry) => {
                let seen = known.entry(id.to_owned()).or_default();
                let wanted = Some(VersionHash::of_bytes(
                    entry_file::render_entry(entry).as_bytes(),
                ));
                // `before` keeps the last text that is really on disk, also when an entry changes
                // twice before its file is written.
                if seen.text != wanted {
                    seen.before = seen.text.take();
                }
                seen.text = wanted;
                // The file is not written yet, so no stamp of it can vouch for the new text.
                seen.stamp = None;
            }
            None => drop(known.remove(id)),
        }
        self.unwritten
            .add_entry(id, [was.text, was.before].into_iter().flatten());
        Ok(())
    }

    /// Writes the files. A failure is reported as a notice; the store has the content in any case.
    pub(crate) fn write_files(self, ctx: &Context<'_>) {
        self.unwritten.write_files(ctx);
    }
}

/// Loads the memory from the store.
pub(crate) fn load_memory(state: &dyn Snapshot) -> Result<StoryMemory, Failure> {
    let mut entries = Vec::new();
    for kind in EntryKind::ALL {
        for (key, body) in state.record_texts(kind.as_str())? {
            // An error and not a skipped entry: whatever is derived from the memory would silently
            // lack it.
            let entry = Entry::from_json(kind, &body).map_err(|error| {
                Failure::unavailable(format!("the record {kind}/{key} cannot be read: {error}"))
            })?;
            entries.push(entry);
        }
    }
    Ok(StoryMemory::new(entries))
}

/// Loads one entry from the store.
pub(crate) fn load_entry(
    state: &dyn Snapshot,
    kind: EntryKind,
    id: &str,
) -> Result<Option<Entry>, Failure> {
    let Some(body) = state.record_body(kind.as_str(), id)? else {
        return Ok(None);
    };
    Entry::from_value(kind, body).map(Some).map_err(|error| {
        Failure::unavailable(format!("the record {kind}/{id} cannot be read: {error}"))
    })
}

/// Imports people's edits, and returns a snapshot that includes them.
pub(crate) fn observe_memory<'s>(ctx: &Context<'s>) -> Result<Box<dyn Snapshot + 's>, Failure> {
    let state = ctx.store.begin_read()?;
    // Compared before the write lock is taken: nearly always there is nothing to import.
    let look = compare_files(ctx, &*state, &mut FileNotes::default())?;
    look.report_broken(ctx);
    // Reading the memory must not need the write lock while nothing has changed.
    if !look.needs_write() {
        return Ok(state);
    }
    // Edits in the files of one working copy are recorded for the others by a command that writes.
    if is_state_shared(ctx, &*state)? {
        let edits = edits_operation(ctx, &*state, &look)?;
        let mut overlay = Overlay::new(state);
        if let Some(operation) = edits {
            overlay.record_operation(operation)?;
        }
        return Ok(Box::new(overlay));
    }
    drop(state);
    import_edits(ctx)?;
    Ok(ctx.store.begin_read()?)
}

/// Imports people's edits, if there are any, before a command that writes uses the memory. On a shared state
/// too, because its operation rests on them.
pub(crate) fn import_pending_edits(ctx: &Context<'_>) -> Result<(), Failure> {
    let state = ctx.store.begin_read()?;
    let look = compare_files(ctx, &*state, &mut FileNotes::default())?;
    drop(state);
    match look.needs_write() {
        true => import_edits(ctx),
        false => {
            look.report_broken(ctx);
            Ok(())
        }
    }
}

/// Imports people's edits and writes the files that are behind, in a transaction of its own.
pub(super) fn import_edits(ctx: &Context<'_>) -> Result<(), Failure> {
    let mut tx = ctx.store.begin_write()?;
    let files = import_edits_within(ctx, &mut *tx)?;
    tx.commit()?;
    files.write_files(ctx);
    Ok(())
}

/// Returns the operation that records the edited files; `None` if they change nothing.
fn edits_operation(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    look: &FileComparison,
) -> Result<Option<NewOperation>, Failure> {
    // Only the edited entries are loaded, not the whole memory.
    let mut memory = StoryMemory::default();
    for (entry, _) in &look.edited {
        if let Some(known) = load_entry(state, entry.kind(), entry.id())? {
            memory = with_entry(memory, known);
        }
    }
    look.edited
        .iter()
        .for_each(|(entry, _)| memory.put_entry(entry.clone()));
    let facts = memory.change_facts();
    if facts.is_empty() {
        return Ok(None);
    }
    let summary = format!(
        "memory: {} edited by hand",
        count_with_noun(facts.len(), "entry", "entries")
    );
    let mut operation = ctx.new_operation(Verb::Observe, summary);
    // Who edited the file is unknown; the acting session only noticed it.
    operation.by = Principal::System;
    operation.facts = facts;
    Ok(Some(operation))
}

/// Imports people's edits within a transaction that is committed in any case. The returned files
/// are to be written after the commit.
pub(crate) fn import_edits_within(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
) -> Result<MemoryFiles, Failure> {
    let mut files = MemoryFiles::default();
    // Compared again under the lock: another command may have imported the same edit in between.
    let look = compare_files(ctx, &*tx, &mut files.notes)?;
    look.report_broken(ctx);
    if let Some(operation) = edits_operation(ctx, &*tx, &look)? {
        let summary = operation.summary.clone();
        let id = tx.record_operation(operation)?;
        ctx.push_notice(Notice::Changes {
            operation: id,
            summary,
            stale: 0,
        });
    }
    let edited = look
        .edited
        .into_iter()
        .map(|(entry, seen)| (entry.kind(), entry.id().to_owned(), seen));
    for (kind, id, seen) in edited.chain(look.confirmed) {
        files.notes.folder_notes_mut(&*tx, kind)?.insert(id, seen);
    }
    for id in look.behind {
        let Some((kind, _)) = EntryKind::parse_id(&id) else {
            continue;
        };
        let entry = load_entry(&*tx, kind, &id)?;
        files.register_file(&*tx, kind, &id, entry.as_ref())?;
    }
    files.broken = look.broken.into_keys().collect();
    files.store_notes(ctx, tx)?;
    Ok(files)
}

/// Note with the operation up to which files and records were compared.
pub(super) const COMPARED_HEAD_NOTE: &str = "memory-files/head";

fn with_entry(memory: StoryMemory, known: Entry) -> StoryMemory {
    StoryMemory::new(memory.all_entries().cloned().chain([known]))
}

impl FileComparison {
    fn needs_write(&self) -> bool {
        !self.edited.is_empty()
            || !self.behind.is_empty()
            || self.operations > MAX_UNSAVED_OPERATIONS
            || self.confirmed.len() > MAX_UNSAVED_OPERATIONS
    }

    fn report_broken(&self, ctx: &Context<'_>) {
        for (id, why) in &self.broken {
            let path = EntryKind::parse_id(id).map_or_else(
                || id.clone(),
                |(kind, _)| entry_file::entry_file_path(kind, id),
            );
            ctx.push_notice(Notice::Misplaced {
                path,
                why: format!("not imported: {why}"),
            });
        }
    }
}

/// Compares the files with the notes and the records.
fn compare_files(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    notes: &mut FileNotes,
) -> Result<FileComparison, Failure> {
    let mut look = FileComparison::default();
    let folders = EntryKind::ALL.map(|kind| {
        let folder = format!("{}/{}", entry_file::MEMORY_FOLDER, kind.folder_name());
        (kind, ctx.files.list_folder(&folder))
    });
    let has_files = folders.iter().any(|(_, listed)| !listed.is_empty());
    if !has_files && !has_entries(state, notes)? {
        return Ok(look);
    }
    let (touched, operations) = touched_since(state)?;
    look.operations = operations;
    let unwritten = UnwrittenEntries::load_noted(state)?;
    for (kind, folder) in folders {
        let known = notes.folder_notes(state, kind)?;
        // A folder is listed in the order of its names, so this is sorted but for the suffix.
        let mut listed = Vec::with_capacity(folder.len());
        for on_disk in folder {
            let Some(name) = on_disk
                .name
                .strip_suffix(".md")
                .filter(|_| on_disk.kind == OnDisk::File)
            else {
                continue;
            };
            // Hidden files are an editor's, or temporary files of a process that died while
            // writing.
            if name.starts_with('.') {
                continue;
            }
            let id = match EntryKind::parse_id(name) {
                Some((found, number)) if found == kind && kind.format_id(number) == name => {
                    name.to_owned()
                }
                _ => {
                    let why = format!(
                        "expected a file name like `{}.md`",
                        kind.format_id(kind.first_number())
                    );
                    let path = format!(
                        "{}/{}/{}",
                        entry_file::MEMORY_FOLDER,
                        kind.folder_name(),
                        on_disk.name
                    );
                    ctx.push_notice(Notice::Misplaced { path, why });
                    continue;
                }
            };
            // Forgotten, but its file is not deleted yet: importing it would bring the entry back.
            if unwritten.contains(&id) && !known.contains_key(&id) {
                continue;
            }
            compare_file(
                ctx,
                state,
                kind,
                &id,
                known.get(&id),
                touched.contains(&id),
                &mut look,
            )?;
            listed.push(id);
        }
        listed.sort_unstable();
        let of_kind =
            |id: &&String| EntryKind::parse_id(id).is_some_and(|(found, _)| found == kind);
        // A deleted file is written again: files get lost in checkouts and cleanups, so forgetting
        // an entry takes a command (`tl story memory forget`).
        for id in known.keys().chain(touched.iter().filter(of_kind)) {
            if listed.binary_search(id).is_err() && state.record_body(kind.as_str(), id)?.is_some()
            {
                look.behind.insert(id.clone());
            }
        }
    }
    Ok(look)
}

/// Whether there is an entry, or a file of one was ever seen. Without any, no operation can have touched
/// one, and reading those of ten thousand new plans would take longer than the page that asks.
fn has_entries(state: &dyn Snapshot, notes: &mut FileNotes) -> Result<bool, Failure> {
    for kind in EntryKind::ALL {
        if !notes.folder_notes(state, kind)?.is_empty()
            || !state.records_by_prefix(kind.as_str(), "")?.is_empty()
        {
            return Ok(true);
        }
    }
    Ok(false)
}

fn compare_file(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    kind: EntryKind,
    id: &str,
    known: Option<&SeenFile>,
    touched: bool,
    look: &mut FileComparison,
) -> Result<(), Failure> {
    let path = entry_file::entry_file_path(kind, id);
    let stamp = match ctx.files.stat_file(&path) {
        FileStatResult::Present(stamp) => compact_stamp(stamp),
        FileStatResult::Missing => return Ok(()),
        // Counted as broken, so that a link or an unreadable file is not replaced.
        FileStatResult::Refused(why) | FileStatResult::Unavailable(why) => {
            look.broken.insert(id.to_owned(), why);
            return Ok(());
        }
    };
    // An unchanged stamp is not enough for a touched entry: an undo changes the record and leaves
    // the file as it is.
    if !touched && known.is_some_and(|known| known.stamp == Some(stamp)) {
        return Ok(());
    }
    let (text, stamp) = match ctx.files.read_file(&path, MAX_FILE_BYTES) {
        FileReadResult::Text { text, stamp, .. } => (text, stamp.map(compact_stamp)),
        FileReadResult::Missing => return Ok(()),
        FileReadResult::Unreadable { why, .. } => {
            look.broken.insert(id.to_owned(), why);
            return Ok(());
        }
    };
    let found = Some(VersionHash::of_bytes(text.as_bytes()));
    let seen = SeenFile {
        text: found,
        before: None,
        stamp,
    };
    if let Some(known) = known.filter(|known| known.text == found || known.before == found) {
        let stored = load_entry(state, kind, id)?;
        let wanted = stored
            .as_ref()
            .map(|entry| VersionHash::of_bytes(entry_file::render_entry(entry).as_bytes()));
        let is_behind = match &stored {
            // Exactly a text of ours, but no longer what the store has: behind, not edited.
            Some(_) => {
                found != wanted
                    && (touched || known.text != found)
                    && !has_same_meaning(kind, id, &text, stored.as_ref())
            }
            None => true,
        };
        if is_behind {
            look.behind.insert(id.to_owned());
        } else {
            look.confirmed.push((kind, id.to_owned(), seen));
        }
        return Ok(());
    }
    match entry_file::parse_entry(kind, id, &text) {
        Ok(entry) => look.edited.push((entry, seen)),
        Err(problem) => {
            look.broken.insert(id.to_owned(), problem.to_string());
        }
    }
    Ok(())
}

/// Returns whether a file means what is stored, whatever its formatting.
fn has_same_meaning(kind: EntryKind, id: &str, text: &str, stored: Option<&Entry>) -> bool {
    let means = |text: &str| entry_file::parse_entry(kind, id, text).ok().as_ref() == stored;
    // A secret in a person's file stays there, while the store has it masked; that is no
    // difference.
    means(text) || means(&mask_secrets(text))
}

/// Number of facts that count as an operation of their own.
const FACTS_PER_OPERATION: usize = 16;

/// Returns the entries that operations touched since the last comparison, and the number of
/// operations; a large one counts as several.
fn touched_since(state: &dyn Snapshot) -> Result<(BTreeSet<String>, usize), Failure> {
    let seen = state
        .load_note(COMPARED_HEAD_NOTE)?
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    let head = state.last_operation_id()?.0;
    let (mut touched, mut facts) = (BTreeSet::new(), 0);
    // Read one by one: every operation is verified when it is read, and older ones need not be.
    for id in seen + 1..=head {
        state.visit_facts(OperationId(id), &mut |fact| {
            touched.extend(touched_entry(&fact).map(str::to_owned));
            facts += 1;
        })?;
    }
    let operations = usize::try_from(head.saturating_sub(seen)).unwrap_or(usize::MAX);
    // The first scan of a large project is one operation that takes as long to read as hundreds.
    Ok((touched, operations.max(facts / FACTS_PER_OPERATION)))
}

/// Returns the id of the entry a fact is about.
pub(super) fn touched_entry(fact: &Fact) -> Option<&str> {
    match fact {
        Fact::RecordChanged { record, .. }
            if EntryKind::ALL
                .iter()
                .any(|kind| kind.as_str() == record.kind) =>
        {
            Some(&record.key)
        }
        _ => None,
    }
}

pub(super) fn compact_stamp(stamp: FileStamp) -> [i64; 4] {
    let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    [
        whole(stamp.size),
        stamp.modified_ns,
        stamp.changed_ns,
        whole(stamp.inode),
    ]
}

fn folder_note_key(kind: EntryKind) -> String {
    format!("memory-files/{}", kind.folder_name())
}

/// Notes about the files, loaded once and stored once if they changed.
#[derive(Debug, Default)]
struct FileNotes {
    folders: BTreeMap<EntryKind, SeenFolder>,
    changed: BTreeSet<EntryKind>,
}

impl FileNotes {
    fn folder_notes(
        &mut self,
        state: &dyn Snapshot,
        kind: EntryKind,
    ) -> Result<&SeenFolder, Failure> {
        Ok(self.load_folder(state, kind)?)
    }

    fn folder_notes_mut(
        &mut self,
        state: &dyn Snapshot,
        kind: EntryKind,
    ) -> Result<&mut SeenFolder, Failure> {
        self.changed.insert(kind);
        self.load_folder(state, kind)
    }

    fn load_folder(
        &mut self,
        state: &dyn Snapshot,
        kind: EntryKind,
    ) -> Result<&mut SeenFolder, Failure> {
        Ok(match self.folders.entry(kind) {
            Slot::Occupied(known) => known.into_mut(),
            Slot::Vacant(free) => {
                // An unreadable note counts as none; every file is then read again.
                let text = state.load_note(&folder_note_key(kind))?;
                free.insert(
                    text.and_then(|text| serde_json::from_str(&text).ok())
                        .unwrap_or_default(),
                )
            }
        })
    }

    /// Stores the changed notes, and the head up to which everything was compared.
    fn store_changed(
        &mut self,
        ctx: &Context<'_>,
        tx: &mut dyn Transaction,
    ) -> Result<(), Failure> {
        for kind in std::mem::take(&mut self.changed) {
            let text = serde_json::to_string(&self.folders[&kind]).unwrap_or_default();
            tx.save_note(&folder_note_key(kind), Some(&text), ctx.clock.now())?;
        }
        Ok(tx.save_note(
            COMPARED_HEAD_NOTE,
            Some(&tx.last_operation_id()?.to_string()),
            ctx.clock.now(),
        )?)
    }
}
