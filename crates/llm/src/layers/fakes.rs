//! Test doubles for single layers: a scripted model and a fake clock.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use crate::cancel::{Cancel, Cancelled};
use crate::clock::Clock;
use crate::error::{Class, LlmError};
use crate::ledger::{Cost, filed};
use crate::model::{Answer, Call, Event, Identity, Model};
use crate::outcome::{Outcome, Stop, Usage};
use crate::provider::{ModelSpec, Price};
use crate::request::Request;

/// Returns prepared answers in order and records the requests.
pub(crate) struct Scripted {
    identity: Identity,
    answers: Mutex<VecDeque<Answer>>,
    pub(crate) asked: Mutex<Vec<Request>>,
}

impl Scripted {
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
            identity: Identity {
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

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.asked.lock().unwrap().clone()
    }
}

impl Model for Scripted {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn complete(&self, request: &Request, call: &Call<'_>) -> Answer {
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
            call.tell(&Event::Text(text.clone()));
        }
        filed(
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
pub(crate) fn says(text: &str) -> Answer {
    let usage = Usage {
        input: Some(100),
        output: Some(10),
        ..Usage::default()
    };
    Ok(Outcome {
        text: text.to_owned(),
        stop: Stop::End,
        usage,
        ..Outcome::default()
    })
}

/// Returns a truncated answer.
pub(crate) fn cut(text: &str) -> Answer {
    says(text).map(|outcome| Outcome {
        stop: Stop::Length,
        ..outcome
    })
}

pub(crate) fn fails(class: Class) -> Answer {
    Err(LlmError::new(class, format!("it failed: {class:?}")))
}

/// A clock that advances only by waiting.
#[derive(Default)]
pub(crate) struct FakeClock {
    pub(crate) waits: Mutex<Vec<Duration>>,
}

impl FakeClock {
    pub(crate) fn waited(&self) -> Vec<Duration> {
        self.waits.lock().unwrap().clone()
    }
}

impl Clock for FakeClock {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + self.waits.lock().unwrap().iter().sum::<Duration>()
    }

    fn wait(&self, duration: Duration, cancel: &Cancel) -> Result<(), Cancelled> {
        if cancel.is_cancelled() {
            return Err(Cancelled);
        }
        self.waits.lock().unwrap().push(duration);
        Ok(())
    }
}

/// Collects the events of a call.
#[derive(Default)]
pub(crate) struct Watcher(pub(crate) Mutex<Vec<Event>>);

impl Watcher {
    pub(crate) fn watch(&self) -> impl Fn(&Event) + Sync {
        |event| self.0.lock().unwrap().push(event.clone())
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        self.0.lock().unwrap().clone()
    }
}
