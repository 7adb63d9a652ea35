//! Smoke test of a configured model: answers, streaming, structured output, token counts, price.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;
use serde_json::json;

use crate::error::LlmError;
use crate::model::{Call, CallEvent, Model};
use crate::request::Request;

/// Result of one check.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelCheck {
    /// The check: `answers`, `streams`, `keeps to a shape`, `counts tokens`, `has a price`.
    pub name: &'static str,
    pub works: bool,
    /// What was observed.
    pub detail: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<String>,
}

impl ModelCheck {
    fn new(name: &'static str, works: bool, detail: impl Into<String>) -> Self {
        Self {
            name,
            works,
            detail: detail.into(),
            next: Vec::new(),
        }
    }

    fn from_error(name: &'static str, error: LlmError) -> Self {
        Self {
            name,
            works: false,
            detail: error.what,
            next: error.next,
        }
    }
}

/// Makes two small calls and reports the results. If the first fails, the second is not made.
pub fn check_model(model: &dyn Model, call: &Call<'_>) -> Vec<ModelCheck> {
    let pieces = AtomicUsize::new(0);
    let watch = |event: &CallEvent| {
        // More than one text event means that the answer was streamed.
        pieces.fetch_add(
            usize::from(matches!(event, CallEvent::Text(_))),
            Ordering::Relaxed,
        );
        call.emit_event(event);
    };
    let listening = Call {
        watch: &watch,
        ..*call
    };
    // A generous limit for two sentences: reasoning models spend tokens before the first word.
    let words = Request::text_request(
        "check",
        "Answer in one short sentence.",
        "Say that you are ready, and count to five.",
        1_000,
    );
    let outcome = match model.complete_request(&words, &listening) {
        Ok(outcome) => outcome,
        Err(error) => return vec![ModelCheck::from_error("answers", *error)],
    };
    let said: String = outcome.text.trim().chars().take(80).collect();
    let who = outcome
        .model
        .as_deref()
        .unwrap_or(&model.model_identity().model.id);
    let mut trials = vec![ModelCheck::new(
        "answers",
        true,
        format!("`{who}` said: {said}"),
    )];
    let pieces = pieces.into_inner();
    trials.push(ModelCheck::new(
        "streams",
        pieces > 1,
        format!("the answer came in {pieces} pieces"),
    ));
    // Notes mean that the answer needed repairs or a second attempt: it works, but the user should
    // know.
    trials.push(match model.complete_request(&structured_request(), call) {
        Ok(outcome) if outcome.notes.is_empty() => {
            ModelCheck::new("keeps to a shape", true, "at the first try")
        }
        Ok(outcome) => ModelCheck::new("keeps to a shape", true, outcome.notes.join("; ")),
        Err(error) => ModelCheck::from_error("keeps to a shape", *error),
    });
    let counts = match (outcome.usage.input, outcome.usage.output) {
        (Some(input), Some(output)) => {
            ModelCheck::new("counts tokens", true, format!("{input} in, {output} out"))
        }
        _ => ModelCheck::new(
            "counts tokens",
            false,
            "the provider does not report them; token budgets cannot be enforced",
        ),
    };
    trials.push(counts);
    let cost = outcome
        .ledger
        .iter()
        .map(|entry| entry.cost.as_micros())
        // `None` if the cost of any attempt is unknown.
        .sum::<Option<u64>>();
    trials.push(match cost {
        Some(micros) => ModelCheck::new(
            "has a price",
            true,
            format!("{micros} millionths of a dollar for the first call"),
        ),
        None => ModelCheck::new(
            "has a price",
            false,
            "unknown; set `price` for the model to see and limit costs",
        ),
    });
    trials
}

fn structured_request() -> Request {
    let schema = json!({
        "type": "object",
        "required": ["ready", "numbers"],
        "additionalProperties": false,
        "properties": {
            "ready": {"type": "boolean"},
            "numbers": {"type": "array", "minItems": 1, "maxItems": 5, "items": {"type": "integer"}},
        }
    });
    let prompt = "Fill in the JSON object: `ready` is true, `numbers` are the numbers from 1 to 3.";
    Request::text_request("check", "You answer in JSON.", prompt, 1_000)
        .with_schema("check", schema)
}
