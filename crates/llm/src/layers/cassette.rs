//! Record and replay layer: answers are written to a file, or come from it.
//!
//! The key is everything that influences an answer: purpose, model, system, messages, schema and
//! limits. A change in any of them is a miss, and a miss shows the diff. A repeated request gets
//! the next recorded answer.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::clock::Clock;
use crate::error::{ErrorClass, LlmError, LlmResult};
use crate::ledger::encode_lower_hex;
use crate::model::{Answer, Call, CallEvent, Model, ModelIdentity};
use crate::outcome::Outcome;
use crate::recording::scrub::{Scrubber, normalize_for_comparison};
use crate::recording::{json_lines, request_diff};
use crate::request::Request;

/// Whether answers are recorded or replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CassetteMode {
    /// Call the model and append its answer. To start over, remove the file.
    Record,
    /// Never call the model; a miss is an error.
    Replay,
    /// Call the model only on a miss: an interrupted run is paid for once.
    ReplayOrRecord,
}

/// The layer.
pub struct Cassette<M> {
    inner: M,
    path: PathBuf,
    mode: CassetteMode,
    scrubber: Scrubber,
    clock: Arc<dyn Clock>,
    recorded: Mutex<RecordedAnswers>,
}

#[derive(Default)]
struct RecordedAnswers {
    questions: Vec<Value>,
    answers: HashMap<String, VecDeque<Answer>>,
}

/// One line of the file.
#[derive(Serialize, Deserialize)]
struct CassetteLine {
    key: String,
    recorded_at: String,
    provider: String,
    model: String,
    request: Request,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outcome: Option<Outcome>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<Box<LlmError>>,
}

impl<M: Model> Cassette<M> {
    /// Returns the layer over a file; a missing file counts as empty.
    ///
    /// # Errors
    /// When the file cannot be read or parsed.
    pub fn new(
        inner: M,
        path: &Path,
        mode: CassetteMode,
        scrubber: Scrubber,
        clock: Arc<dyn Clock>,
    ) -> LlmResult<Self> {
        let mut recorded = RecordedAnswers::default();
        // When recording, a damaged or foreign file must not keep the run from starting.
        if mode != CassetteMode::Record {
            for line in json_lines::read_json_lines::<CassetteLine>(path)? {
                let question = comparable_parts(&line.request, &line.model);
                let answer = match (line.outcome, line.error) {
                    (Some(outcome), _) => Ok(outcome),
                    (None, Some(error)) => Err(error),
                    // A line without a result has nothing to replay.
                    (None, None) => continue,
                };
                // The key is recomputed, not read from the file: this version decides what is part
                // of it, so old recordings stay usable.
                recorded
                    .answers
                    .entry(recording_key(&question))
                    .or_default()
                    .push_back(answer);
                recorded.questions.push(question);
            }
        }
        Ok(Self {
            inner,
            path: path.to_owned(),
            mode,
            scrubber,
            clock,
            recorded: Mutex::new(recorded),
        })
    }

    /// Takes the next recorded answer for a request.
    fn take_recorded_answer(&self, question: &Value) -> Option<Answer> {
        let mut recorded = self
            .recorded
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        recorded
            .answers
            .get_mut(&recording_key(question))
            .and_then(VecDeque::pop_front)
    }

    fn recording_miss_error(&self, question: &Value) -> Box<LlmError> {
        let recorded = self
            .recorded
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let path = self.path.display();
        let what = match request_diff::diff_to_nearest(question, recorded.questions.iter()) {
            None => format!("the recording `{path}` is empty"),
            // The same request is recorded, but all its answers are used up.
            Some(diff) if diff.is_empty() => {
                let times = recorded
                    .questions
                    .iter()
                    .filter(|known| *known == question)
                    .count();
                format!("this request is recorded {times} times in `{path}` and was made once more")
            }
            Some(diff) => {
                format!(
                    "this request is not recorded in `{path}`; the most similar differs:\n{diff}"
                )
            }
        };
        ErrorClass::NotRecorded.error(what)
    }

    fn record_answer(&self, request: &Request, question: &Value, answer: &Answer) -> LlmResult<()> {
        // These say nothing about the model's answer: the call never reached it, or was cancelled.
        if let Err(LlmError {
            class: ErrorClass::Cancelled | ErrorClass::BudgetExceeded | ErrorClass::Setup,
            ..
        }) = answer.as_ref().map_err(|error| &**error)
        {
            return Ok(());
        }
        let identity = self.model_identity();
        let line = CassetteLine {
            key: recording_key(question),
            // For people who read the file; it is not part of the key.
            recorded_at: jiff::Timestamp::try_from(self.clock.now())
                .map(|now| now.to_string())
                .unwrap_or_default(),
            provider: identity.provider.clone(),
            model: identity.model.id.clone(),
            request: request.clone(),
            outcome: answer.as_ref().ok().cloned(),
            error: answer.as_ref().err().cloned(),
        };
        let line = serde_json::to_value(line).expect("BUG: requests and answers are plain data");
        // Scrubbed as a whole, because a model may repeat a secret of the prompt in its answer.
        json_lines::append_json_line(&self.path, &self.scrubber.scrub_value(&line))
    }

