//! Structured output layer: parses and validates the answer, asks again if it does not match the
//! schema, and raises the output limit if it was truncated.
//!
//! The schema is sent in one of three ways, tried in order: the provider's own field, a forced tool
//! call, the prompt. If a provider rejects one, the next is used; if it ignores one, validation
//! shows it.

use crate::error::{ErrorClass, LlmError, LlmResult};
use crate::ledger::LedgerEntry;
use crate::model::{Answer, Call, CallEvent, Model, ModelIdentity};
use crate::outcome::{Outcome, StopReason};
use crate::request::{Message, Request, Role, Schema, SchemaMode};
use crate::structured::{AnswerReading, CheckedValue, SchemaFinding, Validator, read_answer};

/// Limits of the layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructuredSettings {
    /// How often an invalid answer is sent back.
    pub asks_again: u32,
    /// How often the output limit is doubled for a truncated answer.
    pub raises: u32,
}

impl Default for StructuredSettings {
    fn default() -> Self {
        Self {
            asks_again: 2,
            raises: 2,
        }
    }
}

/// The layer. Requests without a schema pass through.
pub struct Structured<M> {
    inner: M,
    settings: StructuredSettings,
}

/// Maximum length of an invalid answer that is sent back to the model, in characters.
const MAX_RETURNED_CHARS: usize = 12_000;
/// Maximum number of findings sent back at once.
const MAX_RETURNED_FINDINGS: usize = 10;

impl<M: Model> Structured<M> {
    pub fn new(inner: M, settings: StructuredSettings) -> Self {
        Self { inner, settings }
    }
}

impl<M: Model> Model for Structured<M> {
    fn model_identity(&self) -> &ModelIdentity {
        self.inner.model_identity()
    }

    fn complete_request(&self, request: &Request, call: &Call<'_>) -> Answer {
        let Some(schema) = &request.schema else {
            return self.inner.complete_request(request, call);
        };
        // Compiled before the first call: an invalid schema must not cost anything.
        let validator = Validator::new(&schema.schema)?;
        let mut asking = StructuredAttempt::new(self, request, schema);
        loop {
            let mut outcome = match self.inner.complete_request(&asking.next_request(), call) {
                Ok(outcome) => outcome,
                Err(error) if asking.fall_back_to_next_mode(&error) => {
                    // A rejected mode may have been billed.
                    asking.ledger.extend(error.ledger);
                    continue;
                }
                Err(error) => return Err(asking.with_full_ledger(error)),
            };
            asking.ledger.append(&mut outcome.ledger);
            let again = match read_answer(&outcome.text, &validator) {
                AnswerReading::Good(checked) => return Ok(asking.into_outcome(outcome, checked)),
                _ if outcome.stop == StopReason::Filter => {
                    let what = "the provider's content filter withheld the answer";
                    return Err(asking.with_full_ledger(error_about_answer(
                        &outcome,
                        ErrorClass::ContentFilter,
                        what.to_owned(),
                    )));
                }
                // Truncation is checked before the findings: a cut-off value is not wrong, only
                // incomplete, and criticising it would make the model change what was right. A model
                // that says it finished was not cut off, whatever its brackets look like: a higher
                // limit would only raise the bill.
                reading
                    if outcome.stop == StopReason::Length
                        || (reading == AnswerReading::Truncated && asking.may_be_cut(&outcome)) =>
                {
                    asking.raise_output_limit(&outcome)
                }
                reading => asking.ask_for_correction(&outcome, &reading),
            };
            let event = again.map_err(|error| asking.with_full_ledger(error))?;
            // Listeners have shown text of the rejected answer.
            call.emit_event(&CallEvent::Restarted);
            call.emit_event(&event);
        }
    }
}

/// State of one request across its attempts.
struct StructuredAttempt<'a> {
    original: &'a Request,
    schema: &'a Schema,
    settings: &'a StructuredSettings,
    mode: SchemaMode,
    room: u32,
    max_room: u32,
    /// The last invalid answer and its findings, as messages.
    objection: Vec<Message>,
    asked_again: u32,
    raised: u32,
    notes: Vec<String>,
    ledger: Vec<LedgerEntry>,
}

impl<'a> StructuredAttempt<'a> {
    fn new<M: Model>(layer: &'a Structured<M>, original: &'a Request, schema: &'a Schema) -> Self {
        let model = &layer.model_identity().model;
        Self {
            original,
            schema,
            settings: &layer.settings,
            // The weaker of the two: a mode the model does not support is not tried first.
            mode: schema.mode.max(model.structured.unwrap_or_default()),
            room: original.max_output_tokens,
            // Beyond the model's own limit providers reject the request.
            max_room: model.max_output.unwrap_or(u32::MAX),
            objection: Vec::new(),
            asked_again: 0,
            raised: 0,
            notes: Vec::new(),
            ledger: Vec::new(),
        }
    }

