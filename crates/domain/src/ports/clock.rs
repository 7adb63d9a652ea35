//! The time, given from outside so that rules and tests can decide it.

use crate::time::Timestamp;

/// Tells the time.
pub trait Clock {
    /// Returns the present moment.
    fn now(&self) -> Timestamp;
}
