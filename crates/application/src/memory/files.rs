//! Two-way sync of the story's memory between store and files: people's edits are imported, our
//! changes are written.
//!
//! Files are written after the commit. A note in the store holds the text a file should have and
//! had before, so that a file that is behind (a process died, an operation was undone) is
//! distinguished from one that somebody edited. A file that cannot be parsed is reported and never
//! overwritten.

use std::collections::btree_map::Entry as Slot;
use std::collections::{BTreeMap, BTreeSet};

use domain::fact::Fact;
use domain::ids::{OperationId, Principal, VersionHash};
use domain::memory::{Entry, EntryKind, Memory, file};
use domain::operation::Verb;
use domain::ports::{EntryKind as OnDisk, FileLook, FileStamp, Reading, Snapshot, Transaction};
use domain::secrets::mask;
use domain::text::count;
use serde::{Deserialize, Serialize};

use super::unwritten::Unwritten;
use crate::context::{Context, Noticed};
use crate::failure::{Failure, FailureKind};

/// Maximum size of a memory file.
pub(super) const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// Number of operations after which the position of the comparison is stored again.
const OPERATIONS_WORTH_A_WRITE: usize = 64;

/// The known state of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Seen {
    /// Hash of the text it has, or is about to have.
    text: Option<VersionHash>,
    /// Hash of the text it had before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<VersionHash>,
    stamp: Option<[i64; 4]>,
}

type Folder = BTreeMap<String, Seen>;

/// The result of comparing files and records.
#[derive(Debug, Default)]
struct Look {
    /// Edited or added by a person.
    edited: Vec<(Entry, Seen)>,
    /// Behind the store; have to be written again.
    behind: BTreeSet<String>,
    /// Not parsable, with the reason; never overwritten.
    broken: BTreeMap<String, String>,
    /// Read and up to date.
    confirmed: Vec<(EntryKind, String, Seen)>,
    operations: usize,
}

/// The memory files as one transaction sees them: scanned once, with the writes due after its
/// commit.
#[must_use = "the files are written after the commit"]
#[derive(Debug, Default)]
pub(crate) struct MemoryFiles {
    notes: Notes,
    /// Never overwritten.
    broken: BTreeSet<String>,
    /// Stored with the commit.
    unwritten: Unwritten,
}

impl MemoryFiles {
    /// Registers the files that a change of the memory is going to alter. The change itself is part
    /// of the caller's operation, which is recorded by now.
    pub(crate) fn expect(
        &mut self,
        ctx: &Context<'_>,
        tx: &mut dyn Transaction,
        memory: &Memory,
    ) -> Result<(), Failure> {
        for (id, entry) in memory.changed() {
            let Some((kind, _)) = EntryKind::of_id(&id) else {
                continue;
            };
            if !self.broken.contains(&id) {
                // Read back from the store, where secrets are masked; the entry in memory still has
                // them.
                let stored = if entry.is_some() {
                    stored_entry(&*tx, kind, &id)?
                } else {
                    None
                };
                self.note(&*tx, kind, &id, stored.as_ref())?;
            }
        }
        self.keep(ctx, tx)
    }

    /// Stores the notes about the files, and which of them are to be written.
    fn keep(&mut self, ctx: &Context<'_>, tx: &mut dyn Transaction) -> Result<(), Failure> {
        self.unwritten.note(ctx, tx)?;
        self.notes.keep(ctx, tx)
    }

    /// Registers that the file of an entry is going to be written or deleted.
    fn note(
        &mut self,
        state: &dyn Snapshot,
        kind: EntryKind,
        id: &str,
        entry: Option<&Entry>,
    ) -> Result<(), Failure> {
        let known = self.notes.change(state, kind)?;
        let was = known.get(id).cloned().unwrap_or_default();
        match entry {
            Some(entry) => {
                let seen = known.entry(id.to_owned()).or_default();
                let wanted = Some(VersionHash::of(file::render(entry).as_bytes()));
                // `before` keeps the last text that is really on disk, also when an entry changes
                // twice before its file is written.
                if seen.text != wanted {
                    seen.before = seen.text.take();
                }
                seen.text = wanted;
                seen.stamp = None;
            }
            None => drop(known.remove(id)),
        }
        self.unwritten
            .add(id, [was.text, was.before].into_iter().flatten());
        Ok(())
    }

