//! What an operation changed, node by node, for people who read the log.
//!
//! Pure: from its facts alone. Several facts about one node are one entry; a status that ends where
//! it began is left out.

use std::collections::HashMap;

use serde::Serialize;

use crate::fact::Fact;
use crate::ids::{NodeId, VersionHash};
use crate::node::{Progress, Status};

/// One change of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "change", rename_all = "kebab-case")]
pub enum NodeChange {
    Added,
    Removed,
    Moved,
    Renamed {
        was: String,
    },
    /// The text; `None` where there was or is none.
    Text {
        before: Option<VersionHash>,
        after: Option<VersionHash>,
    },
    /// Title, needs or work keys.
    Description,
    Approved,
    ApprovalWithdrawn,
    Objected,
    ObjectionWithdrawn,
    Progress {
        before: Progress,
        after: Progress,
    },
    Status {
        before: Status,
        after: Status,
    },
    Backup {
        path: String,
    },
}

/// The changes of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedNode {
    pub node: NodeId,
    /// Its alias, where a fact tells it: of nodes that are gone nothing else is known.
    pub alias: Option<String>,
    pub changes: Vec<NodeChange>,
}

/// What an operation changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperationChanges {
    /// In the order of the facts; nodes that only got another status come last.
    pub nodes: Vec<ChangedNode>,
    /// Number of changed records, by kind.
    pub records: Vec<(String, usize)>,
}

/// Lists what facts change.
#[must_use]
pub fn list_operation_changes(facts: &[Fact]) -> OperationChanges {
    let mut found = ChangeCollector::default();
    for fact in facts {
        found.add_fact(fact);
    }
    found.finish()
}

/// Collects the changes of facts that are visited one after the other.
#[derive(Debug, Default)]
pub struct ChangeCollector {
    nodes: Vec<ChangedNode>,
    places: HashMap<NodeId, usize>,
    /// First and last status of each node, in order.
    statuses: Vec<(NodeId, Status, Status)>,
    status_places: HashMap<NodeId, usize>,
    records: Vec<(String, usize)>,
}

impl ChangeCollector {
    /// Adds a fact.
    pub fn add_fact(&mut self, fact: &Fact) {
        match fact {
            Fact::NodeAdded { node } => self.add_change(node.id, NodeChange::Added),
            Fact::NodeRemoved { node } => self.add_change(node.id, NodeChange::Removed),
            Fact::NodeMoved { node, .. } => self.add_change(*node, NodeChange::Moved),
            Fact::NodeRenamed { node, before, .. } => {
                let was = before.alias.clone();
                self.add_change(*node, NodeChange::Renamed { was });
            }
            Fact::ContentChanged {
                node,
                before,
                after,
            } => {
                let (before, after) = (before.version_hash(), after.version_hash());
                self.add_change(*node, NodeChange::Text { before, after });
            }
            Fact::DescriptionChanged { node, .. } => {
                self.add_change(*node, NodeChange::Description);
            }
            Fact::ApprovalChanged { node, after, .. } => self.add_change(
                *node,
                match after {
                    Some(_) => NodeChange::Approved,
                    None => NodeChange::ApprovalWithdrawn,
                },
            ),
            Fact::CondemnationChanged { node, after, .. } => self.add_change(
                *node,
                match after {
                    Some(_) => NodeChange::Objected,
                    None => NodeChange::ObjectionWithdrawn,
                },
            ),
            Fact::ProgressChanged {
                node,
                before,
                after,
            } => {
                let (before, after) = (*before, *after);
                self.add_change(*node, NodeChange::Progress { before, after });
            }
            Fact::StandingsChanged { groups } => {
                for group in groups {
                    for node in &group.nodes {
                        self.add_status(*node, group.before.status, group.after.status);
                    }
                }
            }
            Fact::BackupWritten { node, path, .. } => {
                let path = path.clone();
                self.add_change(*node, NodeChange::Backup { path });
            }
            Fact::RecordChanged { record, .. } => self.add_record(&record.kind),
            Fact::UndoneChanged { .. } => {}
        }
        // Only these two facts hold the whole node.
        if let Fact::NodeAdded { node } | Fact::NodeRemoved { node } = fact
            && let Some(entry) = self.entry(node.id)
        {
            entry.alias = Some(node.alias.clone());
        }
    }

    fn entry(&mut self, node: NodeId) -> Option<&mut ChangedNode> {
        let place = *self.places.entry(node).or_insert_with(|| {
            self.nodes.push(ChangedNode {
                node,
                alias: None,
                changes: Vec::new(),
            });
            self.nodes.len() - 1
        });
        self.nodes.get_mut(place)
    }

    fn add_change(&mut self, node: NodeId, change: NodeChange) {
        if let Some(entry) = self.entry(node) {
            entry.changes.push(change);
        }
    }

    fn add_status(&mut self, node: NodeId, before: Status, after: Status) {
        // A cascade may pass a node more than once; people read where it began and where it ended.
        match self.status_places.get(&node) {
            Some(place) => {
                if let Some((.., last)) = self.statuses.get_mut(*place) {
                    *last = after;
                }
            }
            None => {
                self.status_places.insert(node, self.statuses.len());
                self.statuses.push((node, before, after));
            }
        }
    }

    fn add_record(&mut self, kind: &str) {
        match self.records.iter_mut().find(|(known, _)| known == kind) {
            Some((_, count)) => *count += 1,
            None => self.records.push((kind.to_owned(), 1)),
        }
    }

    /// Returns the collected changes.
    #[must_use]
    pub fn finish(mut self) -> OperationChanges {
        for (node, before, after) in std::mem::take(&mut self.statuses) {
            if before != after {
                self.add_change(node, NodeChange::Status { before, after });
            }
        }
        OperationChanges {
            nodes: self.nodes,
            records: self.records,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cascade::StatusChangeGroup;
    use crate::node::NodeStatus;
    use crate::record::RecordKey;

    fn statuses(before: Status, after: Status, nodes: &[u32]) -> Fact {
        Fact::StandingsChanged {
            groups: vec![StatusChangeGroup {
                before: NodeStatus::without_cause(before),
                after: NodeStatus::without_cause(after),
                nodes: nodes.iter().copied().map(NodeId).collect(),
            }],
        }
    }

    #[test]
    fn facts_about_one_node_are_one_entry_with_its_net_status() {
        let record = |key: &str| Fact::RecordChanged {
            record: RecordKey {
                kind: "comment".to_owned(),
                key: key.to_owned(),
            },
            before: None,
            after: None,
        };
        let facts = [
            statuses(Status::Draft, Status::Approved, &[1, 2]),
            Fact::ProgressChanged {
                node: NodeId(1),
                before: Progress::Pending,
                after: Progress::Active,
            },
            statuses(Status::Approved, Status::Draft, &[2]),
            record("a"),
            record("b"),
        ];
        let found = list_operation_changes(&facts);
        assert_eq!(
            found.nodes,
            [ChangedNode {
                node: NodeId(1),
                alias: None,
                changes: vec![
                    NodeChange::Progress {
                        before: Progress::Pending,
                        after: Progress::Active
                    },
                    NodeChange::Status {
                        before: Status::Draft,
                        after: Status::Approved
                    },
                ],
            }]
        );
        assert_eq!(found.records, [("comment".to_owned(), 2)]);
    }
}