    fn next_request(&self) -> Request {
        let mut request = self.original.clone();
        request.schema = Some(Schema {
            mode: self.mode,
            ..self.schema.clone()
        });
        request.max_output_tokens = self.room;
        if self.mode == SchemaMode::Prompt {
            let words = schema_instruction(self.schema);
            match request
                .messages
                .iter_mut()
                .rev()
                .find(|message| message.role == Role::User)
            {
                // At the end of the last user message, close to where the answer starts.
                Some(message) => message.text.push_str(&words),
                None => request
                    .messages
                    .push(Message::from_user(words.trim_start())),
            }
        }
        request.messages.extend(self.objection.iter().cloned());
        request
    }

    /// Switches to the next mode if the provider rejected this one; returns whether it did.
    fn fall_back_to_next_mode(&mut self, error: &LlmError) -> bool {
        let next = match self.mode {
            SchemaMode::Native => SchemaMode::Tool,
            SchemaMode::Tool => SchemaMode::Prompt,
            SchemaMode::Prompt => return false,
        };
        // Providers have no common code for an unsupported field, so the message decides. Any other
        // bad request would fail in the next mode too.
        let what = error.what.to_lowercase();
        let refused = [
            "schema",
            "response_format",
            "responseformat",
            "output_config",
            "text.format",
            "tool",
            "function",
        ];
        if error.class != ErrorClass::BadRequest || !refused.iter().any(|word| what.contains(word))
        {
            return false;
        }
        self.notes.push(format!(
            "the provider refused the schema as {:?}, next {next:?}: {}",
            self.mode, error.what
        ));
        self.mode = next;
        true
    }

    /// Whether an answer that is not closed may have been cut: the provider gave no reason, or reports as
    /// many tokens as it was allowed. Some servers say `stop` for both.
    fn may_be_cut(&self, outcome: &Outcome) -> bool {
        let is_full = |tokens| tokens >= u64::from(self.room);
        outcome.stop == StopReason::Unknown || outcome.usage.output.is_some_and(is_full)
    }

    fn raise_output_limit(&mut self, outcome: &Outcome) -> LlmResult<CallEvent> {
        let room = self.room.saturating_mul(2).min(self.max_room);
        // The second condition: the limit is already the model's maximum.
        if self.raised >= self.settings.raises || room <= self.room {
            let what = format!("the answer did not fit into {} tokens", self.room);
            return Err(error_about_answer(
                outcome,
                ErrorClass::OutputTruncated,
                what,
            ));
        }
        self.raised += 1;
        let why = format!(
            "the answer was truncated at {} tokens; retrying with a limit of {room}",
            self.room
        );
        self.room = room;
        self.notes.push(why.clone());
        Ok(CallEvent::AskingAgain {
            attempt: self.raised,
            of: self.settings.raises,
            why,
        })
    }

    fn ask_for_correction(
        &mut self,
        outcome: &Outcome,
        reading: &AnswerReading,
    ) -> LlmResult<CallEvent> {
        let problems = match reading {
            AnswerReading::Wrong { findings } => findings
                .iter()
                .take(MAX_RETURNED_FINDINGS)
                .map(SchemaFinding::to_string)
                .collect(),
            AnswerReading::Truncated => {
                vec!["the JSON is not closed: a bracket or a quote is missing".to_owned()]
            }
            AnswerReading::Nothing | AnswerReading::Good(_) => {
                vec!["there is no JSON in the answer".to_owned()]
            }
        };
        let why = problems.join("; ");
        if self.asked_again >= self.settings.asks_again {
            let asked = self.asked_again + 1;
            let what = format!("the answer does not match the schema, asked {asked} times: {why}");
            return Err(error_about_answer(outcome, ErrorClass::Shape, what));
        }
        self.asked_again += 1;
        // Only the last invalid answer is sent back: models imitate mistakes in their context.
        self.objection.clear();
        // Some providers reject empty assistant messages.
        if !outcome.text.trim().is_empty() {
            // Cut off, because a runaway answer would fill the context of the next attempt.
            let shown: String = outcome.text.chars().take(MAX_RETURNED_CHARS).collect();
            self.objection.push(Message::from_assistant(&shown));
        }
        let mut text = "Your answer was not accepted:\n".to_owned();
        for problem in &problems {
            text.push_str(&format!("- {problem}\n"));
        }
        text.push_str("Answer again, with the whole corrected JSON and nothing else.");
        // The model ignored the schema; perhaps the provider never passed it on.
        if self.mode != SchemaMode::Prompt {
            text.push_str(&schema_instruction(self.schema));
        }
        self.objection.push(Message::from_user(&text));
        self.notes.push(format!("asked again: {why}"));
        Ok(CallEvent::AskingAgain {
            attempt: self.asked_again,
            of: self.settings.asks_again,
            why,
        })
    }

