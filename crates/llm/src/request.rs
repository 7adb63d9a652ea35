//! What is asked of a model.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One question. Everything in it decides the answer, so everything in it is part of a recording's key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// What the answer is for, in the caller's words (`plan`, `write` …). Filed in the ledger; not sent.
    pub purpose: String,
    /// Whose account it goes on, in the caller's words. Filed in the ledger; neither sent nor part of a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    pub system: String,
    pub messages: Vec<Message>,
    /// The shape of the answer. Without it the answer is text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Schema>,
    /// Always given: some providers charge for the room, and a model without a limit may never stop.
    pub max_output_tokens: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// The system text comes again in later calls: where a provider must be told, let it keep it.
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

/// A JSON Schema (draft 2020-12) with the name providers want for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    /// Letters, digits, `_` and `-`.
    pub name: String,
    pub schema: Value,
    /// How it reaches the model. The `structured` layer goes down this ladder when a provider refuses a rung.
    #[serde(default)]
    pub mode: SchemaMode,
}

/// The rungs from most to least help by the provider. The answer is checked here in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SchemaMode {
    /// The provider's own field for schemas.
    #[default]
    Native,
    /// One tool with the schema as its arguments, which the model must call.
    Tool,
    /// Nothing but words in the prompt.
    Prompt,
}

impl Request {
    /// Returns a request for text.
    #[must_use]
    pub fn text(purpose: &str, system: &str, prompt: &str, max_output_tokens: u32) -> Self {
        Self {
            purpose: purpose.to_owned(),
            account: None,
            system: system.to_owned(),
            messages: vec![Message::user(prompt)],
            schema: None,
            max_output_tokens,
            temperature: None,
            seed: None,
            stop: Vec::new(),
            reuse_system: false,
        }
    }

    /// Returns the same request for an answer of a shape.
    #[must_use]
    pub fn shaped(mut self, name: &str, schema: Value) -> Self {
        self.schema = Some(Schema {
            name: name.to_owned(),
            schema,
            mode: SchemaMode::Native,
        });
        self
    }

    /// Returns about how many tokens go in. Three bytes a token is more than English needs and less than some
    /// scripts do; it is for budgets that refuse, not for bills.
    #[must_use]
    pub fn estimated_input_tokens(&self) -> u64 {
        let schema = self
            .schema
            .as_ref()
            .map_or(0, |schema| schema.schema.to_string().len());
        let bytes = self.system.len()
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
    pub fn user(text: &str) -> Self {
        Self {
            role: Role::User,
            text: text.to_owned(),
        }
    }

    #[must_use]
    pub fn assistant(text: &str) -> Self {
        Self {
            role: Role::Assistant,
            text: text.to_owned(),
        }
    }
}
