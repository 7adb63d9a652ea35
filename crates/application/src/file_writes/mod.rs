//! Redo log for project files: planned inside the transaction, recorded with the operation, written
//! after its commit.
//!
//! The record ([`FileWrites`]) is the redo entry. A note in the store names the last entry that was
//! completed, so the next command detects a process that died between the commit and its files, and
//! completes them before it scans any file. All of it happens under the write lock: files are
//! written in the order of their operations.
//!
//! The entry is a record in the journal rather than a note, because only the journal survives a
//! kill between its sync and the database's commit.

mod planned_files;
mod redo;

use std::collections::{BTreeSet, HashMap, HashSet};

use domain::calling_session::ProcessIdentity;
use domain::fact::Fact;
use domain::file_writes::{BUILT_NOTE, FileList, FileWrite, FileWrites};
use domain::ids::{Digest32, OperationId, VersionHash};
use domain::ports::{FileReadResult, Snapshot, StoreFault, Transaction};
use domain::record::{self, ChangeRecords};
use domain::stamp::Stamp;
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};

pub(crate) use self::planned_files::PlannedFiles;
use self::planned_files::PlannedWrite;
use self::redo::{RedoneFile, redo_files};
use crate::context::{Context, Notice};
use crate::failure::Failure;
use crate::memory::unwritten_files;

/// Note that names the last completed redo entry of this working copy.
const COMPLETED_NOTE: &str = "file-writes";
/// File that lists the digests of the last redo entries whose callers received their answers, one
/// per line.
///
/// Not synced to disk: if it is lost, one repeated request is answered with "already done".
pub const ACKNOWLEDGED_PATH: &str = ".throughline/acknowledged";
/// Size from which that file begins again.
pub const MAX_ACKNOWLEDGED_BYTES: u64 = 4096;
/// Maximum size of a file that is read to identify its content.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;
/// An entry older than this many operations is not completed any more.
const MAX_OPERATIONS_SINCE: usize = 1_000;
/// Number of files written together.
const FILES_PER_BATCH: usize = 512;

/// State of the last completed redo entry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct CompletedEntry {
    record: Option<Digest32>,
    /// The request it came from, unless its caller certainly got the answer: the process may have
    /// died before it could reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    interrupted: Option<InterruptedRequest>,
    /// Who is about to write the files of the next entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    writer: Option<EntryWriter>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct InterruptedRequest {
    operation: OperationId,
    request: VersionHash,
    by: String,
    /// The process it came from: as long as it runs, its caller still gets the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    process: Option<ProcessIdentity>,
}

/// The process that recorded a redo entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct EntryWriter {
    record: Digest32,
    process: ProcessIdentity,
}

/// A file that could not be written.
#[derive(Clone, Debug)]
struct FailedWrite {
    path: String,
    why: String,
    /// Whether it is rendered from the state: then a later command can write it without loss, and
    /// no other operation has to wait for it.
    is_drawn: bool,
}

/// Returns the digest that identifies a repeated request.
pub(crate) fn hash_request(what: &dyn std::fmt::Debug) -> VersionHash {
    VersionHash::of_bytes(format!("{what:?}").as_bytes())
}

/// Completes the file writes of an interrupted process. Edges call this before every use case.
///
/// What cannot be completed now is reported and retried by the next command; until then the files
/// count as they were recorded.
pub fn complete_file_writes(ctx: &Context<'_>) {
    // Only the local replica is read. The use case contacts the server and reports when it does
    // not answer; asking here would swallow that error.
    let found = ctx
        .store
        .begin_read_cached()
        .map(|state| find_unwritten(&*state));
    // A store that cannot be read or written is the use case's to report.
    complete_found(ctx, found.unwrap_or_default());
}

/// Which files interrupted processes left unwritten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnwrittenFiles {
    /// Files of the last operation with a redo entry.
    of_operation: bool,
    /// Files of memory entries.
    of_memory: bool,
}

