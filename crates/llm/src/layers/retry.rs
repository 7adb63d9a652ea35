//! Retry layer: exponential backoff with jitter for transient failures.
//!
//! The only place that retries completions; retries in two places multiply. The class of an error
//! decides ([`Class::policy`]); this layer only counts and waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::Deserialize;

use super::seconds;
use crate::clock::Clock;
use crate::error::{ErrorClass, LlmError, RetryPolicy};
use crate::model::{Answer, Call, CallEvent, Model, ModelIdentity};
use crate::request::Request;

/// Numbers of attempts and waits.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetrySettings {
    /// Total attempts when the provider throttles.
    pub throttled_attempts: u32,
    /// First wait when the provider throttles without naming a wait. Longer, because limits usually
    /// count per minute.
    #[serde(deserialize_with = "seconds::deserialize")]
    pub throttled_wait: Duration,
    /// Total attempts at transient failures.
    pub attempts: u32,
    /// First wait at transient failures.
    #[serde(deserialize_with = "seconds::deserialize")]
    pub wait: Duration,
    /// Longest single wait. If a provider asks for more, the call fails instead.
    #[serde(deserialize_with = "seconds::deserialize")]
    pub longest_wait: Duration,
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self {
            throttled_attempts: 5,
            throttled_wait: Duration::from_secs(5),
            attempts: 4,
            wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(120),
        }
    }
}

/// The layer.
pub struct Retry<M> {
    inner: M,
    settings: RetrySettings,
    clock: Arc<dyn Clock>,
    /// Jitter factor between 0.8 and 1.2, so that many callers do not retry in lockstep.
    jitter: fn() -> f64,
}

impl<M: Model> Retry<M> {
    pub fn new(inner: M, settings: RetrySettings, clock: Arc<dyn Clock>) -> Self {
        Self {
            inner,
            settings,
            clock,
            jitter: || 0.8 + 0.4 * fastrand::f64(),
        }
    }

    /// Returns the wait before the next attempt; `None` if there is none.
    fn wait_before_retry(&self, error: &LlmError, failures: u32) -> Option<Duration> {
        let (attempts, first) = match error.class.retry_policy() {
            RetryPolicy::Never => return None,
            RetryPolicy::Throttle => (
                self.settings.throttled_attempts,
                self.settings.throttled_wait,
            ),
            RetryPolicy::Backoff => (self.settings.attempts, self.settings.wait),
        };
        // Attempts include the first one, so five attempts mean four waits.
        if failures >= attempts {
            return None;
        }
        match error.retry_after {
            // Never shortened: a retry that comes too early counts against the limit again.
            Some(asked) => (asked <= self.settings.longest_wait).then_some(asked),
            None => {
                // Exponential: 1, 2, 4 … times the first wait.
                let doubled = first.saturating_mul(2_u32.saturating_pow(failures - 1));
                Some(
                    doubled
                        .mul_f64((self.jitter)())
                        // The cap comes after the jitter, so that it really is the longest wait.
                        .min(self.settings.longest_wait),
                )
            }
        }
    }

    fn max_attempts_for(&self, class: ErrorClass) -> u32 {
        match class.retry_policy() {
            RetryPolicy::Never => 1,
            RetryPolicy::Throttle => self.settings.throttled_attempts,
            RetryPolicy::Backoff => self.settings.attempts,
        }
    }
}

impl<M: Model> Model for Retry<M> {
    fn model_identity(&self) -> &ModelIdentity {
        self.inner.model_identity()
    }

