//! The answer of a model: text, stop reason, token usage, ledger.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ledger::LedgerEntry;

/// A complete answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub text: String,
    /// The text parsed and validated against the request's schema; set by the `structured` layer
    /// only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json: Option<Value>,
    pub stop: StopReason,
    pub usage: TokenUsage,
    /// The model that answered, as the provider names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// Repairs and retries on the way, for people: `/limit: "3" read as 3`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Every attempt this answer took, including failed ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ledger: Vec<LedgerEntry>,
}

/// Why the model stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StopReason {
    /// It finished, or met a stop sequence.
    End,
    /// The output limit was reached: the text is truncated.
    Length,
    /// The provider's content filter withheld something.
    Filter,
    /// The provider gave no reason, or an unknown one.
    #[default]
    Unknown,
}

/// Token counts. `None` means "not reported", which is not zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenUsage {
    /// All input tokens, including those read from and written to the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// All output tokens, including reasoning.
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

impl TokenUsage {
    /// Merges `newer` over these counts: providers report usage in several events.
    #[must_use]
    pub(crate) fn merged_with(self, newer: Self) -> Self {
        Self {
            // Replaced, not added: each event reports running totals.
            input: newer.input.or(self.input),
            output: newer.output.or(self.output),
            cache_read: newer.cache_read.or(self.cache_read),
            cache_write: newer.cache_write.or(self.cache_write),
            reasoning: newer.reasoning.or(self.reasoning),
        }
    }

    /// Returns the total, if input and output are known.
    #[must_use]
    pub fn total_tokens(&self) -> Option<u64> {
        Some(self.input?.saturating_add(self.output?))
    }
}
