//! Moments in time. The domain never asks what time it is: `now` is always given.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

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

    /// Returns the moment in the system's time zone as `2026-02-11-14-30-05`, as backups are named.
    #[must_use]
    pub fn file_name_part(self) -> String {
        self.0.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d-%H-%M-%S").to_string()
    }

    /// Returns the moment in the system's time zone as `2026-02-11 14:30`, for people.
    #[must_use]
    pub fn for_people(self) -> String {
        self.0.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string()
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
