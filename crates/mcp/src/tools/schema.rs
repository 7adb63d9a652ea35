//! Builders of JSON schemas: flat objects only, because clients differ in what they support.

use domain::profile::Profile;
use serde_json::{Map, Value, json};

/// A property, and whether it is required.
pub(super) type Property = (&'static str, Value, bool);

/// Returns the schema of an object with these properties and no others.
pub(super) fn object(properties: Vec<Property>) -> Value {
    let required: Vec<&str> = properties
        .iter()
        .filter(|(_, _, required)| *required)
        .map(|(name, ..)| *name)
        .collect();
    let properties: Map<String, Value> = properties
        .into_iter()
        .map(|(name, schema, _)| (name.to_owned(), schema))
        .collect();
    // `additionalProperties: false` makes a model's typo an error instead of an ignored argument.
    let mut schema =
        json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// Returns the schema of a result: the members that are always present. Nullable ones are left out,
/// because some clients reject union types.
pub(super) fn result(properties: &[(&str, &str)]) -> Value {
    let properties: Map<String, Value> = properties
        .iter()
        .map(|(name, kind)| ((*name).to_owned(), of_kind(kind)))
        .collect();
    json!({ "type": "object", "properties": properties })
}

fn of_kind(kind: &str) -> Value {
    match kind.strip_prefix("list of ") {
        Some(items) => json!({ "type": "array", "items": of_kind(items) }),
        None => json!({ "type": kind }),
    }
}

/// A string with a description.
pub(super) fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

/// An array of strings with a description.
pub(super) fn texts(description: &str) -> Value {
    json!({ "type": "array", "items": { "type": "string" }, "description": description })
}

/// An enumeration of strings.
pub(super) fn one_of(words: &[&str]) -> Value {
    json!({ "type": "string", "enum": words })
}

/// A node reference, as every tool accepts it.
pub(super) fn node() -> Value {
    text("alias or path")
}

/// The levels of the project's trees.
pub(super) fn entity_type(profiles: &[Profile]) -> Value {
    let levels: Vec<&str> = super::story_profiles(profiles)
        .flat_map(|profile| &profile.levels)
        .map(|level| level.name.as_str())
        .collect();
    // The levels as an enumeration: models guess level names otherwise.
    json!({ "type": "string", "enum": levels })
}

/// `entity_type` and `entity_id` of the story tools, and more properties.
pub(super) fn entity(profiles: &[Profile], more: Vec<Property>) -> Value {
    let mut properties = vec![
        ("entity_type", entity_type(profiles), true),
        ("entity_id", node(), true),
    ];
    properties.extend(more);
    object(properties)
}
