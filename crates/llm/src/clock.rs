//! Time as the layers see it, so that tests of waiting do not wait.

use std::time::{Duration, SystemTime};

use crate::cancel::{Cancel, Cancelled};

/// What time it is, and waiting.
pub trait Clock: Send + Sync {
    fn now(&self) -> SystemTime;

    /// Waits for `duration`.
    ///
    /// # Errors
    /// When cancelled first.
    fn wait(&self, duration: Duration, cancel: &Cancel) -> Result<(), Cancelled>;
}

/// The clock of the machine.
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

    fn wait(&self, duration: Duration, cancel: &Cancel) -> Result<(), Cancelled> {
        cancel.wait(duration)
    }
}
