//! Index of the operations that touched a node, so that a node's log needs no scan of all facts.

use std::collections::HashMap;

use domain::ids::{NodeId, OperationId};
use domain::operation::Operation;
use domain::ports::StoreFault;

use super::sql::params;
use super::view::TableView;

/// Number of touched nodes above which an operation gets one packed row instead of one per node: a
/// cascade over thousands of nodes must not write thousands of index rows.
const MAX_UNPACKED_NODES: usize = 64;

/// The nodes an operation touched, as they are indexed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TouchedNodes {
    /// One row each, sorted.
    Few(Vec<NodeId>),
    /// One row with their ranges.
    Packed(Vec<u8>),
}

impl TouchedNodes {
    /// Returns the entry of these nodes, which may repeat.
    pub(crate) fn from_ids(mut nodes: Vec<NodeId>) -> Self {
        nodes.sort_unstable();
        nodes.dedup();
        match nodes.len() > MAX_UNPACKED_NODES {
            true => Self::Packed(pack_node_ranges(&nodes)),
            false => Self::Few(nodes),
        }
    }
}

/// Adds an operation to the index.
pub(crate) fn index_touched_nodes(
    view: &TableView<'_>,
    operation: &Operation,
) -> Result<(), StoreFault> {
    let id = operation.id.0.cast_signed();
    match TouchedNodes::from_ids(operation.touched_nodes()) {
        TouchedNodes::Packed(ranges) => {
            let sql = "INSERT INTO touched_many (operation, stretches) VALUES (?1, ?2)";
            view.sql
                .execute_statement(sql, params![id, ranges])
                .map(drop)
        }
        TouchedNodes::Few(nodes) => {
            let sql = "INSERT INTO touched (node, operation) VALUES (?1, ?2)";
            nodes.iter().try_for_each(|node| {
                view.sql
                    .execute_statement(sql, params![node.0, id])
                    .map(drop)
            })
        }
    }
}

/// Returns the ids of up to `most` operations before `before` that touched a node, newest first.
pub(crate) fn operations_before(
    view: &TableView<'_>,
    node: NodeId,
    before: i64,
    most: usize,
) -> Result<Vec<i64>, StoreFault> {
    let limit = i64::try_from(most).unwrap_or(i64::MAX);
    let sql = "SELECT operation FROM touched WHERE node = ?1 AND operation < ?2 ORDER BY operation DESC LIMIT ?3";
    let mut found =
        view.query_rows(sql, params![node.0, before, limit], |row| row.get::<i64>(0))?;
    // All packed rows are scanned: large operations are few, and each is a handful of ranges.
    let sql = "SELECT operation, stretches FROM touched_many WHERE operation < ?1";
    let among_many = view.query_rows(sql, params![before], |row| {
        let (operation, stretches): (i64, Vec<u8>) = (row.get(0)?, row.get(1)?);
        Ok(is_in_ranges(&stretches, node).then_some(operation))
    })?;
    // Operations of both tables interleave, so they are sorted and cut off together.
    found.extend(among_many.into_iter().flatten());
    found.sort_unstable_by(|a, b| b.cmp(a));
    found.truncate(most);
    Ok(found)
}

/// Returns an operation whose index entry is not that of its nodes, or an entry without operation.
pub(crate) fn find_misindexed<'o>(
    view: &TableView<'_>,
    operations: impl Iterator<Item = (OperationId, &'o TouchedNodes)>,
) -> Result<Option<OperationId>, StoreFault> {
    let sql = "SELECT operation, node FROM touched ORDER BY operation, node";
    let mut few: HashMap<i64, Vec<NodeId>> = HashMap::new();
    for (operation, node) in view.query_rows(sql, params![], |row| {
        Ok((row.get::<i64>(0)?, row.get::<u32>(1)?))
    })? {
        few.entry(operation).or_default().push(NodeId(node));
    }
    let sql = "SELECT operation, stretches FROM touched_many";
    let mut many: HashMap<i64, Vec<u8>> = view
        .query_rows(sql, params![], |row| Ok((row.get(0)?, row.get(1)?)))?
        .into_iter()
        .collect();
    for (operation, touched) in operations {
        let id = operation.0.cast_signed();
        let is_there = match touched {
            TouchedNodes::Packed(ranges) => many.remove(&id).as_ref() == Some(ranges),
            TouchedNodes::Few(nodes) => few.remove(&id).unwrap_or_default() == *nodes,
        };
        if !is_there {
            return Ok(Some(operation));
        }
    }
    Ok(few
        .into_keys()
        .chain(many.into_keys())
        .min()
        .map(|id| OperationId(id.cast_unsigned())))
}

/// Packs sorted ids as ranges: the first and the last id of each.
fn pack_node_ranges(nodes: &[NodeId]) -> Vec<u8> {
    let parts = nodes.chunk_by(|a, b| a.0 + 1 == b.0);
    parts
        .filter_map(|part| {
            Some([part.first()?.0.to_be_bytes(), part.last()?.0.to_be_bytes()].concat())
        })
        .flatten()
        .collect()
}

fn is_in_ranges(stretches: &[u8], node: NodeId) -> bool {
    let (ends, _) = stretches.as_chunks::<4>();
    let (pairs, _) = ends.as_chunks::<2>();
    pairs.iter().any(|[first, last]| {
        (u32::from_be_bytes(*first)..=u32::from_be_bytes(*last)).contains(&node.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_lies_in_a_stretch_or_between_two() {
        let packed = pack_node_ranges(&[3, 4, 5, 9, 11, 12].map(NodeId));
        assert_eq!(packed.len(), 3 * 8);
        let inside: Vec<u32> = (0..20)
            .filter(|node| is_in_ranges(&packed, NodeId(*node)))
            .collect();
        assert_eq!(inside, [3, 4, 5, 9, 11, 12]);
    }
}
