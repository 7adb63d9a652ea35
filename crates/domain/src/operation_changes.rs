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

/// A change of a record: memory, comments, notes, focus and everything else that is not a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangedRecord {
    pub kind: String,
    /// What people call it; `None` where it has only a key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub change: RecordChange,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecordChange {
    Added,
    Edited,
    Removed,
}

impl RecordChange {
    /// Returns the word for people.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Edited => "edited",
            Self::Removed => "removed",
        }
    }

    /// Returns what undoing the change does.
    #[must_use]
    pub fn undone(self) -> Self {
        match self {
            Self::Added => Self::Removed,
            Self::Edited => Self::Edited,
            Self::Removed => Self::Added,
        }
    }
}

/// What an operation changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperationChanges {
    /// In the order of the facts; nodes that only got another status come last.
    pub nodes: Vec<ChangedNode>,
    /// In the order of the facts.
    pub records: Vec<ChangedRecord>,
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
    records: Vec<ChangedRecord>,
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
            Fact::RecordChanged {
                record,
                before,
                after,
            } => self.records.push(ChangedRecord {
                kind: record.kind.clone(),
                name: after
                    .as_ref()
                    .or(before.as_ref())
                    .and_then(find_record_name),
                change: match (before, after) {
                    (None, _) => RecordChange::Added,
                    (_, None) => RecordChange::Removed,
                    _ => RecordChange::Edited,
                },
            }),
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

/// Keys of a record's body that people would call it by, the best first.
const NAME_KEYS: [&str; 5] = ["name", "title", "description", "text", "subject"];

/// Maximum number of characters of a record's name.
const MAX_NAME_CHARS: usize = 80;

fn find_record_name(body: &serde_json::Value) -> Option<String> {
    let name = NAME_KEYS
        .iter()
        .find_map(|key| body.get(key)?.as_str())
        .map(str::trim)
        .filter(|name| !name.is_empty())?;
    let line = name.lines().next().unwrap_or_default();
    match line.chars().count() > MAX_NAME_CHARS {
        true => Some(line.chars().take(MAX_NAME_CHARS).chain(['…']).collect()),
        false => Some(line.to_owned()),
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
        assert_eq!(found.records.len(), 2);
    }

    #[test]
    fn a_record_is_named_as_people_call_it() {
        let record = |before: Option<serde_json::Value>, after| Fact::RecordChanged {
            record: RecordKey {
                kind: "location".to_owned(),
                key: "L1".to_owned(),
            },
            before,
            after,
        };
        let pier = Some(serde_json::json!({ "id": "L1", "name": "The old pier" }));
        let found = list_operation_changes(&[
            record(None, pier.clone()),
            record(pier.clone(), pier.clone()),
            record(pier, None),
        ]);
        let told: Vec<_> = found
            .records
            .iter()
            .map(|one| {
                (
                    one.name.as_deref(),
                    one.change.as_str(),
                    one.change.undone(),
                )
            })
            .collect();
        let name = Some("The old pier");
        assert_eq!(
            told,
            [
                (name, "added", RecordChange::Removed),
                (name, "edited", RecordChange::Edited),
                (name, "removed", RecordChange::Added),
            ]
        );
    }
}
