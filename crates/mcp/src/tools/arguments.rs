//! Parsing of tool arguments; errors name what is allowed.

use application::Failure;
use domain::expected_version::{ExpectedVersion, ExpectedVersions, InvalidExpectedVersion};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::SeedArguments;

/// Parses arguments. Unknown and missing ones are refused with serde's list of the expected ones.
pub(super) fn read<T: DeserializeOwned>(arguments: &Value) -> Result<T, Failure> {
    // Some clients send no arguments, or `null`, for a tool without required ones.
    let nothing = json!({});
    let given = if arguments.is_null() {
        &nothing
    } else {
        arguments
    };
    // By reference: arguments may hold whole plans.
    T::deserialize(given).map_err(|error| {
        let message = domain::suggest::with_suggestion(&error.to_string());
        Failure::invalid(format!("invalid arguments: {message}"))
            .with_step("call the tool again with the arguments its schema names")
    })
}

/// No arguments. Parsed all the same: an unknown argument is an error for every tool alike.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

/// A node only.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NodeOnly {
    /// alias or path
    pub(super) node: String,
}

impl NodeOnly {
    pub(super) fn words(&self) -> Vec<String> {
        node_words(&self.node)
    }
}

/// Returns the reference words of a node: a path, an alias, or level and number as people write
/// them.
pub(crate) fn node_words(node: &str) -> Vec<String> {
    node.split_whitespace().map(str::to_owned).collect()
}

/// Returns the reference words for a use case: a path is unambiguous, an alias needs its level.
pub(crate) fn words(entity_type: &str, entity_id: &str) -> Vec<String> {
    if entity_id.contains('/') {
        vec![entity_id.to_owned()]
    } else {
        vec![entity_type.to_owned(), entity_id.to_owned()]
    }
}

/// Translates arguments of the earlier interface.
pub(super) fn from_seed(shape: SeedArguments, mut arguments: Value) -> Result<Value, Failure> {
    let Some(fields) = arguments.as_object_mut() else {
        return Ok(arguments);
    };
    let mut take = |name: &str| match fields.remove(name) {
        Some(Value::String(text)) => Some(text),
        // Put back: parsing refuses it by name, instead of dropping what the client sent.
        Some(other) => {
            fields.insert(name.to_owned(), other);
            None
        }
        None => None,
    };
    let (name, node) = match shape {
        SeedArguments::Same | SeedArguments::Only => return Ok(arguments),
        SeedArguments::Entity => {
            let (level, id) = (take("entity_type"), take("entity_id"));
            let missing = |name: &str| {
                Failure::invalid(format!("invalid arguments: missing field `{name}`"))
                    .with_step("call the tool again with the arguments its schema names")
            };
            let level = level.ok_or_else(|| missing("entity_type"))?;
            let id = id.ok_or_else(|| missing("entity_id"))?;
            ("node", Some(words(&level, &id).join(" ")))
        }
        SeedArguments::Act => ("node", take("act_id")),
        SeedArguments::Scene => ("scene", take("scene_id")),
    };
    if let Some(node) = node {
        fields.insert(name.to_owned(), Value::String(node));
    }
    Ok(arguments)
}

/// A result whose members are those of another type that has no schema.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct AnyObject(Value);

impl AnyObject {
    /// Returns an object outcome.
    pub(super) fn new(outcome: &impl Serialize) -> Result<Self, Failure> {
        value(outcome).map(Self)
    }

    /// Returns a list as a member of an object, because structured results must not be arrays.
    pub(super) fn list(name: &str, items: &impl Serialize) -> Result<Self, Failure> {
        Ok(Self(json!({ name: value(items)? })))
    }
}

impl JsonSchema for AnyObject {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "AnyObject".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "object", "properties": {} })
    }
}

/// Serialises an outcome.
pub(super) fn value(outcome: &impl serde::Serialize) -> Result<Value, Failure> {
    serde_json::to_value(outcome)
        .map_err(|error| Failure::internal(format!("cannot serialise the result: {error}")))
}

/// Parses the version a caller has seen; a decision about another one is refused.
pub(super) fn shown_version(hash: &str) -> Result<ExpectedVersion, Failure> {
    hash.parse().map_err(|error: InvalidExpectedVersion| {
        Failure::invalid(error.to_string()).with_step("plan_read says its version_hash")
    })
}

/// Returns the version a decision is bound to, if the caller names one.
pub(super) fn shown(hash: Option<&str>) -> Result<Option<ExpectedVersions>, Failure> {
    hash.map(|hash| {
        Ok(ExpectedVersions {
            version: shown_version(hash)?,
            parent: None,
        })
    })
    .transpose()
}
