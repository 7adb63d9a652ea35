//! The tree node: identity, content hashes, approval, progress and status.
//!
//! Plain data and its serialised form. Which status follows from it is decided in
//! [`crate::status`]; nodes change only through facts ([`crate::fact`]).

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::approval::{Approval, Condemnation, ObjectionKind};
use crate::ids::{CanonicalHash, NodeId, OperationId, VersionHash};
use crate::named_enum::named_enum;
use crate::status::{StatusInputs, TextState};
use crate::tagged_enum::{ExternallyTagged, deserialize_tagged};
use crate::time::Timestamp;

/// Approval lifecycle of a node. It follows from facts; see [`crate::status`].
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    Draft,
    Approved,
    RequiresRevalidation,
    Invalid,
}

impl Status {
    /// Every status, in lifecycle order.
    pub const ALL: [Self; 4] = [
        Self::Draft,
        Self::Approved,
        Self::RequiresRevalidation,
        Self::Invalid,
    ];

    /// Returns the name for people: terminal, dashboard, messages and documentation.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Approved => "approved",
            Self::RequiresRevalidation => "stale",
            Self::Invalid => "invalid",
        }
    }

    /// Returns the symbol beside the label, so that meaning never depends on colour.
    #[must_use]
    pub fn symbol(self) -> char {
        match self {
            Self::Draft => '○',
            Self::Approved => '✓',
            Self::RequiresRevalidation => '↻',
            Self::Invalid => '✗',
        }
    }

    /// Returns the name for programs: JSON, MCP, the database. `requires-revalidation` is the
    /// published protocol's word for stale.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Approved => "approved",
            Self::RequiresRevalidation => "requires-revalidation",
            Self::Invalid => "invalid",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

// The database stores the position of a value in this list: new ones are added at its end.
named_enum! {
    /// Work lifecycle of a node.
    #[derive(
        Clone,
        Copy,
        Debug,
        Default,
        PartialEq,
        Eq,
        PartialOrd,
        Ord,
        Hash,
        Serialize,
        Deserialize,
        JsonSchema,
    )]
    pub enum Progress {
        #[default]
        Pending = "pending",
        Active = "active",
        Complete = "complete",
        Blocked = "blocked",
    }
}

impl Progress {
    /// Parses a progress value of a ticket file, accepting common synonyms (`done`, `wip`, `todo`).
    #[must_use]
    pub fn from_synonym(word: &str) -> Option<Self> {
        // Ticket files come from other tools and are written by hand, so the vocabulary is wide.
        // An unknown word is `None`, not an error: the node then keeps the progress it has.
        Some(
            match word.trim().to_lowercase().replace(['_', ' '], "-").as_str() {
                "pending" | "ready" | "open" | "todo" | "backlog" | "planned" | "new" => {
                    Self::Pending
                }
                "active" | "in-progress" | "started" | "doing" | "wip" => Self::Active,
                "complete" | "completed" | "done" | "closed" | "resolved" | "finished" => {
                    Self::Complete
                }
                "blocked" | "on-hold" => Self::Blocked,
                _ => return None,
            },
        )
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The parent's text at the time a child was approved against it, by both hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParentVersion {
    pub version: VersionHash,
    pub canonical: CanonicalHash,
}

/// The content of a node's plan file as last observed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
// Three states and not an `Option`: a missing file and an unreadable one have different causes and
// different next steps.
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Content {
    /// Readable text.
    Text {
        version: VersionHash,
        canonical: CanonicalHash,
        /// The parent version under which the text was first observed. Recorded by earlier programs
        /// and read by none: it differs between machines. The field stays, because facts and rows
        /// that have it must still equal one another when a journal is replayed.
        basis: Option<ParentVersion>,
    },
    /// The plan file is not there.
    Missing,
    /// The plan file exists but is not a readable plan: binary, too large, a symlink …
    Unreadable { why: String },
}

/// The variants again, for deserialisation without a buffer; the compiler compares the two.
#[derive(Deserialize)]
#[serde(remote = "Content", rename_all = "kebab-case")]
enum ContentVariants {
    Text {
        version: VersionHash,
        canonical: CanonicalHash,
        basis: Option<ParentVersion>,
    },
    Missing,
    Unreadable {
        why: String,
    },
}

impl ExternallyTagged for Content {
    const TAG: &'static str = "is";