/// Looks for files that interrupted processes left unwritten.
///
/// Separate from [`complete_found`], so that a caller that reads the state anyway needs no
/// transaction of its own for it: this runs before every command.
#[must_use]
pub fn find_unwritten(state: &dyn Snapshot) -> UnwrittenFiles {
    let find = || -> Result<UnwrittenFiles, StoreFault> {
        Ok(UnwrittenFiles {
            of_operation: load_pending_writes(state)?.is_some(),
            of_memory: unwritten_files::has_unwritten_files(state)?,
        })
    };
    find().unwrap_or_default()
}

/// Completes what [`find_unwritten`] found.
pub fn complete_found(ctx: &Context<'_>, found: UnwrittenFiles) {
    let tell = |failure: Failure| {
        let what = format!(
            "files of an interrupted operation cannot be written now: {}",
            failure.message
        );
        ctx.push_notice(Notice::NotRecorded { why: what });
    };
    let complete = || -> Result<(), Failure> {
        let mut tx = ctx.store.begin_write()?;
        complete_writes_within(ctx, &mut *tx)?;
        Ok(tx.commit()?)
    };
    if found.of_operation {
        complete().unwrap_or_else(tell);
    }
    if found.of_memory {
        unwritten_files::complete_memory_writes(ctx).unwrap_or_else(tell);
    }
}

/// Takes the write lock and completes the writes of an interrupted process.
pub(crate) fn begin_transaction<'s>(
    ctx: &Context<'s>,
) -> Result<Box<dyn Transaction + 's>, Failure> {
    let mut tx = ctx.store.begin_write()?;
    complete_writes_within(ctx, &mut *tx)?;
    Ok(tx)
}

/// Completes pending writes in a running transaction that has recorded no files of its own yet.
pub(crate) fn complete_writes_within(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
) -> Result<(), Failure> {
    let Some(PendingWrites { writes, digest }) = load_pending_writes(&*tx)? else {
        return Ok(());
    };
    let unwritten = write_files(ctx, tx, &writes, &[])?;
    for FailedWrite { path, why, .. } in &unwritten {
        let why = format!("operation {} could not write it: {why}", writes.operation);
        ctx.push_notice(Notice::NotWritten {
            path: path.clone(),
            why,
        });
    }
    if !unwritten.is_empty() {
        return Ok(());
    }
    let head = tx.operation_head(writes.operation)?;
    let summary = head
        .as_ref()
        .map(|head| head.summary.clone())
        .unwrap_or_default();
    let process = load_completed_entry(&*tx)?
        .and_then(|done| done.writer)
        .filter(|writer| writer.record == digest)
        .map(|writer| writer.process);
    // A neighbour that still runs was about to write them itself, and is not interrupted.
    if !is_running(ctx, process.as_ref()) {
        let what = format!(
            "operation {} ({summary}) was recorded before; its files are written now",
            writes.operation
        );
        ctx.push_notice(Notice::CaughtUp { what });
    }
    // The caller of that process may never have got an answer. Keeping its request lets the same
    // command, run again, be answered with "already done" instead of being carried out twice.
    let interrupted = head
        .zip(writes.request)
        .map(|(head, request)| InterruptedRequest {
            operation: writes.operation,
            request,
            by: head.by.to_string(),
            process,
        });
    store_completed_entry(
        ctx,
        tx,
        &CompletedEntry {
            record: Some(digest),
            interrupted,
            ..CompletedEntry::default()
        },
    )
}

/// Whether the process of a request still runs.
fn is_running(ctx: &Context<'_>, process: Option<&ProcessIdentity>) -> bool {
    process.is_some_and(|process| ctx.processes.is_running(process))
}

/// A redo entry with its files, and the digest that identifies it.
struct PendingWrites {
    writes: FileWrites,
    digest: Digest32,
}

