//! Queries of the node tables, with checksums and totals verified.

use std::collections::HashMap;
use std::rc::Rc;

use domain::ids::NodeId;
use domain::node::Node;
use domain::ports::{ChildName, NodeReader, StoreFault};
use domain::status::StatusInputs;
use rusqlite::types::Value;

use super::checksums::{Checksum, ChecksumPart, checksum_of_values, total_share};
use super::rows::{
    BadRow, CauseRow, FOOTING_COLUMNS, NODE_COLUMNS, NODE_JOIN, read_footing, read_node,
};
use super::sql::{SqlParams, params};
use super::view::TableView;

/// A half-open range of lineages.
type LineageRange = (Vec<u8>, Vec<u8>);

impl NodeReader for TableView<'_> {
    fn load_node(&self, id: NodeId) -> Result<Option<Node>, StoreFault> {
        let known = self.known.as_ref().and_then(|known| {
            known
                .borrow()
                .nodes
                .iter()
                .find(|node| node.id == id)
                .cloned()
        });
        if known.is_some() {
            return Ok(known);
        }
        let found = self.query_node_rows("WHERE id = ?1", params![id.0])?;
        self.cache_nodes(&found);
        Ok(found.into_iter().next())
    }

    fn nodes_by_alias(&self, alias: &str) -> Result<Vec<Node>, StoreFault> {
        let found = self.query_node_rows("WHERE alias = ?1", params![alias])?;
        self.cache_nodes(&found);
        Ok(found)
    }

    fn children_by_alias(&self, parent: NodeId, alias: &str) -> Result<Vec<Node>, StoreFault> {
        let found =
            self.query_node_rows("WHERE alias = ?1 AND parent = ?2", params![alias, parent.0])?;
        self.cache_nodes(&found);
        Ok(found)
    }

    fn load_children(&self, parent: NodeId) -> Result<Vec<Node>, StoreFault> {
        let children = self.query_node_rows("WHERE parent = ?1", params![parent.0])?;
        self.check_children(parent, children.iter().map(|child| child.id))?;
        Ok(children)
    }

    fn child_names(&self, parent: NodeId) -> Result<Vec<ChildName>, StoreFault> {
        if let Some(known) = &self.known
            && let Some((_, names)) = known
                .borrow()
                .children
                .as_ref()
                .filter(|(of, _)| *of == parent)
        {
            return Ok(names.clone());
        }
        let mut names = self.query_rows(
            "SELECT level, ord, alias, id FROM node WHERE parent = ?1",
            params![parent.0],
            |row| {
                Ok(ChildName {
                    level: row.get(0)?,
                    order: row.get(1)?,
                    alias: row.get(2)?,
                    id: NodeId(row.get(3)?),
                })
            },
        )?;
        self.check_children(parent, names.iter().map(|child| child.id))?;
        names.sort();
        if let Some(known) = &self.known {
            known.borrow_mut().children = Some((parent, names.clone()));
        }
        Ok(names)
    }

    fn all_nodes(&self) -> Result<Vec<Node>, StoreFault> {
        let mut nodes = Vec::new();
        self.visit_nodes(&mut |node| {
            // In one step beyond a small project: doubling would copy the nodes again and again.
            if nodes.len() == 64 {
                nodes.reserve_exact(self.store.next_node as usize);
            }
            nodes.push(node);
        })?;
        Ok(nodes)
    }

    fn nodes_outside(&self, profiles: &[&str]) -> Result<Vec<Node>, StoreFault> {
        // All nodes of a tree have their root's profile, so trees are skipped as a whole.
        let roots = self.query_rows(
            "SELECT id, profile FROM node WHERE parent IS NULL ORDER BY id",
            params![],
            |row| Ok((NodeId(row.get(0)?), row.get::<String>(1)?)),
        )?;
        if roots
            .iter()
            .all(|(_, profile)| !profiles.contains(&profile.as_str()))
        {
            // Nothing to skip: the full scan is faster, and verifies the table's total as well.
            return self.all_nodes();
        }
        let mut found = Vec::new();
        for (root, _) in roots
            .iter()
            .filter(|(_, profile)| !profiles.contains(&profile.as_str()))
        {
            found.append(&mut self.load_subtree(*root)?);
        }
        Ok(found)
    }

    fn load_subtree(&self, top: NodeId) -> Result<Vec<Node>, StoreFault> {
        let Some((start, end)) = self.subtree_lineage_range(top)? else {
            return Ok(Vec::new());
        };
        self.query_node_rows(
            "WHERE lineage >= ?1 AND lineage < ?2 ORDER BY lineage",
            params![start, end],
        )
    }

    fn load_status_inputs(&self, top: NodeId) -> Result<Vec<StatusInputs>, StoreFault> {
        let Some((start, end)) = self.subtree_lineage_range(top)? else {
            return Ok(Vec::new());
        };
        let mut sum = Checksum::default();
        self.query_rows(
            &format!("SELECT {FOOTING_COLUMNS} FROM {NODE_JOIN} WHERE lineage >= ?1 AND lineage < ?2 ORDER BY lineage"),
            params![start, end],
            |row| read_footing(row, &mut sum, &|id| self.load_cause(id)),
        )
    }
}