    fn deserialize_variant<'d, D: Deserializer<'d>>(variant: D) -> Result<Self, D::Error> {
        ContentVariants::deserialize(variant)
    }
}

impl<'d> Deserialize<'d> for Content {
    fn deserialize<D: Deserializer<'d>>(content: D) -> Result<Self, D::Error> {
        deserialize_tagged(content)
    }
}

impl Content {
    /// Returns the hash of the file's bytes, if the file is readable.
    #[must_use]
    pub fn version_hash(&self) -> Option<VersionHash> {
        match self {
            Self::Text { version, .. } => Some(*version),
            Self::Missing | Self::Unreadable { .. } => None,
        }
    }

    /// Returns the canonical hash, to which approvals are bound, if the file is readable.
    #[must_use]
    pub fn canonical_hash(&self) -> Option<CanonicalHash> {
        match self {
            Self::Text { canonical, .. } => Some(*canonical),
            Self::Missing | Self::Unreadable { .. } => None,
        }
    }

    /// Returns the parent version recorded by an earlier program; see [`Content::Text`].
    #[must_use]
    pub fn basis(&self) -> Option<ParentVersion> {
        match self {
            Self::Text { basis, .. } => *basis,
            Self::Missing | Self::Unreadable { .. } => None,
        }
    }

    /// Returns the part of the content that the status depends on.
    #[must_use]
    pub fn text_state(&self) -> TextState {
        // Only canonical hashes: reformatting a plan or its parent must not change a status.
        match self {
            Self::Text { canonical, .. } => TextState::Text {
                canonical: *canonical,
            },
            Self::Missing => TextState::Missing,
            Self::Unreadable { .. } => TextState::Unreadable,
        }
    }

    /// Returns the version a child approved now would be approved against.
    #[must_use]
    pub fn as_parent_version(&self) -> Option<ParentVersion> {
        match self {
            Self::Text {
                version, canonical, ..
            } => Some(ParentVersion {
                version: *version,
                canonical: *canonical,
            }),
            Self::Missing | Self::Unreadable { .. } => None,
        }
    }
}

/// Metadata a plan states about itself, parsed from its first heading and front matter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// The first heading, or `title` of the front matter.
    pub title: Option<String>,
    /// Nodes that must be complete first, as the file names them (front matter `needs`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// Headings of the parent this plan rests on (front matter `relies_on`), for precise cascades.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relies_on: Vec<String>,
    /// Work metadata, for levels whose files carry it (tickets).
    // Boxed: only tickets have it, and a tree holds a description per node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<Box<WorkKeys>>,
}

/// Work metadata in a ticket's front matter: phase, progress, parent, work level, triage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkKeys {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The progress as spelled in the file: `ready`, `in-progress`, `done`, `cancelled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The parent's alias, for levels whose files share one folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_level: Option<String>,
    /// As spelled in the file: `high`, `P1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<String>,
    /// As spelled in the file: `2026-12-01`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Addresses of what belongs to it elsewhere: an issue, a discussion, a design.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<String>,
    /// Parse error in the front matter, with its line number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl WorkKeys {
    /// Returns the progress stated in the file.
    ///
    /// The last phase means complete, whatever `status` says.
    #[must_use]
    pub fn stated_progress(&self, last_phase: Option<&str>) -> Option<Progress> {
        // The phase wins: a ticket in its last phase is complete even if `status` was not updated.
        // Without `is_some`, a file without a phase would match a profile without phases.
        if self.phase.is_some() && self.phase.as_deref() == last_phase {
            return Some(Progress::Complete);
        }
        Progress::from_synonym(self.status.as_deref()?)
    }
}

