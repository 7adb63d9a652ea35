//! Cascade: re-derives the statuses of a subtree after a change, with their causes.
//!
//! Pure: one pass from the top down returns every change at once, so that the caller records all of
//! them in one transaction or none. It does not look at files; see [`crate::observation`].

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::fact::Fact;
use crate::ids::{NodeId, OperationId};
use crate::node::{Cause, CauseKind, NodeStatus, Status};
use crate::status::{
    DerivedStatus, ParentState, StatusInputs, StatusRules, TextState, derive_status,
};
use crate::time::Timestamp;

/// Nodes with the same status before and after a cascade.
///
/// Grouping reduces the record of a cascade over a hundred thousand nodes to a list of ids.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusChangeGroup {
    pub before: NodeStatus,
    pub after: NodeStatus,
    pub nodes: Vec<NodeId>,
}

/// The operation a cascade belongs to, its time and its reason.
#[derive(Clone, Copy, Debug)]
pub struct CascadeContext<'a> {
    pub operation: OperationId,
    pub now: Timestamp,
    /// The reason given by the caller, if the cascade was requested explicitly.
    pub note: Option<&'a str>,
}

/// The tree is deeper than the policy allows, which indicates a damaged tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the tree is more than {max_depth} levels deep at node {node}")]
pub struct TooDeep {
    pub node: NodeId,
    pub max_depth: usize,
}

/// Derives every status in `subtree` again and returns the changes.
///
/// `subtree` lists a node before its children. The parents that are not in it are in `above`, keyed
/// by their ids.
///
/// # Errors
/// [`TooDeep`] when a node lies more than `max_depth` levels below the first.
pub fn reevaluate_subtree(
    subtree: &[StatusInputs],
    above: &HashMap<NodeId, (ParentState, NodeStatus)>,
    occasion: CascadeContext<'_>,
    max_depth: usize,
    rules: StatusRules<'_>,
) -> Result<Vec<StatusChangeGroup>, TooDeep> {
    // State of every node visited so far. Parents come first, so a single pass is enough.
    let mut seen: HashMap<NodeId, VisitedNode> = HashMap::with_capacity(subtree.len());
    let mut groups = ChangeGroups::default();

    for footing in subtree {
        let parent = footing.parent.and_then(|id| seen.get(&id));
        let depth = parent.map_or(1, |parent| parent.depth + 1);
        if depth > max_depth {
            return Err(TooDeep {
                node: footing.id,
                max_depth,
            });
        }
        let outside = footing
            .parent
            .filter(|_| parent.is_none())
            .and_then(|id| above.get(&id));
        let (parent_footing, parent_standing) = match (parent, outside) {
            (Some(parent), _) => (
                Some(parent.footing),
                Some(groups.resolve_status(&parent.standing)),
            ),
            (None, Some((footing, standing))) => (Some(*footing), Some(standing)),
            (None, None) => (None, None),
        };

        let judgement = derive_status(footing, parent_footing, rules);
        // Only the status is compared. A node that stays stale keeps its first cause and time: the
        // reader wants to know when it became stale, not when it was last looked at.
        let standing = if judgement.status == footing.standing.status {
            StatusRef::Unchanged(footing.standing.clone())
        } else {
            let after = status_after_cascade(footing, judgement, parent_standing, occasion);
            groups.push_change(&footing.standing, after, footing.id)
        };
        seen.insert(
            footing.id,
            VisitedNode {
                footing: parent_state_of(footing, judgement.status),
                standing,
                depth,
            },
        );
    }
    Ok(groups.list)
}

/// Applies facts that are not recorded yet to status inputs read from the store.
///
/// Added nodes are appended: facts list a parent before its children.
pub fn overlay_pending_facts(footings: &mut Vec<StatusInputs>, facts: &[Fact]) {
    // The store still has the old state, because the facts and the cascade they cause are recorded
    // as one operation.
    let mut places: HashMap<NodeId, usize> = footings
        .iter()
        .enumerate()
        .map(|(index, footing)| (footing.id, index))
        .collect();
    let mut removed: HashSet<usize> = HashSet::new();
    for fact in facts {
        match fact {
            Fact::NodeAdded { node } => {
                places.insert(node.id, footings.len());
                footings.push(node.status_inputs());
            }
            Fact::NodeMoved { node, after, .. } => {
                if let Some(index) = places.get(node) {
                    footings[*index].parent = *after;
                }
            }
            Fact::ContentChanged { node, after, .. } => {
                if let Some(index) = places.get(node) {
                    footings[*index].text = after.text_state();
                }
            }
            Fact::ApprovalChanged { node, after, .. } => {
                if let Some(index) = places.get(node) {
                    footings[*index].approval = after
                        .as_ref()
                        .map(crate::approval::Approval::approval_inputs);
                }
            }
            Fact::CondemnationChanged { node, after, .. } => {
                if let Some(index) = places.get(node) {
                    footings[*index].condemnation = after
                        .as_ref()
                        .map(crate::approval::Condemnation::objection_inputs);
                }
            }
            Fact::StandingsChanged { groups } => {
                for group in groups {
                    for node in &group.nodes {
                        if let Some(index) = places.get(node) {
                            footings[*index].standing = group.after.clone();
                        }
                    }
                }
            }
            Fact::NodeRemoved { node } => {
                // Only marked: taking each of five hundred absent plans out of ten thousand would
                // move the rest every time.
                removed.extend(places.remove(&node.id));
            }
            Fact::DescriptionChanged { .. }
            | Fact::NodeRenamed { .. }
            | Fact::ProgressChanged { .. }
            | Fact::BackupWritten { .. }
            | Fact::RecordChanged { .. }
            | Fact::UndoneChanged { .. } => {}
        }
    }
    if !removed.is_empty() {
        let mut index = 0;
        footings.retain(|_| {
            index += 1;
            !removed.contains(&(index - 1))
        });
    }
    // Only a move can put a node in front of its new parent, so the sort is skipped otherwise.
    if facts
        .iter()
        .any(|fact| matches!(fact, Fact::NodeMoved { .. }))
    {
        sort_parents_first(footings);
    }
}

