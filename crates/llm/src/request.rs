//! The request to a model: messages, schema, limits.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One request. Everything that influences the answer is part of a recording's key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Purpose of the answer, chosen by the caller (`plan`, `write` …). For the ledger; not sent.
    pub purpose: String,
    /// Account to charge, chosen by the caller. For the ledger; neither sent nor part of a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    pub system: String,
    pub messages: Vec<Message>,
    /// Schema of the answer. Without it the answer is text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Schema>,
    /// Required: some providers bill against the limit, and a model without one may never stop.
    pub max_output_tokens: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// The system text is reused by later calls: request prompt caching where it is not automatic.
    #[serde(default)]
    pub reuse_system: bool,
}

/// One turn of the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub role: Role,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    User,
    Assistant,
}

/// A JSON Schema (draft 2020-12) with the name that providers require.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    /// Letters, digits, `_` and `-`.
    pub name: String,
    pub schema: Value,
    /// How it is sent. The `structured` layer falls back to the next mode if a provider rejects
    /// one.
    #[serde(default)]
    pub mode: SchemaMode,
}

/// Ways to send a schema, from most to least support by the provider. The answer is validated here
/// in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SchemaMode {
    /// The provider's own field for schemas (structured output).
    #[default]
    Native,
    /// A forced tool call with the schema as its parameters.
    Tool,
    /// Only in the prompt's text.
    Prompt,
}

impl Request {
    /// Returns a request for text.
    #[must_use]
    pub fn text_request(purpose: &str, system: &str, prompt: &str, max_output_tokens: u32) -> Self {
        Self {
            purpose: purpose.to_owned(),
            account: None,
            system: system.to_owned(),
            messages: vec![Message::from_user(prompt)],
            schema: None,
            max_output_tokens,
            temperature: None,
            seed: None,
            stop: Vec::new(),
            reuse_system: false,
        }
    }

    /// Returns this request with a schema for the answer.
    #[must_use]
    pub fn with_schema(mut self, name: &str, schema: Value) -> Self {
        self.schema = Some(Schema {
            name: name.to_owned(),
            schema,
            mode: SchemaMode::Native,
        });
        self
    }

    /// Estimates the input tokens at three bytes per token: pessimistic for English, optimistic for
    /// some scripts. For budget checks, not for billing.
    #[must_use]
    pub fn estimated_input_tokens(&self) -> u64 {
        let schema = self
            .schema
            .as_ref()
            .map_or(0, |schema| schema.schema.to_string().len());
        let bytes = self.system.len()
            // The schema is sent with every request and counts as input.
            + schema
            + self
                .messages
                .iter()
                .map(|message| message.text.len())
                .sum::<usize>();
        (bytes as u64).div_ceil(3)
    }
}

impl Message {
    #[must_use]
    pub fn from_user(text: &str) -> Self {
        Self {
            role: Role::User,
            text: text.to_owned(),
        }
    }

    #[must_use]
    pub fn from_assistant(text: &str) -> Self {
        Self {
            role: Role::Assistant,
            text: text.to_owned(),
        }
    }
}
