//! One item of a tree: what it is, what it says, and what its status rests on.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::approval::{Approval, Condemnation};
use crate::ids::{CanonicalHash, NodeId, OperationId, VersionHash};
use crate::status::{Footing, TextFooting};
use crate::time::Timestamp;

/// Approval lifecycle of a node. It follows from facts; see [`crate::status`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    Draft,
    Approved,
    RequiresRevalidation,
    Invalid,
}

impl Status {
    /// Every status, in the order people meet them.
    pub const ALL: [Self; 4] = [
        Self::Draft,
        Self::Approved,
        Self::RequiresRevalidation,
        Self::Invalid,
    ];

    /// Returns the word used everywhere: code, JSON, database, terminal.
    #[must_use]
    pub fn word(self) -> &'static str {
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
        f.write_str(self.word())
    }
}

/// Work lifecycle of a node.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Progress {
    #[default]
    Pending,
    Active,
    Complete,
    Blocked,
}

impl Progress {
    /// Returns the progress a ticket file's own word means.
    #[must_use]
    pub fn from_words(word: &str) -> Option<Self> {
        Some(
            match word.trim().to_lowercase().replace(['_', ' '], "-").as_str() {
                "pending" | "ready" | "open" | "todo" | "backlog" | "planned" | "new" => {
                    Self::Pending
                }
                "active" | "in-progress" | "started" | "doing" | "wip" => Self::Active,
                "complete" | "completed" | "done" | "closed" | "resolved" => Self::Complete,
                "blocked" | "on-hold" => Self::Blocked,
                _ => return None,
            },
        )
    }

    /// Every state of work, in the order it is gone through.
    pub const ALL: [Self; 4] = [Self::Pending, Self::Active, Self::Complete, Self::Blocked];

    /// Returns the word used everywhere.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Active => "active",
            Self::Complete => "complete",
            Self::Blocked => "blocked",
        }
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// The state a parent was in when something was written or approved against it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParentVersion {
    pub version: VersionHash,
    pub canonical: CanonicalHash,
}

/// What stands behind a node now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Content {
    /// Readable text; `basis` is the parent it was written against.
    Text {
        version: VersionHash,
        canonical: CanonicalHash,
        basis: Option<ParentVersion>,
    },
    /// The plan file is not there.
    Missing,
    /// The plan file is there but is no plan: binary, too large, a link, not permitted …
    Unreadable { why: String },
}

impl Content {
    /// Returns the hash of the file's bytes, where there is a readable file.
    #[must_use]
    pub fn version(&self) -> Option<VersionHash> {
        match self {
            Self::Text { version, .. } => Some(*version),
            Self::Missing | Self::Unreadable { .. } => None,
        }
    }

    /// Returns the hash approvals are bound to, where there is a readable file.
    #[must_use]
    pub fn canonical(&self) -> Option<CanonicalHash> {
        match self {
            Self::Text { canonical, .. } => Some(*canonical),
            Self::Missing | Self::Unreadable { .. } => None,
        }
    }

    /// Returns the parent this text was written against.
    #[must_use]
    pub fn basis(&self) -> Option<ParentVersion> {
        match self {
            Self::Text { basis, .. } => *basis,
            Self::Missing | Self::Unreadable { .. } => None,
        }
    }

    /// Returns just what a status rests on.
    #[must_use]
    pub fn footing(&self) -> TextFooting {
        match self {
            Self::Text {
                canonical, basis, ..
            } => TextFooting::Text {
                canonical: *canonical,
                basis: basis.map(|parent| parent.canonical),
            },
            Self::Missing => TextFooting::Missing,
            Self::Unreadable { .. } => TextFooting::Unreadable,
        }
    }

    /// Returns what a child written now would be written against.
    #[must_use]
    pub fn as_parent(&self) -> Option<ParentVersion> {
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

/// What a plan says of itself, read from its heading and front matter.
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
    /// How far the work is, where the level's files say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<Box<WorkKeys>>,
}

/// What a ticket's front matter says about the work, as opposed to what is to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkKeys {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The file's own word for the progress: `ready`, `in-progress`, `done`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The alias of the parent, for levels whose files lie side by side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_level: Option<String>,
    /// What is wrong with the front matter, with its line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl WorkKeys {
    /// Returns the progress the file speaks of: in the last phase everything is done, whatever word stands beside it.
    #[must_use]
    pub fn progress(&self, last_phase: Option<&str>) -> Option<Progress> {
        if self.phase.is_some() && self.phase.as_deref() == last_phase {
            return Some(Progress::Complete);
        }
        Progress::from_words(self.status.as_deref()?)
    }
}

/// Why a node is `requires-revalidation` or `invalid`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Cause {
    pub kind: CauseKind,
    /// The node where it began: the ancestor that changed, or the node itself.
    pub origin: NodeId,
    /// The operation in which it happened.
    pub operation: OperationId,
    /// The reason a person or agent gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The kinds of [`Cause`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CauseKind {
    /// An ancestor's text is not the one this was written or approved against.
    ParentChanged,
    /// An ancestor's approval was taken back.
    ParentNotApproved,
    /// An ancestor is gone, unreadable or condemned.
    ParentInvalid,
    /// Someone condemned this very text.
    Condemned,
    FileMissing,
    FileUnreadable,
}

/// A node's status with its cause; the cause and time are there for the two stale statuses only.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Standing {
    pub status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

impl Standing {
    /// Returns a standing that needs no cause.
    #[must_use]
    pub fn plain(status: Status) -> Self {
        Self {
            status,
            cause: None,
            since: None,
        }
    }
}

/// One node of a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    pub id: NodeId,
    pub parent: Option<NodeId>,
    pub profile: String,
    pub level: String,
    /// Readable name, unique below the parent: `chapter-02`.
    pub alias: String,
    /// Place among the siblings: the number in the alias, where it has one.
    pub order: i64,
    /// The plan file, relative to the project; nodes of some profiles have none.
    pub path: Option<String>,
    pub description: Description,
    pub content: Content,
    pub approval: Option<Approval>,
    pub condemnation: Option<Condemnation>,
    pub progress: Progress,
    pub standing: Standing,
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

    /// Returns just what the status rests on.
    #[must_use]
    pub fn footing(&self) -> Footing {
        Footing {
            id: self.id,
            parent: self.parent,
            text: self.content.footing(),
            approval: self.approval.as_ref().map(Approval::footing),
            condemnation: self
                .condemnation
                .as_ref()
                .map(|condemnation| condemnation.canonical),
            standing: self.standing.clone(),
        }
    }

    /// Says whether the text is exactly (formatting aside) the one that was approved.
    #[must_use]
    pub fn text_is_approved(&self) -> bool {
        match (&self.approval, self.content.canonical()) {
            (Some(approval), Some(canonical)) => approval.canonical == canonical,
            _ => false,
        }
    }
}
