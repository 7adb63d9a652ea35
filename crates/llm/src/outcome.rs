//! What came back.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ledger::LedgerEntry;

/// An answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub text: String,
    /// Read from the text and checked against the request's schema; only the `structured` layer fills it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json: Option<Value>,
    pub stop: Stop,
    pub usage: Usage,
    /// The model that answered, as the provider names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// What was mended or tried on the way, for people: `/limit: "3" read as 3`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Every attempt this answer took, failed ones too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ledger: Vec<LedgerEntry>,
}

/// Why the model stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stop {
    /// It was finished, or met a stop word.
    End,
    /// The room for the answer was used up: the text is cut.
    Length,
    /// The provider held something back.
    Filter,
    /// The provider did not say, or said a word unknown here.
    #[default]
    Unknown,
}

/// Tokens. `None` is "not said", which is not zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// All that went in, including what was read from and written to the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// All that came out, including reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// The part of `input` read from the cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<u64>,
    /// The part of `input` written to the cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u64>,
    /// The part of `output` that was reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
}

impl Usage {
    /// Returns what of `newer` is said, over this: providers tell usage in pieces.
    #[must_use]
    pub(crate) fn updated(self, newer: Self) -> Self {
        Self {
            input: newer.input.or(self.input),
            output: newer.output.or(self.output),
            cache_read: newer.cache_read.or(self.cache_read),
            cache_write: newer.cache_write.or(self.cache_write),
            reasoning: newer.reasoning.or(self.reasoning),
        }
    }

    /// Returns all tokens, when both sides are known.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        Some(self.input?.saturating_add(self.output?))
    }
}
