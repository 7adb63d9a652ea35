//! The one trait: a question in, an answer out, with a way to watch and a way to stop.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::cancel::Cancel;
use crate::error::{Class, LlmError};
use crate::outcome::Outcome;
use crate::provider::ModelSpec;
use crate::request::Request;

/// What a call gives. The error is boxed: it carries the raw answer and the ledger of what was spent.
pub type Answer = Result<Outcome, Box<LlmError>>;

/// A model, or a layer around one.
pub trait Model: Send + Sync {
    fn identity(&self) -> &Identity;

    /// Answers one request, or says why not and what to do next.
    ///
    /// Blocks until the answer is complete. Returns soon after `call.cancel` is thrown, with [`Class::Cancelled`], and
    /// leaves no connection and no process behind.
    ///
    /// # Errors
    /// A [`LlmError`] of the class that decides what may be tried again.
    fn complete(&self, request: &Request, call: &Call<'_>) -> Answer;
}

/// Which model answers, and what is known about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    pub provider: String,
    pub model: ModelSpec,
}

/// One call: how to stop it, and who watches.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    pub cancel: &'a Cancel,
    pub watch: &'a (dyn Fn(&Event) + Sync),
    /// Whether a person reads the text as it comes. Then a stream that broke after its first words is not started again
    /// behind their back.
    pub interactive: bool,
}

/// What happens while a call runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A piece of the answer's text.
    Text(String),
    /// Something arrived, be it only a sign of life.
    Alive,
    /// The text so far is void; the answer starts again.
    Restarted,
    /// Waiting before the next attempt.
    Retrying {
        attempt: u32,
        of: u32,
        wait: Duration,
        class: Class,
        why: String,
    },
    /// Asking again because the answer did not have the wanted shape.
    AskingAgain { attempt: u32, of: u32, why: String },
}

impl<'a> Call<'a> {
    /// Returns a call that nobody watches.
    #[must_use]
    pub fn unwatched(cancel: &'a Cancel) -> Self {
        Self {
            cancel,
            watch: &|_| (),
            interactive: false,
        }
    }

    pub(crate) fn tell(&self, event: &Event) {
        (self.watch)(event);
    }
}

impl<M: Model + ?Sized> Model for Box<M> {
    fn identity(&self) -> &Identity {
        (**self).identity()
    }

    fn complete(&self, request: &Request, call: &Call<'_>) -> Answer {
        (**self).complete(request, call)
    }
}