/// Returns the redo entry that is still to be completed.
fn load_pending_writes(state: &dyn Snapshot) -> Result<Option<PendingWrites>, StoreFault> {
    let copy = state.working_copy_secret();
    let key = FileWrites::record_key(&copy);
    let Some(writes) = record::read_record::<FileWrites>(state, &key)? else {
        return Ok(None);
    };
    let digest = entry_digest(&writes);
    let is_pending = match load_completed_entry(state)? {
        Some(done) => done.record != Some(digest),
        // Either it is the first entry, or the notes were lost. In the latter case only the newest
        // operation can be incomplete: any later one completed it before it began.
        None => state.last_operation_id()? == writes.operation,
    };
    if !is_pending || is_of_former_state(state, writes.operation)? {
        return Ok(None);
    }
    // Many files have records of their own, which are read only now: every hook comes this way.
    let writes = match writes.listed {
        None => Some(writes),
        Some(_) => writes.with_lists(load_lists(state, &key)?),
    };
    // Others may write to the same store; without the seal their entries could make this working
    // copy write files that nobody here asked for.
    let writes = writes.filter(|writes| writes.has_valid_seal(&copy));
    Ok(writes.map(|writes| PendingWrites { writes, digest }))
}

/// Returns the lists of files of a redo entry.
fn load_lists(state: &dyn Snapshot, key: &str) -> Result<Vec<FileList>, StoreFault> {
    let lists = record::read_records(state, &FileList::key_prefix(key))?;
    Ok(lists.into_iter().map(|(_, list)| list).collect())
}

/// Whether an operation is one of those that this state was built from; see [`BUILT_NOTE`].
fn is_of_former_state(state: &dyn Snapshot, operation: OperationId) -> Result<bool, StoreFault> {
    let built_through = state.load_note(BUILT_NOTE)?;
    let last = built_through.and_then(|last| last.parse().ok());
    Ok(last.is_some_and(|last| operation.0 <= last))
}

fn session_file_path(stamp: &Stamp) -> String {
    format!("{}/{stamp}.md", domain::session::SESSIONS_FOLDER)
}

/// Returns the files that are recorded but not written: their content on disk is not a user's edit.
pub(crate) fn unwritten_paths(state: &dyn Snapshot) -> Result<BTreeSet<String>, StoreFault> {
    Ok(load_pending_writes(state)?
        .into_iter()
        .flat_map(|pending| pending.writes.files)
        .map(|file| file.path)
        .collect())
}

/// Returns the operation of an interrupted process that already did what is requested now.
///
/// Answers once: a further repetition is a new request.
pub(crate) fn take_interrupted_operation(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    request: VersionHash,
) -> Result<Option<OperationId>, Failure> {
    let Some(done) = load_completed_entry(&*tx)? else {
        return Ok(None);
    };
    let by = ctx.actor.to_string();
    let Some(found) = done
        .interrupted
        .filter(|one| one.request == request && one.by == by)
    else {
        return Ok(None);
    };
    // The first caller still gets its answer, so this is a request of its own.
    if is_running(ctx, found.process.as_ref()) {
        return Ok(None);
    }
    // The first caller did get its answer, so the same request means "do it again".
    if let FileReadResult::Text { text, .. } = ctx
        .files
        .read_file(ACKNOWLEDGED_PATH, 2 * MAX_ACKNOWLEDGED_BYTES)
        && let Some(record) = done.record.map(|record| record.to_string())
        && text.lines().any(|line| line == record)
    {
        return Ok(None);
    }
    store_completed_entry(
        ctx,
        tx,
        &CompletedEntry {
            record: done.record,
            ..CompletedEntry::default()
        },
    )?;
    Ok(Some(found.operation))
}

