//! Undo: taking operations back, exactly, or saying why not.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use crate::cascade::StandingGroup;
use crate::fact::Fact;
use crate::file_writes::{FileWrite, FileWrites};
use crate::ids::{NodeId, OperationId};
use crate::node::{Content, Standing};
use crate::operation::{Operation, Verb};
use crate::plan_document::DocumentRecord;
use crate::record::{RecordKey, Recorded};
use crate::tree::{Misfit, Tree};

/// Why an operation cannot be undone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UndoRefused {
    #[error("there is nothing to undo")]
    Nothing,
    #[error("there is no operation {0}")]
    NoSuchOperation(OperationId),
    #[error("operation {operation} was undone already, by operation {by}")]
    UndoneAlready {
        operation: OperationId,
        by: OperationId,
    },
    #[error("operation {operation} ({verb}) is where this state begins and cannot be undone", verb = verb.word())]
    Beginning { operation: OperationId, verb: Verb },
    #[error(
        "operation {operation} changed the policy; policy is changed in config.toml, never by an undo"
    )]
    Policy { operation: OperationId },
    #[error("operation {operation} noticed new plan files; to take them back, remove the files")]
    NewFiles { operation: OperationId },
    #[error(
        "operation {operation} cannot be undone: `{document}` is frozen, and nothing in it changes any more"
    )]
    Frozen {
        operation: OperationId,
        document: String,
    },
    #[error("operation {operation} cannot be undone by itself: {why}")]
    ChangedSince { operation: OperationId, why: String },
}

/// What undoing comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undo {
    pub facts: Vec<Fact>,
    /// Texts that must be put back into plan files.
    pub files: Vec<FileChange>,
    /// The way back of everything else the operations wrote, for files that are still as they were written.
    pub writes: Vec<FileWrite>,
    /// Plan files that were made by the operations and edited since: they stay, with their nodes.
    pub kept: Vec<String>,
}

/// A plan file to be changed by an undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    pub node: NodeId,
    pub before: Content,
    pub after: Content,
}

/// Picks what a bare `undo` takes back: the newest decision that is still in force.
#[must_use]
pub fn newest_decision<'o>(
    operations: &'o [Operation],
    undone: &dyn Fn(OperationId) -> bool,
) -> Option<&'o Operation> {
    operations
        .iter()
        .find(|operation| operation.verb.is_a_decision() && !undone(operation.id))
}