/// Sorts parents before their children, by depth; the sort is stable.
fn sort_parents_first(footings: &mut [StatusInputs]) {
    let parents: HashMap<NodeId, Option<NodeId>> =
        footings.iter().map(|it| (it.id, it.parent)).collect();
    // Depth counts ancestors within this list only; the ones outside are not sorted.
    let above = |id: &NodeId| {
        parents
            .get(id)
            .copied()
            .flatten()
            .filter(|parent| parents.contains_key(parent))
    };
    // `take` ends the walk when front matter declares a cycle of parents.
    footings.sort_by_cached_key(|it| {
        std::iter::successors(Some(it.id), above)
            .take(parents.len())
            .count()
    });
}

/// Returns the state of a node as its children's statuses depend on it.
#[must_use]
pub fn parent_state_of(footing: &StatusInputs, status: Status) -> ParentState {
    let canonical = match footing.text {
        TextState::Text { canonical } => Some(canonical),
        TextState::Missing | TextState::Unreadable => None,
    };
    ParentState {
        status,
        canonical,
        approval: footing.approval,
    }
}

struct VisitedNode {
    footing: ParentState,
    standing: StatusRef,
    depth: usize,
}

enum StatusRef {
    Unchanged(NodeStatus),
    Group(usize),
}

#[derive(Default)]
struct ChangeGroups {
    list: Vec<StatusChangeGroup>,
    by_change: HashMap<(NodeStatus, NodeStatus), usize>,
}

impl ChangeGroups {
    fn push_change(&mut self, before: &NodeStatus, after: NodeStatus, node: NodeId) -> StatusRef {
        // Siblings mostly change alike, so the last group is tried before hashing two statuses.
        if let Some(last) = self.list.last_mut()
            && last.before == *before
            && last.after == after
        {
            last.nodes.push(node);
            return StatusRef::Group(self.list.len() - 1);
        }
        let key = (before.clone(), after);
        let index = match self.by_change.get(&key) {
            Some(index) => *index,
            None => {
                let index = self.list.len();
                self.list.push(StatusChangeGroup {
                    before: key.0.clone(),
                    after: key.1.clone(),
                    nodes: Vec::new(),
                });
                self.by_change.insert(key, index);
                index
            }
        };
        self.list[index].nodes.push(node);
        StatusRef::Group(index)
    }

    fn resolve_status<'a>(&'a self, reference: &'a StatusRef) -> &'a NodeStatus {
        match reference {
            StatusRef::Unchanged(standing) => standing,
            StatusRef::Group(index) => &self.list[*index].after,
        }
    }
}

fn status_after_cascade(
    footing: &StatusInputs,
    judgement: DerivedStatus,
    parent: Option<&NodeStatus>,
    occasion: CascadeContext<'_>,
) -> NodeStatus {
    let Some(kind) = judgement.cause else {
        return NodeStatus::without_cause(judgement.status);
    };
    let own = |origin| Cause {
        kind,
        origin,
        operation: occasion.operation,
        note: occasion.note.map(str::to_owned),
    };
    let cause = match kind {
        CauseKind::Condemned
        | CauseKind::FileMissing
        | CauseKind::FileUnreadable
        | CauseKind::RevalidationRequired => own(footing.id),
        CauseKind::ParentChanged | CauseKind::ParentNotApproved | CauseKind::ParentInvalid => {
            // Below a stale parent the origin is further up: inherit the parent's cause, so that
            // every descendant names the node that really changed.
            match parent.and_then(|standing| standing.cause.as_ref()) {
                Some(inherited) => Cause {
                    kind: match inherited.kind {
                        CauseKind::Condemned
                        | CauseKind::FileMissing
                        | CauseKind::FileUnreadable => CauseKind::ParentInvalid,
                        other => other,
                    },
                    ..inherited.clone()
                },
                None => own(footing.parent.unwrap_or(footing.id)),
            }
        }
    };
    NodeStatus {
        status: judgement.status,
        cause: Some(cause),
        since: Some(occasion.now),
    }
}
