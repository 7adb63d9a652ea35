//! The system's clock.

use domain::ports::Clock;
use domain::time::Timestamp;
use jiff::tz::TimeZone;

/// Tells the system's time.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

/// Returns the local time zone, given the variable `TZ`.
///
/// Without the variable the system's file is read directly: looking the zone up by its name would
/// walk through the whole zone database first.
#[must_use]
pub fn local_zone(variable: Option<&str>) -> TimeZone {
    match variable {
        Some("UTC") => TimeZone::UTC,
        Some(_) => TimeZone::try_system().unwrap_or(TimeZone::UTC),
        None => std::fs::read("/etc/localtime")
            .ok()
            .and_then(|bytes| TimeZone::tzif("Local", &bytes).ok())
            .unwrap_or(TimeZone::UTC),
    }
}

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that asks what time it is"
    )]
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(jiff::Timestamp::now().as_millisecond())
    }
}
