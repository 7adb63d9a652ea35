//! Memory in the store and in files: what people edit is taken over, what we change is written, nobody's words are lost.
//!
//! Files are written after the commit. A note in the store says which text a file should have and had before, so that a
//! file that is behind (a process died, something was undone) is told from one that somebody edited.

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

pub(super) const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// So many operations may pass before it is worth a write to note that they were looked at.
const OPERATIONS_WORTH_A_WRITE: usize = 64;

/// What is known about one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Seen {
    /// The text it has, or is about to have.
    text: Option<VersionHash>,
    /// The text it had before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<VersionHash>,
    stamp: Option<[i64; 4]>,
}

type Folder = BTreeMap<String, Seen>;

/// What the files are like.
#[derive(Debug, Default)]
struct Look {
    /// Edited or added by somebody.
    edited: Vec<(Entry, Seen)>,
    /// Behind the store: to be written again.
    behind: BTreeSet<String>,
    /// Not understood: never written over.
    broken: BTreeMap<String, String>,
    /// Read, and as they should be.
    confirmed: Vec<(EntryKind, String, Seen)>,
    operations: usize,
}

/// The files as one transaction sees them: looked at once, and what is to be written once it is committed.
#[must_use = "the files are written after the commit"]
#[derive(Debug, Default)]
pub(crate) struct MemoryFiles {
    notes: Notes,
    /// Never written over.
    broken: BTreeSet<String>,
    /// Noted with the commit.
    unwritten: Unwritten,
}

impl MemoryFiles {
    /// Notes which files a change of the memory is going to alter. The change itself is in the caller's operation, which
    /// is recorded by now.
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
                // As it was stored: secrets in it are masked.
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

    /// Keeps what is noted about the files, and which of them are to be written.
    fn keep(&mut self, ctx: &Context<'_>, tx: &mut dyn Transaction) -> Result<(), Failure> {
        self.unwritten.note(ctx, tx)?;
        self.notes.keep(ctx, tx)
    }

    /// Notes that the file of an entry is going to be written, or to go.
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

    /// Writes them. What cannot be written is told; the store has it in any case.
    pub(crate) fn write(self, ctx: &Context<'_>) {
        self.unwritten.write(ctx);
    }
}

/// Returns the memory as the store has it.
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

/// Returns one entry as the store has it.
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

/// Takes over what people edited, and returns a view of the state that is true.
pub(crate) fn observed<'s>(ctx: &Context<'s>) -> Result<Box<dyn Snapshot + 's>, Failure> {
    let state = ctx.store.read()?;
    let look = look(ctx, &*state, &mut Notes::default())?;
    look.tell(ctx);
    if !look.is_worth_a_write() {
        return Ok(state);
    }
    drop(state);
    observe_anew(ctx)?;
    Ok(ctx.store.read()?)
}

/// Takes over what people edited, and writes what is behind.
pub(super) fn observe_anew(ctx: &Context<'_>) -> Result<(), Failure> {
    let mut tx = ctx.store.write()?;
    let files = observe_within(ctx, &mut *tx)?;
    tx.commit()?;
    files.write(ctx);
    Ok(())
}

/// The same within a transaction that is going to be committed in any case. The files that are behind are to be written
/// after it is.
pub(crate) fn observe_within(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
) -> Result<MemoryFiles, Failure> {
    let mut files = MemoryFiles::default();
    let look = look(ctx, &*tx, &mut files.notes)?;
    look.tell(ctx);
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

/// Up to which operation files and records were compared.
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
                why: format!("not taken over: {why}"),
            });
        }
    }
}

/// Compares files with what is known.
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
            // What begins with a dot is an editor's, or was left half written by a process that died.
            if name.starts_with('.') {
                continue;
            }
            let id = match EntryKind::of_id(name) {
                Some((found, number)) if found == kind && kind.id(number) == name => {
                    name.to_owned()
                }
                _ => {
                    let why = format!("it should be called like `{}.md`", kind.id(kind.first()));
                    let path = format!("{}/{}/{}", file::FOLDER, kind.folder(), on_disk.name);
                    ctx.notice(Noticed::Misplaced { path, why });
                    continue;
                }
            };
            // Forgotten; its file is still to go.
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
        // An entry whose file is gone is written again: deleting a file is not forgetting, `tl memory forget` is.
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
        FileLook::Refused(why) | FileLook::Unavailable(why) => {
            look.broken.insert(id.to_owned(), why);
            return Ok(());
        }
    };
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
            // It is ours, letter for letter, but no longer what the store says.
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

/// Says whether a file means what is stored, however it is written.
fn reads_as(kind: EntryKind, id: &str, text: &str, stored: Option<&Entry>) -> bool {
    let means = |text: &str| file::read(kind, id, text).ok().as_ref() == stored;
    // A key that somebody wrote into their file stays there; what is stored of it is masked.
    means(text) || means(&mask(text))
}

/// Returns the entries that operations touched since files and records were last compared.
fn touched_since(state: &dyn Snapshot) -> Result<(BTreeSet<String>, usize), Failure> {
    let seen = state
        .note(HEAD)?
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    let head = state.head()?.0;
    let mut touched = BTreeSet::new();
    // One by one: every operation is checked when it is read, and the older ones need not be.
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

/// Returns the entry a fact is about.
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

/// What is noted about files, read once, and written once if it changed.
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
                // A note that cannot be read is as good as none: every file is then read again.
                let text = state.note(&note_key(kind))?;
                free.insert(
                    text.and_then(|text| serde_json::from_str(&text).ok())
                        .unwrap_or_default(),
                )
            }
        })
    }

    /// Keeps them, and that everything up to now was looked at.
    fn keep(&mut self, ctx: &Context<'_>, tx: &mut dyn Transaction) -> Result<(), Failure> {
        for kind in std::mem::take(&mut self.changed) {
            let text = serde_json::to_string(&self.folders[&kind]).unwrap_or_default();
            tx.keep_note(&note_key(kind), Some(&text), ctx.clock.now())?;
        }
        Ok(tx.keep_note(HEAD, Some(&tx.head()?.to_string()), ctx.clock.now())?)
    }
}
