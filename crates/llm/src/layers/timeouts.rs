//! Timeout layer: a watchdog that cancels silent calls.
//!
//! There is no total timeout by default, because a healthy long stream must not be cut. Silence is
//! limited: before the first event and between two events; a provider's keep-alive counts as an
//! event. A model only has to emit [`Event::Alive`] and stop when cancelled, so the layer works for
//! sockets and programs alike. The connect timeout belongs to the transport, which alone knows when
//! it is connected.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::seconds;
use crate::cancel::CancelToken;
use crate::error::{ErrorClass, LlmError, TimeoutPhase};
use crate::model::{Answer, Call, CallEvent, Model, ModelIdentity};
use crate::request::Request;

/// Timeouts, in seconds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TimeoutSettings {
    #[serde(deserialize_with = "seconds::deserialize")]
    pub connect: Duration,
    /// Until the first data arrives. Reasoning models and cold local ones are slow here.
    #[serde(deserialize_with = "seconds::deserialize")]
    pub first_byte: Duration,
    #[serde(deserialize_with = "seconds::deserialize")]
    pub idle: Duration,
    /// For the whole call; none by default.
    #[serde(deserialize_with = "seconds::optional::deserialize")]
    pub total: Option<Duration>,
}

impl Default for TimeoutSettings {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(300),
            idle: Duration::from_secs(120),
            total: None,
        }
    }
}

/// The layer.
pub struct Timeouts<M> {
    inner: M,
    settings: TimeoutSettings,
}

impl<M: Model> Timeouts<M> {
    pub fn new(inner: M, settings: TimeoutSettings) -> Self {
        Self { inner, settings }
    }
}

impl<M: Model> Model for Timeouts<M> {
    fn model_identity(&self) -> &ModelIdentity {
        self.inner.model_identity()
    }

    fn complete_request(&self, request: &Request, call: &Call<'_>) -> Answer {
        // A child token: the watchdog cancels this call only, while the caller's cancellation still
        // gets through.
        let cancel = call.cancel.child_token();
        let (life, signs) = channel::<()>();
        // A thread and not a timer future: models are synchronous, and some of them run programs.
        let (answer, expired) = std::thread::scope(|scope| {
            let (settings, switch) = (&self.settings, &cancel);
            let guard = scope.spawn(move || run_silence_watchdog(settings, &signs, switch));
            let answer = self.complete_watched(request, call, &cancel, life);
            (
                answer,
                guard
                    .join()
                    .expect("BUG: the guard of a call does not panic"),
            )
        });
        match (answer, expired) {
            // Only a cancellation by the watchdog is a timeout: an answer that completed in the
            // same moment counts, and so does a cancellation by the caller.
            (Err(mut error), Some(phase))
                if error.class == ErrorClass::Cancelled && !call.cancel.is_cancelled() =>
            {
                let timed_out = self.timeout_error(phase);
                // The error of the cancelled call is kept for its partial text, usage and ledger.
                error.class = timed_out.class;
                error.what = timed_out.what;
                error.next = timed_out.next;
                for entry in &mut error.ledger {
                    entry.error = Some(timed_out.class);
                }
                Err(error)
            }
            (answer, _) => answer,
        }
    }
}

impl<M: Model> Timeouts<M> {
    /// Runs the call and reports every event to the watchdog. Dropping `life` at the end stops it.
    fn complete_watched(
        &self,
        request: &Request,
        call: &Call<'_>,
        cancel: &CancelToken,
        life: Sender<()>,
    ) -> Answer {
        let life = std::sync::Mutex::new(life);
        let watch = |event: &CallEvent| {
            if let Ok(life) = life.lock() {
                // Fails if the watchdog has already expired; then it needs no more events.
                let _ = life.send(());
            }
            call.emit_event(event);
        };
        self.inner.complete_request(
            request,
            &Call {
                cancel,
                watch: &watch,
                interactive: call.interactive,
            },
        )
    }

    fn timeout_error(&self, phase: TimeoutPhase) -> Box<LlmError> {
        let identity = self.model_identity();
        let who = format!("`{}` of {}", identity.model.id, identity.provider);
        let TimeoutSettings {
            connect,
            first_byte,
            idle,
            total,
        } = self.settings;
        let what = match phase {
            TimeoutPhase::Connect => format!("{who} could not be reached within {connect:?}"),
            TimeoutPhase::FirstByte => {
                format!("{who} sent nothing for {first_byte:?} (`timeouts.first_byte`)")
            }
            TimeoutPhase::Idle => {
                format!("{who} stalled in the middle of its answer for {idle:?} (`timeouts.idle`)")
            }
            TimeoutPhase::Total => {
                format!(
                    "{who} did not finish within {:?} (`timeouts.total`)",
                    total.unwrap_or_default()
                )
            }
        };
        ErrorClass::Timeout(phase).error(what)
    }
}

