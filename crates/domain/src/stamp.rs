//! Stamps: one short searchable word that links nodes, session files, archives, anchors, notes and commits.
//!
//! `30141102026` is minute 30, hour 14, day 11, month 02, year (2)026, in local time. Shorter and longer forms of
//! the year are read too; a second one in the same minute gets `-2`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::time::{LocalMinute, Timestamp};

/// A stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stamp {
    minute: LocalMinute,
    /// 1 is the first of its minute and is not written.
    number: u32,
}

/// The text is no stamp.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no stamp: expected minute, hour, day, month and year in 10 to 12 digits, as in `30141102026` (14:30 on 11 Feb 2026)"
)]
pub struct NotAStamp(pub String);

impl Stamp {
    /// Returns the first stamp of the minute `at` lies in.
    #[must_use]
    pub fn at(at: Timestamp) -> Self {
        Self {
            minute: at.local_minute(),
            number: 1,
        }
    }

    /// Returns the first stamp from `at` on that is not taken.
    #[must_use]
    pub fn free(at: Timestamp, taken: impl Fn(&Self) -> bool) -> Self {
        let mut stamp = Self::at(at);
        while taken(&stamp) {
            stamp.number += 1;
        }
        stamp
    }

    /// Returns the next one of the same minute.
    #[must_use]
    pub fn following(&self) -> Option<Self> {
        Some(Self {
            number: self.number.checked_add(1)?,
            ..*self
        })
    }

    /// Returns the moment the minute begins; `None` for one that the calendar does not have.
    #[must_use]
    pub fn moment(&self) -> Option<Timestamp> {
        Timestamp::from_local_minute(self.minute)
    }

    /// Returns the digits alone: what all stamps of a minute share.
    #[must_use]
    pub fn digits(&self) -> String {
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

    /// Says whether `other` is found when one looks for this stamp: itself, and for a first one all of its minute.
    #[must_use]
    pub fn finds(&self, other: &Self) -> bool {
        self.minute == other.minute && (self.number == 1 || self.number == other.number)
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.digits())?;
        if self.number > 1 {
            write!(f, "-{}", self.number)?;
        }
        Ok(())
    }
}

impl FromStr for Stamp {
    type Err = NotAStamp;

    fn from_str(text: &str) -> Result<Self, NotAStamp> {
        read(text.trim()).ok_or_else(|| NotAStamp(text.to_owned()))
    }
}

fn read(text: &str) -> Option<Stamp> {
    let (digits, number) = match text.split_once('-') {
        // A first one has no number, so that each has one spelling.
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
    // Only minutes the calendar has; whether the local clock skipped it is another matter.
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

/// Returns the stamp at the end of a name such as `t_30141102026`.
#[must_use]
pub fn in_name(name: &str) -> Option<Stamp> {
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
