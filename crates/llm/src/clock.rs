//! Clock abstraction for the layers, so that tests of retries and rate limits do not sleep.

use std::time::{Duration, SystemTime};

use crate::cancel::{CancelToken, Cancelled};

/// A clock that can be waited on.
pub trait Clock: Send + Sync {
    fn now(&self) -> SystemTime;

    /// Waits for `duration`.
    ///
    /// # Errors
    /// When cancelled first.
    fn wait_for(&self, duration: Duration, cancel: &CancelToken) -> Result<(), Cancelled>;
}

/// The system clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the clock the layers take as an argument"
    )]
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn wait_for(&self, duration: Duration, cancel: &CancelToken) -> Result<(), Cancelled> {
        cancel.wait_for(duration)
    }
}
