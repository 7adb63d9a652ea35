//! Full verification: pages, schema, checksums, hash chain, texts, mirror, and a replay of the
//! journal compared with the tables.

use std::io;

use domain::ids::OperationId;
use domain::ports::{StoreFault, StoreFinding, StoreFindingKind};

use super::{SqliteStore, migrate};
use crate::engine::io_fault;
use crate::journal::Journal;
use crate::replayed_history::{ReplayFault, ReplayedHistory, UnparsedOperation};
use crate::tables::verify::{store_finding, verify_tables};
use crate::tables::view::TableView;

/// Verifies the store and returns all findings. Changes nothing.
pub(super) fn verify_store(store: &SqliteStore) -> Result<Vec<StoreFinding>, StoreFault> {
    let row = store.begin_transaction("BEGIN")?;
    let view = &store.view_for_reading(row);
    let mut findings = Vec::new();
    let damaged = |what: String| store_finding(StoreFindingKind::DatabaseDamaged, what);
    // Limited to one problem: it is enough to know that the file is damaged.
    let check = store
        .connection
        .inner
        .query_row("PRAGMA integrity_check(1)", [], |row| {
            row.get::<_, String>(0)
        });
    match check {
        Ok(answer) if answer == "ok" => {}
        Ok(answer) => findings.push(damaged(answer)),
        Err(error) => findings.push(damaged(error.to_string())),
    }
    findings.extend(
        migrate::find_schema_damage(
            &store.connection.inner,
            &store.layout.database,
            store.format,
        )?
        .map(damaged),
    );
    // Before the tables are read, which are compared with it row by row.
    let mut of_journal = Vec::new();
    let replayed = match replay_journal(view, &store.journal, &mut of_journal) {
        Ok(replayed) => replayed,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            of_journal.push(store_finding(
                StoreFindingKind::JournalDamaged,
                "the journal is missing".to_owned(),
            ));
            None
        }
        Err(error) => return Err(io_fault("cannot read", store.journal.path(), error)),
    };
    let difference = verify_tables(view, replayed.as_ref(), &mut findings);
    drop(replayed);
    findings.extend(of_journal);
    findings.extend(difference.map(damaged));
    if store.settings.mirror {
        findings.extend(
            store
                .mirror
                .verify_against(view, store.settings.mirror_schedule(), &|each| {
                    view.visit_nodes(each)
                })
                .map_err(|error| io_fault("cannot read", &store.layout.mirror, error))?,
        );
    }
    Ok(findings)
}

/// Replays the journal in memory, line by line; `None` if the result cannot be compared with the
/// tables.
fn replay_journal(
    view: &TableView<'_>,
    journal: &Journal,
    findings: &mut Vec<StoreFinding>,
) -> io::Result<Option<ReplayedHistory>> {
    use StoreFindingKind::{InterruptedOperation, JournalDamaged};
    // Replayed by the in-memory implementation, so a bug in the tables shows as a difference.
    let mut replayed = ReplayedHistory::of_store(view.store.store.clone());
    let mut stopped = None;
    let mut last: Option<OperationId> = None;
    let mut is_half_applied = false;
    let contents = journal.verify_lines(&mut |line| {
        let operation: UnparsedOperation<'_> =
            serde_json::from_str(line.operation_json()).map_err(|error| error.to_string())?;
        let id = operation.operation_id();
        // The chain alone would accept a gap in the ids, and ids are what users refer to.
        if last.is_some_and(|last| last.next_id() != id) {
            return Err(format!("operation {id} is out of order"));
        }
        last = Some(id);
        if stopped.is_none() && id > view.store.head {
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
    if let Some(damage) = &contents.damage {
        // A torn last line is what a kill during an append leaves; the next writer cuts it off.
        let kind = if damage.torn {
            InterruptedOperation
        } else {
            JournalDamaged
        };
        findings.push(store_finding(
            kind,
            format!("journal line {}: {}", damage.line, damage.what),
        ));
    }
    match &contents.store {
        Some(store) if *store == view.store.store => {}
        Some(other) => {
            findings.push(store_finding(
                JournalDamaged,
                format!("the journal belongs to another store ({other})"),
            ));
            return Ok(None);
        }
        None => return Ok(None),
    }
    let is_unusable = stopped
        .as_ref()
        .is_some_and(|finding| finding.kind == JournalDamaged);
    findings.extend(stopped);
    if is_unusable || is_half_applied {
        return Ok(None);
    }
    // The tables cannot be compared with a shorter history. A damaged line was reported above.
    if replayed.last_operation_id() < view.store.head {
        if contents.damage.is_none() {
            let missing = format!(
                "the journal ends at operation {}, the database at {}",
                replayed.last_operation_id(),
                view.store.head
            );
            findings.push(store_finding(JournalDamaged, missing));
        }
        return Ok(None);
    }
    Ok(Some(replayed))
}
