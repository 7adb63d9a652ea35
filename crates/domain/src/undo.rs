//! Undo: inverts the facts of operations, or explains why that is not possible.
//!
//! All or nothing: if a later operation changed the same values, the undo is refused, never merged.
//! An undo is itself an operation, so it can be undone. It does not write files; it returns which
//! files have to change.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use crate::approval::Condemnation;
use crate::authorization::Scope;
use crate::cascade::StatusChangeGroup;
use crate::fact::Fact;
use crate::file_writes::{FileWrite, FileWrites};
use crate::gates::GateOverride;
use crate::ids::{NodeId, OperationId, Principal};
use crate::node::{Content, NodeStatus};
use crate::operation::{Operation, Verb};
use crate::plan_document::DocumentRecord;
use crate::policy::ApprovalPolicy;
use crate::presence::{AbsentNode, returned_nodes};
use crate::record::{RecordKey, Recorded};
use crate::review::{ItemStatus, Review};
use crate::scope_table::scope_of_verb;
use crate::tree::{FactMismatch, Tree};
use crate::work::evidence::Evidence;

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
    #[error("operation {operation} ({verb}) is where this state begins and cannot be undone", verb = verb.as_str())]
    Beginning { operation: OperationId, verb: Verb },
    #[error(
        "operation {operation} changed the policy; policy is changed in config.toml, never by an undo"
    )]
    Policy { operation: OperationId },
    #[error(
        "the override of the {gate} gate for `{subject}` was used up: the step it let pass was taken, and an undo of the override cannot take it back"
    )]
    OverrideUsed { gate: String, subject: String },
    #[error("an undo does not override the {gate} gate for `{subject}` again; a person does")]
    OverrideAgain { gate: String, subject: String },
    #[error("operation {operation} overrode a gate and has no record of it to undo")]
    UnrecordedOverride { operation: OperationId },
    #[error(
        "operation {operation} observed new plan files, such as `{path}`: an undo does not remove them"
    )]
    NewFiles {
        operation: OperationId,
        path: String,
    },
    #[error(
        "operation {operation} cannot be undone: plan document `{document}` is frozen and cannot change"
    )]
    Frozen {
        operation: OperationId,
        document: String,
    },
    #[error("operation {operation} cannot be undone by an agent: {check} failed")]
    FailedCheck {
        operation: OperationId,
        check: String,
    },
    #[error("operation {operation} cannot be undone by itself: {why}")]
    ChangedSince { operation: OperationId, why: String },
    #[error(
        "operation {operation} cannot be undone by itself: `{below}` is below `{plan}`, which would be removed"
    )]
    PlansBelow {
        operation: OperationId,
        plan: String,
        below: String,
    },
    /// A plan that the operation changed, or one above it, is not in the tree any more.
    #[error("operation {operation} cannot be undone by itself: a plan that it changed is gone")]
    PlanGone {
        operation: OperationId,
        node: NodeId,
    },
    #[error("operation {operation} is a decision of {decided_by}, and {by} cannot take it back")]
    PersonsDecision {
        operation: OperationId,
        decided_by: Principal,
        by: Principal,
    },
    #[error("this would take back an objection of {objected_by}, and {by} cannot do that")]
    PersonsObjection {
        objected_by: Principal,
        by: Principal,
    },
}

/// Finds a failed proof or review check that is gone once these operations are undone.
///
/// For an agent that would be a way to be done: the check that fails is the one that says so.
///
/// # Errors
/// [`UndoRefused::FailedCheck`].
pub fn refuse_withdrawn_failure(operations: &[Operation]) -> Result<(), UndoRefused> {
    for operation in operations {
        for fact in &operation.facts {
            let Fact::RecordChanged {
                record,
                before,
                after,
            } = fact
            else {
                continue;
            };
            let (before, after) = (
                list_failed_checks(&record.kind, before.as_ref()),
                list_failed_checks(&record.kind, after.as_ref()),
            );
            if let Some(check) = after.into_iter().find(|check| !before.contains(check)) {
                return Err(UndoRefused::FailedCheck {
                    operation: operation.id,
                    check,
                });
            }
        }
    }
    Ok(())
}

/// Exit code of a shell for a command that does not exist.
const COMMAND_NOT_FOUND: i32 = 127;

