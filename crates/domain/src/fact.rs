//! Facts: the only way state changes.
//!
//! Each fact says what was before and what is after, so that it can be applied, reversed and
//! checked. Tables, mirror and dashboard are projections of them; undo, rebuild and history read them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::approval::{Approval, Condemnation};
use crate::cascade::StandingGroup;
use crate::ids::{NodeId, OperationId, VersionHash};
use crate::node::{Content, Description, Node, Progress};
use crate::record::RecordKey;
use crate::secrets;
use crate::time::Timestamp;

/// Something that happened, in the past tense.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "kebab-case")]
pub enum Fact {
    NodeAdded {
        node: Box<Node>,
    },
    NodeRemoved {
        node: Box<Node>,
    },
    /// The node stands below another one, with all that is below it.
    NodeMoved {
        node: NodeId,
        before: Option<NodeId>,
        after: Option<NodeId>,
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
        groups: Vec<StandingGroup>,
    },
    /// A readable copy of `version` was put at `path`.
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
    /// `operation` was undone by `after`, or (undone by `before`) is in force again.
    UndoneChanged {
        operation: OperationId,
        before: Option<OperationId>,
        after: Option<OperationId>,
    },
}

impl Fact {
    /// Returns the fact that takes this one back; `None` for what stays true whatever is undone.
    #[must_use]
    pub fn reversed(&self) -> Option<Self> {
        Some(match self.clone() {
            Self::NodeAdded { node } => Self::NodeRemoved { node },
            Self::NodeRemoved { node } => Self::NodeAdded { node },
            Self::NodeMoved {
                node,
                before,
                after,
            } => Self::NodeMoved {
                node,
                before: after,
                after: before,
            },
            Self::ContentChanged {
                node,
                before,
                after,
            } => Self::ContentChanged {
                node,
                before: after,
                after: before,
            },
            Self::DescriptionChanged {
                node,
                before,
                after,
            } => Self::DescriptionChanged {
                node,
                before: after,
                after: before,
            },
            Self::ApprovalChanged {
                node,
                before,
                after,
            } => Self::ApprovalChanged {
                node,
                before: after,
                after: before,
            },
            Self::CondemnationChanged {
                node,
                before,
                after,
            } => Self::CondemnationChanged {
                node,
                before: after,
                after: before,
            },
            Self::ProgressChanged {
                node,
                before,
                after,
            } => Self::ProgressChanged {
                node,
                before: after,
                after: before,
            },
            Self::StandingsChanged { groups } => Self::StandingsChanged {
                groups: groups
                    .into_iter()
                    .map(|group| StandingGroup {
                        before: group.after,
                        after: group.before,
                        nodes: group.nodes,
                    })
                    .collect(),
            },
            // The masked text of a version stays, as texts do.
            Self::RecordChanged { record, .. } if secrets::is_masked_text(&record) => return None,
            Self::RecordChanged {
                record,
                before,
                after,
            } => Self::RecordChanged {
                record,
                before: after,
                after: before,
            },
            Self::UndoneChanged {
                operation,
                before,
                after,
            } => Self::UndoneChanged {
                operation,
                before: after,
                after: before,
            },
            Self::BackupWritten { .. } => return None,
        })
    }

    /// Returns the nodes this fact changes.
    #[must_use]
    pub fn nodes(&self) -> Vec<NodeId> {
        match self {
            Self::NodeAdded { node } | Self::NodeRemoved { node } => vec![node.id],
            Self::NodeMoved { node, .. }
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
            Self::RecordChanged { .. } | Self::UndoneChanged { .. } => Vec::new(),
        }
    }
}

/// What facts are applied to: the in-memory tree, or an engine's tables.
pub trait NodeTable {
    /// The engine's own fault.
    type Fault;

    /// Returns a node.
    ///
    /// # Errors
    /// The engine's fault.
    fn get(&mut self, id: NodeId) -> Result<Option<Node>, Self::Fault>;

    /// Adds a node that was not there.
    ///
    /// # Errors
    /// The engine's fault.
    fn insert(&mut self, node: Node) -> Result<(), Self::Fault>;

    /// Replaces a node by itself, changed. Id, parent and alias stay.
    ///
    /// # Errors
    /// The engine's fault.
    fn replace(&mut self, before: &Node, after: Node) -> Result<(), Self::Fault>;

    /// Puts a node, with all below it, below another one (or at the top).
    ///
    /// # Errors
    /// The engine's fault, also when it would stand below itself.
    fn move_below(
        &mut self,
        node: &Node,
        parent: Option<NodeId>,
        at: Timestamp,
    ) -> Result<(), Self::Fault>;

    /// Takes a node out.
    ///
    /// # Errors
    /// The engine's fault.
    fn remove(&mut self, id: NodeId) -> Result<(), Self::Fault>;

