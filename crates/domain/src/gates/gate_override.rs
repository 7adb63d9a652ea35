//! The record of an override, by which an undo finds the permission it gave.
//!
//! The permission itself is a note, consumed by the step that uses it; this record stays, so that
//! an undo can tell an unused permission from a used one.

use serde::{Deserialize, Serialize};

use crate::record::Recorded;
use crate::time::Timestamp;

/// An override of a gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateOverride {
    pub gate: String,
    /// The node's path; for the `intent` gate also a file, or `command`.
    pub subject: String,
    pub at: Timestamp,
}

impl Recorded for GateOverride {
    const KIND: &'static str = "override";
}

impl GateOverride {
    /// Returns the record key.
    #[must_use]
    pub fn record_key(&self) -> String {
        format!("{}/{}/{}", self.gate, self.subject, self.at.as_millis())
    }
}