/// Describes the failed checks of a record of evidence or of a review.
fn list_failed_checks(kind: &str, body: Option<&Value>) -> Vec<String> {
    let Some(body) = body else {
        return Vec::new();
    };
    if kind == Evidence::KIND {
        let evidence: Evidence = serde_json::from_value(body.clone()).unwrap_or_default();
        let failed = evidence.proofs.into_iter().filter(|proof| {
            proof.result.as_ref().is_some_and(|result| {
                // A command that could not be started was misspelt, and may be taken back.
                let has_run = !matches!(result.exit_code, None | Some(COMMAND_NOT_FOUND));
                !result.passed && has_run
            })
        });
        return failed
            .map(|proof| proof.asks.describe_condition())
            .collect();
    }
    if kind == Review::KIND {
        let review: Option<Review> = serde_json::from_value(body.clone()).ok();
        let items = review.into_iter().flat_map(|review| review.items);
        return items
            .filter(|item| item.status == ItemStatus::Fail)
            .map(|item| format!("check {}", item.id))
            .collect();
    }
    Vec::new()
}

/// The facts and file changes that undo operations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UndoPlan {
    pub facts: Vec<Fact>,
    /// Plan files to be restored to an earlier text.
    pub files: Vec<FileChange>,
    /// Inverse writes of the other files of the operations; applied only where a file is unchanged.
    pub writes: Vec<FileWrite>,
    /// Plan files created by the operations and edited since: they are kept, with their nodes.
    pub kept: Vec<String>,
}

/// A plan file an undo changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    pub node: NodeId,
    pub before: Content,
    pub after: Content,
}

/// Returns the operation a bare `undo` reverts: the newest decision or shape change of this principal
/// that is still in force.
#[must_use]
pub fn find_newest_decision<'o>(
    operations: &'o [Operation],
    by: &Principal,
    undone: &dyn Fn(OperationId) -> bool,
) -> Option<&'o Operation> {
    operations.iter().find(|operation| {
        operation.verb.is_decision() && operation.by == *by && !undone(operation.id)
    })
}

