//! Looking at everything: sums, chain, replay of the journal against the tables, texts, mirror.

use std::collections::HashMap;

use domain::ids::{NodeId, OperationId, VersionHash};
use domain::ports::{Snapshot, StoreFault, StoreFinding, StoreFindingKind};
use domain::tree::{Misfit, Tree};
use domain::version::Version;

use super::SqliteStore;
use super::view::View;
use crate::engine::io_fault;
use crate::journal::JournalContents;
use crate::memory::MemoryState;

/// Returns everything that is wrong.
pub(super) fn verify(store: &SqliteStore) -> Result<Vec<StoreFinding>, StoreFault> {
    let row = store.begin("BEGIN")?;
    let reading = super::ReadView { view: store.view(row), store };
    let view = &reading.view;
    let mut findings = Vec::new();
    tables(view, &mut findings);
    match store.journal.read_all() {
        Ok(journal) => against_journal(view, &journal, &mut findings),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            findings.push(finding(StoreFindingKind::JournalDamaged, "the journal is missing".to_owned()))
        }
        Err(error) => return Err(io_fault("cannot read", store.journal.path(), error)),
    }
    if store.settings.mirror {
        findings
            .extend(store.mirror.verify(view).map_err(|error| io_fault("cannot read", &store.layout.mirror, error))?);
    }
    Ok(findings)
}

fn finding(kind: StoreFindingKind, message: String) -> StoreFinding {
    StoreFinding { kind, message }
}

/// Checks the database by itself.
fn tables(view: &View<'_>, findings: &mut Vec<StoreFinding>) {
    let damaged = |what: String| finding(StoreFindingKind::DatabaseDamaged, what);
    let check: rusqlite::Result<String> = view.connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0));
    match check {
        Ok(answer) if answer == "ok" => {}
        Ok(answer) => findings.push(damaged(answer)),
        Err(error) => findings.push(damaged(error.to_string())),
    }
    let nodes = match view.all_nodes() {
        Ok(nodes) => nodes,
        Err(fault) => return findings.push(damaged(fault.to_string())),
    };
    for node in &nodes {
        findings.extend(view.children(node.id).err().map(|fault| damaged(fault.to_string())));
        match view.versions(node.id) {
            Ok(versions) => versions.iter().for_each(|version| findings.extend(text(view, &node.alias, version.hash))),
            Err(fault) => findings.push(damaged(fault.to_string())),
        }
    }
}

/// Says whether a version's text is kept and whole.
fn text(view: &View<'_>, alias: &str, hash: VersionHash) -> Option<StoreFinding> {
    let message = match view.text(hash) {
        Ok(Some(_)) => return None,
        Ok(None) => format!("the text of version {} of `{alias}` is not kept", hash.short()),
        Err(fault) => fault.to_string(),
    };
    Some(finding(StoreFindingKind::TextMissing, message))
}

/// Replays the journal and compares what it gives with the tables.
fn against_journal(view: &View<'_>, journal: &JournalContents, findings: &mut Vec<StoreFinding>) {
    use StoreFindingKind::{DatabaseDamaged, InterruptedOperation, JournalDamaged};
    if let Some(damage) = &journal.damage {
        let kind = if damage.torn { InterruptedOperation } else { JournalDamaged };
        findings.push(finding(kind, format!("journal line {}: {}", damage.line, damage.what)));
    }
    match &journal.store {
        Some(store) if *store == view.store.store => {}
        Some(other) => {
            findings.push(finding(JournalDamaged, format!("the journal belongs to another store ({other})")));
            return;
        }
        None => return,
    }
    let mut state = MemoryState::new(view.store.store.clone());
    for entry in &journal.entries {
        if entry.operation.id > view.store.head {
            findings.push(finding(
                InterruptedOperation,
                format!("operation {} is in the journal but not in the database", entry.operation.id),
            ));
            break;
        }
        let replayed = state.replay(&entry.operation, &entry.body, &entry.texts, entry.prev, entry.hash);
        if let Err(Misfit(what)) = replayed {
            findings
                .push(finding(JournalDamaged, format!("operation {} cannot be replayed: {what}", entry.operation.id)));
            return;
        }
    }
    if state.head() < view.store.head {
        if journal.damage.is_none() {
            let missing =
                format!("the journal ends at operation {}, the database at {}", state.head(), view.store.head);
            findings.push(finding(JournalDamaged, missing));
        }
        return;
    }
    if let Err(what) = same_state(view, &state) {
        findings.push(finding(DatabaseDamaged, what));
    }
}

/// Says the first difference between the tables and a replayed state.
fn same_state(view: &View<'_>, state: &MemoryState) -> Result<(), String> {
    let faulty = |fault: StoreFault| fault.to_string();
    let nodes = Tree::new(view.all_nodes().map_err(faulty)?);
    if nodes != state.tree {
        let ids =
            nodes.nodes().chain(state.tree.nodes()).map(|node| node.id).collect::<std::collections::BTreeSet<_>>();
        let odd = ids.into_iter().find(|id| nodes.get(*id) != state.tree.get(*id));
        return Err(format!("node {} is not what the journal makes it", odd.unwrap_or(NodeId(0))));
    }
    let mut versions: HashMap<(NodeId, VersionHash), Version> = HashMap::new();
    for node in nodes.nodes() {
        versions.extend(
            view.versions(node.id).map_err(faulty)?.into_iter().map(|version| ((version.node, version.hash), version)),
        );
    }
    for (key, expected) in state.versions.iter().filter(|(key, _)| nodes.get(key.0).is_some()) {
        if versions.remove(key).as_ref() != Some(expected) {
            return Err(format!("version {} of node {} is not what the journal makes it", key.1.short(), key.0));
        }
    }
    if let Some((key, _)) = versions.into_iter().next() {
        return Err(format!("version {} of node {} is not in the journal", key.1.short(), key.0));
    }
    let records = view.all_records().map_err(faulty)?;
    if records != state.records {
        let keys: std::collections::BTreeSet<_> = records.keys().chain(state.records.keys()).collect();
        let odd = keys.into_iter().find(|key| records.get(key) != state.records.get(key));
        let name = odd.map(|record| format!("{}/{}", record.kind, record.key)).unwrap_or_default();
        return Err(format!("the record {name} is not what the journal makes it"));
    }
    let recorded = view.recorded(OperationId(1), view.store.head).map_err(faulty)?;
    for (row, expected) in recorded.iter().zip(&state.operations) {
        if row.body != expected.body || row.hash != expected.hash || row.prev != expected.prev {
            return Err(format!("operation {} differs from the journal", row.id));
        }
        if view.undone_by(row.id).map_err(faulty)? != state.undone.get(&row.id).copied() {
            return Err(format!("operation {} is not undone as the journal says", row.id));
        }
    }
    let heads = view.operation_heads(None, recorded.len()).map_err(faulty)?;
    for (head, expected) in heads.iter().rev().zip(&state.operations) {
        if *head != expected.operation.head() {
            return Err(format!("what is said about operation {} is not what the journal makes it", head.id));
        }
    }
    if recorded.len() != state.operations.len() {
        return Err("the database has not every operation of the journal".to_owned());
    }
    Ok(())
}
