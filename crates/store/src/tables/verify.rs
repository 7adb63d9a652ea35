//! Verification of the tables: checksums, texts, and equality with a replay of the operations.

use std::collections::HashMap;

use domain::ids::{NodeId, OperationId, VersionHash};
use domain::ports::{
    NodeReader, OperationReader, StoreFault, StoreFinding, StoreFindingKind, VersionReader,
};
use domain::tree::Tree;
use domain::version::Version;

use super::view::TableView;
use crate::memory::MemoryState;

pub(crate) fn store_finding(kind: StoreFindingKind, message: String) -> StoreFinding {
    StoreFinding { kind, message }
}

/// Checks the tables on their own: checksums, child totals, texts.
pub(crate) fn verify_tables(view: &TableView<'_>, findings: &mut Vec<StoreFinding>) {
    let damaged = |what: String| store_finding(StoreFindingKind::DatabaseDamaged, what);
    // Reading verifies: every query checks the checksums of the rows it returns.
    let nodes = match view.all_nodes() {
        Ok(nodes) => nodes,
        Err(fault) => return findings.push(damaged(fault.to_string())),
    };
    for node in &nodes {
        findings.extend(
            view.load_children(node.id)
                .err()
                .map(|fault| damaged(fault.to_string())),
        );
        match view.load_versions(node.id) {
            Ok(versions) => versions.iter().for_each(|version| {
                findings.extend(verify_version_text(view, &node.alias, version.hash))
            }),
            Err(fault) => findings.push(damaged(fault.to_string())),
        }
    }
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
    state: &MemoryState,
) -> Result<(), String> {
    let faulty = |fault: StoreFault| fault.to_string();
    // Compared as a whole; the search for the differing node runs only if there is one.
    let nodes = Tree::new(view.all_nodes().map_err(faulty)?);
    if nodes != state.tree {
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
    let mut versions: HashMap<(NodeId, VersionHash), Version> = HashMap::new();
    for node in nodes.nodes() {
        versions.extend(
            view.load_versions(node.id)
                .map_err(faulty)?
                .into_iter()
                .map(|version| ((version.node, version.hash), version)),
        );
    }
    // Versions of removed nodes stay in the replayed state; the tables list versions by node.
    for (key, expected) in state
        .versions
        .iter()
        .filter(|(key, _)| nodes.get(key.0).is_some())
    {
        if versions.remove(key).as_ref() != Some(expected) {
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
    let recorded = view
        .recorded_operation_range(OperationId(1), view.store.head)
        .map_err(faulty)?;
    for (row, expected) in recorded.iter().zip(&state.operations) {
        if row.body != expected.body || row.hash != expected.hash || row.prev != expected.prev {
            return Err(format!("operation {} differs from the journal", row.id));
        }
        if view.undone_by(row.id).map_err(faulty)? != state.undone.get(&row.id).copied() {
            return Err(format!(
                "the undo state of operation {} differs from the journal",
                row.id
            ));
        }
    }
    let heads = view.operation_heads(None, recorded.len()).map_err(faulty)?;
    for (head, expected) in heads.iter().rev().zip(&state.operations) {
        if *head != expected.operation.to_head() {
            return Err(format!(
                "the summary of operation {} differs from the journal",
                head.id
            ));
        }
    }
    if recorded.len() != state.operations.len() {
        return Err("the database lacks operations of the journal".to_owned());
    }
    let operations = state.operations.iter().map(|entry| &entry.operation);
    match super::touched_index::find_misindexed(view, operations).map_err(faulty)? {
        Some(odd) => Err(format!(
            "the index of touched nodes is wrong for operation {odd}"
        )),
        None => Ok(()),
    }
}
