//! Full verification: pages, schema, checksums, hash chain, texts, mirror, and a replay of the
//! journal compared with the tables.

use std::io;

use domain::ids::{OperationId, StoreId};
use domain::ports::{StoreFault, StoreFinding, StoreFindingKind};

use super::{SqliteStore, migrate};
use crate::engine::io_fault;
use crate::journal::Journal;
use crate::journal_verification::LineBuffer;
use crate::replayed_history::{ReplayFault, ReplayedHistory};
use crate::tables::verify::{store_finding, verify_bodies, verify_tables};
use crate::tables::view::TableView;

/// Size of a journal up to which it is replayed beside everything else: that of ten thousand plans with a long history.
const MAX_PARALLEL_JOURNAL: u64 = 32 * 1024 * 1024;

/// Verifies the store and returns all findings. Changes nothing.
pub(super) fn verify_store(store: &SqliteStore) -> Result<Vec<StoreFinding>, StoreFault> {
    let row = store.begin_transaction("BEGIN")?;
    let (id, head) = (row.store.clone(), row.head);
    let journal = &store.journal;
    let view = &store.view_for_reading(row);
    let mut findings = Vec::new();
    let line_buffer = match store.settings.saves_memory {
        true => LineBuffer::SMALL,
        false => LineBuffer::LARGE,
    };
    let replay_history = || replay_journal(&id, head, journal, line_buffer);
    // The replay is a third of a check and needs nothing of the database, so it has its own thread;
    // but each thread has memory of its own in the allocator, which a process keeps: what a scan of 50,000 plans
    // freed is reused on this one alone.
    let size = journal.read_size().ok().flatten().unwrap_or_default();
    let is_long = size > MAX_PARALLEL_JOURNAL;
    let (of_pages, of_mirror, of_bodies, replay) = std::thread::scope(|scope| {
        let replaying = match store.settings.saves_memory || is_long {
            true => None,
            false => Some(scope.spawn(replay_history)),
        };
        let of_pages = verify_pages(store);
        let of_mirror = verify_mirror(store, view);
        let of_bodies = verify_bodies(view);
        let replay = match replaying {
            Some(thread) => thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            None => replay_history(),
        };
        (of_pages, of_mirror, of_bodies, replay)
    });
    findings.extend(of_pages?);
    findings.extend(of_bodies);
    let replay = match replay {
        Ok(replay) => replay,
        Err(error) if error.kind() == io::ErrorKind::NotFound => JournalReplay {
            history: None,
            findings: vec![store_finding(
                StoreFindingKind::JournalDamaged,
                "the journal is missing".to_owned(),
            )],
        },
        Err(error) => return Err(io_fault("cannot read", store.journal.path(), error)),
    };
    let difference = verify_tables(view, replay.history, &mut findings);
    findings.extend(replay.findings);
    findings.extend(difference.map(damaged_database));
    findings.extend(of_mirror?);
    Ok(findings)
}

fn damaged_database(what: String) -> StoreFinding {
    store_finding(StoreFindingKind::DatabaseDamaged, what)
}

/// Verifies the pages of the database and its schema.
fn verify_pages(store: &SqliteStore) -> Result<Vec<StoreFinding>, StoreFault> {
    let connection = &store.connection.inner;
    let path = &store.layout.database;
    let of_pages = migrate::find_page_damage(connection);
    // Read now: another program may have migrated since this store was opened.
    let format = migrate::read_format(connection, path)?;
    let of_schema = migrate::find_schema_damage(connection, path, store.migrations, format)?;
    let found = of_pages.into_iter().chain(of_schema);
    Ok(found.map(damaged_database).collect())
}

/// Compares the mirror with the nodes of the database.
fn verify_mirror(
    store: &SqliteStore,
    view: &TableView<'_>,
) -> Result<Vec<StoreFinding>, StoreFault> {
    if !store.settings.mirror {
        return Ok(Vec::new());
    }
    let schedule = store.settings.mirror_schedule();
    store
        .mirror
        .verify_against(view, schedule, &|each| view.visit_nodes(each))
        .map_err(|error| io_fault("cannot read", &store.layout.mirror, error))
}

/// A replayed journal: the history, if it can be compared with the tables, and what is wrong with it.
struct JournalReplay {
    history: Option<ReplayedHistory>,
    findings: Vec<StoreFinding>,
}

impl JournalReplay {
    fn add_finding(&mut self, kind: StoreFindingKind, message: String) {
        self.findings.push(store_finding(kind, message));
    }
}

/// Replays the journal in memory, line by line, as the history of this store up to this head.
fn replay_journal(
    store: &StoreId,
    head: OperationId,
    journal: &Journal,
    line_buffer: LineBuffer,
) -> io::Result<JournalReplay> {
    use StoreFindingKind::{InterruptedOperation, JournalDamaged};
    // Replayed by the in-memory implementation, so a bug in the tables shows as a difference.
    let mut replayed = ReplayedHistory::of_store(store.clone());
    let mut stopped = None;
    let mut last: Option<OperationId> = None;
    let mut is_half_applied = false;
    let contents = journal.verify_lines(line_buffer, &mut |line| {
        let operation = line.parse_operation().map_err(|error| error.to_string())?;
        let id = operation.operation_id();
        // The chain alone would accept a gap in the ids, and ids are what users refer to.
        if last.is_some_and(|last| last.next_id() != id) {
            return Err(format!("operation {id} is out of order"));
        }
        last = Some(id);
        if stopped.is_none() && id > head {
            let message = format!("operation {id} is in the journal but not in the database");
            stopped = Some(store_finding(InterruptedOperation, message));
        }
        if stopped.is_some() {
            return operation.check_facts().map_err(|error| error.to_string());
        }
        let links = (line.prev, line.hash);
        match replayed.replay_operation(operation, &line.text_sizes, links) {
            Ok(()) => Ok(()),
            Err(ReplayFault::Unreadable(what)) => {
                is_half_applied = true;
                Err(what)
            }
            Err(ReplayFault::Mismatch { id, what }) => {
                let message = format!("operation {id} cannot be replayed: {what}");
                stopped = Some(store_finding(JournalDamaged, message));
                Ok(())
            }
        }
    })?;
    let mut replay = JournalReplay {
        history: None,
        findings: Vec::new(),
    };
    if let Some(damage) = &contents.damage {
        // A torn last line is what a kill during an append leaves; the next writer cuts it off.
        let kind = if damage.torn {
            InterruptedOperation
        } else {
            JournalDamaged
        };
        replay.add_finding(
            kind,
            format!("journal line {}: {}", damage.line, damage.what),
        );
    }
    match &contents.store {
        Some(found) if found == store => {}
        Some(other) => {
            let message = format!("the journal belongs to another store ({other})");
            replay.add_finding(JournalDamaged, message);
            return Ok(replay);
        }
        None => return Ok(replay),
    }
    let is_unusable = stopped
        .as_ref()
        .is_some_and(|finding| finding.kind == JournalDamaged);
    replay.findings.extend(stopped);
    if is_unusable || is_half_applied {
        return Ok(replay);
    }
    // The tables cannot be compared with a shorter history. A damaged line was reported above.
    let last = replayed.last_operation_id();
    if last < head {
        if contents.damage.is_none() {
            let message = format!("the journal ends at operation {last}, the database at {head}");
            replay.add_finding(JournalDamaged, message);
        }
        return Ok(replay);
    }
    replay.history = Some(replayed);
    Ok(replay)
}
