//! Row checksums (CRC-32), verified on every read, and table totals that reveal missing rows.
//!
//! They detect damage (a flipped bit, a lost page), not tampering: a program that can write the
//! file can recompute them. Tampering is what the operations' hash chain detects.

use rusqlite::types::{Value, ValueRef};

/// Checksum over column values. They are collected first: one CRC pass over a few hundred bytes is
/// many times faster than a pass per column.
pub(crate) struct Checksum(Vec<u8>);

impl Default for Checksum {
    fn default() -> Self {
        Self(Vec::with_capacity(512))
    }
}

impl Checksum {
    /// Adds a column value.
    pub(crate) fn add_column_value(&mut self, value: ValueRef<'_>) {
        // A tag per type, so that NULL, 0 and the empty string have different checksums.
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
            ValueRef::Text(bytes) => self.add_tagged_bytes(3, bytes),
            ValueRef::Blob(bytes) => self.add_tagged_bytes(4, bytes),
        }
    }

    fn add_tagged_bytes(&mut self, tag: u8, bytes: &[u8]) {
        // With the length, or bytes moved from one column to the next would go unnoticed.
        self.0.push(tag);
        self.0
            .extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        self.0.extend_from_slice(bytes);
    }

    /// Returns the checksum and resets; the buffer is reused for the next row.
    pub(crate) fn take_checksum(&mut self) -> i64 {
        let sum = crc32fast::hash(&self.0);
        self.0.clear();
        i64::from(sum)
    }
}

/// Returns the checksum of these values.
pub(crate) fn checksum_of_values<'v>(values: impl IntoIterator<Item = &'v Value>) -> i64 {
    let mut sum = Checksum::default();
    values
        .into_iter()
        .for_each(|value| sum.add_column_value(ValueRef::from(value)));
    sum.take_checksum()
}

/// Which of a row's checksums is mixed into the total.
#[derive(Clone, Copy)]
pub(crate) enum ChecksumPart {
    Footing = 1,
    Standing = 2,
    Words = 3,
    Children = 4,
}

/// Returns what one checksum of one row contributes to the table's total.
///
/// The total is the XOR of all contributions: order does not matter, a change updates it in
/// constant time, and a row that is missing or read twice shows.
pub(crate) fn total_share(part: ChecksumPart, id: u32, sum: i64) -> i64 {
    // Mixed (splitmix64 constants), because a plain XOR of CRCs cancels out when two rows swap
    // values.
    let packed = (sum.cast_unsigned() << 32) | u64::from(id);
    let mixed = (packed ^ (part as u64).wrapping_mul(0xa076_1d64_78bd_642f))
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29))
        .wrapping_mul(0xbf58_476d_1ce4_e5b9)
        .cast_signed()
}

/// Returns the checksum of a record's row.
pub(crate) fn record_checksum(kind: &str, key: &str, body: &str) -> i64 {
    let mut sum = Checksum::default();
    [kind, key, body]
        .iter()
        .for_each(|text| sum.add_column_value(ValueRef::Text(text.as_bytes())));
    sum.take_checksum()
}
