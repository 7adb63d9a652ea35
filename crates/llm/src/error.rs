//! What went wrong: a class that decides what may be tried again, and words that say what to do.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::cancel::Cancelled;
use crate::ledger::LedgerEntry;
use crate::outcome::Usage;

/// A call that gave no answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LlmError {
    pub class: Class,
    /// What happened, one line, with the provider's own words where it has some.
    pub what: String,
    /// What to do next, most useful first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<String>,
    /// How long the provider asked to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Duration>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// What the model had said by then, as it came. For an error file, never for a retry to go on from.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    #[serde(default)]
    pub usage: Usage,
    /// Every attempt that was made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ledger: Vec<LedgerEntry>,
}

/// The kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// No key, or one the provider does not accept.
    Auth,
    /// The key is known but may not do this.
    Permission,
    /// The account is empty or over its own limit.
    NoCredits,
    RateLimited,
    Overloaded,
    /// The provider failed.
    Server,
    /// The connection could not be made or broke before any answer.
    Network,
    Timeout(Phase),
    /// The prompt does not fit the model.
    ContextTooLong,
    /// The answer did not fit the room it was given.
    OutputTruncated,
    /// The provider refused to say it.
    ContentFilter,
    /// The provider did not understand the request.
    BadRequest,
    /// There is nothing at this address, or no such model.
    EndpointNotFound,
    /// The stream ended before the answer did.
    StreamEndedEarly,
    /// The provider answered something that is no answer.
    Malformed,
    /// The answer does not have the wanted shape, also after asking again.
    Shape,
    /// The call could cost more than is left.
    BudgetExceeded,
    Cancelled,
    /// The recording has no answer to this question.
    NotRecorded,
    /// The provider, its data or its program is not set up.
    Setup,
}

/// Which wait was too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Connect,
    FirstByte,
    Idle,
    Total,
}

/// What may be done about a class of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Trying again changes nothing.
    Never,
    /// Wait as long as the provider asks; without a word from it, long enough for limits that count minutes.
    Throttle,
    /// A passing fault: wait a little, then a little longer.
    Backoff,
}

impl Class {
    /// Returns what the `retry` layer does. Every class is listed: a retryable one without a policy is the commonest bug
    /// of this kind of program.
    #[must_use]
    pub fn policy(self) -> Policy {
        match self {
            Self::RateLimited | Self::Overloaded => Policy::Throttle,
            Self::Server | Self::Network | Self::StreamEndedEarly | Self::Malformed => {
                Policy::Backoff
            }
            Self::Timeout(Phase::Connect | Phase::FirstByte | Phase::Idle) => Policy::Backoff,
            Self::Timeout(Phase::Total)
            | Self::Auth
            | Self::Permission
            | Self::NoCredits
            | Self::ContextTooLong
            | Self::OutputTruncated
            | Self::ContentFilter
            | Self::BadRequest
            | Self::EndpointNotFound
            | Self::Shape
            | Self::BudgetExceeded
            | Self::Cancelled
            | Self::NotRecorded
            | Self::Setup => Policy::Never,
        }
    }

    /// Returns next steps that hold for every failure of the class.
    fn next(self) -> &'static [&'static str] {
        match self {
            Self::Auth => &["set the provider's key variable, or name a key file"],
            Self::Permission => &["ask for access to this model, or choose another one"],
            Self::NoCredits => &["add credit at the provider, or choose another provider"],
            Self::RateLimited => {
                &["wait, or lower `limits.concurrent` and `limits.per_minute` of the provider"]
            }
            Self::Overloaded | Self::Server => &["try again later, or choose another model"],
            Self::Network => &["check the base URL, the network and the proxy"],
            Self::Timeout(Phase::Connect) => {
                &["check that the server runs and the base URL is right"]
            }
            Self::Timeout(_) => &["raise the provider's `timeouts`, or choose a faster model"],
            Self::ContextTooLong => &["send less context, or choose a model with a larger one"],
            Self::OutputTruncated => &["ask for less, or raise the limit of the answer"],
            Self::ContentFilter => &["change the prompt, or choose another model"],
            Self::BadRequest => &["check the model's name and the provider's `patch`"],
            Self::EndpointNotFound => {
                &["check the base URL, which is used as given, and the model's name"]
            }
            Self::StreamEndedEarly | Self::Malformed => {
                &["try again; if it stays, try `stream = false` for this provider"]
            }
            Self::Shape => {
                &["look at the raw answer, or choose a model that follows schemas better"]
            }
            Self::BudgetExceeded => &["raise the budget, or ask for less"],
            Self::Cancelled => &[],
            Self::NotRecorded => &["record again, or undo the change the difference shows"],
            Self::Setup => &[],
        }
    }
}

impl LlmError {
    /// Returns an error with the next steps of its class.
    #[must_use]
    pub fn new(class: Class, what: impl Into<String>) -> Box<Self> {
        Box::new(Self {
            class,
            what: what.into(),
            next: class.next().iter().map(|&step| step.to_owned()).collect(),
            retry_after: None,
            status: None,
            request_id: None,
            text: String::new(),
            usage: Usage::default(),
            ledger: Vec::new(),
        })
    }

    /// Puts a next step before the others.
    #[must_use]
    pub fn first(mut self: Box<Self>, step: impl Into<String>) -> Box<Self> {
        self.next.insert(0, step.into());
        self
    }
}

impl From<Cancelled> for Box<LlmError> {
    fn from(_: Cancelled) -> Self {
        LlmError::new(Class::Cancelled, "the call was cancelled")
    }
}

impl fmt::Display for LlmError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.what)
    }
}

impl std::error::Error for LlmError {}