    /// Writes the files. A failure is reported as a notice; the store has the content in any case.
    pub(crate) fn write(self, ctx: &Context<'_>) {
        self.unwritten.write(ctx);
    }
}

/// Loads the memory from the store.
pub(crate) fn stored(state: &dyn Snapshot) -> Result<Memory, Failure> {
    let mut entries = Vec::new();
    for kind in EntryKind::ALL {
        for (key, body) in state.records(kind.word(), "")? {
            let entry = Entry::read(kind, body).map_err(|error| {
                Failure::new(
                    FailureKind::Unavailable,
                    format!("the record {kind}/{key} cannot be read: {error}"),
                )
            })?;
            entries.push(entry);
        }
    }
    Ok(Memory::new(entries))
}

/// Loads one entry from the store.
pub(crate) fn stored_entry(
    state: &dyn Snapshot,
    kind: EntryKind,
    id: &str,
) -> Result<Option<Entry>, Failure> {
    let Some(body) = state.record_body(kind.word(), id)? else {
        return Ok(None);
    };
    Entry::read(kind, body).map(Some).map_err(|error| {
        Failure::new(
            FailureKind::Unavailable,
            format!("the record {kind}/{id} cannot be read: {error}"),
        )
    })
}

/// Imports people's edits, and returns a snapshot that includes them.
pub(crate) fn observed<'s>(ctx: &Context<'s>) -> Result<Box<dyn Snapshot + 's>, Failure> {
    let state = ctx.store.read()?;
    let look = look(ctx, &*state, &mut Notes::default())?;
    look.tell(ctx);
    // Reading the memory must not need the write lock while nothing has changed.
    if !look.is_worth_a_write() {
        return Ok(state);
    }
    drop(state);
    observe_anew(ctx)?;
    Ok(ctx.store.read()?)
}

/// Imports people's edits and writes the files that are behind, in a transaction of its own.
pub(super) fn observe_anew(ctx: &Context<'_>) -> Result<(), Failure> {
    let mut tx = ctx.store.write()?;
    let files = observe_within(ctx, &mut *tx)?;
    tx.commit()?;
    files.write(ctx);
    Ok(())
}

