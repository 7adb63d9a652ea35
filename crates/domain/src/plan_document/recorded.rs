//! What is kept of a document beside its file: the version we wrote last, the freeze, the numbers given out.

use serde::{Deserialize, Serialize};

use super::entity::Numbers;
use crate::ids::{Digest32, NodeId, Principal, StoreId, VersionHash};
use crate::record::Recorded;
use crate::time::Timestamp;

/// A document's bookkeeping, under its id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentRecord {
    /// The root of its tree.
    pub node: NodeId,
    /// The text of `plan.json` that we wrote last. Another one in the file was put there by somebody else.
    pub written: VersionHash,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen: Option<Frozen>,
    /// The text of `context.json` that the design rests on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<VersionHash>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revises: Option<String>,
    #[serde(default)]
    pub numbers: Numbers,
}

impl Recorded for DocumentRecord {
    const KIND: &'static str = "document";
}

/// That a document was frozen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frozen {
    pub version: VersionHash,
    pub at: Timestamp,
    pub by: Principal,
    /// Where the repository stood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// The document that is meant when none is named; under the session's name, or under nothing for everybody.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CurrentDocument {
    pub document: String,
}

impl Recorded for CurrentDocument {
    const KIND: &'static str = "current-document";
}

/// Returns the id of a new document: its title in small letters and hyphens, with a number where `taken` says so.
#[must_use]
pub fn document_id(title: &str, taken: &dyn Fn(&str) -> bool) -> String {
    let mut slug = String::new();
    for c in title.chars().flat_map(char::to_lowercase) {
        if c.is_alphanumeric() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() >= 48 {
            break;
        }
    }
    let slug = slug.trim_end_matches('-');
    let slug = if slug.is_empty() { "plan" } else { slug };
    let numbered = |number: u32| {
        if number == 1 {
            slug.to_owned()
        } else {
            format!("{slug}-{number}")
        }
    };
    (1..)
        .map(numbered)
        .find(|id| !taken(id))
        .unwrap_or_else(|| slug.to_owned())
}

/// Returns the UUID of a new plan: a hash of what nobody else has at that moment (UUID version 8).
#[must_use]
pub fn plan_id(store: &StoreId, document: &str, now: Timestamp) -> String {
    let mut bytes = Digest32::of(format!("{store}/{document}/{}", now.as_millis()).as_bytes()).0;
    bytes[6] = (bytes[6] & 0x0f) | 0x80;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let digits = Digest32(bytes).to_string();
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    format!(
        "{}-{}-{}-{}-{}",
        part(0, 8),
        part(8, 12),
        part(12, 16),
        part(16, 20),
        part(20, 32)
    )
}