impl TableView<'_> {
    /// Passes on every node, parents before their children, and verifies the table's total.
    pub(crate) fn visit_nodes(&self, each: &mut dyn FnMut(Node)) -> Result<(), StoreFault> {
        let (mut total, mut sum) = (0, Checksum::default());
        // Ids are assigned in creation order, so a parent comes before its children.
        let sql = format!("SELECT {NODE_COLUMNS} FROM {NODE_JOIN} ORDER BY id");
        self.sql.query_rows(&sql, params![], &mut |row| {
            let (node, share) = read_node(row, &mut sum, &|id| self.load_cause(id))?;
            total ^= share;
            each(node);
            Ok(())
        })?;
        self.check_total(total)
    }

    /// Returns a cause by id.
    fn load_cause(&self, id: i64) -> Result<Rc<CauseRow>, BadRow> {
        if let Some(known) = self.causes.borrow().get(&id) {
            return Ok(known.clone());
        }
        let bodies =
            self.query_rows("SELECT body FROM cause WHERE id = ?1", params![id], |row| {
                row.get::<String>(0)
            })?;
        let body = bodies
            .into_iter()
            .next()
            .ok_or_else(|| BadRow::new(format!("cause {id} is missing")))?;
        let row = Rc::new(CauseRow {
            cause: serde_json::from_str(&body)?,
            body,
        });
        self.causes.borrow_mut().insert(id, row.clone());
        Ok(row)
    }

    fn query_node_rows(
        &self,
        condition: &str,
        values: SqlParams<'_>,
    ) -> Result<Vec<Node>, StoreFault> {
        let sql = format!("SELECT {NODE_COLUMNS} FROM {NODE_JOIN} {condition}");
        let mut sum = Checksum::default();
        self.query_rows(&sql, values, |row| {
            Ok(read_node(row, &mut sum, &|id| self.load_cause(id))?.0)
        })
    }

    /// Returns a node's lineage: the ids from the root down, four big-endian bytes each.
    pub(crate) fn node_lineage(&self, id: NodeId) -> Result<Option<Vec<u8>>, StoreFault> {
        self.query_one_row(
            "SELECT lineage FROM node WHERE id = ?1",
            params![id.0],
            |row| row.get(0),
        )
    }

    /// Returns the XOR total of a node's children, as stored with the parent.
    pub(crate) fn child_total(&self, id: NodeId) -> Result<i64, StoreFault> {
        self.query_one_row(
            "SELECT id, child_total, child_sum FROM node WHERE id = ?1",
            params![id.0],
            |row| {
                let total: i64 = row.get(1)?;
                Ok((total, child_total_checksum(id, total) == row.get::<i64>(2)?))
            },
        )?
        .filter(|(_, fits)| *fits)
        .map(|(total, _)| total)
        .ok_or_else(|| StoreFault::Damaged {
            what: format!("checksum mismatch in the child total of node {id}"),
        })
    }

    /// Compares the child totals of all nodes with the expected ones, in one query.
    pub(super) fn find_wrong_child_totals(
        &self,
        expected: &HashMap<NodeId, i64>,
    ) -> Result<Vec<String>, StoreFault> {
        let findings = self.query_rows(
            "SELECT id, child_total, child_sum FROM node",
            params![],
            |row| {
                let (id, total) = (NodeId(row.get(0)?), row.get::<i64>(1)?);
                Ok(if child_total_checksum(id, total) != row.get::<i64>(2)? {
                    Some(format!("checksum mismatch in the child total of node {id}"))
                } else if total != expected.get(&id).copied().unwrap_or(0) {
                    Some(format!("children of node {id} are missing"))
                } else {
                    None
                })
            },
        )?;
        Ok(findings.into_iter().flatten().collect())
    }

    /// Checks that no child row is missing: a lost row has no checksum that could fail.
    fn check_children(
        &self,
        parent: NodeId,
        children: impl Iterator<Item = NodeId>,
    ) -> Result<(), StoreFault> {
        let total = children.fold(0, |total, child| {
            total ^ total_share(ChecksumPart::Children, child.0, 0)
        });
        if total == self.child_total(parent)? {
            return Ok(());
        }
        Err(StoreFault::Damaged {
            what: format!("children of node {parent} are missing"),
        })
    }

    fn subtree_lineage_range(&self, top: NodeId) -> Result<Option<LineageRange>, StoreFault> {
        let Some(start) = self.node_lineage(top)? else {
            return Ok(None);
        };
        let mut end = start.clone();
        // Descendants have `top`'s lineage as prefix, so the next lineage of the same length ends
        // the range: a subtree is one index scan, without recursion.
        for byte in end.iter_mut().rev() {
            if *byte < u8::MAX {
                *byte += 1;
                break;
            }
            *byte = 0;
        }
        Ok(Some((start, end)))
    }

    /// Checks the rows' XOR against the stored total, so that a missing or outdated row shows.
    fn check_total(&self, total: i64) -> Result<(), StoreFault> {
        if total == self.store.node_total {
            return Ok(());
        }
        Err(StoreFault::Damaged {
            what: "checksum mismatch in table `node`: a row is missing or outdated".to_owned(),
        })
    }
}

/// Returns the checksum of a child total.
pub(crate) fn child_total_checksum(id: NodeId, total: i64) -> i64 {
    checksum_of_values(&[Value::Integer(id.0.into()), Value::Integer(total)])
}