/// Imports people's edits within a transaction that is committed in any case. The returned files
/// are to be written after the commit.
pub(crate) fn observe_within(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
) -> Result<MemoryFiles, Failure> {
    let mut files = MemoryFiles::default();
    let look = look(ctx, &*tx, &mut files.notes)?;
    look.tell(ctx);
    // Only the edited entries are loaded, not the whole memory.
    let mut memory = Memory::default();
    for (entry, _) in &look.edited {
        if let Some(known) = stored_entry(&*tx, entry.kind(), entry.id())? {
            memory = with_known(memory, known);
        }
    }
    look.edited
        .iter()
        .for_each(|(entry, _)| memory.put(entry.clone()));
    let facts = memory.changes();
    if !facts.is_empty() {
        let summary = format!(
            "memory: {} edited by hand",
            count(facts.len(), "entry", "entries")
        );
        let mut operation = ctx.operation(Verb::Observe, summary.clone());
        // Who edited the file is unknown; the acting session only noticed it.
        operation.by = Principal::System;
        operation.facts = facts;
        let id = tx.record(operation)?;
        ctx.notice(Noticed::Changes {
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
        files.notes.change(&*tx, kind)?.insert(id, seen);
    }
    for id in look.behind {
        let Some((kind, _)) = EntryKind::of_id(&id) else {
            continue;
        };
        let entry = stored_entry(&*tx, kind, &id)?;
        files.note(&*tx, kind, &id, entry.as_ref())?;
    }
    files.broken = look.broken.into_keys().collect();
    files.keep(ctx, tx)?;
    Ok(files)
}

/// Note with the operation up to which files and records were compared.
pub(super) const HEAD: &str = "memory-files/head";

fn with_known(memory: Memory, known: Entry) -> Memory {
    Memory::new(memory.all().cloned().chain([known]))
}

impl Look {
    fn is_worth_a_write(&self) -> bool {
        !self.edited.is_empty()
            || !self.behind.is_empty()
            || self.operations > OPERATIONS_WORTH_A_WRITE
            || self.confirmed.len() > OPERATIONS_WORTH_A_WRITE
    }

    fn tell(&self, ctx: &Context<'_>) {
        for (id, why) in &self.broken {
            let path =
                EntryKind::of_id(id).map_or_else(|| id.clone(), |(kind, _)| file::path(kind, id));
            ctx.notice(Noticed::Misplaced {
                path,
                why: format!("not imported: {why}"),
            });
        }
    }
}

/// Compares the files with the notes and the records.
fn look(ctx: &Context<'_>, state: &dyn Snapshot, notes: &mut Notes) -> Result<Look, Failure> {
    let mut look = Look::default();
    let (touched, operations) = touched_since(state)?;
    look.operations = operations;
    let unwritten = Unwritten::noted(state)?;
    for kind in EntryKind::ALL {
        let known = notes.of(state, kind)?;
        let mut listed = BTreeSet::new();
        for on_disk in ctx
            .files
            .list(&format!("{}/{}", file::FOLDER, kind.folder()))
        {
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
            let id = match EntryKind::of_id(name) {
                Some((found, number)) if found == kind && kind.id(number) == name => {
                    name.to_owned()
                }
                _ => {
                    let why = format!("expected a file name like `{}.md`", kind.id(kind.first()));
                    let path = format!("{}/{}/{}", file::FOLDER, kind.folder(), on_disk.name);
                    ctx.notice(Noticed::Misplaced { path, why });
                    continue;
                }
            };
            // Forgotten, but its file is not deleted yet: importing it would bring the entry back.
            if unwritten.contains(&id) && !known.contains_key(&id) {
                continue;
            }
            look_at(
                ctx,
                state,
                kind,
                &id,
                known.get(&id),
                touched.contains(&id),
                &mut look,
            )?;
            listed.insert(id);
        }
        let of_kind = |id: &&String| EntryKind::of_id(id).is_some_and(|(found, _)| found == kind);
        // A deleted file is written again: files get lost in checkouts and cleanups, so forgetting
        // an entry takes a command (`tl memory forget`).
        for id in known.keys().chain(touched.iter().filter(of_kind)) {
            if !listed.contains(id) && state.record_body(kind.word(), id)?.is_some() {
                look.behind.insert(id.clone());
            }
        }
    }
    Ok(look)
}

fn look_at(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    kind: EntryKind,
    id: &str,
    known: Option<&Seen>,
    touched: bool,
    look: &mut Look,
) -> Result<(), Failure> {
    let path = file::path(kind, id);
    let stamp = match ctx.files.look(&path) {
        FileLook::Present(stamp) => short(stamp),
        FileLook::Missing => return Ok(()),
        // Counted as broken, so that a link or an unreadable file is not replaced.
        FileLook::Refused(why) | FileLook::Unavailable(why) => {
            look.broken.insert(id.to_owned(), why);
            return Ok(());
        }
    };
    // An unchanged stamp is not enough for a touched entry: an undo changes the record and leaves
    // the file as it is.
    if !touched && known.is_some_and(|known| known.stamp == Some(stamp)) {
        return Ok(());
    }
    let (text, stamp) = match ctx.files.read(&path, MAX_FILE_BYTES) {
        Reading::Text { text, stamp, .. } => (text, stamp.map(short)),
        Reading::Missing => return Ok(()),
        Reading::Unreadable { why, .. } => {
            look.broken.insert(id.to_owned(), why);
            return Ok(());
        }
    };
    let found = Some(VersionHash::of(text.as_bytes()));
    if let Some(known) = known.filter(|known| known.text == found || known.before == found) {
        let stored = stored_entry(state, kind, id)?;
        let wanted = stored
            .as_ref()
            .map(|entry| VersionHash::of(file::render(entry).as_bytes()));
        let is_behind = match &stored {
            // Exactly a text of ours, but no longer what the store has: behind, not edited.
            Some(_) => {
                found != wanted
                    && (touched || known.text != found)
                    && !reads_as(kind, id, &text, stored.as_ref())
            }
            None => true,
        };
        if is_behind {
            look.behind.insert(id.to_owned());
        } else {
            look.confirmed.push((
                kind,
                id.to_owned(),
                Seen {
                    text: found,
                    before: None,
                    stamp,
                },
            ));
        }
        return Ok(());
    }
    match file::read(kind, id, &text) {
        Ok(entry) => look.edited.push((
            entry,
            Seen {
                text: found,
                before: None,
                stamp,
            },
        )),
        Err(problem) => {
            look.broken.insert(id.to_owned(), problem.to_string());
        }
    }
    Ok(())
}

/// Returns whether a file means what is stored, whatever its formatting.
fn reads_as(kind: EntryKind, id: &str, text: &str, stored: Option<&Entry>) -> bool {
    let means = |text: &str| file::read(kind, id, text).ok().as_ref() == stored;
    // A secret in a person's file stays there, while the store has it masked; that is no
    // difference.
    means(text) || means(&mask(text))
}

/// Returns the entries that operations touched since the last comparison, and the number of
/// operations.
fn touched_since(state: &dyn Snapshot) -> Result<(BTreeSet<String>, usize), Failure> {
    let seen = state
        .note(HEAD)?
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    let head = state.head()?.0;
    let mut touched = BTreeSet::new();
    // Read one by one: every operation is verified when it is read, and older ones need not be.
    for id in seen + 1..=head {
        for fact in state
            .operation(OperationId(id))?
            .into_iter()
            .flat_map(|operation| operation.facts)
        {
            touched.extend(touched_entry(&fact).map(str::to_owned));
        }
    }
    Ok((
        touched,
        usize::try_from(head.saturating_sub(seen)).unwrap_or(usize::MAX),
    ))
}

/// Returns the id of the entry a fact is about.
pub(super) fn touched_entry(fact: &Fact) -> Option<&str> {
    match fact {
        Fact::RecordChanged { record, .. }
            if EntryKind::ALL.iter().any(|kind| kind.word() == record.kind) =>
        {
            Some(&record.key)
        }
        _ => None,
    }
}

fn short(stamp: FileStamp) -> [i64; 4] {
    let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    [
        whole(stamp.size),
        stamp.modified_ns,
        stamp.changed_ns,
        whole(stamp.inode),
    ]
}

fn note_key(kind: EntryKind) -> String {
    format!("memory-files/{}", kind.folder())
}

/// Notes about the files, loaded once and stored once if they changed.
#[derive(Debug, Default)]
struct Notes {
    folders: BTreeMap<EntryKind, Folder>,
    changed: BTreeSet<EntryKind>,
}

impl Notes {
    fn of(&mut self, state: &dyn Snapshot, kind: EntryKind) -> Result<&Folder, Failure> {
        Ok(self.loaded(state, kind)?)
    }

    fn change(&mut self, state: &dyn Snapshot, kind: EntryKind) -> Result<&mut Folder, Failure> {
        self.changed.insert(kind);
        self.loaded(state, kind)
    }

    fn loaded(&mut self, state: &dyn Snapshot, kind: EntryKind) -> Result<&mut Folder, Failure> {
        Ok(match self.folders.entry(kind) {
            Slot::Occupied(known) => known.into_mut(),
            Slot::Vacant(free) => {
                // An unreadable note counts as none; every file is then read again.
                let text = state.note(&note_key(kind))?;
                free.insert(
                    text.and_then(|text| serde_json::from_str(&text).ok())
                        .unwrap_or_default(),
                )
            }
        })
    }

    /// Stores the changed notes, and the head up to which everything was compared.
    fn keep(&mut self, ctx: &Context<'_>, tx: &mut dyn Transaction) -> Result<(), Failure> {
        for kind in std::mem::take(&mut self.changed) {
            let text = serde_json::to_string(&self.folders[&kind]).unwrap_or_default();
            tx.keep_note(&note_key(kind), Some(&text), ctx.clock.now())?;
        }
        Ok(tx.keep_note(HEAD, Some(&tx.head()?.to_string()), ctx.clock.now())?)
    }
}
