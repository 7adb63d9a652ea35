//! Parsing of tool arguments; errors name what is allowed.

use application::Failure;
use domain::expected_version::{ExpectedVersion, ExpectedVersions, InvalidExpectedVersion};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::schema::LEVELS;

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

/// A node of a story tool only.
// Tools with more arguments repeat the two: `serde(flatten)` would accept unknown fields.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EntityOnly {
    entity_type: Level,
    /// alias or path
    entity_id: String,
}

impl EntityOnly {
    pub(super) fn words(&self) -> Vec<String> {
        self.entity_type.words(&self.entity_id)
    }
}

/// Name of a level of the project's story profiles.
#[derive(Deserialize, JsonSchema)]
#[schemars(extend("enum" = LEVELS))]
pub(super) struct Level(String);

impl Level {
    /// Returns the reference words of a node of this level.
    pub(super) fn words(&self, entity_id: &str) -> Vec<String> {
        words(&self.0, entity_id)
    }
}

/// Returns the reference words for a use case: a path is unambiguous, an alias needs its level.
pub(crate) fn words(entity_type: &str, entity_id: &str) -> Vec<String> {
    if entity_id.contains('/') {
        vec![entity_id.to_owned()]
    } else {
        vec![entity_type.to_owned(), entity_id.to_owned()]
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
        Failure::invalid(error.to_string()).with_step("get_entity_state   # says its version_hash")
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
