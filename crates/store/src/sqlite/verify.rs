//! Full verification: pages, schema, checksums, hash chain, texts, mirror, and a replay of the
//! journal compared with the tables.

use domain::ports::{StoreFault, StoreFinding, StoreFindingKind};
use domain::tree::FactMismatch;

use super::{SqliteStore, migrate};
use crate::engine::io_fault;
use crate::journal::JournalContents;
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
    verify_tables(view, &mut findings);
    match store.journal.read_all_entries() {
        Ok(journal) => compare_with_journal(view, &journal, &mut findings),
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

/// Replays the journal in memory and compares the result with the tables.
fn compare_with_journal(
    view: &TableView<'_>,
    journal: &JournalContents,
    findings: &mut Vec<StoreFinding>,
) {
    use StoreFindingKind::{DatabaseDamaged, InterruptedOperation, JournalDamaged};
    if let Some(damage) = &journal.damage {
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
    match &journal.store {
        Some(store) if *store == view.store.store => {}
        Some(other) => {
            findings.push(store_finding(
                JournalDamaged,
                format!("the journal belongs to another store ({other})"),
            ));
            return;
        }
        None => return,
    }
    // Replayed by the in-memory implementation, so a bug in the tables shows as a difference.
    let mut state = MemoryState::new(view.store.store.clone());
    for entry in &journal.entries {
        if entry.operation.id > view.store.head {
            findings.push(store_finding(
                InterruptedOperation,
                format!(
                    "operation {} is in the journal but not in the database",
                    entry.operation.id
                ),
            ));
            break;
        }
        let replayed = state.replay_operation(
            &entry.operation,
            &entry.body,
            &entry.texts,
            entry.prev,
            entry.hash,
        );
        if let Err(FactMismatch(what)) = replayed {
            findings.push(store_finding(
                JournalDamaged,
                format!(
                    "operation {} cannot be replayed: {what}",
                    entry.operation.id
                ),
            ));
            return;
        }
    }
    // The tables cannot be compared with a shorter history. A damaged line was reported above.
    if state.head() < view.store.head {
        if journal.damage.is_none() {
            let missing = format!(
                "the journal ends at operation {}, the database at {}",
                state.head(),
                view.store.head
            );
            findings.push(store_finding(JournalDamaged, missing));
        }
        return;
    }
    if let Err(what) = compare_replayed_state(view, &state) {
        findings.push(store_finding(DatabaseDamaged, what));
    }
}
