//! The trail: the tree of a session's work. A trajectory (the goal), its tactics (the approaches)
//! and their actions (the steps).
//!
//! Its nodes are ordinary nodes of the profile `trail`, without files. This module has the rules
//! that only a trail has: the parent of a new node, the exchange format, time gaps, and pruning.

mod gaps;
mod hierarchy;
mod prune;
mod render;

use serde::{Deserialize, Serialize};

pub use gaps::{Gap, GapLimits, GapRelationship, GapSeverity, find_time_gaps, gap_severity};
pub use hierarchy::{BranchSummaries, FlatTrail, HierarchyNode, HierarchyTree, tree_from_flat};
pub use prune::{BranchSummary, PruningPlan, count_complete_branches, plan_branch_pruning};
pub use render::{render_limited_tree, render_trail_tree};

use crate::ids::{NodeId, VersionHash};
use crate::named_enum::named_enum;
use crate::node::{Content, Description, Node, NodeStatus, Progress, Status};
use crate::profile::Profile;
use crate::stamp::Stamp;
use crate::text::clean_line;
use crate::time::Timestamp;
use crate::version::canonical_hash;

/// Name of the profile.
pub const PROFILE: &str = "trail";

/// Whether a project keeps a trail.
#[must_use]
pub fn has_trail_profile(profiles: &[Profile]) -> bool {
    profiles.iter().any(|profile| profile.name == PROFILE)
}

named_enum! {
    /// A level of the trail.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum TrailLevel {
        Trajectory = "trajectory",
        Tactic = "tactic",
        Action = "action",
    }
}

impl TrailLevel {
    /// Parses a level's name.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == word)
    }

    /// Returns the alias of a node: `tc_45141102026`.
    #[must_use]
    pub fn node_alias(self, stamp: &Stamp) -> String {
        // The prefixes are part of the ids in the exchange format.
        let prefix = match self {
            Self::Trajectory => "t",
            Self::Tactic => "tc",
            Self::Action => "a",
        };
        format!("{prefix}_{stamp}")
    }
}

/// A trail node to be created.
#[derive(Clone, Debug)]
pub struct NewTrailNode<'a> {
    pub id: NodeId,
    pub parent: Option<NodeId>,
    pub level: TrailLevel,
    pub stamp: Stamp,
    pub content: &'a str,
    pub progress: Progress,
    pub created: Timestamp,
    pub updated: Timestamp,
}

/// Normalises a text to one line: whitespace runs collapsed, control characters removed.
#[must_use]
pub fn normalize_trail_line(text: &str) -> String {
    clean_line(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

impl NewTrailNode<'_> {
    /// Returns the node. Its text is `content`, which the caller has to record with it.
    #[must_use]
    pub fn into_node(self) -> Node {
        Node {
            id: self.id,
            parent: self.parent,
            profile: PROFILE.to_owned(),
            level: self.level.as_str().to_owned(),
            alias: self.level.node_alias(&self.stamp),
            // Siblings are ordered by time, not by alias: a stamp has only minutes.
            order: self.created.as_millis(),
            path: None,
            description: Description {
                title: Some(self.content.to_owned()),
                ..Description::default()
            },
            content: Content::Text {
                version: VersionHash::of_bytes(self.content.as_bytes()),
                canonical: canonical_hash(self.content),
                basis: None,
            },
            approval: None,
            condemnation: None,
            progress: self.progress,
            // Trail nodes are never approved; `progress` is their only status.
            standing: NodeStatus::without_cause(Status::Draft),
            created_at: self.created,
            updated_at: self.updated,
        }
    }
}

/// Returns the text of a trail node.
#[must_use]
pub fn node_text(node: &Node) -> &str {
    node.description.title.as_deref().unwrap_or_default()
}

/// Why a node cannot be mapped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MapRefused {
    #[error("no intent is declared: there is no trajectory to map a {} below", .0.as_str())]
    NoTrajectory(TrailLevel),
    #[error("no tactic is active: an action belongs to a tactic")]
    NoTactic,
    #[error("the trajectory `{0}` is complete: declare a new one")]
    Finished(String),
    #[error("a trajectory is declared, not mapped")]
    Trajectory,
    #[error("there is nothing to map: the text is empty")]
    Empty,
    #[error(
        "the text has {0} characters, more than {MAX_LINE_CHARS}: a node is one line; details go into a note"
    )]
    TooLong(usize),
}

/// Maximum length of a node's line in characters.
pub const MAX_LINE_CHARS: usize = 500;

/// Returns the parent of a new node, out of the nodes from the root to the cursor.
///
/// # Errors
/// When there is no place for it.
pub fn find_parent_node(level: TrailLevel, path: &[Node]) -> Result<&Node, MapRefused> {
    let root = path.first().ok_or(MapRefused::NoTrajectory(level))?;
    if root.progress == Progress::Complete {
        return Err(MapRefused::Finished(node_text(root).to_owned()));
    }
    match level {
        TrailLevel::Trajectory => Err(MapRefused::Trajectory),
        // Always below the root, even with the cursor at an action: a new tactic replaces the
        // current one.
        TrailLevel::Tactic => Ok(root),
        TrailLevel::Action => path.get(1).ok_or(MapRefused::NoTactic),
    }
}

/// Returns the active nodes that a session leaves when it begins another one of a level: the tactic
/// and the action at the cursor. `path` leads to the cursor; `begun` stays, if it was there before.
///
/// They are closed, because nobody comes back to say so: a tactic that was given up would be offered
/// as open work for ever. Setting it again opens it again.
#[must_use]
pub fn find_left_nodes(level: TrailLevel, path: &[Node], begun: Option<NodeId>) -> Vec<&Node> {
    let depth = match level {
        TrailLevel::Trajectory => 0,
        TrailLevel::Tactic => 1,
        TrailLevel::Action => 2,
    };
    // With the tactic at the cursor set again, nothing below it is left either.
    if path.get(depth).is_some_and(|node| Some(node.id) == begun) {
        return Vec::new();
    }
    path.iter()
        .skip(depth.max(1))
        .filter(|node| matches!(node.progress, Progress::Active | Progress::Pending))
        .collect()
}

/// Normalises and validates the line of a node.
///
/// # Errors
/// When it is empty or too long.
pub fn validate_trail_line(text: &str) -> Result<String, MapRefused> {
    let line = normalize_trail_line(text);
    match line.chars().count() {
        0 => Err(MapRefused::Empty),
        length if length > MAX_LINE_CHARS => Err(MapRefused::TooLong(length)),
        _ => Ok(line),
    }
}

/// Returns a text as one line of a trail, cut where it is too long: for texts that nobody typed for the
/// trail, such as the title of a ticket.
#[must_use]
pub fn shorten_trail_line(text: &str) -> String {
    normalize_trail_line(text)
        .chars()
        .take(MAX_LINE_CHARS)
        .collect()
}

/// Returns the cursor's new position after mapping a node: the node, or its parent if the node is
/// already complete.
#[must_use]
pub fn cursor_after(node: NodeId, parent: NodeId, progress: Progress) -> NodeId {
    // A node that is complete when it is mapped was work of the past; the next one goes beside it.
    if progress == Progress::Complete {
        parent
    } else {
        node
    }
}
