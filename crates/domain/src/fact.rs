//! Facts (event sourcing): every state change, with its value before and after.
//!
//! Having both values, a fact can be applied, inverted and checked. Tables, mirror and dashboard
//! are projections of the facts; undo, rebuild and history read the facts themselves.

use std::mem::swap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::approval::{Approval, Condemnation};
use crate::cascade::StatusChangeGroup;
use crate::decision::KnownDecision;
use crate::ids::{NodeId, OperationId, VersionHash};
use crate::node::{Content, Description, Node, NodeName, Progress};
use crate::record::{RecordKey, Recorded as _};
use crate::secrets;
use crate::tagged_enum::{ExternallyTagged, deserialize_tagged};
use crate::time::Timestamp;

/// One state change, named in the past tense.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "fact", rename_all = "kebab-case")]
#[expect(
    clippy::large_enum_variant,
    reason = "approvals are the most frequent facts of a decision; boxing them would cost every reader"
)]
pub enum Fact {
    NodeAdded {
        node: Box<Node>,
    },
    NodeRemoved {
        node: Box<Node>,
    },
    /// The node was moved below another one, with its subtree.
    NodeMoved {
        node: NodeId,
        before: Option<NodeId>,
        after: Option<NodeId>,
    },
    /// The node's file was moved or renamed; the node stays the same.
    NodeRenamed {
        node: NodeId,
        before: NodeName,
        after: NodeName,
    },
    ContentChanged {
        node: NodeId,
        before: Content,
        after: Content,
    },
    DescriptionChanged {
        node: NodeId,
        before: Description,
        after: Description,
    },
    ApprovalChanged {
        node: NodeId,
        before: Option<Approval>,
        after: Option<Approval>,
    },
    CondemnationChanged {
        node: NodeId,
        before: Option<Condemnation>,
        after: Option<Condemnation>,
    },
    ProgressChanged {
        node: NodeId,
        before: Progress,
        after: Progress,
    },
    StandingsChanged {
        groups: Vec<StatusChangeGroup>,
    },
    /// A readable copy of `version` was written to `path`.
    BackupWritten {
        node: NodeId,
        version: VersionHash,
        path: String,
        reason: String,
    },
    RecordChanged {
        record: RecordKey,
        before: Option<Value>,
        after: Option<Value>,
    },
    /// `operation` was undone by operation `after`; `None` when its undo (`before`) was undone.
    UndoneChanged {
        operation: OperationId,
        before: Option<OperationId>,
        after: Option<OperationId>,
    },
}

/// The variants again, for deserialisation without a buffer; the compiler compares the two.
#[derive(Deserialize)]
#[serde(remote = "Fact", rename_all = "kebab-case")]
#[expect(
    clippy::large_enum_variant,
    reason = "it names the variants of `Fact` and is never a value"
)]
enum FactVariants {
    NodeAdded {
        node: Box<Node>,
    },
    NodeRemoved {
        node: Box<Node>,
    },
    NodeMoved {
        node: NodeId,
        before: Option<NodeId>,
        after: Option<NodeId>,
    },
    NodeRenamed {
        node: NodeId,
        before: NodeName,
        after: NodeName,
    },
    ContentChanged {
        node: NodeId,
        before: Content,
        after: Content,
    },
    DescriptionChanged {
        node: NodeId,
        before: Description,
        after: Description,
    },
    ApprovalChanged {
        node: NodeId,
        before: Option<Approval>,
        after: Option<Approval>,
    },
    CondemnationChanged {
        node: NodeId,
        before: Option<Condemnation>,
        after: Option<Condemnation>,
    },
    ProgressChanged {
        node: NodeId,
        before: Progress,
        after: Progress,
    },
    StandingsChanged {
        groups: Vec<StatusChangeGroup>,
    },
    BackupWritten {
        node: NodeId,
        version: VersionHash,
        path: String,
        reason: String,
    },
    RecordChanged {
        record: RecordKey,
        before: Option<Value>,
        after: Option<Value>,
    },
    UndoneChanged {
        operation: OperationId,
        before: Option<OperationId>,
        after: Option<OperationId>,
    },
}

