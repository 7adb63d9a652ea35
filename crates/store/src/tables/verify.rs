//! Verification of the tables: checksums, texts, and equality with a replay of the operations.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use domain::ids::{NodeId, OperationId, VersionHash};
use domain::ports::{NodeReader, StoreFault, StoreFinding, StoreFindingKind, VersionReader};

use super::checksums::{ChecksumPart, total_share};
use super::texts::damaged_text_message;
use super::view::TableView;
use crate::replayed_history::{ReplayedHistory, ReplayedOperation};

pub(crate) fn store_finding(kind: StoreFindingKind, message: String) -> StoreFinding {
    StoreFinding { kind, message }
}

/// Reports the first operation whose body does not have its hash.
pub(crate) fn verify_bodies(view: &TableView<'_>) -> Option<StoreFinding> {
    let what = match view.find_damaged_body() {
        Ok(damaged) => format!("operation {} differs from the journal", damaged?),
        Err(fault) => fault.to_string(),
    };
    Some(store_finding(StoreFindingKind::DatabaseDamaged, what))
}

/// Checks the tables on their own (checksums, child totals, texts), and compares them with a replayed
/// history, if there is one. Returns the first difference.
///
/// Every table is read by one query, row by row: one query per node took three quarters of a second
/// at 10,000 nodes, and a copy of the table tens of megabytes at 50,000.
pub(crate) fn verify_tables(
    view: &TableView<'_>,
    replayed: Option<ReplayedHistory>,
    findings: &mut Vec<StoreFinding>,
) -> Option<String> {
    let damaged = |what: String| store_finding(StoreFindingKind::DatabaseDamaged, what);
    match find_difference(view, replayed, findings) {
        Ok(difference) => difference,
        Err(fault) => {
            findings.push(damaged(fault.to_string()));
            None
        }
    }
}

fn find_difference(
    view: &TableView<'_>,
    replayed: Option<ReplayedHistory>,
    findings: &mut Vec<StoreFinding>,
) -> Result<Option<String>, StoreFault> {
    let (nodes, differing_node) = verify_nodes(view, replayed.as_ref(), findings)?;
    let differing_version = verify_versions(view, &nodes, replayed.as_ref(), findings)?;
    drop(nodes);
    let Some(replayed) = replayed else {
        return Ok(None);
    };
    if let Some(difference) = differing_node.or(differing_version) {
        return Ok(Some(difference));
    }
    // Of the other tables, one that cannot be read is reported like a difference.
    Ok(compare_history(view, replayed).unwrap_or_else(|fault| Some(fault.to_string())))
}

/// Verifies the nodes; returns their ids, and how they differ from the replayed ones.
fn verify_nodes(
    view: &TableView<'_>,
    replayed: Option<&ReplayedHistory>,
    findings: &mut Vec<StoreFinding>,
) -> Result<(HashSet<NodeId>, Option<String>), StoreFault> {
    let mut ids = HashSet::new();
    let mut child_totals: HashMap<NodeId, i64> = HashMap::new();
    let mut odd: Option<NodeId> = None;
    // Reading verifies: every query checks the checksums of the rows it returns.
    view.visit_nodes(&mut |node| {
        ids.insert(node.id);
        if let Some(parent) = node.parent {
            *child_totals.entry(parent).or_default() ^=
                total_share(ChecksumPart::Children, node.id.0, 0);
        }
        if let (Some(replayed), None) = (replayed, odd)
            && replayed.state.tree.get(node.id) != Some(&node)
        {
            odd = Some(node.id);
        }
    })?;
    let wrong = view.find_wrong_child_totals(&child_totals)?.into_iter();
    findings.extend(wrong.map(|what| {
        let fault = StoreFault::Damaged { what };
        store_finding(StoreFindingKind::DatabaseDamaged, fault.to_string())
    }));
    let lost = replayed.and_then(|replayed| {
        let nodes = replayed.state.tree.nodes().map(|node| node.id);
        nodes.filter(|id| !ids.contains(id)).min()
    });
    let odd = odd.into_iter().chain(lost).min();
    Ok((
        ids,
        odd.map(|odd| format!("node {odd} differs from the journal")),
    ))
}

