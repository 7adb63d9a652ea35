//! Severity of a finding, and the iterations in which it blocks.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::named_enum::named_enum;

named_enum! {
    /// The severity of a check.
    #[derive(
        Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
    )]
    pub enum CheckSeverity {
        Must = "MUST",
        Should = "SHOULD",
        Could = "COULD",
    }
}

impl CheckSeverity {
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
