//! Full verification: pages, schema, checksums, hash chain, texts, mirror, and a replay of the
//! journal compared with the tables.

use std::io;

use domain::ports::{StoreFault, StoreFinding, StoreFindingKind};
use domain::tree::FactMismatch;

use super::{SqliteStore, migrate};
use crate::engine::io_fault;
use crate::journal::Journal;
use crate::memory::MemoryState;
use crate::tables::verify::{compare_replayed_state, store_finding, verify_tables};
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
    let tables = verify_tables(view, &mut findings);
    match replay_journal(view, &store.journal, &mut findings) {
        Ok(state) => findings.extend(
            state
                .zip(tables)
                .and_then(|(state, tables)| compare_replayed_state(view, &tables, &state).err())
                .map(|what| store_finding(StoreFindingKind::DatabaseDamaged, what)),
        ),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => findings.push(store_finding(
            StoreFindingKind::JournalDamaged,
            "the journal is missing".to_owned(),
        )),
        Err(error) => return Err(io_fault("cannot read", store.journal.path(), error)),
    }
    if store.settings.mirror {
        findings.extend(
            store
                .mirror
                .verify_against(view, store.settings.mirror_schedule())
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
) -> io::Result<Option<MemoryState>> {
    use StoreFindingKind::{InterruptedOperation, JournalDamaged};
    // Replayed by the in-memory implementation, so a bug in the tables shows as a difference.
    let mut state = MemoryState::new(view.store.store.clone());
    let mut stopped = None;
    let contents = journal.visit_entries(&mut |entry| {
        if stopped.is_some() {
            return;
        }
        let id = entry.operation.id;
        if id > view.store.head {
            let message = format!("operation {id} is in the journal but not in the database");
            stopped = Some(store_finding(InterruptedOperation, message));
        } else if let Err(FactMismatch(what)) = state.take_operation(entry) {
            let message = format!("operation {id} cannot be replayed: {what}");
            stopped = Some(store_finding(JournalDamaged, message));
        }
        // The texts were verified with their lines, and together they are larger than all the rest.
        state.reduce_texts_to_sizes();
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
    if is_unusable {
        return Ok(None);
    }
    // The tables cannot be compared with a shorter history. A damaged line was reported above.
    if state.head() < view.store.head {
        if contents.damage.is_none() {
            let missing = format!(
                "the journal ends at operation {}, the database at {}",
                state.head(),
                view.store.head
            );
            findings.push(store_finding(JournalDamaged, missing));
        }
        return Ok(None);
    }
    Ok(Some(state))
}
