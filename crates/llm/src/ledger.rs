//! Cost ledger: one entry per attempt, with tokens, latency, and money where it is known.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::error::ErrorClass;
use crate::model::{Answer, ModelIdentity};
use crate::outcome::{StopReason, TokenUsage};
use crate::provider::Price;
use crate::request::Request;

/// One attempt at one request. Plain data; the caller that stores it adds key and time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LedgerEntry {
    pub purpose: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    pub provider: String,
    pub model: String,
    /// Counts from 1 within one request; a retry for a schema mismatch is a new request.
    pub attempt: u32,
    pub usage: TokenUsage,
    pub cost: Cost,
    pub latency_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<StopReason>,
    /// Class of the failure, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorClass>,
    /// SHA-256 of the prompt: shows repeated requests without storing their text.
    pub prompt_sha256: String,
    /// The answer came from a recording and cost nothing now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
}

/// Cost in micro-dollars. Unknown is not zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "basis", content = "micros", rename_all = "snake_case")]
pub enum Cost {
    /// Reported by the provider.
    Reported(u64),
    /// Tokens times the catalogue's price.
    Computed(u64),
    #[default]
    Unknown,
}

impl Cost {
    #[must_use]
    pub fn as_micros(self) -> Option<u64> {
        match self {
            Self::Reported(micros) | Self::Computed(micros) => Some(micros),
            Self::Unknown => None,
        }
    }

    /// Computes tokens times price; unknown unless price, input and output are known.
    ///
    /// Cached tokens have their own prices; without them they cost as much as other input.
    #[must_use]
    pub fn from_usage(usage: &TokenUsage, price: Option<&Price>) -> Self {
        let (Some(price), Some(input), Some(output)) = (price, usage.input, usage.output) else {
            return Self::Unknown;
        };
        let (read, write) = (
            usage.cache_read.unwrap_or(0),
            usage.cache_write.unwrap_or(0),
        );
        // `input` includes the cached tokens, which are priced separately below.
        let plain = input.saturating_sub(read).saturating_sub(write);
        let cost = |tokens: u64, per_million: f64| tokens as f64 * per_million;
        let micros = cost(plain, price.input)
            + cost(output, price.output)
            + cost(read, price.cache_read.unwrap_or(price.input))
            + cost(write, price.cache_write.unwrap_or(price.input));
        // Dollars per million tokens are micro-dollars per token.
        Self::Computed(micros.round() as u64)
    }
}

/// Attaches the ledger entry of one attempt to the answer, so that result and cost stay together.
pub(crate) fn attach_ledger_entry(
    request: &Request,
    identity: &ModelIdentity,
    latency: Duration,
    reported: Cost,
    mut answer: Answer,
) -> Answer {
    let usage = match &answer {
        Ok(outcome) => outcome.usage,
        Err(error) => error.usage,
    };
    let entry = LedgerEntry {
        purpose: request.purpose.clone(),
        account: request.account.clone(),
        provider: identity.provider.clone(),
        model: identity.model.id.clone(),
        // The retry layer numbers the attempts; down here each one is the first.
        attempt: 1,
        usage,
        // The provider's own number wins: it knows discounts and prices that the catalogue does
        // not.
        cost: if reported == Cost::Unknown {
            Cost::from_usage(&usage, identity.model.price.as_ref())
        } else {
            reported
        },
        latency_ms: u64::try_from(latency.as_millis()).unwrap_or(u64::MAX),
        stop: answer.as_ref().ok().map(|outcome| outcome.stop),
        error: answer.as_ref().err().map(|error| error.class),
        prompt_sha256: hash_request_prompt(request),
        replayed: false,
    };
    match &mut answer {
        Ok(outcome) => outcome.ledger = vec![entry],
        Err(error) => error.ledger = vec![entry],
    }
    answer
}

fn hash_request_prompt(request: &Request) -> String {
    let mut hasher = Sha256::new();
    // A separator that does not occur in UTF-8: `ab` + `c` must not hash like `a` + `bc`.
    for part in
        std::iter::once(&request.system).chain(request.messages.iter().map(|message| &message.text))
    {
        hasher.update(part.as_bytes());
        hasher.update([0xff]);
    }
    encode_lower_hex(&hasher.finalize())
}

pub(crate) fn encode_lower_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price() -> Price {
        Price {
            input: 3.0,
            output: 15.0,
            cache_read: Some(0.3),
            cache_write: Some(3.75),
        }
    }

    #[test]
    fn cached_tokens_have_their_own_price() {
        let usage = TokenUsage {
            input: Some(1_000),
            output: Some(100),
            cache_read: Some(600),
            cache_write: Some(200),
            reasoning: Some(40),
        };
        assert_eq!(
            Cost::from_usage(&usage, Some(&price())),
            Cost::Computed(200 * 3 + 100 * 15 + 180 + 750)
        );
    }

    #[test]
    fn what_is_not_known_is_not_zero() {
        let usage = TokenUsage {
            input: Some(10),
            output: Some(10),
            ..TokenUsage::default()
        };
        assert_eq!(Cost::from_usage(&usage, None), Cost::Unknown);
        assert_eq!(
            Cost::from_usage(
                &TokenUsage {
                    output: None,
                    ..usage
                },
                Some(&price())
            ),
            Cost::Unknown
        );
        assert_eq!(Cost::Unknown.as_micros(), None);
        let free = Price {
            input: 0.0,
            output: 0.0,
            cache_read: None,
            cache_write: None,
        };
        assert_eq!(Cost::from_usage(&usage, Some(&free)), Cost::Computed(0));
    }

    #[test]
    fn the_ledger_reads_as_it_was_written() {
        for cost in [Cost::Reported(5), Cost::Computed(0), Cost::Unknown] {
            let text = serde_json::to_string(&cost).unwrap();
            assert_eq!(serde_json::from_str::<Cost>(&text).unwrap(), cost, "{text}");
        }
    }
}
