//! Verification of the tables: checksums, texts, and equality with a replay of the operations.

use std::collections::HashMap;

use domain::ids::{NodeId, VersionHash};
use domain::ports::{
    NodeReader, OperationReader, StoreFault, StoreFinding, StoreFindingKind, VersionReader,
};
use domain::tree::Tree;
use domain::version::Version;

use super::texts::damaged_text_message;
use super::view::TableView;
use crate::memory::MemoryState;

pub(crate) fn store_finding(kind: StoreFindingKind, message: String) -> StoreFinding {
    StoreFinding { kind, message }
}

/// The rows that a verification read, so that comparing them with a replay reads nothing twice.
pub(crate) struct LoadedTables {
    nodes: Tree,
    versions: Vec<Version>,
}

/// Checks the tables on their own: checksums, child totals, texts. Returns the rows, unless they
/// cannot be read.
///
/// Every table is read by one query: one per node took three quarters of a second at 10,000 nodes.
pub(crate) fn verify_tables(
    view: &TableView<'_>,
    findings: &mut Vec<StoreFinding>,
) -> Option<LoadedTables> {
    let loaded = load_verified_tables(view, findings);
    let damaged = |what: String| store_finding(StoreFindingKind::DatabaseDamaged, what);
    loaded
        .map_err(|fault| findings.push(damaged(fault.to_string())))
        .ok()
}

fn load_verified_tables(
    view: &TableView<'_>,
    findings: &mut Vec<StoreFinding>,
) -> Result<LoadedTables, StoreFault> {
    // Reading verifies: every query checks the checksums of the rows it returns.
    let nodes = view.all_nodes()?;
    let wrong = view.find_wrong_child_totals(&nodes)?.into_iter();
    findings.extend(wrong.map(|what| {
        let fault = StoreFault::Damaged { what };
        store_finding(StoreFindingKind::DatabaseDamaged, fault.to_string())
    }));
    let nodes = Tree::new(nodes);
    let versions = view.all_versions()?;
    let texts = view.verify_stored_texts()?;
    for version in &versions {
        let Some(node) = nodes.get(version.node) else {
            continue;
        };
        findings.extend(match texts.get(&version.hash) {
            Some(true) => None,
            Some(false) => {
                let what = damaged_text_message(version.hash);
                let fault = StoreFault::Damaged { what };
                Some(store_finding(
                    StoreFindingKind::TextMissing,
                    fault.to_string(),
                ))
            }
            // Masked, recorded without a text, or lost.
            None => verify_version_text(view, &node.alias, version.hash),
        });
    }
    Ok(LoadedTables { nodes, versions })
}

/// Returns a finding if a version's text is missing or damaged.
fn verify_version_text(
    view: &TableView<'_>,
    alias: &str,
    hash: VersionHash,
) -> Option<StoreFinding> {
    let message = match view.load_text(hash) {
        Ok(Some(_)) => return None,
        Ok(None) => format!(
            "the text of version {} of `{alias}` is missing",
            hash.short_hex()
        ),
        Err(fault) => fault.to_string(),
    };
    Some(store_finding(StoreFindingKind::TextMissing, message))
}

/// Compares the tables with a replayed state; the error is the first difference.
pub(crate) fn compare_replayed_state(
    view: &TableView<'_>,
    tables: &LoadedTables,
    state: &MemoryState,
) -> Result<(), String> {
    let faulty = |fault: StoreFault| fault.to_string();
    let nodes = &tables.nodes;
    // Compared as a whole; the search for the differing node runs only if there is one.
    if *nodes != state.tree {
        let ids = nodes
            .nodes()
            .chain(state.tree.nodes())
            .map(|node| node.id)
            .collect::<std::collections::BTreeSet<_>>();
        let odd = ids
            .into_iter()
            .find(|id| nodes.get(*id) != state.tree.get(*id));
        return Err(format!(
            "node {} differs from the journal",
            odd.unwrap_or(NodeId(0))
        ));
    }
    // Versions of removed nodes are not compared: an undo may have removed their node and not them.
    let mut versions: HashMap<(NodeId, VersionHash), &Version> = tables
        .versions
        .iter()
        .filter(|version| nodes.get(version.node).is_some())
        .map(|version| ((version.node, version.hash), version))
        .collect();
    for (key, expected) in state
        .versions
        .iter()
        .filter(|(key, _)| nodes.get(key.0).is_some())
    {
        if versions.remove(key) != Some(expected) {
            return Err(format!(
                "version {} of node {} differs from the journal",
                key.1.short_hex(),
                key.0
            ));
        }
    }
    if let Some((key, _)) = versions.into_iter().next() {
        return Err(format!(
            "version {} of node {} is not in the journal",
            key.1.short_hex(),
            key.0
        ));
    }
    let records = view.all_records().map_err(faulty)?;
    if records != state.records {
        let keys: std::collections::BTreeSet<_> =
            records.keys().chain(state.records.keys()).collect();
        let odd = keys
            .into_iter()
            .find(|key| records.get(key) != state.records.get(key));
        let name = odd
            .map(|record| format!("{}/{}", record.kind, record.key))
            .unwrap_or_default();
        return Err(format!("the record {name} differs from the journal"));
    }
    compare_operations(view, state)?;
    let operations = state.operations.iter().map(|entry| &entry.operation);
    match super::touched_index::find_misindexed(view, operations).map_err(faulty)? {
        Some(odd) => Err(format!(
            "the index of touched nodes is wrong for operation {odd}"
        )),
        None => Ok(()),
    }
}

/// Compares the recorded operations with the replayed ones.
fn compare_operations(view: &TableView<'_>, state: &MemoryState) -> Result<(), String> {
    // In batches: the bodies of a long history are the largest part of the database.
    const AT_ONCE: usize = 256;
    let faulty = |fault: StoreFault| fault.to_string();
    let undone = view.all_undone().map_err(faulty)?;
    for expected in state.operations.chunks(AT_ONCE) {
        let (Some(first), Some(last)) = (expected.first(), expected.last()) else {
            continue;
        };
        let (first, last) = (first.operation.id, last.operation.id);
        let rows = view.recorded_operation_range(first, last).map_err(faulty)?;
        if rows.len() != expected.len() {
            return Err("the database lacks operations of the journal".to_owned());
        }
        let heads = view
            .operation_heads(Some(last.next_id()), expected.len())
            .map_err(faulty)?;
        for ((row, head), expected) in rows.iter().zip(heads.iter().rev()).zip(expected) {
            if row.body != expected.body || row.hash != expected.hash || row.prev != expected.prev {
                return Err(format!("operation {} differs from the journal", row.id));
            }
            if undone.get(&row.id) != state.undone.get(&row.id) {
                return Err(format!(
                    "the undo state of operation {} differs from the journal",
                    row.id
                ));
            }
            if *head != expected.operation.to_head() {
                return Err(format!(
                    "the summary of operation {} differs from the journal",
                    head.id
                ));
            }
        }
    }
    Ok(())
}
