//! Errors of model calls: a class that decides about retries, a message, and next steps.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::cancel::Cancelled;
use crate::ledger::LedgerEntry;
use crate::outcome::TokenUsage;

/// A failed call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LlmError {
    pub class: ErrorClass,
    /// What happened, in one line, with the provider's message if there is one.
    pub what: String,
    /// What to do next, most useful first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<String>,
    /// The wait the provider asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Duration>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The partial text received so far. For an error report; a retry never continues from it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    #[serde(default)]
    pub usage: TokenUsage,
    /// Every attempt made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ledger: Vec<LedgerEntry>,
}

/// Result of a model call. The error is boxed: it is large, and rare.
pub(crate) type LlmResult<T> = Result<T, Box<LlmError>>;

/// Classes of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// No API key, or one the provider rejects.
    Auth,
    /// The key is valid but lacks permission.
    Permission,
    /// The account has no credit or exceeds its quota.
    NoCredits,
    RateLimited,
    Overloaded,
    /// The provider failed.
    Server,
    /// Connecting failed, or the connection was lost before any answer.
    Network,
    Timeout(TimeoutPhase),
    /// The prompt exceeds the model's context window.
    ContextTooLong,
    /// The answer exceeds the output limit.
    OutputTruncated,
    /// The provider's content filter refused.
    ContentFilter,
    /// The provider rejected the request as invalid.
    BadRequest,
    /// No endpoint at this URL, or no such model.
    EndpointNotFound,
    /// The stream ended before the answer did.
    StreamEndedEarly,
    /// The provider returned something that cannot be parsed.
    Malformed,
    /// The answer does not match the schema, even after retries.
    Shape,
    /// The call could exceed the budget.
    BudgetExceeded,
    Cancelled,
    /// The recording has no answer for this request.
    NotRecorded,
    /// The provider, its data or its program is misconfigured.
    Setup,
}

/// Which timeout expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeoutPhase {
    Connect,
    FirstByte,
    Idle,
    Total,
}

/// Retry policy of a class of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryPolicy {
    /// A retry changes nothing.
    Never,
    /// Wait as long as the provider asks; by default long enough for per-minute limits.
    Throttle,
    /// A transient failure: exponential backoff.
    Backoff,
}

impl ErrorClass {
    /// Creates an error of this class, with its next steps.
    pub(crate) fn error(self, what: impl Into<String>) -> Box<LlmError> {
        LlmError::new(self, what)
    }

    /// Returns the class's retry policy. Every class is listed, so that a new one cannot be
    /// forgotten.
    #[must_use]
    pub fn retry_policy(self) -> RetryPolicy {
        match self {
            // Overload is treated like a rate limit: quick retries would add to it.
            Self::RateLimited | Self::Overloaded => RetryPolicy::Throttle,
            Self::Server | Self::Network | Self::StreamEndedEarly | Self::Malformed => {
                RetryPolicy::Backoff
            }
            // A stalled stream is usually one bad connection or one overloaded machine.
            Self::Timeout(TimeoutPhase::Connect | TimeoutPhase::FirstByte | TimeoutPhase::Idle) => {
                RetryPolicy::Backoff
            }
            // The total limit is the user's own: a retry would take as long again.
            Self::Timeout(TimeoutPhase::Total)
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
            | Self::Setup => RetryPolicy::Never,
        }
    }

    /// Whether the model answered and the answer is what failed. Asking differently may help then.
    /// Every other class is about the provider, the account or the request: no other answer can fix it.
    #[must_use]
    pub fn is_about_answer(self) -> bool {
        match self {
            Self::OutputTruncated | Self::ContentFilter | Self::Shape => true,
            Self::Auth
            | Self::Permission
            | Self::NoCredits
            | Self::RateLimited
            | Self::Overloaded
            | Self::Server
            | Self::Network
            | Self::Timeout(_)
            | Self::ContextTooLong
            | Self::BadRequest
            | Self::EndpointNotFound
            | Self::StreamEndedEarly
            | Self::Malformed
            | Self::BudgetExceeded
            | Self::Cancelled
            | Self::NotRecorded
            | Self::Setup => false,
        }
    }

    /// Returns the next steps common to all failures of the class.
    fn next_steps(self) -> &'static [&'static str] {
        match self {
            Self::Auth => &["set the provider's key variable, or name a key file"],
            Self::Permission => &["ask for access to this model, or choose another one"],
            Self::NoCredits => &["add credit at the provider, or choose another provider"],
            Self::RateLimited => {
                &["wait, or lower `limits.concurrent` and `limits.per_minute` of the provider"]
            }
            Self::Overloaded | Self::Server => &["try again later, or choose another model"],
            Self::Network => &["check the base URL, the network and the proxy"],
            Self::Timeout(TimeoutPhase::Connect) => {
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
            Self::BudgetExceeded => &["ask for less: a shorter text, or a smaller context"],
            // The user knows what to do about their own cancellation.
            Self::Cancelled => &[],
            Self::NotRecorded => &["record again, or undo the change the difference shows"],
            // Setup errors get the step that fits where they are reported.
            Self::Setup => &[],
        }
    }
}

impl LlmError {
    /// Creates an error with the next steps of its class.
    #[must_use]
    pub fn new(class: ErrorClass, what: impl Into<String>) -> Box<Self> {
        Box::new(Self {
            class,
            what: what.into(),
            next: class
                .next_steps()
                .iter()
                .map(|&step| step.to_owned())
                .collect(),
            retry_after: None,
            status: None,
            request_id: None,
            text: String::new(),
            usage: TokenUsage::default(),
            ledger: Vec::new(),
        })
    }

    /// Inserts a next step before the others.
    #[must_use]
    pub fn with_first_step(mut self: Box<Self>, step: impl Into<String>) -> Box<Self> {
        self.next.insert(0, step.into());
        self
    }
}

impl From<Cancelled> for Box<LlmError> {
    fn from(_: Cancelled) -> Self {
        LlmError::new(ErrorClass::Cancelled, "the call was cancelled")
    }
}

impl fmt::Display for LlmError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.what)
    }
}

impl std::error::Error for LlmError {}
