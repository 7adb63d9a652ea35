//! Bookkeeping of a document in the store: the last written version, the freeze, the id counters.
//!
//! Kept outside `plan.json`, so that an edit of the file by hand can be detected and cannot
//! unfreeze it.

use serde::{Deserialize, Serialize};

use super::entity::IdCounters;
use crate::ids::{Digest32, NodeId, Principal, StoreId, VersionHash};
use crate::record::Recorded;
use crate::secrets::mask_secrets;
use crate::time::Timestamp;

/// Record of a document, stored under its id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentRecord {
    /// The root of its tree.
    pub node: NodeId,
    /// Hash of the `plan.json` that Throughline wrote last. Any other text is a manual edit.
    pub written: VersionHash,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen: Option<FreezeRecord>,
    /// Hash of the `context.json` the design is based on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<VersionHash>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revises: Option<String>,
    #[serde(default)]
    pub numbers: IdCounters,
}

impl DocumentRecord {
    /// Returns the record of a document that has no node and no file yet.
    #[must_use]
    pub fn unwritten_record() -> Self {
        Self {
            node: NodeId(0),
            written: VersionHash::of_bytes(&[]),
            frozen: None,
            context: None,
            revises: None,
            numbers: IdCounters::default(),
        }
    }
}

impl Recorded for DocumentRecord {
    const KIND: &'static str = "document";
}

/// Time, author and version of a freeze.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FreezeRecord {
    pub version: VersionHash,
    pub at: Timestamp,
    pub by: Principal,
    /// Commit the repository was at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// The default document of commands that name none.
///
/// Stored per session, and under the empty key for everyone without a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CurrentDocument {
    pub document: String,
}

impl Recorded for CurrentDocument {
    const KIND: &'static str = "current-document";
}

/// Returns the id of a new document: a slug of its title, numbered while `taken` says it is in use.
///
/// Secrets are masked first: a key in lower case, cut short, is not recognised any more.
#[must_use]
pub fn unique_document_id(title: &str, taken: &dyn Fn(&str) -> bool) -> String {
    let mut slug = String::new();
    for c in mask_secrets(title).chars().flat_map(char::to_lowercase) {
        // Letters of any script, not only ASCII: a Russian title keeps a readable folder name.
        if c.is_alphanumeric() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        // Bytes. Together with the number it stays far below the 255 that file systems allow, and
        // is
        // still short enough to type.
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

/// Returns the UUID of a new plan: version 8, from a hash of store, document and time.
///
/// Derived, not random, because the domain has no source of randomness.
#[must_use]
pub fn new_plan_id(store: &StoreId, document: &str, now: Timestamp) -> String {
    let mut bytes =
        Digest32::of_bytes(format!("{store}/{document}/{}", now.as_millis()).as_bytes()).0;
    // Version and variant bits of RFC 9562.
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
