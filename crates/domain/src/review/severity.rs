//! Severity of a finding, and the iterations in which it blocks.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The severity of a check.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "UPPERCASE")]
pub enum CheckSeverity {
    Must,
    Should,
    Could,
}

impl CheckSeverity {
    /// Every severity, the most severe first.
    pub const ALL: [Self; 3] = [Self::Must, Self::Should, Self::Could];

    /// Returns the severity's name, as it is serialised.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Must => "MUST",
            Self::Should => "SHOULD",
            Self::Could => "COULD",
        }
    }

    /// Whether a failed check of this severity blocks in an iteration.
    ///
    /// The bar is lowered step by step: everything blocks at first, in the end only MUST.
    #[must_use]
    pub fn blocks_in(self, iteration: u32) -> bool {
        // Without this, reviewers and authors can go on for ever about details: each fix invites
        // a new COULD. Two rounds for taste, four for quality, then only what must be right.
        match self {
            Self::Must => true,
            Self::Should => iteration <= 4,
            Self::Could => iteration <= 2,
        }
    }
}

impl fmt::Display for CheckSeverity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
