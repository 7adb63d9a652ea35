//! Builds JSON objects of values that are moved into them.
//!
//! The macro `json!` copies the values it is given, so that a schema with hundreds of ids is copied again at
//! every level.

use serde_json::Value;

/// Returns a JSON object with these members.
#[must_use]
pub(crate) fn json_object<'k>(members: impl IntoIterator<Item = (&'k str, Value)>) -> Value {
    let members = members.into_iter();
    let members = members.map(|(name, value)| (name.to_owned(), value));
    Value::Object(members.collect())
}
