//! A wall-clock limit of our own: SQLite can wait ten seconds whatever its time-out says.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Runs a function if it is not dropped in time.
#[derive(Debug)]
pub struct Watchdog {
    _alive: Sender<()>,
}

impl Watchdog {
    /// Arms the watchdog; `on_expiry` is expected to end the process.
    ///
    /// Ending it there is one more moment at which it may be killed, and those are all safe.
    #[must_use]
    pub fn arm(limit: Duration, on_expiry: fn()) -> Self {
        let (alive, dropped) = channel::<()>();
        std::thread::spawn(move || {
            if let Err(RecvTimeoutError::Timeout) = dropped.recv_timeout(limit) {
                on_expiry();
            }
        });
        Self { _alive: alive }
    }
}
