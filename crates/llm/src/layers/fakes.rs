//! Test doubles for single layers: a scripted model and a fake clock.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use crate::cancel::{CancelToken, Cancelled};
use crate::clock::Clock;
use crate::error::{ErrorClass, LlmError};
use crate::ledger::{Cost, attach_ledger_entry};
use crate::model::{Answer, Call, CallEvent, Model, ModelIdentity};
use crate::outcome::{Outcome, StopReason, TokenUsage};
use crate::provider::{ModelSpec, Price};
use crate::request::Request;

/// Returns prepared answers in order and records the requests.
pub(crate) struct ScriptedModel {
    identity: ModelIdentity,
    answers: Mutex<VecDeque<Answer>>,
    pub(crate) asked: Mutex<Vec<Request>>,
}

impl ScriptedModel {
    pub(crate) fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        let price = Some(Price {
            input: 1.0,
            output: 10.0,
            cache_read: None,
            cache_write: None,
        });
        let model = ModelSpec {
            id: "fake-1".to_owned(),
            max_output: Some(4_000),
            price,
            ..ModelSpec::default()
        };
        Self {
            identity: ModelIdentity {
                provider: "fake".to_owned(),
                model,
            },
            answers: Mutex::new(answers.into_iter().collect()),
            asked: Mutex::default(),
        }
    }

    pub(crate) fn without_price(mut self) -> Self {
        self.identity.model.price = None;
        self
    }

    pub(crate) fn recorded_requests(&self) -> Vec<Request> {
        self.asked.lock().unwrap().clone()
    }
}

impl Model for ScriptedModel {
    fn model_identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn complete_request(&self, request: &Request, call: &Call<'_>) -> Answer {
        self.asked.lock().unwrap().push(request.clone());
        let answer = self
            .answers
            .lock()
            .unwrap()
            .pop_front()
            // A test that makes more calls than planned fails here, not with a misleading answer.
            .expect("the script has no more answers");
        let text = match &answer {
            Ok(outcome) => &outcome.text,
            Err(error) => &error.text,
        };
        // Partial text of a failed call is emitted too, as a broken stream would do.
        if !text.is_empty() {
            call.emit_event(&CallEvent::Text(text.clone()));
        }
        attach_ledger_entry(
            request,
            &self.identity,
            // Any fixed latency; no test depends on real time.
            Duration::from_millis(5),
            Cost::Unknown,
            answer,
        )
    }
}

/// Returns an answer with 100 input and 10 output tokens.
pub(crate) fn answer_with(text: &str) -> Answer {
    let usage = TokenUsage {
        input: Some(100),
        output: Some(10),
        ..TokenUsage::default()
    };
    Ok(Outcome {
        text: text.to_owned(),
        stop: StopReason::End,
        usage,
        ..Outcome::default()
    })
}

/// Returns a truncated answer.
pub(crate) fn truncated_answer(text: &str) -> Answer {
    answer_with(text).map(|outcome| Outcome {
        stop: StopReason::Length,
        ..outcome
    })
}

pub(crate) fn failed_answer(class: ErrorClass) -> Answer {
    Err(LlmError::new(class, format!("it failed: {class:?}")))
}

/// A clock that advances only by waiting.
#[derive(Default)]
pub(crate) struct FakeClock {
    pub(crate) waits: Mutex<Vec<Duration>>,
}

impl FakeClock {
    pub(crate) fn recorded_waits(&self) -> Vec<Duration> {
        self.waits.lock().unwrap().clone()
    }
}

impl Clock for FakeClock {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + self.waits.lock().unwrap().iter().sum::<Duration>()
    }

    fn wait_for(&self, duration: Duration, cancel: &CancelToken) -> Result<(), Cancelled> {
        if cancel.is_cancelled() {
            return Err(Cancelled);
        }
        self.waits.lock().unwrap().push(duration);
        Ok(())
    }
}

/// Collects the events of a call.
#[derive(Default)]
pub(crate) struct EventCollector(pub(crate) Mutex<Vec<CallEvent>>);

impl EventCollector {
    pub(crate) fn event_listener(&self) -> impl Fn(&CallEvent) + Sync {
        |event| self.0.lock().unwrap().push(event.clone())
    }

    pub(crate) fn recorded_events(&self) -> Vec<CallEvent> {
        self.0.lock().unwrap().clone()
    }
}
