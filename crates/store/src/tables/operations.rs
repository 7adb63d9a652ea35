//! Queries of the history, with the hash chain and the checksums of summaries verified.

use std::collections::BTreeMap;

use domain::fact::Fact;
use domain::ids::{Digest32, NodeId, OperationId};
use domain::operation::{Operation, OperationHead, visit_facts_of_json};
use domain::ports::{OperationReader, StoreFault};
use rusqlite::types::ValueRef;

use super::checksums::Checksum;
use super::rows::{BadRow, decode_digest_column};
use super::sql::{Row, SqlParams, params};
use super::touched_index;
use super::view::TableView;
use crate::journal;

impl OperationReader for TableView<'_> {
    fn last_operation_id(&self) -> Result<OperationId, StoreFault> {
        Ok(self.store.head)
    }

    fn load_operations(
        &self,
        before: Option<OperationId>,
        most: usize,
    ) -> Result<Vec<Operation>, StoreFault> {
        self.newest_operations(before, most)?
            .iter()
            .map(RecordedRow::parse_verified_operation)
            .collect()
    }

    fn operation_heads(
        &self,
        before: Option<OperationId>,
        most: usize,
    ) -> Result<Vec<OperationHead>, StoreFault> {
        self.query_operation_heads(
            "WHERE id < ?1 ORDER BY id DESC LIMIT ?2",
            params![operation_id_bound(before), to_limit_param(most)],
        )
    }

    fn operation_heads_of_node(
        &self,
        node: NodeId,
        before: Option<OperationId>,
        most: usize,
    ) -> Result<Vec<OperationHead>, StoreFault> {
        let ids = touched_index::operations_before(self, node, operation_id_bound(before), most)?;
        let mut found = Vec::with_capacity(ids.len());
        for id in ids {
            found.append(&mut self.query_operation_heads("WHERE id = ?1", params![id])?);
        }
        Ok(found)
    }

    fn load_operation(&self, id: OperationId) -> Result<Option<Operation>, StoreFault> {
        self.recorded_operation_range(id, id)?
            .pop()
            .map(|row| row.parse_verified_operation())
            .transpose()
    }

    fn visit_facts(
        &self,
        id: OperationId,
        visit: &mut dyn FnMut(Fact),
    ) -> Result<bool, StoreFault> {
        let sql = "SELECT body, prev, hash FROM operation WHERE id = ?1";
        let mut is_found = false;
        // Parsed where the database has it: a copy of a large body stays in the memory of each
        // thread that made one.
        let values = params![id.0.cast_signed()];
        self.sql.query_rows(sql, values, &mut |row| {
            is_found = true;
            let (prev, hash) = read_links(row, 1)?;
            let ValueRef::Text(body) = row.get_ref(0)? else {
                return Err(BadRow::new(format!("operation {id} has no body")));
            };
            let body = std::str::from_utf8(body)
                .ok()
                .filter(|body| journal::hash_operation(prev, body) == hash)
                .ok_or_else(|| BadRow::new(format!("hash mismatch in operation {id}")))?;
            Ok(visit_facts_of_json(body, visit)?)
        })?;
        Ok(is_found)
    }

    fn undone_by(&self, id: OperationId) -> Result<Option<OperationId>, StoreFault> {
        let found = self.query_one_row(
            "SELECT undone_by FROM operation WHERE id = ?1",
            params![id.0.cast_signed()],
            |row| row.get::<Option<i64>>(0),
        )?;
        Ok(found.flatten().map(|by| OperationId(by.cast_unsigned())))
    }

    fn chain_hash(&self, id: OperationId) -> Result<Option<Digest32>, StoreFault> {
        match id {
            OperationId(0) => Ok(Some(journal::chain_start_hash(&self.store.store))),
            id if id == self.store.head => Ok(Some(self.store.head_hash)),
            // Without the body: the first scan of a large project is one of many megabytes.
            id => self.query_one_row(
                "SELECT hash FROM operation WHERE id = ?1",
                params![id.0.cast_signed()],
                |row| decode_digest_column(row.get_ref(0)?),
            ),
        }
    }

    fn journal_lines(&self, after: OperationId, most: usize) -> Result<Vec<String>, StoreFault> {
        // In batches, because `most` limits bytes and the size of an operation is known only when
        // it is read.
        const AT_ONCE: u64 = 100;
        let (mut lines, mut bytes, mut last) = (Vec::new(), 0, after);
        while last < self.store.head && bytes < most {
            let rows =
                self.recorded_operation_range(last.next_id(), OperationId(last.0 + AT_ONCE))?;
            let Some(newest) = rows.last().map(|row| row.id) else {
                break;
            };
            for row in &rows {
                let line = self.load_recorded_entry(row)?.to_journal_line()?;
                bytes += line.len();
                lines.push(line);
                if bytes >= most {
                    break;
                }
            }
            last = newest;
        }
        Ok(lines)
    }
}