/// Builds the failure for a request that an interrupted process already carried out.
pub(crate) fn already_done_failure(
    state: &dyn Snapshot,
    operation: OperationId,
) -> Result<Failure, Failure> {
    let summary = state
        .operation_head(operation)?
        .map(|head| head.summary)
        .unwrap_or_default();
    let what = format!(
        "already done: operation {operation} ({summary}) was recorded before it was interrupted"
    );
    Ok(Failure::refused(what)
        .with_step(format!("tl log   # operation {operation}"))
        .with_step("run the same command again to do it once more"))
}

fn load_completed_entry(state: &dyn Snapshot) -> Result<Option<CompletedEntry>, StoreFault> {
    let note = state.load_note(COMPLETED_NOTE)?;
    Ok(note.map(|note| serde_json::from_str(&note).unwrap_or_default()))
}

fn store_completed_entry(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    done: &CompletedEntry,
) -> Result<(), Failure> {
    // A later entry may be recorded already, and its writer still on the way to its files.
    let writer = load_completed_entry(&*tx)?.and_then(|former| former.writer);
    let done = CompletedEntry {
        writer: writer.filter(|writer| Some(writer.record) != done.record),
        ..done.clone()
    };
    let text = serde_json::to_string(&done).unwrap_or_default();
    Ok(tx.save_note(COMPLETED_NOTE, Some(&text), ctx.clock.now())?)
}

/// Returns the digest that identifies a redo entry.
///
/// The operation number alone is not enough: a restored backup assigns the same number again.
fn entry_digest(writes: &FileWrites) -> Digest32 {
    Digest32::of_bytes(serde_json::to_string(writes).unwrap_or_default().as_bytes())
}

/// Writes the files that still have their former content, and returns those that cannot be written.
fn write_files(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    writes: &FileWrites,
    planned: &[PlannedWrite],
) -> Result<Vec<FailedWrite>, Failure> {
    // Skipped entirely, not merged: the later operation's own entry holds the text to write.
    let superseded = superseded_paths(&*tx, writes)?;
    let planned: HashMap<&str, &PlannedWrite> = planned
        .iter()
        .map(|planned| (planned.write.path.as_str(), planned))
        .collect();
    let files: Vec<RedoneFile<'_>> = writes
        .files
        .iter()
        .filter(|file| file.is_project_file() && !superseded.contains(&file.path))
        .map(|file| RedoneFile {
            file,
            known: planned
                .get(file.path.as_str())
                .filter(|planned| planned.write == *file)
                .copied(),
        })
        .collect();
    let mut unwritten = Vec::new();
    // In parts, so that not all texts are in memory at once.
    for files in files.chunks(FILES_PER_BATCH) {
        redo_files(ctx, &*tx, writes.operation, files, &mut unwritten)?;
    }
    // Session files are rendered from the current state, so they cannot overwrite the result of a
    // later operation and need no check of their former content.
    for stamp in &writes.sessions {
        if let Err((path, why)) = crate::sessions::render_session(ctx, tx, stamp)? {
            unwritten.push(FailedWrite {
                path,
                why,
                is_drawn: true,
            });
        }
    }
    Ok(unwritten)
}

/// Returns the files that a later operation changed again.
///
/// Where the notes were lost, an old entry looks pending; writing its files would revert newer
/// text.
fn superseded_paths(
    state: &dyn Snapshot,
    writes: &FileWrites,
) -> Result<BTreeSet<String>, Failure> {
    let since = state
        .last_operation_id()?
        .0
        .saturating_sub(writes.operation.0);
    let since = usize::try_from(since).unwrap_or(usize::MAX);
    if since == 0 {
        return Ok(BTreeSet::new());
    }
    // Reading thousands of operations before every command is too slow, and after that many no
    // process is still about to write its files.
    if since > MAX_OPERATIONS_SINCE {
        return Ok(writes.files.iter().map(|file| file.path.clone()).collect());
    }
    let mut paths = BTreeSet::new();
    for operation in state.load_operations(None, since)? {
        for fact in &operation.facts {
            match fact {
                Fact::ContentChanged { node, .. } => {
                    paths.extend(state.load_node(*node)?.and_then(|node| node.path))
                }
                Fact::NodeAdded { node } | Fact::NodeRemoved { node } => {
                    paths.extend(node.path.clone())
                }
                Fact::NodeRenamed { before, after, .. } => {
                    paths.extend(before.path.clone());
                    paths.extend(after.path.clone());
                }
                _ => {}
            }
        }
    }
    Ok(paths)
}

