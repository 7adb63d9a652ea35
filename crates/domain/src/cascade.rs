//! The cascade: which descendants change their status, to what, and why.
//!
//! Pure and total: it judges a whole subtree from top to bottom and returns every change at once, so
//! that the caller can record all of them in one transaction or none.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::fact::Fact;
use crate::ids::{NodeId, OperationId};
use crate::node::{Cause, CauseKind, Standing, Status};
use crate::status::{Footing, Judgement, JudgingRules, ParentFooting, TextFooting, judge};
use crate::time::Timestamp;

/// Nodes that went from one standing to another together.
///
/// Grouping keeps the record of a cascade over a hundred thousand nodes to a list of numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandingGroup {
    pub before: Standing,
    pub after: Standing,
    pub nodes: Vec<NodeId>,
}

/// When and in which operation a cascade happens, and what was said about it.
#[derive(Clone, Copy, Debug)]
pub struct Occasion<'a> {
    pub operation: OperationId,
    pub now: Timestamp,
    /// The reason given, where the cascade was asked for.
    pub note: Option<&'a str>,
}

/// The tree is deeper than policy allows: more likely a damaged tree than a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the tree is more than {max_depth} levels deep at node {node}")]
pub struct TooDeep {
    pub node: NodeId,
    pub max_depth: usize,
}

/// Judges `subtree` again and returns every change of standing.
///
/// `subtree` lists a node before its children. Nodes whose parent is not in it stand on `above`,
/// keyed by the parent's id.
///
/// # Errors
/// [`TooDeep`] when a node lies more than `max_depth` levels below the first.
pub fn reevaluate(
    subtree: &[Footing],
    above: &HashMap<NodeId, (ParentFooting, Standing)>,
    occasion: Occasion<'_>,
    max_depth: usize,
    rules: JudgingRules<'_>,
) -> Result<Vec<StandingGroup>, TooDeep> {
    // (position, depth) of every node met so far; parents come first.
    let mut seen: HashMap<NodeId, Seen> = HashMap::with_capacity(subtree.len());
    let mut groups = Groups::default();

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
                Some(groups.standing(&parent.standing)),
            ),
            (None, Some((footing, standing))) => (Some(*footing), Some(standing)),
            (None, None) => (None, None),
        };

        let judgement = judge(footing, parent_footing, rules);
        let standing = if judgement.status == footing.standing.status {
            StandingRef::Unchanged(footing.standing.clone())
        } else {
            let after = standing_after(footing, judgement, parent_standing, occasion);
            groups.push(&footing.standing, after, footing.id)
        };
        seen.insert(
            footing.id,
            Seen {
                footing: as_parent(footing, judgement.status),
                standing,
                depth,
            },
        );
    }
    Ok(groups.list)
}