/// Returns the facts and file changes that undo `operations` (newest first).
///
/// `tree` holds every touched node that still exists, `records` every touched record.
///
/// # Errors
/// [`UndoRefused`] when an operation cannot be undone or a later one changed the same values.
pub fn decide_undo(
    operations: &[Operation],
    by: OperationId,
    tree: &Tree,
    records: BTreeMap<RecordKey, Value>,
) -> Result<UndoPlan, UndoRefused> {
    let mut undo = UndoPlan::default();
    // The inverse facts are applied to a copy as they are collected. That checks each against the
    // state the previous ones leave behind, exactly as the store will see them.
    let mut state = UndoneState {
        now: tree,
        tree: tree.clone(),
        records,
    };
    for operation in operations {
        refuse_verb(operation)?;
        let mut plan_files = BTreeSet::new();
        let returned = returned_nodes(&operation.facts);
        // The redo note names these files by both paths; by the node there would be only one.
        let moved = nodes_with_moved_files(operation);
        for fact in operation.facts.iter().rev() {
            // Git moved these files, and the journal cannot move them back.
            if operation.verb == Verb::Observe && is_about_presence(fact, &returned) {
                continue;
            }
            // The files are still there: the next observation would only add the nodes again.
            if let (Fact::NodeAdded { node }, Verb::Observe | Verb::Submit) = (fact, operation.verb)
            {
                return Err(UndoRefused::NewFiles {
                    operation: operation.id,
                    path: node.path.clone().unwrap_or_else(|| node.alias.clone()),
                });
            }
            if let Some(path) = state.find_edited_file(fact) {
                // Kept where it is, it would be in the way of the plans that go back there.
                if operation.verb.moves_files() {
                    return Err(UndoRefused::ChangedSince {
                        operation: operation.id,
                        why: format!("`{path}` was edited since; remove it with `tl remove`"),
                    });
                }
                undo.kept.push(path);
                continue;
            }
            let Some(reversed) = state.revert_fact(operation, fact)? else {
                continue;
            };
            // Nodes without a file have their text in the store only, so there is nothing to write.
            if let Fact::ContentChanged {
                node,
                before,
                after,
            } = &reversed
                && before.version_hash() != after.version_hash()
                // `tl move --was` wrote no file, so its undo must not delete one.
                && operation.verb != Verb::Move
                && !moved.contains(node)
                && let Some(path) = state.tree.get(*node).and_then(|node| node.path.clone())
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
        let others = FileWrites::files_of_operation(operation)
            .into_iter()
            .filter(|write| !plan_files.contains(&write.path));
        merge_writes(&mut undo.writes, others);
    }
    undo.files = merge_file_changes(undo.files);
    undo.writes.retain(|write| !undo.kept.contains(&write.path));
    Ok(undo)
}

/// Returns the nodes whose files an operation moved.
fn nodes_with_moved_files(operation: &Operation) -> BTreeSet<NodeId> {
    let facts = operation.facts.iter();
    facts
        .filter_map(|fact| match fact {
            Fact::NodeRenamed {
                node,
                before,
                after,
            } if before.path != after.path => Some(*node),
            _ => None,
        })
        .collect()
}

/// Whether a fact only says which plans are in the working tree, and under which name.
fn is_about_presence(fact: &Fact, returned: &BTreeSet<NodeId>) -> bool {
    match fact {
        Fact::NodeRenamed { .. } | Fact::NodeRemoved { .. } => true,
        Fact::NodeAdded { node } => returned.contains(&node.id),
        Fact::RecordChanged { record, .. } => record.kind == AbsentNode::KIND,
        _ => false,
    }
}

fn is_about_override(fact: &Fact) -> bool {
    matches!(fact, Fact::RecordChanged { record, .. } if record.kind == GateOverride::KIND)
}

/// Returns the overrides that the facts of an undo take back.
///
/// # Errors
/// [`UndoRefused::OverrideAgain`] if they would give a permission again: an agent may undo, and
/// would override its own gates.
pub fn find_undone_overrides(facts: &[Fact]) -> Result<Vec<GateOverride>, UndoRefused> {
    // The net change: going back over an undo gives a permission again and takes it back at once.
    let mut changes: BTreeMap<&str, (Option<GateOverride>, Option<GateOverride>)> = BTreeMap::new();
    let parse = |body: &Option<Value>| serde_json::from_value(body.clone()?).ok();
    for fact in facts.iter().filter(|fact| is_about_override(fact)) {
        if let Fact::RecordChanged {
            record,
            before,
            after,
        } = fact
        {
            let first = || (parse(before), None);
            changes.entry(&record.key).or_insert_with(first).1 = parse(after);
        }
    }
    let mut undone = Vec::new();
    for change in changes.into_values() {
        match change {
            (Some(given), None) => undone.push(given),
            (None, Some(GateOverride { gate, subject, .. })) => {
                return Err(UndoRefused::OverrideAgain { gate, subject });
            }
            _ => {}
        }
    }
    Ok(undone)
}

/// Refuses an undo by which an agent would overrule a person. `facts` are those of the undo.
///
/// A rejection or a request for changes is never taken back by an agent, whatever the policy: the text
/// could be approved again without its person. Where only people decide, no decision of theirs is.
///
/// # Errors
/// [`UndoRefused::PersonsDecision`], [`UndoRefused::PersonsObjection`].
pub fn refuse_overruling_people(
    operations: &[Operation],
    facts: &[Fact],
    by: &Principal,
    policy: ApprovalPolicy,
) -> Result<(), UndoRefused> {
    if by.is_human() {
        return Ok(());
    }
    let is_objection = |verb| matches!(verb, Verb::Invalidate | Verb::RequestChanges);
    let decided = operations
        .iter()
        .find(|operation| is_decision_of_person(operation) && is_objection(operation.verb))
        .or_else(|| {
            let mut operations = operations.iter();
            operations.find(|one| policy.requires_person() && is_decision_of_person(one))
        });
    if let Some(operation) = decided {
        return Err(UndoRefused::PersonsDecision {
            operation: operation.id,
            decided_by: operation.by.clone(),
            by: by.clone(),
        });
    }
    // Also objections that came with another operation: by git, or with an undo of their withdrawal.
    match find_ended_objection(facts).filter(|objection| objection.by.is_human()) {
        Some(objection) => Err(UndoRefused::PersonsObjection {
            objected_by: objection.by.clone(),
            by: by.clone(),
        }),
        None => Ok(()),
    }
}

/// Whether an operation is a decision that a person made.
#[must_use]
pub fn is_decision_of_person(operation: &Operation) -> bool {
    operation.by.is_human() && scope_of_verb(operation.verb) == Scope::Approve
}

/// Returns an objection that was in force before these facts, and is not after them.
fn find_ended_objection(facts: &[Fact]) -> Option<&Condemnation> {
    // The net change: going back over an undo may end an objection and make it again.
    let mut changes: BTreeMap<NodeId, (Option<&Condemnation>, Option<&Condemnation>)> =
        BTreeMap::new();
    for fact in facts {
        if let Fact::CondemnationChanged {
            node,
            before,
            after,
        } = fact
        {
            let first = || (before.as_ref(), None);
            changes.entry(*node).or_insert_with(first).1 = after.as_ref();
        }
    }
    // Bound to a text with other references, as by a change of shape, it is the same objection.
    let is_same = |one: &Condemnation, other: &Condemnation| {
        (&one.by, one.at, one.kind) == (&other.by, other.at, other.kind)
    };
    let is_kept = |before: &Condemnation, after: Option<&Condemnation>| {
        after.is_some_and(|after| is_same(before, after))
    };
    let mut changes = changes.into_values();
    changes.find_map(|(before, after)| before.filter(|before| !is_kept(before, after)))
}

/// Refuses operations of a kind that cannot be undone.
fn refuse_verb(operation: &Operation) -> Result<(), UndoRefused> {
    match operation.verb {
        Verb::Init | Verb::Rebuild | Verb::Adopt => Err(UndoRefused::Beginning {
            operation: operation.id,
            verb: operation.verb,
        }),
        // From before overrides were recorded.
        Verb::Override if !operation.facts.iter().any(is_about_override) => {
            Err(UndoRefused::UnrecordedOverride {
                operation: operation.id,
            })
        }
        // An undo could loosen the policy without the confirmation of a person.
        Verb::Policy => Err(UndoRefused::Policy {
            operation: operation.id,
        }),
        _ => Ok(()),
    }
}

/// The state as the inverse facts collected so far leave it.
struct UndoneState<'t> {
    /// The plans as they are now: under these names people know them.
    now: &'t Tree,
    tree: Tree,
    records: BTreeMap<RecordKey, Value>,
}

