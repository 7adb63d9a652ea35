//! The clock, injected so that tests control the time.

use crate::time::Timestamp;

/// Wall clock.
pub trait Clock {
    /// Returns the current time.
    fn now(&self) -> Timestamp;
}
