//! What a call cost: one entry per attempt, and money only where it is known.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::error::Class;
use crate::model::{Answer, Identity};
use crate::outcome::{Stop, Usage};
use crate::provider::Price;
use crate::request::Request;

/// One attempt at one request. Plain data; who keeps it adds its own key and time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LedgerEntry {
    pub purpose: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    pub provider: String,
    pub model: String,
    /// Counts from 1 within one request; asking again for a better shape starts at 1 again.
    pub attempt: u32,
    pub usage: Usage,
    pub cost: Cost,
    pub latency_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// What went wrong, when it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Class>,
    /// SHA-256 of what was sent: the same question asked twice is seen, its text is not kept.
    pub prompt_sha256: String,
    /// The answer came from a recording and cost nothing now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
}

/// Money, in millionths of a US dollar. Unknown is unknown, not zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "basis", content = "micros", rename_all = "snake_case")]
pub enum Cost {
    /// The provider said so.
    Reported(u64),
    /// Tokens times the price in the provider's data.
    Computed(u64),
    #[default]
    Unknown,
}

impl Cost {
    #[must_use]
    pub fn micros(self) -> Option<u64> {
        match self {
            Self::Reported(micros) | Self::Computed(micros) => Some(micros),
            Self::Unknown => None,
        }
    }

    /// Returns tokens times price, where all that counts is known.
    ///
    /// Tokens read from or written to a cache are priced as such; without a price of their own they cost what input does.
    #[must_use]
    pub fn of(usage: &Usage, price: Option<&Price>) -> Self {
        let (Some(price), Some(input), Some(output)) = (price, usage.input, usage.output) else {
            return Self::Unknown;
        };
        let (read, write) = (
            usage.cache_read.unwrap_or(0),
            usage.cache_write.unwrap_or(0),
        );
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

/// Files one attempt, in the answer itself: what happened and what it cost travel together.
pub(crate) fn filed(
    request: &Request,
    identity: &Identity,
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
        attempt: 1,
        usage,
        cost: if reported == Cost::Unknown {
            Cost::of(&usage, identity.model.price.as_ref())
        } else {
            reported
        },
        latency_ms: u64::try_from(latency.as_millis()).unwrap_or(u64::MAX),
        stop: answer.as_ref().ok().map(|outcome| outcome.stop),
        error: answer.as_ref().err().map(|error| error.class),
        prompt_sha256: prompt_sha256(request),
        replayed: false,
    };
    match &mut answer {
        Ok(outcome) => outcome.ledger = vec![entry],
        Err(error) => error.ledger = vec![entry],
    }
    answer
}

fn prompt_sha256(request: &Request) -> String {
    let mut hasher = Sha256::new();
    // A byte no text holds keeps `ab` + `c` apart from `a` + `bc`.
    for part in
        std::iter::once(&request.system).chain(request.messages.iter().map(|message| &message.text))
    {
        hasher.update(part.as_bytes());
        hasher.update([0xff]);
    }
    hex(&hasher.finalize())
}

pub(crate) fn hex(bytes: &[u8]) -> String {
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
        let usage = Usage {
            input: Some(1_000),
            output: Some(100),
            cache_read: Some(600),
            cache_write: Some(200),
            reasoning: Some(40),
        };
        assert_eq!(
            Cost::of(&usage, Some(&price())),
            Cost::Computed(200 * 3 + 100 * 15 + 180 + 750)
        );
    }

    #[test]
    fn what_is_not_known_is_not_zero() {
        let usage = Usage {
            input: Some(10),
            output: Some(10),
            ..Usage::default()
        };
        assert_eq!(Cost::of(&usage, None), Cost::Unknown);
        assert_eq!(
            Cost::of(
                &Usage {
                    output: None,
                    ..usage
                },
                Some(&price())
            ),
            Cost::Unknown
        );
        assert_eq!(Cost::Unknown.micros(), None);
        let free = Price {
            input: 0.0,
            output: 0.0,
            cache_read: None,
            cache_write: None,
        };
        assert_eq!(Cost::of(&usage, Some(&free)), Cost::Computed(0));
    }

    #[test]
    fn the_ledger_reads_as_it_was_written() {
        for cost in [Cost::Reported(5), Cost::Computed(0), Cost::Unknown] {
            let text = serde_json::to_string(&cost).unwrap();
            assert_eq!(serde_json::from_str::<Cost>(&text).unwrap(), cost, "{text}");
        }
    }
}
