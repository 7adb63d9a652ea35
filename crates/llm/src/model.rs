//! The [`Model`] trait: one request in, one answer out, with progress events and cancellation.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::cancel::CancelToken;
use crate::error::{ErrorClass, LlmResult};
use crate::outcome::Outcome;
use crate::provider::ModelSpec;
use crate::request::Request;

/// Result of a call. The error is boxed, because it carries the raw answer and the ledger.
pub type Answer = LlmResult<Outcome>;

/// A model, or a layer around one.
pub trait Model: Send + Sync {
    /// Returns which model answers.
    fn model_identity(&self) -> &ModelIdentity;

    /// Answers one request.
    ///
    /// Blocks until the answer is complete. Returns [`Class::Cancelled`] soon after `call.cancel`
    /// is cancelled, and leaves no connection and no process behind.
    ///
    /// # Errors
    /// A [`crate::LlmError`]; its class decides whether a retry makes sense.
    fn complete_request(&self, request: &Request, call: &Call<'_>) -> Answer;
}

/// The model that answers, and what the catalogue knows about it.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelIdentity {
    pub provider: String,
    pub model: ModelSpec,
}

/// Context of one call: cancellation and progress events.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    pub cancel: &'a CancelToken,
    pub watch: &'a (dyn Fn(&CallEvent) + Sync),
    /// Whether a person reads the text as it arrives. Then a stream that broke after its first text
    /// is not retried: the restart would contradict what was already read.
    pub interactive: bool,
}

/// Progress event of a running call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallEvent {
    /// A piece of the answer's text.
    Text(String),
    /// Data arrived, if only a keep-alive; resets the idle timeout.
    Alive,
    /// The text so far is discarded; the answer starts again.
    Restarted,
    /// Waiting before the next attempt.
    Retrying {
        attempt: u32,
        of: u32,
        wait: Duration,
        class: ErrorClass,
        why: String,
    },
    /// Repeating the request, because the answer does not match the schema.
    AskingAgain { attempt: u32, of: u32, why: String },
}

impl<'a> Call<'a> {
    /// Returns a call without an event listener.
    #[must_use]
    pub fn without_listener(cancel: &'a CancelToken) -> Self {
        Self {
            cancel,
            watch: &|_| (),
            interactive: false,
        }
    }

    pub(crate) fn emit_event(&self, event: &CallEvent) {
        (self.watch)(event);
    }
}

// Lets `connect_model` stack layers whose inner model is chosen at run time.
impl<M: Model + ?Sized> Model for Box<M> {
    fn model_identity(&self) -> &ModelIdentity {
        (**self).model_identity()
    }

    fn complete_request(&self, request: &Request, call: &Call<'_>) -> Answer {
        (**self).complete_request(request, call)
    }
}