/// Puts facts that are about to be recorded over footings read from the store.
///
/// Added nodes go to the end: a parent among them was added before.
pub fn overlay(footings: &mut Vec<Footing>, facts: &[Fact]) {
    let mut places: HashMap<NodeId, usize> = footings
        .iter()
        .enumerate()
        .map(|(index, footing)| (footing.id, index))
        .collect();
    for fact in facts {
        match fact {
            Fact::NodeAdded { node } => {
                places.insert(node.id, footings.len());
                footings.push(node.footing());
            }
            Fact::NodeMoved { node, after, .. } => {
                if let Some(index) = places.get(node) {
                    footings[*index].parent = *after;
                }
            }
            Fact::ContentChanged { node, after, .. } => {
                if let Some(index) = places.get(node) {
                    footings[*index].text = after.footing();
                }
            }
            Fact::ApprovalChanged { node, after, .. } => {
                if let Some(index) = places.get(node) {
                    footings[*index].approval =
                        after.as_ref().map(crate::approval::Approval::footing);
                }
            }
            Fact::CondemnationChanged { node, after, .. } => {
                if let Some(index) = places.get(node) {
                    footings[*index].condemnation =
                        after.as_ref().map(|condemnation| condemnation.canonical);
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
                if let Some(index) = places.remove(&node.id) {
                    footings.remove(index);
                    places
                        .values_mut()
                        .filter(|place| **place > index)
                        .for_each(|place| *place -= 1);
                }
            }
            Fact::DescriptionChanged { .. }
            | Fact::ProgressChanged { .. }
            | Fact::BackupWritten { .. }
            | Fact::RecordChanged { .. }
            | Fact::UndoneChanged { .. } => {}
        }
    }
    if facts
        .iter()
        .any(|fact| matches!(fact, Fact::NodeMoved { .. }))
    {
        parents_first(footings);
    }
}

/// Puts every footing behind its parent's; what stood together stays together.
fn parents_first(footings: &mut [Footing]) {
    let parents: HashMap<NodeId, Option<NodeId>> =
        footings.iter().map(|it| (it.id, it.parent)).collect();
    // Only what is among them is counted: what stands above would make two of one height where they are few.
    let above = |id: &NodeId| {
        parents
            .get(id)
            .copied()
            .flatten()
            .filter(|parent| parents.contains_key(parent))
    };
    // Nobody stands deeper than there are nodes, also where files go round in a circle.
    footings.sort_by_cached_key(|it| {
        std::iter::successors(Some(it.id), above)
            .take(parents.len())
            .count()
    });
}

/// Returns how a node's children will see it.
#[must_use]
pub fn as_parent(footing: &Footing, status: Status) -> ParentFooting {
    let canonical = match footing.text {
        TextFooting::Text { canonical, .. } => Some(canonical),
        TextFooting::Missing | TextFooting::Unreadable => None,
    };
    ParentFooting { status, canonical }
}

struct Seen {
    footing: ParentFooting,
    standing: StandingRef,
    depth: usize,
}

enum StandingRef {
    Unchanged(Standing),
    Group(usize),
}

#[derive(Default)]
struct Groups {
    list: Vec<StandingGroup>,
    by_change: HashMap<(Standing, Standing), usize>,
}

impl Groups {
    fn push(&mut self, before: &Standing, after: Standing, node: NodeId) -> StandingRef {
        // Neighbours mostly change alike: look at the last group before hashing.
        if let Some(last) = self.list.last_mut()
            && last.before == *before
            && last.after == after
        {
            last.nodes.push(node);
            return StandingRef::Group(self.list.len() - 1);
        }
        let key = (before.clone(), after);
        let index = match self.by_change.get(&key) {
            Some(index) => *index,
            None => {
                let index = self.list.len();
                self.list.push(StandingGroup {
                    before: key.0.clone(),
                    after: key.1.clone(),
                    nodes: Vec::new(),
                });
                self.by_change.insert(key, index);
                index
            }
        };
        self.list[index].nodes.push(node);
        StandingRef::Group(index)
    }

    fn standing<'a>(&'a self, reference: &'a StandingRef) -> &'a Standing {
        match reference {
            StandingRef::Unchanged(standing) => standing,
            StandingRef::Group(index) => &self.list[*index].after,
        }
    }
}

fn standing_after(
    footing: &Footing,
    judgement: Judgement,
    parent: Option<&Standing>,
    occasion: Occasion<'_>,
) -> Standing {
    let Some(kind) = judgement.cause else {
        return Standing::plain(judgement.status);
    };
    let own = |origin| Cause {
        kind,
        origin,
        operation: occasion.operation,
        note: occasion.note.map(str::to_owned),
    };
    let cause = match kind {
        CauseKind::Condemned | CauseKind::FileMissing | CauseKind::FileUnreadable => {
            own(footing.id)
        }
        CauseKind::ParentChanged | CauseKind::ParentNotApproved | CauseKind::ParentInvalid => {
            // Below a stale parent the story began further up: pass its cause on.
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
    Standing {
        status: judgement.status,
        cause: Some(cause),
        since: Some(occasion.now),
    }
}