impl ExternallyTagged for Fact {
    const TAG: &'static str = "fact";

    fn deserialize_variant<'d, D: Deserializer<'d>>(variant: D) -> Result<Self, D::Error> {
        FactVariants::deserialize(variant)
    }
}

impl<'d> Deserialize<'d> for Fact {
    fn deserialize<D: Deserializer<'d>>(fact: D) -> Result<Self, D::Error> {
        deserialize_tagged(fact)
    }
}

impl Fact {
    /// Returns the inverse fact; `None` for facts that an undo does not revert.
    #[must_use]
    pub fn inverse_fact(&self) -> Option<Self> {
        let mut inverse = self.clone();
        // Written out for each variant, without a wildcard: a new fact has to say here whether an
        // undo reverts it.
        match &mut inverse {
            Self::NodeAdded { node } => return Some(Self::NodeRemoved { node: node.clone() }),
            Self::NodeRemoved { node } => return Some(Self::NodeAdded { node: node.clone() }),
            Self::NodeMoved { before, after, .. } => swap(before, after),
            Self::NodeRenamed { before, after, .. } => swap(before, after),
            Self::ContentChanged { before, after, .. } => swap(before, after),
            Self::DescriptionChanged { before, after, .. } => swap(before, after),
            Self::ApprovalChanged { before, after, .. } => swap(before, after),
            Self::CondemnationChanged { before, after, .. } => swap(before, after),
            Self::ProgressChanged { before, after, .. } => swap(before, after),
            Self::StandingsChanged { groups } => groups
                .iter_mut()
                .for_each(|group| swap(&mut group.before, &mut group.after)),
            // Texts are never deleted by an undo, and this record is how a version with a secret
            // finds its masked text.
            Self::RecordChanged { record, .. } if secrets::is_masked_text(record) => return None,
            // A decision is taken back by another one, so that a merge does not bring it back.
            Self::RecordChanged { record, .. } if record.kind == KnownDecision::KIND => {
                return None;
            }
            Self::RecordChanged { before, after, .. } => swap(before, after),
            Self::UndoneChanged { before, after, .. } => swap(before, after),
            // The backup file stays on disk as well: it is a safety copy for people.
            Self::BackupWritten { .. } => return None,
        }
        Some(inverse)
    }

    /// Returns the ids of the nodes this fact changes.
    #[must_use]
    pub fn changed_nodes(&self) -> Vec<NodeId> {
        match self {
            Self::NodeAdded { node } | Self::NodeRemoved { node } => vec![node.id],
            Self::NodeMoved { node, .. }
            | Self::NodeRenamed { node, .. }
            | Self::ContentChanged { node, .. }
            | Self::DescriptionChanged { node, .. }
            | Self::ApprovalChanged { node, .. }
            | Self::CondemnationChanged { node, .. }
            | Self::ProgressChanged { node, .. }
            | Self::BackupWritten { node, .. } => vec![*node],
            Self::StandingsChanged { groups } => groups
                .iter()
                .flat_map(|group| group.nodes.iter().copied())
                .collect(),
            // Records may be about a node, but the node itself does not change.
            Self::RecordChanged { .. } | Self::UndoneChanged { .. } => Vec::new(),
        }
    }
}

/// The target facts are applied to: the in-memory tree, or the tables of a storage engine.
pub trait NodeTable {
    /// The error type of the engine.
    type Fault;

    /// Returns a node.
    ///
    /// # Errors
    /// The engine's fault.
    fn get_node(&mut self, id: NodeId) -> Result<Option<Node>, Self::Fault>;

    /// Inserts a new node.
    ///
    /// # Errors
    /// The engine's fault.
    fn insert_node(&mut self, node: Node) -> Result<(), Self::Fault>;

