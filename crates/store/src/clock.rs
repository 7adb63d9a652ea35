//! The system clock and the local time zone.

use domain::ports::Clock;
use domain::time::Timestamp;
use jiff::tz::TimeZone;

/// The system's wall clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

/// Returns the local time zone, given the value of the variable `TZ`.
#[must_use]
pub fn local_time_zone(variable: Option<&str>) -> TimeZone {
    match variable {
        // Spares containers and tests the search through the zone database.
        Some("UTC") => TimeZone::UTC,
        Some(_) => TimeZone::try_system().unwrap_or(TimeZone::UTC),
        // Read directly: looking the zone up by its name walks through the whole zone database,
        // which is too slow for a hook.
        None => std::fs::read("/etc/localtime")
            .ok()
            .and_then(|bytes| TimeZone::tzif("Local", &bytes).ok())
            .unwrap_or(TimeZone::UTC),
    }
}

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the only place that reads the system clock"
    )]
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(jiff::Timestamp::now().as_millisecond())
    }
}
