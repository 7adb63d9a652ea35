//! Serde deserialiser for durations in settings, given in seconds with fractions.

use std::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Duration, D::Error> {
    let seconds = f64::deserialize(deserializer)?;
    Duration::try_from_secs_f64(seconds).map_err(|_| {
        D::Error::custom(format!(
            "`{seconds}` is not a number of seconds; expected 0 or more"
        ))
    })
}

/// The same for an optional duration.
pub(crate) mod optional {
    use super::{Deserializer, Duration};

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        super::deserialize(deserializer).map(Some)
    }
}
