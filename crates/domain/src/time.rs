//! Moments in time. The domain never asks what time it is: `now` is always given.

use std::fmt;
use std::sync::OnceLock;

use jiff::tz::TimeZone;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

static ZONE_SOURCE: OnceLock<fn() -> TimeZone> = OnceLock::new();
static ZONE: OnceLock<TimeZone> = OnceLock::new();

/// Says how to find the local time zone, should anyone ask for a local time. Without it that is UTC.
pub fn local_zone_from(source: fn() -> TimeZone) {
    // The first one stays: a process does not move between zones.
    let _ = ZONE_SOURCE.set(source);
}

fn local_zone() -> TimeZone {
    ZONE.get_or_init(|| ZONE_SOURCE.get().map_or(TimeZone::UTC, |source| source())).clone()
}

/// A moment with millisecond precision, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(jiff::Timestamp);

impl Timestamp {
    /// Returns the moment that many milliseconds after 1970; one that no calendar holds becomes 1970.
    #[must_use]
    pub fn from_millis(millis: i64) -> Self {
        Self(jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::UNIX_EPOCH))
    }

    /// Returns the milliseconds since 1970.
    #[must_use]
    pub fn as_millis(self) -> i64 {
        self.0.as_millisecond()
    }

    /// Returns the moment in local time as `2026-02-11-14-30-05`, as backups are named.
    #[must_use]
    pub fn file_name_part(self) -> String {
        self.0.to_zoned(local_zone()).strftime("%Y-%m-%d-%H-%M-%S").to_string()
    }

    /// Returns the moment in local time as `2026-02-11 14:30`, for people.
    #[must_use]
    pub fn for_people(self) -> String {
        self.0.to_zoned(local_zone()).strftime("%Y-%m-%d %H:%M").to_string()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