impl TableView<'_> {
    fn newest_operations(
        &self,
        before: Option<OperationId>,
        most: usize,
    ) -> Result<Vec<RecordedRow>, StoreFault> {
        let sql =
            "SELECT id, body, prev, hash FROM operation WHERE id < ?1 ORDER BY id DESC LIMIT ?2";
        self.query_rows(
            sql,
            params![operation_id_bound(before), to_limit_param(most)],
            RecordedRow::read_row,
        )
    }

    fn query_operation_heads(
        &self,
        condition: &str,
        values: SqlParams<'_>,
    ) -> Result<Vec<OperationHead>, StoreFault> {
        self.query_rows(
            &format!("SELECT id, head, head_sum FROM operation {condition}"),
            values,
            |row| {
                let (id, head): (i64, String) = (row.get(0)?, row.get(1)?);
                if head_checksum(id, &head) != row.get::<i64>(2)? {
                    return Err(BadRow::new(format!(
                        "checksum mismatch in the summary of operation {id}"
                    )));
                }
                Ok(serde_json::from_str(&head)?)
            },
        )
    }

    /// Returns the undone operations, each with the one that undid it.
    pub(super) fn all_undone(&self) -> Result<BTreeMap<OperationId, OperationId>, StoreFault> {
        let rows = self.query_rows(
            "SELECT id, undone_by FROM operation WHERE undone_by IS NOT NULL",
            params![],
            |row| Ok((row.get::<i64>(0)?, row.get::<i64>(1)?)),
        )?;
        let id = |number: i64| OperationId(number.cast_unsigned());
        Ok(rows
            .into_iter()
            .map(|(one, by)| (id(one), id(by)))
            .collect())
    }

    /// Returns the first operation whose body does not have its hash. A body may have tens of megabytes, so they are
    /// read for this alone, while nothing else needs much memory.
    pub(crate) fn find_damaged_body(&self) -> Result<Option<OperationId>, StoreFault> {
        let mut damaged = None;
        let sql = "SELECT id, body, prev, hash FROM operation ORDER BY id";
        self.sql.query_rows(sql, params![], &mut |row| {
            let id: i64 = row.get(0)?;
            let (prev, hash) = read_links(row, 2)?;
            let ValueRef::Text(body) = row.get_ref(1)? else {
                return Err(BadRow::new(format!("operation {id} has no body")));
            };
            let is_intact = std::str::from_utf8(body)
                .is_ok_and(|body| journal::hash_operation(prev, body) == hash);
            if !is_intact && damaged.is_none() {
                damaged = Some(OperationId(id.cast_unsigned()));
            }
            Ok(())
        })?;
        Ok(damaged)
    }

    /// Passes on every operation without its body, oldest first.
    pub(super) fn visit_operations(
        &self,
        each: &mut dyn FnMut(VisitedOperation),
    ) -> Result<(), StoreFault> {
        let sql = "SELECT id, prev, hash, head, head_sum FROM operation ORDER BY id";
        self.sql.query_rows(sql, params![], &mut |row| {
            let id: i64 = row.get(0)?;
            let (prev, hash) = read_links(row, 1)?;
            let head: String = row.get(3)?;
            if head_checksum(id, &head) != row.get::<i64>(4)? {
                return Err(BadRow::new(format!(
                    "checksum mismatch in the summary of operation {id}"
                )));
            }
            each(VisitedOperation {
                id: OperationId(id.cast_unsigned()),
                head: serde_json::from_str(&head)?,
                prev,
                hash,
            });
            Ok(())
        })
    }

    /// Returns the stored bytes of operations `from..=to`, oldest first.
    pub(crate) fn recorded_operation_range(
        &self,
        from: OperationId,
        to: OperationId,
    ) -> Result<Vec<RecordedRow>, StoreFault> {
        self.query_rows(
            "SELECT id, body, prev, hash FROM operation WHERE id BETWEEN ?1 AND ?2 ORDER BY id",
            params![from.0.cast_signed(), to.0.cast_signed()],
            RecordedRow::read_row,
        )
    }
}

/// Reads the hashes of the operation before and of this one, from two columns.
fn read_links(row: &Row<'_>, first: usize) -> Result<(Digest32, Digest32), BadRow> {
    Ok((
        decode_digest_column(row.get_ref(first)?)?,
        decode_digest_column(row.get_ref(first + 1)?)?,
    ))
}

/// A stored operation without its body.
pub(super) struct VisitedOperation {
    pub(super) id: OperationId,
    pub(super) head: OperationHead,
    pub(super) prev: Digest32,
    pub(super) hash: Digest32,
}

/// An operation as stored: its exact JSON and its links in the hash chain.
pub(crate) struct RecordedRow {
    pub(crate) id: OperationId,
    pub(crate) body: String,
    pub(crate) prev: Digest32,
    pub(crate) hash: Digest32,
}

impl RecordedRow {
    /// Reads `id, body, prev, hash`.
    fn read_row(row: &Row<'_>) -> Result<Self, BadRow> {
        let (prev, hash) = read_links(row, 2)?;
        Ok(Self {
            id: OperationId(row.get::<i64>(0)?.cast_unsigned()),
            body: row.get(1)?,
            prev,
            hash,
        })
    }

    /// Parses the operation after verifying its hash.
    pub(crate) fn parse_verified_operation(&self) -> Result<Operation, StoreFault> {
        let damaged = |what: String| StoreFault::Damaged { what };
        if journal::hash_operation(self.prev, &self.body) != self.hash {
            return Err(damaged(format!("hash mismatch in operation {}", self.id)));
        }
        let operation: Operation = serde_json::from_str(&self.body)
            .map_err(|error| damaged(format!("cannot parse operation {}: {error}", self.id)))?;
        if operation.id != self.id {
            return Err(damaged(format!(
                "operation {} is stored with the id {}",
                self.id, operation.id
            )));
        }
        Ok(operation)
    }
}

/// Returns the checksum of an operation's summary.
pub(crate) fn head_checksum(id: i64, head: &str) -> i64 {
    let mut sum = Checksum::default();
    sum.add_column_value(ValueRef::Integer(id));
    sum.add_column_value(ValueRef::Text(head.as_bytes()));
    sum.take_checksum()
}

/// Returns the exclusive upper bound of operation ids as a parameter.
fn operation_id_bound(before: Option<OperationId>) -> i64 {
    before.map_or(i64::MAX, |before| before.0.cast_signed())
}

fn to_limit_param(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}
