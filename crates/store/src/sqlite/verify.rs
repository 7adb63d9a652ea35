//! Full verification: pages, schema, checksums, hash chain, texts, mirror, and a replay of the
//! journal compared with the tables.

use domain::ports::{StoreFault, StoreFinding, StoreFindingKind};
use domain::tree::Misfit;

use super::{SqliteStore, migrate};
use crate::engine::io_fault;
use crate::journal::JournalContents;
use crate::memory::MemoryState;
use crate::tables::verify::{finding, same_state, tables};
use crate::tables::view::View;

/// Verifies the store and returns all findings. Changes nothing.
pub(super) fn verify(store: &SqliteStore) -> Result<Vec<StoreFinding>, StoreFault> {
    let row = store.begin("BEGIN")?;
    let reading = super::ReadView {
        view: store.view(row),
        store,
    };
    let view = &reading.view;
    let mut findings = Vec::new();
    let damaged = |what: String| finding(StoreFindingKind::DatabaseDamaged, what);
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
        migrate::schema_damage(
            &store.connection.inner,
            &store.layout.database,
            store.format,
        )?
        .map(damaged),
    );
    tables(view, &mut findings);
    match store.journal.read_all() {
        Ok(journal) => against_journal(view, &journal, &mut findings),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => findings.push(finding(
            StoreFindingKind::JournalDamaged,
            "the journal is missing".to_owned(),
        )),
        Err(error) => return Err(io_fault("cannot read", store.journal.path(), error)),
    }
    if store.settings.mirror {
        findings.extend(
            store
                .mirror
                .verify(view)
                .map_err(|error| io_fault("cannot read", &store.layout.mirror, error))?,
        );
    }
    Ok(findings)
}

/// Replays the journal in memory and compares the result with the tables.
fn against_journal(view: &View<'_>, journal: &JournalContents, findings: &mut Vec<StoreFinding>) {
    use StoreFindingKind::{DatabaseDamaged, InterruptedOperation, JournalDamaged};
    if let Some(damage) = &journal.damage {
        // A torn last line is what a kill during an append leaves; the next writer cuts it off.
        let kind = if damage.torn {
            InterruptedOperation
        } else {
            JournalDamaged
        };
        findings.push(finding(
            kind,
            format!("journal line {}: {}", damage.line, damage.what),
        ));
    }
    match &journal.store {
        Some(store) if *store == view.store.store => {}
        Some(other) => {
            findings.push(finding(
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
            findings.push(finding(
                InterruptedOperation,
                format!(
                    "operation {} is in the journal but not in the database",
                    entry.operation.id
                ),
            ));
            break;
        }
        let replayed = state.replay(
            &entry.operation,
            &entry.body,
            &entry.texts,
            entry.prev,
            entry.hash,
        );
        if let Err(Misfit(what)) = replayed {
            findings.push(finding(
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
            findings.push(finding(JournalDamaged, missing));
        }
        return;
    }
    if let Err(what) = same_state(view, &state) {
        findings.push(finding(DatabaseDamaged, what));
    }
}
