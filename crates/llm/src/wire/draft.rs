//! Accumulator for a streamed answer.

use crate::error::{ErrorClass, LlmResult};
use crate::ledger::Cost;
use crate::outcome::{Outcome, StopReason, TokenUsage};

/// The answer so far. Dialects append to it; the model emits what is new as events.
#[derive(Debug, Default)]
pub(crate) struct AnswerDraft {
    pub(crate) text: String,
    /// Arguments of the forced tool call.
    pub(crate) arguments: String,
    pub(crate) refusal: String,
    pub(crate) stop: Option<StopReason>,
    pub(crate) usage: TokenUsage,
    pub(crate) cost: Cost,
    pub(crate) model: Option<String>,
    pub(crate) id: Option<String>,
    /// The provider marked the end of the stream.
    pub(crate) closed: bool,
    shown: usize,
}

impl AnswerDraft {
    /// Notes the provider's names of the answer and the model; the first ones count.
    pub(crate) fn note_identity(&mut self, id: Option<&str>, model: Option<&str>) {
        self.id = self.id.take().or_else(|| id.map(str::to_owned));
        self.model = self.model.take().or_else(|| model.map(str::to_owned));
    }

    /// Returns the answer so far: with a forced tool the arguments are it, and text beside them is
    /// chatter.
    pub(crate) fn answer_text(&self) -> &str {
        if self.arguments.is_empty() {
            &self.text
        } else {
            &self.arguments
        }
    }

    /// Returns what was added since the last call.
    pub(crate) fn take_new_text(&mut self) -> Option<&str> {
        let answer = if self.arguments.is_empty() {
            &self.text
        } else {
            &self.arguments
        };
        // The switch from text to arguments can make the answer shorter than what was shown.
        let from = std::mem::replace(&mut self.shown, answer.len()).min(answer.len());
        answer.get(from..).filter(|news| !news.is_empty())
    }

    /// Returns the complete answer, or the error if it is incomplete, refused (even after a part of it) or empty.
    pub(crate) fn finish_answer(&mut self) -> LlmResult<Outcome> {
        // Without a stop reason or an end marker the connection just ended: HTTP alone does not
        // show that a stream was cut off.
        let Some(stop) = self.stop.or(self.closed.then_some(StopReason::Unknown)) else {
            return Err(ErrorClass::StreamEndedEarly
                .error("the connection was closed in the middle of the answer"));
        };
        // Also with text: what came before is the beginning of an answer that nobody finished, and as a
        // scene it would look complete. `with_partial_answer` keeps it for the report.
        if !self.refusal.is_empty() || stop == StopReason::Filter {
            let why = match self.refusal.trim() {
                "" => "it gave no reason",
                said => said,
            };
            return Err(
                ErrorClass::ContentFilter.error(format!("the model refused to answer: {why}"))
            );
        }
        let text = self.answer_text().to_owned();
        // An empty truncated answer goes to the caller, which may raise the limit: reasoning can use up
        // all output tokens.
        if text.trim().is_empty() && stop != StopReason::Length {
            return Err(ErrorClass::Malformed.error("the model returned an empty answer"));
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
