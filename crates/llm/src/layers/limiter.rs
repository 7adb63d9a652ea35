//! Rate limit layer: concurrent calls, and calls per minute.
//!
//! A slot is held until the answer is complete, not until the stream begins: providers count
//! streams in progress.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use serde::Deserialize;
use tokio::sync::Semaphore;

use crate::cancel::Cancelled;
use crate::clock::Clock;
use crate::model::{Answer, Call, Model, ModelIdentity};
use crate::request::Request;

const RATE_WINDOW: Duration = Duration::from_secs(60);

/// Limits of a provider.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimiterSettings {
    pub concurrent: u32,
    pub per_minute: Option<u32>,
}

impl Default for LimiterSettings {
    fn default() -> Self {
        Self {
            concurrent: 4,
            per_minute: None,
        }
    }
}

/// The layer. One instance has to be shared by all users of a provider.
pub struct Limiter<M> {
    inner: M,
    places: Semaphore,
    per_minute: Option<usize>,
    started: Mutex<VecDeque<SystemTime>>,
    clock: Arc<dyn Clock>,
}

impl<M: Model> Limiter<M> {
    pub fn new(inner: M, settings: &LimiterSettings, clock: Arc<dyn Clock>) -> Self {
        Self {
            inner,
            // At least one: with zero, every call would wait forever.
            // A semaphore of tokio, because waiting for it can be cancelled.
            places: Semaphore::new(settings.concurrent.max(1) as usize),
            per_minute: settings.per_minute.map(|limit| limit.max(1) as usize),
            started: Mutex::default(),
            clock,
        }
    }

    /// Waits until fewer calls than the limit started within the last minute (sliding window), and
    /// counts this one.
    fn wait_for_rate(&self, call: &Call<'_>) -> Result<(), Cancelled> {
        let Some(limit) = self.per_minute else {
            return Ok(());
        };
        loop {
            let wait = {
                let mut started = self
                    .started
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner);
                let now = self.clock.now();
                // After the clock was set back, start times lie in the future; they count as
                // expired, or calls would wait for hours.
                let age = |start: &SystemTime| now.duration_since(*start).unwrap_or(RATE_WINDOW);
                started.retain(|start| age(start) < RATE_WINDOW);
                if started.len() < limit {
                    started.push_back(now);
                    return Ok(());
                }
                started.front().map_or(RATE_WINDOW, |oldest| {
                    RATE_WINDOW.saturating_sub(age(oldest))
                })
            };
            // Outside the mutex, and checked again afterwards: another call may take the free slot.
            self.clock.wait_for(wait, call.cancel)?;
        }
    }
}

impl<M: Model> Model for Limiter<M> {
    fn model_identity(&self) -> &ModelIdentity {
        self.inner.model_identity()
    }

    fn complete_request(&self, request: &Request, call: &Call<'_>) -> Answer {
        // The slot first: calls that wait for the minute count as concurrent too, so at most
        // `concurrent` of them wake up together.
        let _place = call
            .cancel
            .run_future(self.places.acquire())?
            .expect("BUG: the semaphore is never closed");
        self.wait_for_rate(call)?;
        self.inner.complete_request(request, call)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::super::fakes::{FakeClock, ScriptedModel, answer_with};
    use super::*;
    use crate::cancel::CancelToken;
    use crate::error::ErrorClass;

    fn ask(layer: &impl Model) -> Answer {
        layer.complete_request(
            &Request::text_request("t", "", "x", 1),
            &Call::without_listener(&CancelToken::new()),
        )
    }

    #[test]
    fn the_minute_is_kept() {
        let clock = Arc::new(FakeClock::default());
        let settings = LimiterSettings {
            concurrent: 1,
            per_minute: Some(2),
        };
        let layer = Limiter::new(
            ScriptedModel::new((0..5).map(|_| answer_with("ok"))),
            &settings,
            clock.clone(),
        );
        for _ in 0..5 {
            ask(&layer).unwrap();
        }
        // Five calls at two per minute: the third and the fifth wait for a full window.
        assert_eq!(clock.recorded_waits(), [RATE_WINDOW, RATE_WINDOW]);
    }

    /// Counts how many are inside at the same time.
    struct Crowded {
        identity: ModelIdentity,
        inside: AtomicUsize,
        most: AtomicUsize,
    }

    impl Model for Crowded {
        fn model_identity(&self) -> &ModelIdentity {
            &self.identity
        }

        fn complete_request(&self, _: &Request, _: &Call<'_>) -> Answer {
            let inside = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(inside, Ordering::SeqCst);
            // Yields give the other threads the chance to enter at the same time.
            for _ in 0..100 {
                std::thread::yield_now();
            }
            self.inside.fetch_sub(1, Ordering::SeqCst);
            answer_with("ok")
        }
    }

    #[test]
    fn no_more_at_once_than_allowed() {
        let identity = ScriptedModel::new([]).model_identity().clone();
        let crowded = Crowded {
            identity,
            inside: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
        };
        let settings = LimiterSettings {
            concurrent: 2,
            per_minute: None,
        };
        let layer = Limiter::new(crowded, &settings, Arc::new(FakeClock::default()));
        let start = Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    start.wait();
                    ask(&layer).unwrap();
                });
            }
        });
        assert!(layer.inner.most.load(Ordering::SeqCst) <= 2);
    }

    #[test]
    fn waiting_for_a_place_can_be_cancelled() {
        let settings = LimiterSettings {
            concurrent: 1,
            per_minute: None,
        };
        let layer = Limiter::new(
            ScriptedModel::new([]),
            &settings,
            Arc::new(FakeClock::default()),
        );
        // The only slot is taken, so the call below can only end by cancellation.
        let _taken = layer.places.try_acquire().unwrap();
        let cancel = CancelToken::new();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                layer.complete_request(
                    &Request::text_request("t", "", "x", 1),
                    &Call::without_listener(&cancel),
                )
            });
            cancel.cancel();
            assert_eq!(
                waiting.join().unwrap().unwrap_err().class,
                ErrorClass::Cancelled
            );
        });
    }
}
