//! Row sums: how a damaged row is told from a true one before it is used.

use rusqlite::types::{Value, ValueRef};

/// A sum over column values. They are gathered first: one pass over a few hundred bytes is many
/// times faster than a pass per column.
pub(crate) struct Sum(Vec<u8>);

impl Default for Sum {
    fn default() -> Self {
        Self(Vec::with_capacity(512))
    }
}

impl Sum {
    pub(crate) fn add(&mut self, value: ValueRef<'_>) {
        match value {
            ValueRef::Null => self.0.push(0),
            ValueRef::Integer(number) => {
                self.0.push(1);
                self.0.extend_from_slice(&number.to_le_bytes());
            }
            ValueRef::Real(number) => {
                self.0.push(2);
                self.0.extend_from_slice(&number.to_le_bytes());
            }
            ValueRef::Text(bytes) => self.bytes(3, bytes),
            ValueRef::Blob(bytes) => self.bytes(4, bytes),
        }
    }

    fn bytes(&mut self, tag: u8, bytes: &[u8]) {
        self.0.push(tag);
        self.0
            .extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        self.0.extend_from_slice(bytes);
    }

    /// Returns the sum and makes room for the next one.
    pub(crate) fn take(&mut self) -> i64 {
        let sum = crc32fast::hash(&self.0);
        self.0.clear();
        i64::from(sum)
    }
}

/// Returns the sum of these values.
pub(crate) fn sum_of<'v>(values: impl IntoIterator<Item = &'v Value>) -> i64 {
    let mut sum = Sum::default();
    values
        .into_iter()
        .for_each(|value| sum.add(ValueRef::from(value)));
    sum.take()
}

/// Which of a row's sums goes into the total.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    Footing = 1,
    Standing = 2,
    Words = 3,
    Children = 4,
}

/// Returns what one sum of one row adds to (and takes from) the table's total.
///
/// The total is the exclusive-or of these, so that a row that is missed or met twice shows.
pub(crate) fn share(part: Part, id: u32, sum: i64) -> i64 {
    let packed = (sum.cast_unsigned() << 32) | u64::from(id);
    let mixed = (packed ^ (part as u64).wrapping_mul(0xa076_1d64_78bd_642f))
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29))
        .wrapping_mul(0xbf58_476d_1ce4_e5b9)
        .cast_signed()
}

/// Returns the checksum of a record's row.
pub(crate) fn record_sum(kind: &str, key: &str, body: &str) -> i64 {
    let mut sum = Sum::default();
    [kind, key, body]
        .iter()
        .for_each(|text| sum.add(ValueRef::Text(text.as_bytes())));
    sum.take()
}
