//! The one row of table `store`: identity, required versions, head, totals; and the seal.

use domain::ids::{Digest32, OperationId, StoreId};
use domain::ports::StoreFault;
use rusqlite::types::Value;

use super::checksums::checksum_of_values;
use super::rows::decode_digest_column;
use super::sql::{SqlConnection, params};

/// The one row of table `store`: identity, required versions, head, totals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoreRow {
    pub(crate) store: StoreId,
    pub(crate) min_reader: i64,
    pub(crate) min_writer: i64,
    pub(crate) head: OperationId,
    pub(crate) head_hash: Digest32,
    pub(crate) journal_size: u64,
    pub(crate) next_node: u32,
    pub(crate) node_total: i64,
}

impl StoreRow {
    pub(crate) fn column_values(&self) -> Vec<Value> {
        let number = |number: u64| Value::Integer(number.cast_signed());
        let mut values = vec![
            Value::Text(self.store.0.clone()),
            Value::Integer(self.min_reader),
            Value::Integer(self.min_writer),
            number(self.head.0),
            Value::Blob(self.head_hash.0.to_vec()),
            number(self.journal_size),
            Value::Integer(self.next_node.into()),
            Value::Integer(self.node_total),
        ];
        values.push(Value::Integer(checksum_of_values(&values)));
        values
    }
}

/// `min_writer` of a sealed state: no program may write it. Older programs refuse it too, because
/// they already check `min_writer`.
const SEALED_MIN_WRITER: i64 = i64::MAX;

impl StoreRow {
    /// Checks that the state is not sealed and that a program of this format may write it.
    pub(crate) fn check_writer(&self, format: i64) -> Result<(), StoreFault> {
        self.check_reader(format)?;
        check_required_format(self.min_writer, format)
    }

    /// Checks that the state is not sealed and that a program of this format may read it.
    pub(crate) fn check_reader(&self, format: i64) -> Result<(), StoreFault> {
        if self.is_sealed() {
            return Err(StoreFault::Moved);
        }
        self.check_reads_by(format)
    }

    /// Checks that a program of this format may read the state, sealed or not.
    pub(crate) fn check_reads_by(&self, format: i64) -> Result<(), StoreFault> {
        check_required_format(self.min_reader, format)
    }

    /// Refuses programs of formats below these from now on.
    pub(crate) fn require_formats(&mut self, min_reader: i64, min_writer: i64) {
        self.min_reader = self.min_reader.max(min_reader);
        self.min_writer = self.min_writer.max(min_writer);
    }

    /// Marks the state as moved elsewhere.
    pub(crate) fn mark_sealed(&mut self) {
        self.min_writer = SEALED_MIN_WRITER;
    }

    /// Marks the state as usable again by programs from `format` on.
    pub(crate) fn mark_unsealed(&mut self, format: i64) {
        self.min_writer = format;
    }

    pub(crate) fn is_sealed(&self) -> bool {
        self.min_writer == SEALED_MIN_WRITER
    }
}

fn check_required_format(required: i64, known: i64) -> Result<(), StoreFault> {
    match required > known {
        true => Err(StoreFault::Newer {
            found: required,
            known,
        }),
        false => Ok(()),
    }
}

/// Reads the `store` row; `locking` is the engine's clause for locking it (` FOR UPDATE`).
pub(crate) fn read_store_row(
    sql: &dyn SqlConnection,
    locking: &str,
) -> Result<StoreRow, StoreFault> {
    let columns = "store_id, min_reader, min_writer, head, head_hash, journal_size, next_node, node_total, sum";
    let mut found = None;
    sql.query_rows(
        &format!("SELECT {columns} FROM store{locking}"),
        params![],
        &mut |row| {
            let store = StoreRow {
                store: StoreId(row.get(0)?),
                min_reader: row.get(1)?,
                min_writer: row.get(2)?,
                head: OperationId(row.get::<i64>(3)?.cast_unsigned()),
                // A damaged hash becomes zeros here and fails the checksum below.
                head_hash: decode_digest_column(row.get_ref(4)?).unwrap_or(Digest32([0; 32])),
                journal_size: row.get::<i64>(5)?.cast_unsigned(),
                next_node: row.get(6)?,
                node_total: row.get(7)?,
            };
            found = Some((store, row.get::<i64>(8)?));
            Ok(())
        },
    )?;
    let damaged = |what: &str| StoreFault::Damaged {
        what: what.to_owned(),
    };
    let (store, sum) = found.ok_or_else(|| damaged("table `store` has no row"))?;
    if store.column_values().last() != Some(&Value::Integer(sum)) {
        return Err(damaged("checksum mismatch in table `store`"));
    }
    Ok(store)
}