impl PlannedFiles<'_> {
    /// Records an operation together with its redo entry.
    pub(crate) fn record_operation(
        &self,
        tx: &mut dyn Transaction,
        mut operation: domain::ports::NewOperation,
    ) -> Result<OperationId, Failure> {
        if self.is_empty() {
            return Ok(tx.record_operation(operation)?);
        }
        let planned = self.planned_writes();
        // There is one redo entry per working copy. An entry of this same transaction is extended,
        // not treated as left over from another process.
        let own = self.recorded.get().map(|(_, record)| record);
        let left = load_pending_writes(&*tx)?
            .filter(|left| own != Some(left.digest))
            .map(|left| left.writes);
        if let Some(left) = left.as_ref().filter(|left| !left.files.is_empty()) {
            // Replacing the entry now would forget those files for good, so this operation has to
            // wait.
            let files: Vec<&str> = left.files.iter().map(|file| file.path.as_str()).collect();
            let what = format!(
                "operation {} is recorded, but not all of its files are written: {}",
                left.operation,
                files.join(", ")
            );
            return Err(Failure::unavailable(what).with_step("make them writable, then try again"));
        }
        // Session files do not block: they are rendered from the state, so this operation takes
        // over those that are left.
        left.into_iter()
            .flat_map(|left| left.sessions)
            .for_each(|stamp| self.put_session(stamp));
        let copy = tx.working_copy_secret();
        let key = FileWrites::record_key(&copy);
        let before = record::read_record::<FileWrites>(&*tx, &key)?;
        let files: Vec<FileWrite> = planned
            .iter()
            .map(|planned| planned.write.clone())
            .collect();
        // The entry names its own operation, so the number is needed before the operation is
        // recorded.
        let id = tx.next_operation_id()?;
        let after = FileWrites {
            operation: id,
            request: self.request,
            files,
            listed: None,
            sessions: self.planned_sessions(),
            seal: None,
        };
        let (after, lists) = after.with_seal(&copy).split_off_lists();
        let former = match before.as_ref().and_then(|before| before.listed) {
            Some(_) => load_lists(&*tx, &key)?,
            None => Vec::new(),
        };
        for index in 0..lists.len().max(former.len()) {
            let key = FileList::record_key(&key, index);
            let facts = &mut operation.facts;
            facts.change_record(&key, former.get(index), lists.get(index));
        }
        let facts = &mut operation.facts;
        facts.change_record(&key, before.as_ref(), Some(&after));
        let mut known: HashSet<&str> = operation.texts.iter().map(String::as_str).collect();
        // Both texts go into the store: `after` to complete the write, `before` because it is about
        // to be replaced and may never have been observed.
        let more: Vec<String> = planned
            .iter()
            .flat_map(|planned| [&planned.before, &planned.text])
            .flatten()
            .filter(|text| known.insert(text))
            .cloned()
            .collect();
        operation.texts.extend(more);
        drop(planned);
        let at = operation.at;
        let id = tx.record_operation(operation)?;
        let record = entry_digest(&after);
        self.recorded.set(Some((id, record)));
        self.note_writer(tx, record, at)?;
        Ok(id)
    }

    /// Notes which process writes the files of an entry, so that others know whether it died.
    fn note_writer(
        &self,
        tx: &mut dyn Transaction,
        record: Digest32,
        at: Timestamp,
    ) -> Result<(), Failure> {
        let Some(process) = self.processes.own_identity() else {
            return Ok(());
        };
        let done = CompletedEntry {
            writer: Some(EntryWriter { record, process }),
            ..load_completed_entry(&*tx)?.unwrap_or_default()
        };
        let text = serde_json::to_string(&done).unwrap_or_default();
        Ok(tx.save_note(COMPLETED_NOTE, Some(&text), at)?)
    }

    /// Commits, then writes the files.
    ///
    /// In this order, because a file that is written first and never recorded looks like a user's
    /// edit, and a repeated command would act on it.
    pub(crate) fn commit_and_write(
        &self,
        ctx: &Context<'_>,
        tx: Box<dyn Transaction + '_>,
    ) -> Result<(), Failure> {
        tx.commit()?;
        self.write_committed(ctx)
    }

    /// Writes the files of the committed operation.
    pub(crate) fn write_committed(&self, ctx: &Context<'_>) -> Result<(), Failure> {
        let Some((operation, record)) = self.recorded.take() else {
            return Ok(());
        };
        let unwritten = self
            .write_under_lock(ctx, operation, record)
            .unwrap_or_else(|failure| {
                // The operation is committed, so the error must not read like "nothing happened"
                // and invite a retry. Every file is reported as unwritten instead.
                let unwritten = |path, is_drawn| FailedWrite {
                    path,
                    why: failure.message.clone(),
                    is_drawn,
                };
                let files = self.planned_writes();
                let files = files
                    .iter()
                    .map(|file| unwritten(file.write.path.clone(), false));
                files
                    .chain(
                        self.planned_sessions()
                            .iter()
                            .map(|stamp| unwritten(session_file_path(stamp), true)),
                    )
                    .collect()
            });
        let (drawn, unwritten): (Vec<_>, Vec<_>) =
            unwritten.into_iter().partition(|file| file.is_drawn);
        // A notice is enough for a rendered file: the store has its content, the next command
        // writes it.
        for FailedWrite { path, why, .. } in drawn {
            ctx.push_notice(Notice::NotWritten { path, why });
        }
        let Some(first) = unwritten.first() else {
            return Ok(());
        };
        let more = match unwritten.len() {
            1 => String::new(),
            several => format!(" and {} more", several - 1),
        };
        let what = format!(
            "recorded as operation {operation}, but `{}`{more} could not be written ({}); the next command completes it",
            first.path, first.why
        );
        Err(Failure::unavailable(what).with_step("tl status"))
    }

    fn write_under_lock(
        &self,
        ctx: &Context<'_>,
        operation: OperationId,
        record: Digest32,
    ) -> Result<Vec<FailedWrite>, Failure> {
        let mut tx = ctx.store.begin_write()?;
        // The lock was released by the commit: another process may have completed these files
        // since, and written others after them. With eight concurrent writers this
        // happens often.
        let pending = load_pending_writes(&*tx)?
            .map(|pending| pending.writes)
            .filter(|writes| writes.operation == operation);
        let unwritten = match &pending {
            Some(writes) => write_files(ctx, &mut *tx, writes, &self.planned_writes())?,
            None => Vec::new(),
        };
        let is_last = pending.is_some()
            || load_completed_entry(&*tx)?.is_some_and(|done| done.record == Some(record));
        if unwritten.is_empty() && is_last {
            let interrupted = self
                .request
                .filter(|_| ctx.is_acknowledging())
                .map(|request| {
                    ctx.mark_carried_out(record);
                    InterruptedRequest {
                        operation,
                        request,
                        by: ctx.actor.to_string(),
                        process: self.processes.own_identity(),
                    }
                });
            store_completed_entry(
                ctx,
                &mut *tx,
                &CompletedEntry {
                    record: Some(record),
                    interrupted,
                    ..CompletedEntry::default()
                },
            )?;
            // A failed commit loses only the note; the next command finds the files already correct
            // and writes it.
            let _ = tx.commit();
        }
        Ok(unwritten)
    }
}
