//! Smoke test of a configured model: answers, streaming, structured output, token counts, price.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;
use serde_json::json;

use crate::error::LlmError;
use crate::model::{Call, Event, Model};
use crate::request::Request;

/// Result of one check.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trial {
    /// The check: `answers`, `streams`, `keeps to a shape`, `counts tokens`, `has a price`.
    pub name: &'static str,
    pub works: bool,
    /// What was observed.
    pub detail: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<String>,
}

impl Trial {
    fn new(name: &'static str, works: bool, detail: impl Into<String>) -> Self {
        Self {
            name,
            works,
            detail: detail.into(),
            next: Vec::new(),
        }
    }

    fn failed(name: &'static str, error: LlmError) -> Self {
        Self {
            name,
            works: false,
            detail: error.what,
            next: error.next,
        }
    }
}

/// Makes two small calls and reports the results. If the first fails, the second is not made.
pub fn check(model: &dyn Model, call: &Call<'_>) -> Vec<Trial> {
    let pieces = AtomicUsize::new(0);
    let watch = |event: &Event| {
        // More than one text event means that the answer was streamed.
        pieces.fetch_add(
            usize::from(matches!(event, Event::Text(_))),
            Ordering::Relaxed,
        );
        call.tell(event);
    };
    let listening = Call {
        watch: &watch,
        ..*call
    };
    // A generous limit for two sentences: reasoning models spend tokens before the first word.
    let words = Request::text(
        "check",
        "Answer in one short sentence.",
        "Say that you are ready, and count to five.",
        1_000,
    );
    let outcome = match model.complete(&words, &listening) {
        Ok(outcome) => outcome,
        Err(error) => return vec![Trial::failed("answers", *error)],
    };
    let said: String = outcome.text.trim().chars().take(80).collect();
    let who = outcome
        .model
        .as_deref()
        .unwrap_or(&model.identity().model.id);
    let mut trials = vec![Trial::new("answers", true, format!("`{who}` said: {said}"))];
    let pieces = pieces.into_inner();
    trials.push(Trial::new(
        "streams",
        pieces > 1,
        format!("the answer came in {pieces} pieces"),
    ));
    // Notes mean that the answer needed repairs or a second attempt: it works, but the user should
    // know.
    trials.push(match model.complete(&shape(), call) {
        Ok(outcome) if outcome.notes.is_empty() => {
            Trial::new("keeps to a shape", true, "at the first try")
        }
        Ok(outcome) => Trial::new("keeps to a shape", true, outcome.notes.join("; ")),
        Err(error) => Trial::failed("keeps to a shape", *error),
    });
    let counts = match (outcome.usage.input, outcome.usage.output) {
        (Some(input), Some(output)) => {
            Trial::new("counts tokens", true, format!("{input} in, {output} out"))
        }
        _ => Trial::new(
            "counts tokens",
            false,
            "the provider does not report them; token budgets cannot be enforced",
        ),
    };
    trials.push(counts);
    let cost = outcome
        .ledger
        .iter()
        .map(|entry| entry.cost.micros())
        // `None` if the cost of any attempt is unknown.
        .sum::<Option<u64>>();
    trials.push(match cost {
        Some(micros) => Trial::new(
            "has a price",
            true,
            format!("{micros} millionths of a dollar for the first call"),
        ),
        None => Trial::new(
            "has a price",
            false,
            "unknown; set `price` for the model to see and limit costs",
        ),
    });
    trials
}

fn shape() -> Request {
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
    Request::text("check", "You answer in JSON.", prompt, 1_000).shaped("check", schema)
}
