//! Records: state that is no node. Where a session stands, who holds a claim, what proves a node, a note.
//!
//! A record is a small JSON document under a kind and a key. Like everything else it changes through facts,
//! so it is in the journal, can be undone, and replays. What may be lost without harm is a note of the store.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fact::Fact;
use crate::ports::{Snapshot, StoreFault};

/// Which record.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RecordKey {
    pub kind: String,
    pub key: String,
}

/// A type that is kept as records of one kind.
pub trait Recorded: Serialize + DeserializeOwned {
    /// The word its records are kept under.
    const KIND: &'static str;
}

/// Returns a record, if there is one.
///
/// # Errors
/// [`StoreFault`], also when the record is not of this type.
pub fn read<T: Recorded>(state: &dyn Snapshot, key: &str) -> Result<Option<T>, StoreFault> {
    state
        .record_body(T::KIND, key)?
        .map(|body| typed(key, body))
        .transpose()
}

/// Returns every record of a kind whose key starts with `prefix`, by key.
///
/// # Errors
/// [`StoreFault`], also when a record is not of this type.
pub fn read_all<T: Recorded>(
    state: &dyn Snapshot,
    prefix: &str,
) -> Result<Vec<(String, T)>, StoreFault> {
    let found = state.records(T::KIND, prefix)?;
    found
        .into_iter()
        .map(|(key, body)| typed(&key, body).map(|value| (key, value)))
        .collect()
}

fn typed<T: Recorded>(key: &str, body: Value) -> Result<T, StoreFault> {
    serde_json::from_value(body).map_err(|error| StoreFault::Damaged {
        what: format!("the record {}/{key} cannot be read: {error}", T::KIND),
    })
}

/// Returns the fact that a record is another one now; `None` when it is the same.
#[must_use]
pub fn changed<T: Recorded>(key: &str, before: Option<&T>, after: Option<&T>) -> Option<Fact> {
    // What is kept is plain data: maps with text keys, lists, numbers and texts.
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
