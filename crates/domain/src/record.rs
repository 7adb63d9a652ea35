//! Records: small JSON documents by kind and key, for state that is not a node.
//!
//! Sessions, claims, evidence and memory entries are records. They change through facts, so they
//! are in the journal, can be undone, and are replayed. State that may be lost is a note of the
//! store.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fact::Fact;
use crate::ports::{Snapshot, StoreFault};

/// The kind and key of a record.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RecordKey {
    pub kind: String,
    pub key: String,
}

/// A type stored as records of one kind.
pub trait Recorded: Serialize + DeserializeOwned {
    /// The kind; part of the journal format.
    const KIND: &'static str;
}

/// Loads a record, if it exists.
///
/// # Errors
/// [`StoreFault`], also when the record is not of this type.
pub fn read_record<T: Recorded>(state: &dyn Snapshot, key: &str) -> Result<Option<T>, StoreFault> {
    state
        .record_body(T::KIND, key)?
        .map(|body| parse_record_body(key, body))
        .transpose()
}

/// Loads every record of a kind whose key starts with `prefix`, sorted by key.
///
/// # Errors
/// [`StoreFault`], also when a record is not of this type.
pub fn read_records<T: Recorded>(
    state: &dyn Snapshot,
    prefix: &str,
) -> Result<Vec<(String, T)>, StoreFault> {
    let found = state.records_by_prefix(T::KIND, prefix)?;
    found
        .into_iter()
        .map(|(key, body)| parse_record_body(&key, body).map(|value| (key, value)))
        .collect()
}

fn parse_record_body<T: Recorded>(key: &str, body: Value) -> Result<T, StoreFault> {
    // An unreadable record is damage, not absence: a claim or a session must not silently vanish.
    serde_json::from_value(body).map_err(|error| StoreFault::Damaged {
        what: format!("the record {}/{key} cannot be read: {error}", T::KIND),
    })
}

/// Returns the fact for a changed record; `None` if it is unchanged.
#[must_use]
pub fn record_changed_fact<T: Recorded>(
    key: &str,
    before: Option<&T>,
    after: Option<&T>,
) -> Option<Fact> {
    // Serialising cannot fail: records are plain data (maps with string keys, lists, scalars).
    // Bodies are compared as JSON, because that is what the journal stores.
    let body = |value: Option<&T>| {
        value.map(|it| serde_json::to_value(it).expect("BUG: a record is plain data"))
    };
    let (before, after) = (body(before), body(after));
    let record = RecordKey {
        kind: T::KIND.to_owned(),
        key: key.to_owned(),
    };
    (before != after).then_some(Fact::RecordChanged {
        record,
        before,
        after,
    })
}

/// Facts to which changes of records are added.
pub trait ChangeRecords {
    /// Adds the fact that a record changed, unless it did not.
    fn change_record<T: Recorded>(&mut self, key: &str, before: Option<&T>, after: Option<&T>);
}

impl ChangeRecords for Vec<Fact> {
    fn change_record<T: Recorded>(&mut self, key: &str, before: Option<&T>, after: Option<&T>) {
        self.extend(record_changed_fact(key, before, after));
    }
}