    fn complete_request(&self, request: &Request, call: &Call<'_>) -> Answer {
        let mut ledger = Vec::new();
        // One counter for both policies: errors that alternate between classes would otherwise be
        // retried twice as often.
        let mut failures = 0;
        loop {
            let spoke = AtomicBool::new(false);
            let watch = |event: &CallEvent| {
                spoke.fetch_or(matches!(event, CallEvent::Text(_)), Ordering::Relaxed);
                call.emit_event(event);
            };
            let mut answer = self.inner.complete_request(
                request,
                &Call {
                    watch: &watch,
                    ..*call
                },
            );
            let entries = match &mut answer {
                Ok(outcome) => &mut outcome.ledger,
                Err(error) => &mut error.ledger,
            };
            // Numbered here, because the layers below see every attempt as the first.
            for entry in entries.iter_mut() {
                entry.attempt = failures + 1;
            }
            // Failed attempts are billed too, so their entries are kept whatever happens next.
            ledger.append(entries);
            let mut error = match answer {
                Ok(mut outcome) => {
                    outcome.ledger = ledger;
                    return Ok(outcome);
                }
                Err(error) => error,
            };
            failures += 1;
            // A person who has read the beginning must not get another one without asking for it.
            let spoke = spoke.into_inner();
            let wait = self
                .wait_before_retry(&error, failures)
                .filter(|_| !(spoke && call.interactive));
            let Some(wait) = wait else {
                if failures > 1 {
                    error.what = format!("{} (tried {failures} times)", error.what);
                }
                if let Some(asked) = error
                    .retry_after
                    .filter(|asked| *asked > self.settings.longest_wait)
                {
                    error
                        .next
                        .insert(0, format!("the provider asks to retry after {asked:?}"));
                }
                error.ledger = ledger;
                return Err(error);
            };
            // Listeners have shown text that the next attempt will not continue.
            if spoke {
                call.emit_event(&CallEvent::Restarted);
            }
            call.emit_event(&CallEvent::Retrying {
                attempt: failures + 1,
                of: self.max_attempts_for(error.class),
                wait,
                class: error.class,
                why: error.what.clone(),
            });
            if let Err(cancelled) = self.clock.wait_for(wait, call.cancel) {
                // The attempts made before the cancellation still cost money.
                let mut cancelled: Box<LlmError> = cancelled.into();
                cancelled.ledger = ledger;
                return Err(cancelled);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fakes::{
        EventCollector, FakeClock, ScriptedModel, answer_with, failed_answer,
    };
    use super::*;
    use crate::cancel::CancelToken;
    use crate::error::TimeoutPhase;

    fn layer(answers: impl IntoIterator<Item = Answer>) -> (Retry<ScriptedModel>, Arc<FakeClock>) {
        let clock = Arc::new(FakeClock::default());
        let mut layer = Retry::new(
            ScriptedModel::new(answers),
            RetrySettings::default(),
            clock.clone(),
        );
        // Without jitter the expected waits are exact.
        layer.jitter = || 1.0;
        (layer, clock)
    }

    fn ask(layer: &impl Model, interactive: bool) -> (Answer, Vec<CallEvent>) {
        let watcher = EventCollector::default();
        let cancel = CancelToken::new();
        let call = Call {
            cancel: &cancel,
            watch: &watcher.event_listener(),
            interactive,
        };
        (
            layer.complete_request(&Request::text_request("t", "", "x", 1), &call),
            watcher.recorded_events(),
        )
    }

    fn seconds(waits: &[u64]) -> Vec<Duration> {
        waits
            .iter()
            .map(|&wait| Duration::from_secs(wait))
            .collect()
    }

    /// Every class, how often it is tried, and the waits in seconds when the provider names none.
    #[test]
    fn every_class_has_its_policy() {
        let throttle = (5, vec![5, 10, 20, 40]);
        let backoff = (4, vec![1, 2, 4]);
        let never = (1, vec![]);
        let table = [
            (ErrorClass::Auth, &never),
            (ErrorClass::Permission, &never),
            (ErrorClass::NoCredits, &never),
            (ErrorClass::RateLimited, &throttle),
            (ErrorClass::Overloaded, &throttle),
            (ErrorClass::Server, &backoff),
            (ErrorClass::Network, &backoff),
            (ErrorClass::Timeout(TimeoutPhase::Connect), &backoff),
            (ErrorClass::Timeout(TimeoutPhase::FirstByte), &backoff),
            (ErrorClass::Timeout(TimeoutPhase::Idle), &backoff),
            (ErrorClass::Timeout(TimeoutPhase::Total), &never),
            (ErrorClass::ContextTooLong, &never),
            (ErrorClass::OutputTruncated, &never),
            (ErrorClass::ContentFilter, &never),
            (ErrorClass::BadRequest, &never),
            (ErrorClass::EndpointNotFound, &never),
            (ErrorClass::StreamEndedEarly, &backoff),
            (ErrorClass::Malformed, &backoff),
            (ErrorClass::Shape, &never),
            (ErrorClass::BudgetExceeded, &never),
            (ErrorClass::Cancelled, &never),
            (ErrorClass::NotRecorded, &never),
            (ErrorClass::Setup, &never),
        ];
        for (class, (attempts, waits)) in table {
            let (layer, clock) = layer((0..9).map(|_| failed_answer(class)));
            let error = ask(&layer, false).0.unwrap_err();
            assert_eq!(
                layer.inner.recorded_requests().len(),
                *attempts,
                "{class:?}"
            );
            assert_eq!(clock.recorded_waits(), seconds(waits), "{class:?}");
            let numbers: Vec<_> = error
                .ledger
                .iter()
                .map(|entry| (entry.attempt as usize, entry.error))
                .collect();
            assert_eq!(
                numbers,
                (1..=*attempts)
                    .map(|n| (n, Some(class)))
                    .collect::<Vec<_>>(),
                "{class:?}"
            );
        }
    }

    #[test]
    fn the_provider_decides_how_long() {
        let asks = |wait| {
            let mut error = ErrorClass::RateLimited.error("slow down");
            error.retry_after = Some(Duration::from_secs(wait));
            Err(error)
        };
        let (layer, clock) = layer([asks(3), asks(11), answer_with("ok")]);
        let outcome = ask(&layer, true).0.unwrap();
        assert_eq!(clock.recorded_waits(), seconds(&[3, 11]));
        assert_eq!(outcome.ledger.len(), 3);

        // An hour exceeds `longest_wait`, so the call fails at once and reports the wait.
        let (layer, clock) = self::layer([asks(3_600), answer_with("never asked")]);
        let error = ask(&layer, true).0.unwrap_err();
        assert_eq!(clock.recorded_waits(), seconds(&[]));
        assert_eq!(
            error.next.first().unwrap(),
            "the provider asks to retry after 3600s"
        );
    }

    #[test]
    fn text_that_was_shown_is_never_spliced() {
        let broken = || {
            let mut error = ErrorClass::StreamEndedEarly.error("it broke");
            error.text = "Once upon".to_owned();
            Err(error)
        };
        let (layer, _) = layer([broken(), answer_with("Once again")]);
        let (answer, events) = ask(&layer, false);
        assert_eq!(answer.unwrap().text, "Once again");
        assert!(matches!(
            events.as_slice(),
            [
                CallEvent::Text(_),
                CallEvent::Restarted,
                CallEvent::Retrying {
                    attempt: 2,
                    of: 4,
                    ..
                },
                CallEvent::Text(_)
            ]
        ));

        // Interactive: a person has read "Once upon", so there is no retry.
        let (layer, _) = self::layer([broken(), answer_with("never asked")]);
        let (answer, events) = ask(&layer, true);
        assert_eq!(answer.unwrap_err().text, "Once upon");
        assert_eq!(events, [CallEvent::Text("Once upon".to_owned())]);
    }

    #[test]
    fn a_wait_can_be_cancelled_and_keeps_its_ledger() {
        struct Thrown;
        impl Clock for Thrown {
            fn now(&self) -> std::time::SystemTime {
                std::time::SystemTime::UNIX_EPOCH
            }
            fn wait_for(&self, _: Duration, _: &CancelToken) -> Result<(), crate::Cancelled> {
                Err(crate::Cancelled)
            }
        }
        let layer = Retry::new(
            ScriptedModel::new([failed_answer(ErrorClass::Server)]),
            RetrySettings::default(),
            Arc::new(Thrown),
        );
        let error = ask(&layer, false).0.unwrap_err();
        assert_eq!(
            (error.class, error.ledger.len()),
            (ErrorClass::Cancelled, 1)
        );
    }
}