/// Returns what takes `operations` (newest first) back, decided against `tree`, which holds every
/// node they touched that still exists, and `records`, which holds every record they touched.
///
/// # Errors
/// [`UndoRefused`] when something later stands in the way.
pub fn decide(
    operations: &[Operation],
    by: OperationId,
    tree: &Tree,
    mut records: BTreeMap<RecordKey, Value>,
) -> Result<Undo, UndoRefused> {
    let mut undo = Undo::default();
    let mut after = tree.clone();
    for operation in operations {
        if matches!(
            operation.verb,
            Verb::Init | Verb::Rebuild | Verb::Adopt | Verb::Override
        ) {
            return Err(UndoRefused::Beginning {
                operation: operation.id,
                verb: operation.verb,
            });
        }
        if operation.verb == Verb::Policy {
            return Err(UndoRefused::Policy {
                operation: operation.id,
            });
        }
        let mut plan_files = BTreeSet::new();
        for fact in operation.facts.iter().rev() {
            if let (Fact::NodeAdded { .. }, Verb::Observe) = (fact, operation.verb) {
                return Err(UndoRefused::NewFiles {
                    operation: operation.id,
                });
            }
            // Which files were written is no state to go back to: they are written back one by one.
            if matches!(fact, Fact::RecordChanged { record, .. } if record.kind == FileWrites::KIND)
            {
                continue;
            }
            // A file that somebody wrote in since is theirs, and so is its node.
            if let Fact::NodeAdded { node } = fact
                && let Some(there) = after.get(node.id)
                && let (Some(path), true) = (
                    &there.path,
                    there.content.version() != node.content.version(),
                )
                && node.content.version().is_some()
            {
                undo.kept.push(path.clone());
                continue;
            }
            let Some(reversed) = fact.reversed() else {
                continue;
            };
            let reversed = match reversed {
                Fact::StandingsChanged { groups } => Fact::StandingsChanged {
                    groups: still_standing(&after, groups),
                },
                other => other,
            };
            let changed_since = |why: String| UndoRefused::ChangedSince {
                operation: operation.id,
                why: format!("{why}; a later operation changed it"),
            };
            after
                .apply_all([&reversed], operation.at)
                .map_err(|Misfit(why)| changed_since(why))?;
            if let Fact::RecordChanged {
                record,
                before,
                after,
            } = &reversed
            {
                if thaws(record, before.as_ref(), after.as_ref()) {
                    return Err(UndoRefused::Frozen {
                        operation: operation.id,
                        document: record.key.clone(),
                    });
                }
                let there = match after {
                    Some(after) => records.insert(record.clone(), after.clone()),
                    None => records.remove(record),
                };
                if there != *before {
                    return Err(changed_since(format!(
                        "`{}` of {} is another one",
                        record.key, record.kind
                    )));
                }
            }
            // What a node without a file says is in the state alone.
            let files = &after;
            if let Fact::ContentChanged {
                node,
                before,
                after,
            } = &reversed
                && before.version() != after.version()
                && let Some(path) = files.get(*node).and_then(|node| node.path.clone())
            {
                plan_files.insert(path);
                undo.files.push(FileChange {
                    node: *node,
                    before: before.clone(),
                    after: after.clone(),
                });
            }
            undo.facts.push(reversed);
        }
        undo.facts.push(Fact::UndoneChanged {
            operation: operation.id,
            before: None,
            after: Some(by),
        });
        let others = FileWrites::of(operation)
            .into_iter()
            .filter(|write| !plan_files.contains(&write.path));
        merge_writes(&mut undo.writes, others);
    }
    undo.files = merged(undo.files);
    undo.writes.retain(|write| !undo.kept.contains(&write.path));
    Ok(undo)
}

/// Adds the way back of an older operation's files: from what a newer one wrote to what was there before the older one.
fn merge_writes(known: &mut Vec<FileWrite>, older: impl Iterator<Item = FileWrite>) {
    for write in older.map(FileWrite::reversed) {
        match known.iter_mut().find(|known| known.path == write.path) {
            Some(newer) => newer.after = write.after,
            None => known.push(write),
        }
    }
}

/// Says whether a frozen plan document would not be frozen, or not be there, afterwards.
fn thaws(record: &RecordKey, before: Option<&Value>, after: Option<&Value>) -> bool {
    let frozen = |body: Option<&Value>| {
        body.and_then(|body| body.get("frozen"))
            .filter(|frozen| !frozen.is_null())
            .cloned()
    };
    record.kind == DocumentRecord::KIND
        && frozen(before).is_some()
        && frozen(before) != frozen(after)
}

/// Keeps of each group the nodes that still stand as it says; the others are judged anew later.
fn still_standing(tree: &Tree, groups: Vec<StandingGroup>) -> Vec<StandingGroup> {
    let stands = |node: &NodeId, standing: &Standing| {
        tree.get(*node)
            .is_some_and(|node| node.standing == *standing)
    };
    groups
        .into_iter()
        .map(|mut group| {
            group.nodes.retain(|node| stands(node, &group.before));
            group
        })
        .filter(|group| !group.nodes.is_empty())
        .collect()
}

/// Several operations may have changed one file: only the first and the last text matter.
fn merged(changes: Vec<FileChange>) -> Vec<FileChange> {
    let mut order: Vec<NodeId> = Vec::new();
    let mut by_node: HashMap<NodeId, FileChange> = HashMap::new();
    for change in changes {
        match by_node.get_mut(&change.node) {
            Some(known) => known.after = change.after,
            None => {
                order.push(change.node);
                by_node.insert(change.node, change);
            }
        }
    }
    order
        .into_iter()
        .filter_map(|node| by_node.remove(&node))
        .filter(|change| change.before.version() != change.after.version())
        .collect()
}
