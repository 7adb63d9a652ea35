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
            .filter(|bytes| !is_plain_utc(bytes))
            .and_then(|bytes| TimeZone::tzif("Local", &bytes).ok())
            .unwrap_or(TimeZone::UTC),
    }
}

/// Whether the data of a zone says no more than UTC, as on most servers and in containers. Reading it
/// as a zone would take a fifteenth of the hook after a write.
fn is_plain_utc(bytes: &[u8]) -> bool {
    // The header twice and one type of local time; a zone with a history is longer.
    const MAX_BYTES: usize = 120;
    bytes.len() <= MAX_BYTES && bytes.ends_with(b"\nUTC0\n")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_file_of_utc_is_recognised_and_one_of_a_place_is_not() {
        let header = |length: usize| [b"TZif2".as_slice(), &vec![0; length]].concat();
        assert!(is_plain_utc(
            &[&header(103), b"\nUTC0\n".as_slice()].concat()
        ));
        assert!(!is_plain_utc(
            &[&header(103), b"\nCET-1\n".as_slice()].concat()
        ));
        assert!(!is_plain_utc(
            &[&header(900), b"\nUTC0\n".as_slice()].concat()
        ));
    }
}