    /// Returns the comparison form of a request, scrubbed like the recorded ones: a replay with
    /// another key still has to match.
    fn comparable_request(&self, request: &Request) -> Value {
        let scrubbed = self.scrubber.scrub_value(&json!(request));
        comparable_parts(
            &serde_json::from_value(scrubbed).unwrap_or_else(|_| request.clone()),
            &self.model_identity().model.id,
        )
    }
}

/// Returns the parts of a request that influence the answer, normalised for comparison.
fn comparable_parts(request: &Request, model: &str) -> Value {
    let mut question = json!(Request {
        // The account says who pays, not what is asked.
        account: None,
        ..request.clone()
    });
    question["model"] = json!(model);
    normalize_for_comparison(&question)
}

fn recording_key(question: &Value) -> String {
    encode_lower_hex(&Sha256::digest(question.to_string().as_bytes()))
}

impl<M: Model> Model for Cassette<M> {
    fn model_identity(&self) -> &ModelIdentity {
        self.inner.model_identity()
    }

    fn complete_request(&self, request: &Request, call: &Call<'_>) -> Answer {
        let question = self.comparable_request(request);
        if self.mode != CassetteMode::Record {
            // A replay is instant, so this is its only chance to notice a cancellation.
            if call.cancel.is_cancelled() {
                return Err(crate::Cancelled.into());
            }
            if let Some(answer) = self.take_recorded_answer(&question) {
                return replay_answer(answer, call);
            }
            if self.mode == CassetteMode::Replay {
                return Err(self.recording_miss_error(&question));
            }
        }
        let mut answer = self.inner.complete_request(request, call);
        if let Err(problem) = self.record_answer(request, &question, &answer) {
            // An answer that was paid for is not lost because the recording could not be written.
            match &mut answer {
                Ok(outcome) => outcome.notes.push(problem.what),
                Err(error) => error.next.push(problem.what),
            }
        }
        answer
    }
}

