//! Stamps: short searchable ids that link nodes, session files, archives, anchors, notes and
//! commits.
//!
//! `30141102026` is minute 30, hour 14, day 11, month 02, year (2)026, in local time. Two and four
//! digits for the year are accepted too; a second stamp in the same minute gets the suffix `-2`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::time::{LocalMinute, Timestamp};

/// A minute of local time as an id, with a sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stamp {
    minute: LocalMinute,
    /// Sequence number within the minute; 1 is not written.
    number: u32,
}

/// The text is not a stamp.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a stamp: expected minute, hour, day, month and year in 10 to 12 digits, as in `30141102026` (14:30 on 11 Feb 2026)"
)]
pub struct NotAStamp(pub String);

impl Stamp {
    /// Returns the first stamp of the minute of `at`.
    #[must_use]
    pub fn from_timestamp(at: Timestamp) -> Self {
        Self {
            minute: at.local_minute(),
            number: 1,
        }
    }

    /// Returns the first stamp of the minute of `at` that is not taken.
    #[must_use]
    pub fn first_free_from(at: Timestamp, taken: impl Fn(&Self) -> bool) -> Self {
        // A linear search is enough: several stamps in one minute are rare.
        let mut stamp = Self::from_timestamp(at);
        while taken(&stamp) {
            stamp.number += 1;
        }
        stamp
    }

    /// Returns the next stamp of the same minute.
    #[must_use]
    pub fn next_in_minute(&self) -> Option<Self> {
        Some(Self {
            number: self.number.checked_add(1)?,
            ..*self
        })
    }

    /// Returns the start of the minute; `None` if the local time does not exist.
    #[must_use]
    pub fn to_timestamp(&self) -> Option<Timestamp> {
        Timestamp::from_local_minute(self.minute)
    }

    /// Returns the digits without the suffix, which all stamps of a minute share.
    #[must_use]
    pub fn minute_digits(&self) -> String {
        let LocalMinute {
            year,
            month,
            day,
            hour,
            minute,
        } = self.minute;
        format!(
            "{minute:02}{hour:02}{day:02}{month:02}{:03}",
            year.rem_euclid(1000)
        )
    }

    /// Whether a search for this stamp finds `other`: itself, or any of the minute without a
    /// suffix.
    #[must_use]
    pub fn matches_search(&self, other: &Self) -> bool {
        self.minute == other.minute && (self.number == 1 || self.number == other.number)
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.minute_digits())?;
        if self.number > 1 {
            write!(f, "-{}", self.number)?;
        }
        Ok(())
    }
}

impl FromStr for Stamp {
    type Err = NotAStamp;

    fn from_str(text: &str) -> Result<Self, NotAStamp> {
        parse_stamp(text.trim()).ok_or_else(|| NotAStamp(text.to_owned()))
    }
}

fn parse_stamp(text: &str) -> Option<Stamp> {
    let (digits, number) = match text.split_once('-') {
        // `-1`, `-02` and `-+2` are rejected, so that each stamp has one spelling and can be found
        // by a plain text search.
        Some((digits, number)) => (
            digits,
            number
                .parse()
                .ok()
                .filter(|number| *number > 1 && !text.contains("-0") && !text.contains("-+"))?,
        ),
        None => (text, 1),
    };
    if !(10..=12).contains(&digits.len()) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let part = |from: usize, to: usize| digits.get(from..to)?.parse::<i16>().ok();
    let year = part(8, digits.len())?;
    // Three digits are the canonical form; `26` and `2026` are what people type.
    let year = if digits.len() == 12 {
        year
    } else {
        2000 + year
    };
    let small = |from, to| part(from, to).and_then(|number| i8::try_from(number).ok());
    let minute = LocalMinute {
        minute: small(0, 2)?,
        hour: small(2, 4)?,
        day: small(4, 6)?,
        month: small(6, 8)?,
        year,
    };
    // Only dates that exist. A minute skipped by daylight saving time is accepted: the stamp may
    // come from another time zone.
    jiff::civil::DateTime::new(
        minute.year,
        minute.month,
        minute.day,
        minute.hour,
        minute.minute,
        0,
        0,
    )
    .ok()?;
    Some(Stamp { minute, number })
}

/// Parses the stamp at the end of a name such as `t_30141102026`.
#[must_use]
pub fn stamp_in_name(name: &str) -> Option<Stamp> {
    name.rsplit('_').next()?.parse().ok()
}

impl Serialize for Stamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Stamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        std::borrow::Cow::<'de, str>::deserialize(deserializer)?
            .parse()
            .map_err(de::Error::custom)
    }
}
