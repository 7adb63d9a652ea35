//! Shape changes of a tree: add, insert, move, rename, renumber, split, merge and remove plans.
//!
//! A pure planner in three steps: [`plan_layout`] decides which nodes get another parent, name or
//! file; [`FileMoves`] maps every other file that belongs to them; [`ReferenceRewriter`] changes the
//! references in texts. [`decide_shape_facts`] turns the result into facts. Nothing is read or written
//! here, so a preview and the change itself are one computation.

mod facts;
mod file_moves;
mod layout;
mod links;
mod numbers;
mod plan_texts;
mod references;
mod relocation;

use crate::ids::NodeId;
use crate::node::NodeName;
use crate::profile::NotAnAlias;

pub use self::facts::{ShapeTexts, decide_shape_facts, rebind_approval};
pub use self::file_moves::FileMoves;
pub use self::layout::{ShapeContext, apply_layout, plan_layout};
pub use self::plan_texts::{
    compose_new_text, list_split_points, merge_texts, rewrite_heading_title, split_text,
};
pub use self::references::ReferenceRewriter;

/// A request to change the shape of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShapeRequest {
    /// A new plan; the ones from its number on make room.
    Insert {
        level: String,
        place: Place,
        /// A name instead of a number: `prologue`.
        name: Option<String>,
    },
    /// A plan goes to another place, with everything below it.
    Move { node: NodeId, place: Place },
    /// A plan gets another number, id or name, which must be free.
    Rename { node: NodeId, alias: String },
    /// The children of a plan are numbered without gaps; without a plan, the roots.
    CloseGaps { parent: Option<NodeId> },
    /// A new plan right after this one, which takes over the children from `children_from` on.
    Split {
        node: NodeId,
        children_from: Option<NodeId>,
    },
    /// A plan becomes part of another one, with its children.
    Merge { node: NodeId, into: NodeId },
    /// A plan is removed, with everything below it.
    Remove { node: NodeId },
}

/// A place for a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub parent: Option<NodeId>,
    pub position: Position,
}

/// A position among siblings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    Last,
    Before(NodeId),
    After(NodeId),
    Number(u32),
}

/// Why a shape change is not possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeRefused {
    #[error("a plan of the level `{level}` cannot be {}", describe_parent(parent.as_deref()))]
    WrongParent {
        level: String,
        /// The level of the parent; none means at the top.
        parent: Option<String>,
    },
    #[error("`{node}` cannot be moved below itself")]
    BelowItself { node: String },
    #[error("`{node}` cannot be merged with itself or with a plan below it")]
    MergedWithItself { node: String },
    #[error("`{alias}` exists already")]
    Taken { alias: String },
    #[error("`{alias}` cannot be below `{parent}`: its name says another parent")]
    NameOfOtherParent { alias: String, parent: String },
    #[error("the profile has no {level} with number {number}: its numbers are {first}–{last}")]
    OutOfNumbers {
        level: String,
        number: u32,
        first: u32,
        last: u32,
    },
    #[error("plans of the level `{level}` have names and no numbers, so they have no position")]
    NotNumbered { level: String },
    #[error(
        "`{node}` has no file of its own: it exists in the store, or is an item of another file"
    )]
    NoFile { node: String },
    #[error(
        "`{node}` is a {level} and `{other}` a {other_level}: only plans of one level are merged"
    )]
    OtherLevel {
        node: String,
        level: String,
        other: String,
        other_level: String,
    },
    #[error("`{child}` is not below `{node}`")]
    NotAChild { child: String, node: String },
    #[error(transparent)]
    NotAnAlias(#[from] NotAnAlias),
    #[error("nothing changes: `{node}` is there already")]
    Unchanged { node: String },
    #[error("`{path}` does not fit a pattern of its level")]
    ForeignFile { path: String },
    #[error("there is no heading or line `{at}` at which the text could be split")]
    NoSplitPoint { at: String },
}

fn describe_parent(parent: Option<&str>) -> String {
    match parent {
        Some(level) => format!("below one of the level `{level}`"),
        None => "without a parent".to_owned(),
    }
}

/// A node that gets another parent, name or file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeChange {
    pub node: NodeId,
    pub parent_before: Option<NodeId>,
    pub parent_after: Option<NodeId>,
    pub before: NodeName,
    pub after: NodeName,
}

/// A new plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedNode {
    pub id: NodeId,
    pub parent: Option<NodeId>,
    pub profile: String,
    pub level: String,
    pub name: NodeName,
}

/// Which nodes a request changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Parents before their children.
    pub changes: Vec<NodeChange>,
    pub added: Option<AddedNode>,
    /// Children before their parents.
    pub removed: Vec<NodeId>,
    /// A removed node, and the one that references to it mean from now on.
    pub replaced: Option<(NodeId, NodeId)>,
}