/// Watchdog: waits for events until the call is over, or cancels it and returns the expired
/// timeout.
fn run_silence_watchdog(
    settings: &TimeoutSettings,
    signs: &std::sync::mpsc::Receiver<()>,
    cancel: &CancelToken,
) -> Option<TimeoutPhase> {
    let started = Instant::now();
    let (mut phase, mut patience) = (TimeoutPhase::FirstByte, settings.first_byte);
    loop {
        let left = settings
            .total
            .map(|total| total.saturating_sub(started.elapsed()));
        let (wait, expires) = match left {
            // The nearer deadline decides which timeout is reported.
            Some(left) if left < patience => (left, TimeoutPhase::Total),
            _ => (patience, phase),
        };
        match signs.recv_timeout(wait) {
            Ok(()) => (phase, patience) = (TimeoutPhase::Idle, settings.idle),
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => {
                cancel.cancel();
                return Some(expires);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fakes::{ScriptedModel, answer_with};
    use super::*;

    /// Shows a number of signs of life, then none.
    struct Silent {
        identity: ModelIdentity,
        signs: u32,
    }

    impl Model for Silent {
        fn model_identity(&self) -> &ModelIdentity {
            &self.identity
        }

        fn complete_request(&self, _: &Request, call: &Call<'_>) -> Answer {
            // Then it never returns by itself, like a server that keeps the connection open.
            for _ in 0..self.signs {
                call.emit_event(&CallEvent::Alive);
            }
            let Err(cancelled) = call.cancel.run_future(std::future::pending::<()>()) else {
                unreachable!()
            };
            Err(cancelled.into())
        }
    }

    const SHORT: Duration = Duration::from_millis(20);
    const LONG: Duration = Duration::from_secs(3600);

    fn class(signs: u32, settings: TimeoutSettings) -> ErrorClass {
        let identity = ScriptedModel::new([]).model_identity().clone();
        let layer = Timeouts::new(Silent { identity, signs }, settings);
        let error = layer
            .complete_request(
                &Request::text_request("t", "", "x", 1),
                &Call::without_listener(&CancelToken::new()),
            )
            .unwrap_err();
        assert!(error.what.contains("`fake-1` of fake"), "{}", error.what);
        error.class
    }

    #[test]
    fn each_silence_has_its_own_limit() {
        let settings = |first_byte, idle, total| TimeoutSettings {
            connect: LONG,
            first_byte,
            idle,
            total,
        };
        assert_eq!(
            class(0, settings(SHORT, LONG, None)),
            ErrorClass::Timeout(TimeoutPhase::FirstByte)
        );
        assert_eq!(
            class(3, settings(LONG, SHORT, None)),
            ErrorClass::Timeout(TimeoutPhase::Idle)
        );
        assert_eq!(
            class(3, settings(LONG, LONG, Some(SHORT))),
            ErrorClass::Timeout(TimeoutPhase::Total)
        );
        assert_eq!(
            class(0, settings(LONG, LONG, Some(SHORT))),
            ErrorClass::Timeout(TimeoutPhase::Total)
        );
    }

    #[test]
    fn a_person_who_cancels_is_not_called_a_timeout() {
        let identity = ScriptedModel::new([]).model_identity().clone();
        let settings = TimeoutSettings {
            first_byte: LONG,
            idle: LONG,
            ..TimeoutSettings::default()
        };
        let layer = Timeouts::new(Silent { identity, signs: 1 }, settings);
        let cancel = CancelToken::new();
        // Cancelled by the caller in the middle of the call, long before any timeout.
        let watch = |_: &CallEvent| cancel.cancel();
        let call = Call {
            cancel: &cancel,
            watch: &watch,
            interactive: true,
        };
        let error = layer
            .complete_request(&Request::text_request("t", "", "x", 1), &call)
            .unwrap_err();
        assert_eq!(error.class, ErrorClass::Cancelled);
    }

    #[test]
    fn an_answer_passes_through() {
        let layer = Timeouts::new(
            ScriptedModel::new([answer_with("hello")]),
            TimeoutSettings::default(),
        );
        let outcome = layer
            .complete_request(
                &Request::text_request("t", "", "x", 1),
                &Call::without_listener(&CancelToken::new()),
            )
            .unwrap();
        assert_eq!(outcome.text, "hello");
    }

    #[test]
    fn settings_are_seconds() {
        let settings: TimeoutSettings = toml::from_str("idle = 1.5\ntotal = 900").unwrap();
        assert_eq!(settings.idle, Duration::from_millis(1_500));
        assert_eq!(settings.total, Some(Duration::from_secs(900)));
        assert!(
            toml::from_str::<TimeoutSettings>("idle = -1")
                .unwrap_err()
                .to_string()
                .contains("expected 0 or more")
        );
    }
}