    /// Gives many nodes, all of the same present standing, a new one.
    ///
    /// # Errors
    /// The engine's fault.
    fn set_standings(&mut self, group: &StandingGroup) -> Result<(), Self::Fault>;

    /// Keeps in the list of versions that a node had this text.
    ///
    /// # Errors
    /// The engine's fault.
    fn keep_version(&mut self, node: NodeId, content: &Content) -> Result<(), Self::Fault>;

    /// Keeps the readable backup in the list of backups.
    ///
    /// # Errors
    /// The engine's fault.
    fn add_backup(&mut self, backup: Backup) -> Result<(), Self::Fault>;

    /// Puts `after` where the record `before` is.
    ///
    /// # Errors
    /// The engine's fault, also when something else is there.
    fn set_record(
        &mut self,
        record: &RecordKey,
        before: Option<&Value>,
        after: Option<&Value>,
    ) -> Result<(), Self::Fault>;

    /// Notes by which operation another one was undone.
    ///
    /// # Errors
    /// The engine's fault.
    fn set_undone(
        &mut self,
        operation: OperationId,
        by: Option<OperationId>,
    ) -> Result<(), Self::Fault>;

    /// Returns the fault for a fact that does not fit the state: the state is damaged.
    fn misfit(&mut self, what: String) -> Self::Fault;
}

/// A readable backup beside a plan file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backup {
    pub node: NodeId,
    pub version: VersionHash,
    pub path: String,
    pub reason: String,
    pub at: Timestamp,
}

/// Applies one fact. `at` becomes the time of change of the nodes it touches.
///
/// # Errors
/// The table's fault, also when the fact does not fit (its `before` is not what is there).
pub fn apply<T: NodeTable + ?Sized>(
    table: &mut T,
    fact: &Fact,
    at: Timestamp,
) -> Result<(), T::Fault> {
    match fact {
        Fact::NodeAdded { node } => {
            if table.get(node.id)?.is_some() {
                return Err(table.misfit(format!("node {} added twice", node.id)));
            }
            table.insert(node.as_ref().clone())?;
            table.keep_version(node.id, &node.content)
        }
        Fact::NodeRemoved { node } => {
            if table.get(node.id)?.is_none() {
                return Err(table.misfit(format!("node {} removed but not there", node.id)));
            }
            table.remove(node.id)
        }
        Fact::NodeMoved {
            node,
            before,
            after,
        } => {
            let Some(there) = table.get(*node)? else {
                return Err(table.misfit(format!("node {node} moved, but there is no such node")));
            };
            if there.parent != *before {
                return Err(table.misfit(format!(
                    "the parent of `{}` is not what the fact says it was",
                    there.alias
                )));
            }
            table.move_below(&there, *after, at)
        }
        Fact::ContentChanged {
            node,
            before,
            after,
        } => {
            change(table, *node, at, "content", |it| {
                swap(&mut it.content, before, after)
            })?;
            table.keep_version(*node, after)
        }
        Fact::DescriptionChanged {
            node,
            before,
            after,
        } => change(table, *node, at, "description", |it| {
            swap(&mut it.description, before, after)
        }),
        Fact::ApprovalChanged {
            node,
            before,
            after,
        } => change(table, *node, at, "approval", |it| {
            swap(&mut it.approval, before, after)
        }),
        Fact::CondemnationChanged {
            node,
            before,
            after,
        } => change(table, *node, at, "condemnation", |it| {
            swap(&mut it.condemnation, before, after)
        }),
        Fact::ProgressChanged {
            node,
            before,
            after,
        } => change(table, *node, at, "progress", |it| {
            swap(&mut it.progress, before, after)
        }),
        Fact::StandingsChanged { groups } => groups
            .iter()
            .try_for_each(|group| table.set_standings(group)),
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
        Fact::UndoneChanged {
            operation, after, ..
        } => table.set_undone(*operation, *after),
    }
}

fn change<T: NodeTable + ?Sized>(
    table: &mut T,
    id: NodeId,
    at: Timestamp,
    what: &str,
    edit: impl FnOnce(&mut Node) -> bool,
) -> Result<(), T::Fault> {
    let Some(before) = table.get(id)? else {
        return Err(table.misfit(format!(
            "{what} of node {id} changed, but there is no such node"
        )));
    };
    let mut after = before.clone();
    if !edit(&mut after) {
        return Err(table.misfit(format!(
            "{what} of `{}` is not what the fact says it was",
            before.alias
        )));
    }
    after.updated_at = at;
    table.replace(&before, after)
}

/// Puts `after` where `before` is; says no when something else is there.
fn swap<V: Clone + PartialEq>(place: &mut V, before: &V, after: &V) -> bool {
    if place != before {
        return false;
    }
    *place = after.clone();
    true
}