fn replay_answer(mut answer: Answer, call: &Call<'_>) -> Answer {
    let ledger = match &mut answer {
        Ok(outcome) => {
            // Listeners see the text in one piece; chunk boundaries are not recorded at this level.
            call.emit_event(&CallEvent::Text(outcome.text.clone()));
            &mut outcome.ledger
        }
        Err(error) => &mut error.ledger,
    };
    for entry in ledger {
        entry.replayed = true;
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::super::fakes::{
        EventCollector, FakeClock, ScriptedModel, answer_with, failed_answer,
    };
    use super::*;
    use crate::cancel::CancelToken;
    use crate::secret::Secret;

    struct Tape(tempfile::TempDir);

    impl Tape {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn path(&self) -> PathBuf {
            self.0.path().join("tape.jsonl")
        }

        fn layer(
            &self,
            mode: CassetteMode,
            answers: impl IntoIterator<Item = Answer>,
        ) -> Cassette<ScriptedModel> {
            let scrubber = Scrubber::new(vec![Secret::new("hunter2").unwrap()], |text| {
                text.replace("sk-ant-api03-abcdefghijklmnop", "[masked]")
            });
            let clock = Arc::new(FakeClock::default());
            Cassette::new(
                ScriptedModel::new(answers),
                &self.path(),
                mode,
                scrubber,
                clock,
            )
            .unwrap()
        }
    }

    fn ask(layer: &impl Model, prompt: &str) -> Answer {
        layer.complete_request(
            &Request::text_request("plan", "be brief", prompt, 10),
            &Call::without_listener(&CancelToken::new()),
        )
    }

    #[test]
    fn what_was_recorded_comes_back_in_order_and_costs_nothing() {
        let tape = Tape::new();
        let recorder = tape.layer(
            CassetteMode::Record,
            [
                answer_with("one"),
                answer_with("two"),
                failed_answer(ErrorClass::ContextTooLong),
            ],
        );
        let first = ask(&recorder, "hello").unwrap();
        ask(&recorder, "hello").unwrap();
        ask(&recorder, "other").unwrap_err();

        let player = tape.layer(CassetteMode::Replay, []);
        let watcher = EventCollector::default();
        let cancel = CancelToken::new();
        let call = Call {
            cancel: &cancel,
            watch: &watcher.event_listener(),
            interactive: true,
        };
        // The same request twice: the answers come in recording order, not the first one again.
        let again = player
            .complete_request(
                &Request::text_request("plan", "be brief", "hello", 10),
                &call,
            )
            .unwrap();
        assert_eq!(
            watcher.recorded_events(),
            [CallEvent::Text("one".to_owned())]
        );
        assert!(again.ledger.iter().all(|entry| entry.replayed));
        assert_eq!(
            Outcome {
                ledger: vec![],
                ..again
            },
            Outcome {
                ledger: vec![],
                ..first
            }
        );
        assert_eq!(ask(&player, "hello").unwrap().text, "two");
        assert_eq!(
            ask(&player, "other").unwrap_err().class,
            ErrorClass::ContextTooLong
        );
        let error = ask(&player, "hello").unwrap_err();
        assert!(
            error.what.starts_with("this request is recorded 2 times"),
            "{}",
            error.what
        );
    }

    #[test]
    fn no_secret_reaches_the_file_and_the_question_is_found_all_the_same() {
        let tape = Tape::new();
        let prompt = "the password is hunter2, the key sk-ant-api03-abcdefghijklmnop";
        ask(
            &tape.layer(CassetteMode::Record, [answer_with("your key is hunter2")]),
            prompt,
        )
        .unwrap();
        let text = std::fs::read_to_string(tape.path()).unwrap();
        assert!(
            !text.contains("hunter2") && !text.contains("api03"),
            "{text}"
        );
        assert_eq!(
            ask(&tape.layer(CassetteMode::Replay, []), prompt)
                .unwrap()
                .text,
            "your key is [secret]"
        );
    }

    #[test]
    fn a_miss_shows_what_changed() {
        let tape = Tape::new();
        let recorder = tape.layer(
            CassetteMode::Record,
            [answer_with("one"), answer_with("two")],
        );
        ask(&recorder, "Write about the sea.\nKeep it short.").unwrap();
        ask(&recorder, "Something else entirely").unwrap();
        let player = tape.layer(CassetteMode::Replay, []);
        let error = ask(&player, "Write about the sea.\nKeep it long.").unwrap_err();
        assert_eq!(error.class, ErrorClass::NotRecorded);
        assert!(error.what.contains("-Keep it short."), "{}", error.what);
        assert!(error.what.contains("+Keep it long."), "{}", error.what);
        assert!(!error.what.contains("Something else"), "{}", error.what);
    }

    #[test]
    fn everything_that_decides_the_answer_is_in_the_key_and_nothing_else() {
        let request = Request::text_request("plan", "be brief", "made 2026-01-02T03:04:05Z", 10);
        let base = recording_key(&comparable_parts(&request, "m"));
        let shaped = request.clone().with_schema("s", json!({"type": "object"}));
        for other in [
            Request {
                purpose: "write".to_owned(),
                ..request.clone()
            },
            Request {
                system: "be long".to_owned(),
                ..request.clone()
            },
            Request {
                max_output_tokens: 11,
                ..request.clone()
            },
            Request {
                temperature: Some(0.5),
                ..request.clone()
            },
            shaped.clone(),
        ] {
            assert_ne!(
                recording_key(&comparable_parts(&other, "m")),
                base,
                "{other:?}"
            );
        }
        assert_ne!(recording_key(&comparable_parts(&request, "n")), base);
        let same = Request::text_request("plan", "be brief", "made 2027-07-08T09:10:11Z", 10);
        assert_eq!(
            recording_key(&comparable_parts(
                &Request {
                    account: Some("node 7".to_owned()),
                    ..same
                },
                "m"
            )),
            base
        );
    }

    #[test]
    fn only_what_is_missing_is_asked() {
        let tape = Tape::new();
        ask(
            &tape.layer(CassetteMode::Record, [answer_with("one")]),
            "hello",
        )
        .unwrap();
        let layer = tape.layer(CassetteMode::ReplayOrRecord, [answer_with("new")]);
        assert_eq!(ask(&layer, "hello").unwrap().text, "one");
        assert_eq!(ask(&layer, "more").unwrap().text, "new");
        assert_eq!(layer.inner.recorded_requests().len(), 1);
        let player = tape.layer(CassetteMode::Replay, []);
        assert_eq!(ask(&player, "more").unwrap().text, "new");
    }

    #[test]
    fn a_tape_that_cannot_be_written_does_not_cost_the_answer() {
        let tape = Tape::new();
        // A directory at the file's path makes every append fail.
        std::fs::create_dir(tape.path()).unwrap();
        let layer = tape.layer(CassetteMode::Record, [answer_with("paid for")]);
        let outcome = ask(&layer, "hello").unwrap();
        assert_eq!(outcome.text, "paid for");
        assert!(
            outcome.notes.concat().contains("cannot be written"),
            "{:?}",
            outcome.notes
        );
    }
}
