//! How much a finding weighs, and when it stops the work.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The severity of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Severity {
    Must,
    Should,
    Could,
}

impl Severity {
    /// Every severity, the heaviest first.
    pub const ALL: [Self; 3] = [Self::Must, Self::Should, Self::Could];

    /// Returns the word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Must => "MUST",
            Self::Should => "SHOULD",
            Self::Could => "COULD",
        }
    }

    /// Says whether a failed check of this severity stops the work in an iteration: first everything does, then what
    /// should be, in the end only what must be.
    #[must_use]
    pub fn blocks_in(self, iteration: u32) -> bool {
        match self {
            Self::Must => true,
            Self::Should => iteration <= 4,
            Self::Could => iteration <= 2,
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
