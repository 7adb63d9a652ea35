//! An answer while it arrives.

use crate::error::{Class, LlmError};
use crate::ledger::Cost;
use crate::outcome::{Outcome, Stop, Usage};

/// What has been said so far. Dialects write it, the transport shows what is new in it.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) text: String,
    /// The arguments of the forced tool.
    pub(crate) arguments: String,
    pub(crate) refusal: String,
    pub(crate) stop: Option<Stop>,
    pub(crate) usage: Usage,
    pub(crate) cost: Cost,
    pub(crate) model: Option<String>,
    pub(crate) id: Option<String>,
    /// The provider said that nothing follows.
    pub(crate) closed: bool,
    shown: usize,
}

impl Draft {
    /// Returns what was added since the last time.
    pub(crate) fn news(&mut self) -> Option<&str> {
        let answer = if self.arguments.is_empty() {
            &self.text
        } else {
            &self.arguments
        };
        let from = std::mem::replace(&mut self.shown, answer.len()).min(answer.len());
        answer.get(from..).filter(|news| !news.is_empty())
    }

    /// Returns the finished answer, or why it is none.
    pub(crate) fn finished(&mut self) -> Result<Outcome, Box<LlmError>> {
        let Some(stop) = self.stop.or(self.closed.then_some(Stop::Unknown)) else {
            return Err(LlmError::new(
                Class::StreamEndedEarly,
                "the connection was closed in the middle of the answer",
            ));
        };
        let text = if self.arguments.is_empty() {
            self.text.clone()
        } else {
            self.arguments.clone()
        };
        if text.trim().is_empty() {
            if !self.refusal.is_empty() || stop == Stop::Filter {
                let why = if self.refusal.is_empty() {
                    "it gave no reason"
                } else {
                    &self.refusal
                };
                return Err(LlmError::new(
                    Class::ContentFilter,
                    format!("the model refused to answer: {why}"),
                ));
            }
            // Cut before the first word is for the caller to judge: thinking may have used up the room.
            if stop != Stop::Length {
                return Err(LlmError::new(
                    Class::Malformed,
                    "the model ended its answer without a word",
                ));
            }
        }
        Ok(Outcome {
            text,
            json: None,
            stop,
            usage: self.usage,
            model: self.model.take(),
            request_id: self.id.clone(),
            notes: Vec::new(),
            ledger: Vec::new(),
        })
    }
}