impl UndoneState<'_> {
    /// Returns the file that a fact created and another session edited since. It belongs to its editor:
    /// removing it would lose work, so the file and its node are kept.
    fn find_edited_file(&self, fact: &Fact) -> Option<String> {
        let Fact::NodeAdded { node } = fact else {
            return None;
        };
        let created = node.content.version_hash()?;
        let there = self.tree.get(node.id)?;
        there
            .path
            .clone()
            .filter(|_| there.content.version_hash() != Some(created))
    }

    /// Refuses a fact about a plan that is gone, and the removal of one with plans below it.
    fn refuse_impossible(&self, operation: &Operation, reversed: &Fact) -> Result<(), UndoRefused> {
        let needed = match reversed {
            Fact::NodeAdded { node } => node.parent.into_iter().collect(),
            Fact::NodeMoved { node, after, .. } => [*node].into_iter().chain(*after).collect(),
            _ => reversed.changed_nodes(),
        };
        if let Some(node) = needed.into_iter().find(|id| self.tree.get(*id).is_none()) {
            return Err(UndoRefused::PlanGone {
                operation: operation.id,
                node,
            });
        }
        let Fact::NodeRemoved { node } = reversed else {
            return Ok(());
        };
        match self.tree.children(node.id).next() {
            None => Ok(()),
            Some(child) => Err(UndoRefused::PlansBelow {
                operation: operation.id,
                plan: self.name_now(node.id),
                below: self.name_now(child.id),
            }),
        }
    }

    /// Returns the path of aliases that a plan has now.
    fn name_now(&self, id: NodeId) -> String {
        let known = [self.now, &self.tree];
        let found = known
            .into_iter()
            .find_map(|tree| Some((tree, tree.get(id)?)));
        found.map_or_else(|| id.to_string(), |(tree, node)| tree.alias_path(node))
    }

    /// Returns why a fact does not fit, with the name that its plan has now: facts reversed before it
    /// may have given the plan its former name.
    fn name_as_now(&self, reversed: &Fact, why: String) -> String {
        let Some(id) = reversed.changed_nodes().first().copied() else {
            return why;
        };
        let name = format!("`{}`", self.name_now(id));
        let then = self.tree.get(id).map(|node| format!("`{}`", node.alias));
        let why = why.replace(&format!("node {id}"), &name);
        match then {
            Some(then) => why.replace(&then, &name),
            None => why,
        }
    }

    /// Applies the inverse of a fact and returns it; `None` for facts that an undo does not revert.
    fn revert_fact(
        &mut self,
        operation: &Operation,
        fact: &Fact,
    ) -> Result<Option<Fact>, UndoRefused> {
        // The redo record of file writes is not restored; the files themselves are reverted one by
        // one.
        if let Fact::RecordChanged { record, .. } = fact
            && FileWrites::is_redo_record(&record.kind)
        {
            return Ok(None);
        }
        // Statuses are derived, so a later change of one is no reason to refuse. The caller runs a
        // cascade afterwards, which sets the nodes left out here.
        let reversed = match fact.inverse_fact() {
            None => return Ok(None),
            Some(Fact::StandingsChanged { groups }) => Fact::StandingsChanged {
                groups: retain_unchanged_nodes(&self.tree, groups),
            },
            Some(other) => other,
        };
        let changed_since = |why: String| UndoRefused::ChangedSince {
            operation: operation.id,
            why: format!("{why}; a later operation changed it"),
        };
        self.refuse_impossible(operation, &reversed)?;
        self.tree
            .apply_facts([&reversed], operation.at)
            .map_err(|FactMismatch(why)| changed_since(self.name_as_now(&reversed, why)))?;
        if let Fact::RecordChanged {
            record,
            before,
            after,
        } = &reversed
        {
            if would_unfreeze(record, before.as_ref(), after.as_ref()) {
                return Err(UndoRefused::Frozen {
                    operation: operation.id,
                    document: record.key.clone(),
                });
            }
            let there = match after {
                Some(after) => self.records.insert(record.clone(), after.clone()),
                None => self.records.remove(record),
            };
            if there != *before {
                return Err(changed_since(format!(
                    "record `{}` of kind {} has another value",
                    record.key, record.kind
                )));
            }
        }
        Ok(Some(reversed))
    }
}