    fn into_outcome(self, outcome: Outcome, checked: CheckedValue) -> Outcome {
        let mut notes = self.notes;
        notes.extend(outcome.notes);
        notes.extend(checked.notes);
        Outcome {
            json: Some(checked.value),
            notes,
            ledger: self.ledger,
            ..outcome
        }
    }

    fn with_full_ledger(&mut self, mut error: Box<LlmError>) -> Box<LlmError> {
        let mut ledger = std::mem::take(&mut self.ledger);
        ledger.append(&mut error.ledger);
        error.ledger = ledger;
        error
    }
}

/// Returns the instruction that puts the schema into the prompt.
fn schema_instruction(schema: &Schema) -> String {
    format!(
        "\n\nAnswer with one JSON value and nothing else, no code fence. It must satisfy this JSON Schema:\n{}",
        schema.schema
    )
}

/// Returns an error with the model's text and usage.
fn error_about_answer(outcome: &Outcome, class: ErrorClass, what: String) -> Box<LlmError> {
    let mut error = LlmError::new(class, what);
    error.text.clone_from(&outcome.text);
    error.usage = outcome.usage;
    error.request_id.clone_from(&outcome.request_id);
    error
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::fakes::{EventCollector, ScriptedModel, answer_with, truncated_answer};
    use super::*;
    use crate::cancel::CancelToken;

    fn request() -> Request {
        let schema = json!({
            "type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}, "additionalProperties": false
        });
        Request::text_request("t", "", "give me n", 1_000).with_schema("answer", schema)
    }

    fn ask(answers: impl IntoIterator<Item = Answer>) -> (Answer, Vec<Request>, Vec<CallEvent>) {
        let layer = Structured::new(ScriptedModel::new(answers), StructuredSettings::default());
        let (watcher, cancel) = (EventCollector::default(), CancelToken::new());
        let call = Call {
            cancel: &cancel,
            watch: &watcher.event_listener(),
            interactive: false,
        };
        let answer = layer.complete_request(&request(), &call);
        let events = watcher
            .recorded_events()
            .into_iter()
            .filter(|event| !matches!(event, CallEvent::Text(_)))
            .collect();
        (answer, layer.inner.recorded_requests(), events)
    }

    fn refused(what: &str) -> Answer {
        Err(ErrorClass::BadRequest.error(what))
    }

    #[test]
    fn a_right_answer_is_taken_at_once() {
        let (answer, requests, events) = ask([answer_with(r#"{"n": 3}"#)]);
        let outcome = answer.unwrap();
        assert_eq!(outcome.json, Some(json!({"n": 3})));
        assert_eq!(
            (requests.len(), events.len(), outcome.ledger.len()),
            (1, 0, 1)
        );
    }

    #[test]
    fn a_wrong_answer_goes_back_with_what_is_wrong() {
        let (answer, requests, events) =
            ask([answer_with(r#"{"n": "three"}"#), answer_with(r#"{"n": 3}"#)]);
        let outcome = answer.unwrap();
        assert_eq!(outcome.json, Some(json!({"n": 3})));
        assert_eq!(outcome.ledger.len(), 2);
        let messages = &requests.get(1).unwrap().messages;
        assert_eq!(messages.len(), 3);
        assert_eq!(
            messages.get(1).unwrap(),
            &Message::from_assistant(r#"{"n": "three"}"#)
        );
        let objection = &messages.get(2).unwrap().text;
        assert!(
            objection.contains("- /n: \"three\" is not of type \"integer\""),
            "{objection}"
        );
        assert!(objection.contains("JSON Schema"), "{objection}");
        assert!(matches!(
            events.as_slice(),
            [
                CallEvent::Restarted,
                CallEvent::AskingAgain {
                    attempt: 1,
                    of: 2,
                    ..
                }
            ]
        ));
    }

    #[test]
    fn patience_ends_and_keeps_the_raw_answer() {
        let (answer, requests, _) = ask([
            answer_with("no"),
            answer_with("{\"m\": 1}"),
            answer_with("never"),
        ]);
        let error = answer.unwrap_err();
        assert_eq!(
            (error.class, requests.len(), error.ledger.len()),
            (ErrorClass::Shape, 3, 3)
        );
        assert_eq!(error.text, "never");
        assert!(
            error
                .what
                .ends_with("asked 3 times: there is no JSON in the answer"),
            "{}",
            error.what
        );
        // Only the latest wrong answer is shown.
        assert_eq!(requests.get(2).unwrap().messages.len(), 3);
    }

    #[test]
    fn a_cut_answer_gets_more_room_and_no_reproach() {
        let (answer, requests, _) = ask([
            truncated_answer(r#"{"n": "#),
            truncated_answer(r#"{"n": "#),
            answer_with(r#"{"n": 3}"#),
        ]);
        answer.unwrap();
        let rooms: Vec<_> = requests
            .iter()
            .map(|request| (request.max_output_tokens, request.messages.len()))
            .collect();
        assert_eq!(rooms, [(1_000, 1), (2_000, 1), (4_000, 1)]);

        // The model writes 4,000 tokens at most.
        let (answer, requests, _) = ask([
            truncated_answer("{\"n"),
            truncated_answer("{\"n"),
            truncated_answer("{\"n"),
        ]);
        let error = answer.unwrap_err();
        assert_eq!(
            (error.class, requests.len()),
            (ErrorClass::OutputTruncated, 3)
        );
        assert_eq!(error.what, "the answer did not fit into 4000 tokens");
    }

    /// Defect: "the answer was cut at 4000 tokens; asking again with room for 8000", for 300 characters.
    #[test]
    fn a_finished_answer_with_an_open_bracket_is_corrected_not_given_more_room() {
        let (answer, requests, events) =
            ask([answer_with(r#"{"n": "#), answer_with(r#"{"n": 3}"#)]);
        answer.unwrap();
        let rooms: Vec<_> = requests
            .iter()
            .map(|request| request.max_output_tokens)
            .collect();
        assert_eq!(rooms, [1_000, 1_000]);
        let Some(CallEvent::AskingAgain { why, .. }) = events.last() else {
            panic!("nothing was asked again: {events:?}");
        };
        assert!(why.contains("not closed"), "{why}");
    }

    #[test]
    fn a_whole_value_in_a_cut_answer_is_whole() {
        let (answer, ..) = ask([truncated_answer("{\"n\": 3}\nI hope this")]);
        assert_eq!(answer.unwrap().json, Some(json!({"n": 3})));
    }

    #[test]
    fn the_ladder_goes_down_where_the_provider_refuses() {
        let answers = [
            refused("unknown field `response_format`"),
            refused("tools are not supported by this model"),
            answer_with(r#"{"n": 3}"#),
        ];
        let (answer, requests, _) = ask(answers);
        assert_eq!(answer.unwrap().notes.len(), 2);
        let modes: Vec<_> = requests
            .iter()
            .map(|request| request.schema.as_ref().unwrap().mode)
            .collect();
        assert_eq!(
            modes,
            [SchemaMode::Native, SchemaMode::Tool, SchemaMode::Prompt]
        );
        let last = &requests.last().unwrap().messages;
        assert!(
            last.first()
                .unwrap()
                .text
                .starts_with("give me n\n\nAnswer with one JSON value")
        );

        let (answer, requests, _) = ask([refused("`temperature` must be 1")]);
        assert_eq!(
            (answer.unwrap_err().class, requests.len()),
            (ErrorClass::BadRequest, 1)
        );
    }

    #[test]
    fn what_the_provider_holds_back_is_not_asked_for_again() {
        let filtered = answer_with("").map(|outcome| Outcome {
            stop: StopReason::Filter,
            ..outcome
        });
        let (answer, requests, _) = ask([filtered]);
        assert_eq!(
            (answer.unwrap_err().class, requests.len()),
            (ErrorClass::ContentFilter, 1)
        );
    }

    #[test]
    fn text_passes_through() {
        let layer = Structured::new(
            ScriptedModel::new([answer_with("plain {")]),
            StructuredSettings::default(),
        );
        let outcome = layer
            .complete_request(
                &Request::text_request("t", "", "x", 9),
                &Call::without_listener(&CancelToken::new()),
            )
            .unwrap();
        assert_eq!((outcome.text.as_str(), outcome.json), ("plain {", None));
    }
}
