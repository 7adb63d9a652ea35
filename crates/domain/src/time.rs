//! Timestamps, local time formatting and durations.
//!
//! Does not read the clock: `now` is always passed in (see [`crate::ports::Clock`]).

use std::fmt;
use std::sync::OnceLock;

use jiff::tz::TimeZone;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

static ZONE_SOURCE: OnceLock<fn() -> TimeZone> = OnceLock::new();
static ZONE: OnceLock<TimeZone> = OnceLock::new();

/// Sets the function that finds the local time zone when it is first needed; the default is UTC.
pub fn set_local_zone_source(source: fn() -> TimeZone) {
    // The first call wins: a process does not move between time zones.
    // A function, not a zone, because loading the zone database costs time hooks do not have.
    let _ = ZONE_SOURCE.set(source);
}

fn local_zone() -> TimeZone {
    ZONE.get_or_init(|| ZONE_SOURCE.get().map_or(TimeZone::UTC, |source| source()))
        .clone()
}

/// A UTC timestamp with millisecond precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
pub struct Timestamp(#[schemars(with = "String")] jiff::Timestamp);

/// A minute of local time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LocalMinute {
    pub year: i16,
    pub month: i8,
    pub day: i8,
    pub hour: i8,
    pub minute: i8,
}

impl Timestamp {
    /// Converts milliseconds since the Unix epoch; an out-of-range value becomes the epoch.
    #[must_use]
    pub fn from_millis(millis: i64) -> Self {
        // Infallible, because values come from our own tables; a damaged one fails its checksum.
        Self(jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::UNIX_EPOCH))
    }

    /// Returns the milliseconds since the Unix epoch.
    #[must_use]
    pub fn as_millis(self) -> i64 {
        self.0.as_millisecond()
    }

    /// Formats local time as `2026-02-11-14-30-05`, for the names of backups.
    #[must_use]
    pub fn format_for_file_name(self) -> String {
        self.0
            .to_zoned(local_zone())
            .strftime("%Y-%m-%d-%H-%M-%S")
            .to_string()
    }

    /// Returns the local minute.
    #[must_use]
    pub fn local_minute(self) -> LocalMinute {
        let local = self.0.to_zoned(local_zone());
        LocalMinute {
            year: local.year(),
            month: local.month(),
            day: local.day(),
            hour: local.hour(),
            minute: local.minute(),
        }
    }

    /// Converts a local minute to its start; `None` if the date does not exist.
    #[must_use]
    pub fn from_local_minute(minute: LocalMinute) -> Option<Self> {
        let LocalMinute {
            year,
            month,
            day,
            hour,
            minute,
        } = minute;
        let civil = jiff::civil::DateTime::new(year, month, day, hour, minute, 0, 0).ok()?;
        Some(Self(civil.to_zoned(local_zone()).ok()?.timestamp()))
    }

    /// Returns the milliseconds since `earlier`; 0 if that is later.
    #[must_use]
    pub fn millis_since(self, earlier: Self) -> i64 {
        // Clocks of several machines differ, and a clock may be set back: never negative.
        (self.as_millis() - earlier.as_millis()).max(0)
    }

    /// Formats the local day for people: `Wednesday, 11 February 2026`.
    #[must_use]
    pub fn format_local_day(self) -> String {
        self.0
            .to_zoned(local_zone())
            .strftime("%A, %-d %B %Y")
            .to_string()
    }

    /// Formats local time as `2026-02-11 14:30`.
    #[must_use]
    pub fn format_local_minute(self) -> String {
        self.0
            .to_zoned(local_zone())
            .strftime("%Y-%m-%d %H:%M")
            .to_string()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Always three decimals: texts then sort like the timestamps, and a round trip is exact.
        write!(f, "{:.3}", self.0)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        let parsed: jiff::Timestamp = text.parse().map_err(de::Error::custom)?;
        Ok(Self::from_millis(parsed.as_millisecond()))
    }
}

/// Formats a duration in one unit: `45 minutes`, `4 hours`, `3 days`.
#[must_use]
pub fn format_duration(millis: i64) -> String {
    let minutes = millis / 60_000;
    let (number, unit) = match minutes {
        ..=0 => return "less than a minute".to_owned(),
        // Each unit up to twice the next one: `90 minutes` says more than `1 hour`.
        1..=119 => (minutes, "minute"),
        120..=2_879 => (minutes / 60, "hour"),
        _ => (minutes / 1_440, "day"),
    };
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}