/// Merges the inverse writes of an older operation into those of newer ones.
///
/// A file written by both goes from the newer content to the one before the older write.
fn merge_writes(known: &mut Vec<FileWrite>, older: impl Iterator<Item = FileWrite>) {
    for write in older.map(FileWrite::into_inverse) {
        match known.iter_mut().find(|known| known.path == write.path) {
            Some(newer) => newer.after = write.after,
            None => known.push(write),
        }
    }
}

/// Whether the change would unfreeze or delete a frozen plan document.
fn would_unfreeze(record: &RecordKey, before: Option<&Value>, after: Option<&Value>) -> bool {
    let frozen = |body: Option<&Value>| {
        body.and_then(|body| body.get("frozen"))
            .filter(|frozen| !frozen.is_null())
            .cloned()
    };
    record.kind == DocumentRecord::KIND
        && frozen(before).is_some()
        && frozen(before) != frozen(after)
}

/// Retains the nodes whose status is still the group's `before`; the cascade sets the others.
fn retain_unchanged_nodes(tree: &Tree, groups: Vec<StatusChangeGroup>) -> Vec<StatusChangeGroup> {
    let stands = |node: &NodeId, standing: &NodeStatus| {
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

/// Merges several changes of one file into one, from the first text to the last.
fn merge_file_changes(changes: Vec<FileChange>) -> Vec<FileChange> {
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
        // Changes that cancel out write nothing: undoing a restore and the edit before it must not
        // touch the file.
        .filter(|change| change.before.version_hash() != change.after.version_hash())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approval::ObjectionKind;
    use crate::ids::{CanonicalHash, Digest32};
    use crate::time::Timestamp;

    fn objection(text: &[u8], at: i64) -> Condemnation {
        Condemnation {
            canonical: Some(CanonicalHash(Digest32::of_bytes(text))),
            reason: "weak".to_owned(),
            by: Principal::Human("ann".to_owned()),
            at: Timestamp::from_millis(at),
            kind: ObjectionKind::Rejected,
        }
    }

    fn change(before: Condemnation, after: Option<Condemnation>) -> [Fact; 1] {
        [Fact::CondemnationChanged {
            node: NodeId(1),
            before: Some(before),
            after,
        }]
    }

    #[test]
    fn an_objection_bound_to_another_text_is_not_taken_back() {
        let agent = Principal::Agent {
            host: "shell".to_owned(),
            session: "one".to_owned(),
        };
        let refuse = |facts: &[Fact]| {
            refuse_overruling_people(&[], facts, &agent, ApprovalPolicy::Anyone).is_err()
        };
        let bound = change(objection(b"# Two", 1), Some(objection(b"# One", 1)));
        assert!(!refuse(&bound), "an undone change of shape");
        assert!(refuse(&change(objection(b"# One", 1), None)));
        let other = change(objection(b"# One", 1), Some(objection(b"# One", 2)));
        assert!(refuse(&other), "another objection is not the same one");
    }
}