/// Verifies the versions of these nodes and their texts; returns how they differ from the replayed
/// ones.
fn verify_versions(
    view: &TableView<'_>,
    nodes: &HashSet<NodeId>,
    replayed: Option<&ReplayedHistory>,
    findings: &mut Vec<StoreFinding>,
) -> Result<Option<String>, StoreFault> {
    let texts = view.verify_stored_texts()?;
    let (mut without_text, mut matching, mut odd) = (Vec::new(), 0, None);
    // Versions of removed nodes are not compared: an undo may have removed their node and not them.
    view.visit_versions(&mut |version| {
        if !nodes.contains(&version.node) {
            return;
        }
        let expected = replayed.map(|replayed| {
            let key = (version.node, version.hash);
            replayed.state.versions.get(&key)
        });
        match expected {
            Some(Some(expected)) if *expected == version => matching += 1,
            Some(expected) if odd.is_none() => {
                odd = Some(match expected {
                    Some(_) => describe_version(version.node, version.hash, "differs from"),
                    None => describe_version(version.node, version.hash, "is not in"),
                });
            }
            _ => {}
        }
        if texts.get(&version.hash) != Some(&true) {
            without_text.push((version.node, version.hash));
        }
    })?;
    for (node, hash) in without_text {
        findings.extend(match texts.get(&hash) {
            Some(_) => {
                let what = damaged_text_message(hash);
                let fault = StoreFault::Damaged { what };
                Some(store_finding(
                    StoreFindingKind::TextMissing,
                    fault.to_string(),
                ))
            }
            // Masked, recorded without a text, or lost.
            None => verify_version_text(view, node, hash),
        });
    }
    let Some(replayed) = replayed.filter(|_| odd.is_none()) else {
        return Ok(odd);
    };
    let expected = || {
        let versions = replayed.state.versions.keys();
        versions.filter(|(node, _)| nodes.contains(node))
    };
    if expected().count() == matching {
        return Ok(None);
    }
    for (node, hash) in expected() {
        if view.load_version(*node, *hash)?.is_none() {
            return Ok(Some(describe_version(*node, *hash, "differs from")));
        }
    }
    Ok(None)
}

fn describe_version(node: NodeId, hash: VersionHash, relation: &str) -> String {
    format!(
        "version {} of node {node} {relation} the journal",
        hash.short_hex()
    )
}

/// Returns a finding if a version's text is missing or damaged.
fn verify_version_text(
    view: &TableView<'_>,
    node: NodeId,
    hash: VersionHash,
) -> Option<StoreFinding> {
    let message = match view.load_text(hash) {
        Ok(Some(_)) => return None,
        Ok(None) => {
            let node = view.load_node(node).ok().flatten();
            let alias = node.map(|node| node.alias).unwrap_or_default();
            format!(
                "the text of version {} of `{alias}` is missing",
                hash.short_hex()
            )
        }
        Err(fault) => fault.to_string(),
    };
    Some(store_finding(StoreFindingKind::TextMissing, message))
}

/// Compares records, operations and their index with the replayed ones; returns the first
/// difference.
fn compare_history(
    view: &TableView<'_>,
    replayed: ReplayedHistory,
) -> Result<Option<String>, StoreFault> {
    let operations = replayed.operations;
    let (expected, undone) = replayed.state.into_records();
    let records = view.all_records()?;
    if records != expected {
        let keys: BTreeSet<_> = records.keys().chain(expected.keys()).collect();
        let odd = keys
            .into_iter()
            .find(|key| records.get(key) != expected.get(key));
        let name = odd
            .map(|record| format!("{}/{}", record.kind, record.key))
            .unwrap_or_default();
        return Ok(Some(format!("the record {name} differs from the journal")));
    }
    drop((records, expected));
    if let Some(difference) = compare_operations(view, &operations, &undone)? {
        return Ok(Some(difference));
    }
    let touched = operations
        .iter()
        .map(|operation| (operation.head.id, &operation.touched));
    let odd = super::touched_index::find_misindexed(view, touched)?;
    Ok(odd.map(|odd| format!("the index of touched nodes is wrong for operation {odd}")))
}

/// Compares the recorded operations with the replayed ones; returns the first difference.
fn compare_operations(
    view: &TableView<'_>,
    operations: &[ReplayedOperation],
    expected_undone: &BTreeMap<OperationId, OperationId>,
) -> Result<Option<String>, StoreFault> {
    let undone = view.all_undone()?;
    let mut expected = operations.iter();
    let mut difference = None;
    view.visit_operations(&mut |row| {
        // What the journal lacks is reported by the replay.
        let (None, Some(expected)) = (&difference, expected.next()) else {
            return;
        };
        let is_same =
            (row.id, row.prev, row.hash) == (expected.head.id, expected.prev, expected.hash);
        if row.id != expected.head.id {
            difference = Some("the database lacks operations of the journal".to_owned());
        } else if !is_same {
            difference = Some(format!("operation {} differs from the journal", row.id));
        } else if undone.get(&row.id) != expected_undone.get(&row.id) {
            difference = Some(format!(
                "the undo state of operation {} differs from the journal",
                row.id
            ));
        } else if row.head != expected.head {
            difference = Some(format!(
                "the summary of operation {} differs from the journal",
                row.id
            ));
        }
    })?;
    let is_short = difference.is_none() && expected.next().is_some();
    Ok(match is_short {
        true => Some("the database lacks operations of the journal".to_owned()),
        false => difference,
    })
}