/// Why a node is `requires-revalidation` or `invalid`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Cause {
    pub kind: CauseKind,
    /// The node that triggered it: the ancestor that changed, or the node itself.
    pub origin: NodeId,
    /// The operation that triggered it.
    pub operation: OperationId,
    /// The reason given by the person or agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The kinds of [`Cause`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CauseKind {
    /// An ancestor's text differs from the one this node was written or approved against.
    ParentChanged,
    /// An ancestor's approval was withdrawn.
    ParentNotApproved,
    /// An ancestor's file is missing or unreadable, or its text is condemned.
    ParentInvalid,
    /// This exact text was condemned.
    Condemned,
    FileMissing,
    FileUnreadable,
    /// A person asked to compare this text with its parent again.
    RevalidationRequired,
}

/// A node's status with its cause and start time, which only the two stale statuses have.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct NodeStatus {
    pub status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

impl NodeStatus {
    /// Returns a status without a cause: `draft` or `approved`.
    #[must_use]
    pub fn without_cause(status: Status) -> Self {
        Self {
            status,
            cause: None,
            since: None,
        }
    }
}

/// The name of a node among its siblings, and the file it comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeName {
    pub alias: String,
    pub order: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// One node of a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    pub id: NodeId,
    pub parent: Option<NodeId>,
    pub profile: String,
    pub level: String,
    /// Human-readable name, unique among the siblings: `chapter-02`.
    pub alias: String,
    /// Sort key among the siblings: the number in the alias, if it has one.
    pub order: i64,
    /// The plan file relative to the project; `None` for profiles that keep nodes in the store
    /// only.
    pub path: Option<String>,
    pub description: Description,
    pub content: Content,
    pub approval: Option<Approval>,
    pub condemnation: Option<Condemnation>,
    pub progress: Progress,
    pub standing: NodeStatus,
    pub created_at: Timestamp,
    /// Time of the last operation that changed this node itself.
    pub updated_at: Timestamp,
}

impl Node {
    /// Returns the node's status.
    #[must_use]
    pub fn status(&self) -> Status {
        self.standing.status
    }

    /// Returns the node's name and file.
    #[must_use]
    pub fn name(&self) -> NodeName {
        NodeName {
            alias: self.alias.clone(),
            order: self.order,
            path: self.path.clone(),
        }
    }

    /// Sets the node's name and file.
    pub fn set_name(&mut self, name: NodeName) {
        (self.alias, self.order, self.path) = (name.alias, name.order, name.path);
    }

    /// Returns the fields the status is derived from.
    #[must_use]
    pub fn status_inputs(&self) -> StatusInputs {
        // A cascade judges up to a hundred thousand nodes at once; titles, paths and descriptions
        // would be most of the memory and are not needed for it.
        StatusInputs {
            id: self.id,
            parent: self.parent,
            text: self.content.text_state(),
            approval: self.approval.as_ref().map(Approval::approval_inputs),
            condemnation: self
                .condemnation
                .as_ref()
                .map(Condemnation::objection_inputs),
            standing: self.standing.clone(),
        }
    }

    /// Returns the objection to the current text, if there is one.
    #[must_use]
    pub fn objection_to_text(&self) -> Option<&Condemnation> {
        // Bound to the text: once it changes, the objection is answered and no longer holds.
        let canonical = self.content.canonical_hash()?;
        self.condemnation
            .as_ref()
            .filter(|objection| objection.canonical == Some(canonical))
    }

    /// Returns the open request for changes: one of the current text.
    #[must_use]
    pub fn change_request(&self) -> Option<&Condemnation> {
        self.objection_to_text()
            .filter(|objection| objection.kind == ObjectionKind::ChangesRequested)
    }

    /// Whether the current text is the approved one, ignoring formatting, and no changes of it were
    /// requested since.
    #[must_use]
    pub fn has_approved_text(&self) -> bool {
        // The approval outlives the text it is for: an edit does not delete it, and writing the
        // approved text again makes it count again.
        match (&self.approval, self.content.canonical_hash()) {
            (Some(approval), Some(canonical)) => {
                approval.canonical == canonical && self.change_request().is_none()
            }
            _ => false,
        }
    }
}