    /// Updates a node. Id and parent do not change.
    ///
    /// # Errors
    /// The engine's fault.
    fn replace_node(&mut self, before: &Node, after: Node) -> Result<(), Self::Fault>;

    /// Moves a node and its subtree below another node, or to the top level.
    ///
    /// # Errors
    /// The engine's fault, also when the node would become its own ancestor.
    fn move_node_below(
        &mut self,
        node: &Node,
        parent: Option<NodeId>,
        at: Timestamp,
    ) -> Result<(), Self::Fault>;

    /// Deletes a node, which must have no children.
    ///
    /// # Errors
    /// The engine's fault.
    fn remove_node(&mut self, id: NodeId) -> Result<(), Self::Fault>;

    /// Sets the status of many nodes at once; all of them must have the group's `before`.
    ///
    /// # Errors
    /// The engine's fault.
    fn set_statuses(&mut self, group: &StatusChangeGroup) -> Result<(), Self::Fault>;

    /// Adds this content to the node's list of versions.
    ///
    /// # Errors
    /// The engine's fault.
    fn add_version(&mut self, node: NodeId, content: &Content) -> Result<(), Self::Fault>;

    /// Adds a readable backup to the node's list of backups.
    ///
    /// # Errors
    /// The engine's fault.
    fn add_backup(&mut self, backup: Backup) -> Result<(), Self::Fault>;

    /// Replaces the record `before` by `after` (compare-and-swap).
    ///
    /// # Errors
    /// The engine's fault, also when the current record is not `before`.
    fn set_record(
        &mut self,
        record: &RecordKey,
        before: Option<&Value>,
        after: Option<&Value>,
    ) -> Result<(), Self::Fault>;

    /// Records by which operation another one was undone.
    ///
    /// # Errors
    /// The engine's fault.
    fn set_undone_by(
        &mut self,
        operation: OperationId,
        by: Option<OperationId>,
    ) -> Result<(), Self::Fault>;

    /// Returns the fault for a fact whose `before` is not the current value.
    fn mismatch_fault(&mut self, what: String) -> Self::Fault;
}

/// A readable backup next to a plan file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backup {
    pub node: NodeId,
    pub version: VersionHash,
    pub path: String,
    pub reason: String,
    pub at: Timestamp,
}

/// Applies one fact. `at` becomes `updated_at` of the nodes it changes.
///
/// # Errors
/// The table's fault, also when the fact's `before` is not the current value.
pub fn apply_fact<T: NodeTable + ?Sized>(
    table: &mut T,
    fact: &Fact,
    at: Timestamp,
) -> Result<(), T::Fault> {
    // Every fact is checked against the current value before it is written. A mismatch means that
    // the history and the tables have diverged, and applying it anyway would hide that.
    match fact {
        Fact::NodeAdded { node } => add_node(table, node),
        Fact::NodeRemoved { node } => {
            // The approval and status of the removed node are in the fact, so an undo restores
            // them.
            if table.get_node(node.id)?.is_none() {
                return Err(table.mismatch_fault(format!("node {} removed but not there", node.id)));
            }
            table.remove_node(node.id)
        }
        Fact::NodeMoved {
            node,
            before,
            after,
        } => move_node(table, *node, *before, *after, at),
        Fact::NodeRenamed {
            node,
            before,
            after,
        } => rename_node(table, *node, before, after),
        Fact::ContentChanged {
            node,
            before,
            after,
        } => {
            update_node(table, *node, at, "content", |it| {
                compare_and_swap(&mut it.content, before, after)
            })?;
            table.add_version(*node, after)
        }
        Fact::DescriptionChanged {
            node,
            before,
            after,
        } => update_node(table, *node, at, "description", |it| {
            compare_and_swap(&mut it.description, before, after)
        }),
        Fact::ApprovalChanged {
            node,
            before,
            after,
        } => update_node(table, *node, at, "approval", |it| {
            compare_and_swap(&mut it.approval, before, after)
        }),
        Fact::CondemnationChanged {
            node,
            before,
            after,
        } => update_node(table, *node, at, "condemnation", |it| {
            compare_and_swap(&mut it.condemnation, before, after)
        }),
        Fact::ProgressChanged {
            node,
            before,
            after,
        } => update_node(table, *node, at, "progress", |it| {
            compare_and_swap(&mut it.progress, before, after)
        }),
        // `updated_at` stays: a status that follows from a parent does not change the node itself.
        Fact::StandingsChanged { groups } => groups
            .iter()
            .try_for_each(|group| table.set_statuses(group)),
        Fact::BackupWritten {
            node,
            version,
            path,
            reason,
        } => table.add_backup(Backup {
            node: *node,
            version: *version,
            path: path.clone(),
            reason: reason.clone(),
            at,
        }),
        Fact::RecordChanged {
            record,
            before,
            after,
        } => table.set_record(record, before.as_ref(), after.as_ref()),
        // `before` is there for the inverse fact; the mark itself is simply overwritten.
        Fact::UndoneChanged {
            operation, after, ..
        } => table.set_undone_by(*operation, *after),
    }
}

/// Adds a node with its first version: a node without it has no text to show or to restore.
fn add_node<T: NodeTable + ?Sized>(table: &mut T, node: &Node) -> Result<(), T::Fault> {
    if table.get_node(node.id)?.is_some() {
        return Err(table.mismatch_fault(format!("node {} added twice", node.id)));
    }
    table.insert_node(node.clone())?;
    table.add_version(node.id, &node.content)
}

/// Moves a node below another parent.
fn move_node<T: NodeTable + ?Sized>(
    table: &mut T,
    node: NodeId,
    before: Option<NodeId>,
    after: Option<NodeId>,
    at: Timestamp,
) -> Result<(), T::Fault> {
    let Some(there) = table.get_node(node)? else {
        return Err(table.mismatch_fault(format!("node {node} moved, but there is no such node")));
    };
    if there.parent != before {
        return Err(
            table.mismatch_fault(format!("the parent of `{}` has changed since", there.alias))
        );
    }
    table.move_node_below(&there, after, at)
}

/// Renames a node. `updated_at` stays: another file name answers no comment on the plan.
fn rename_node<T: NodeTable + ?Sized>(
    table: &mut T,
    node: NodeId,
    before: &NodeName,
    after: &NodeName,
) -> Result<(), T::Fault> {
    let Some(there) = table.get_node(node)?.filter(|it| it.name() == *before) else {
        return Err(table.mismatch_fault(format!("the name of node {node} has changed since")));
    };
    let mut renamed = there.clone();
    renamed.set_name(after.clone());
    table.replace_node(&there, renamed)
}

/// Loads a node, edits it and writes it back; `edit` returns false when `before` does not match.
fn update_node<T: NodeTable + ?Sized>(
    table: &mut T,
    id: NodeId,
    at: Timestamp,
    what: &str,
    edit: impl FnOnce(&mut Node) -> bool,
) -> Result<(), T::Fault> {
    let Some(before) = table.get_node(id)? else {
        return Err(table.mismatch_fault(format!(
            "{what} of node {id} changed, but there is no such node"
        )));
    };
    // The engine gets both versions: it updates only the columns that differ, and takes the old row
    // out of its running checksum.
    let mut after = before.clone();
    if !edit(&mut after) {
        return Err(table.mismatch_fault(format!(
            "the {what} of `{}` has changed since",
            before.alias
        )));
    }
    after.updated_at = at;
    table.replace_node(&before, after)
}

/// Replaces `before` by `after`; returns false, changing nothing, when the value is not `before`.
fn compare_and_swap<V: Clone + PartialEq>(place: &mut V, before: &V, after: &V) -> bool {
    if place != before {
        return false;
    }
    *place = after.clone();
    true
}
