//! Carries decisions along with nodes that an operation renames or moves.
//!
//! Decisions name their node by path. After a shape change the decisions of a node are recorded under
//! its new path, and one decision about the project says so to every other clone.

use std::collections::{BTreeMap, HashMap, HashSet};

use domain::comment::Comment;
use domain::decision::{
    CarriedDecisions, CarriedTo, Decision, DecisionId, KnownDecision, PROJECT_KEY, Verdict,
};
use domain::fact::Fact;
use domain::ids::{CanonicalHash, NodeId};
use domain::node::Node;
use domain::ports::{NewOperation, NodeKey, Transaction};
use domain::presence::AbsentNode;
use domain::record::{RecordKey, Recorded as _};
use domain::tree::Tree;

use super::attach::{NewDecision, decision_of};
use super::follow::FollowedMoves;
use super::{decision_key, has_free_names, load_decision_key, load_decisions, load_node_decisions};
use crate::claim_node::may_rename_nodes;
use crate::context::Context;
use crate::failure::Failure;
use crate::observe::load_plan_tree;

/// Maximum number of decisions in one file. Two thirds of a file are checksum: one with 297 decisions
/// had 399 kB, and was too large to be read by another clone (`MAX_DECISION_FILE_BYTES`).
const MAX_CARRIED_PER_FILE: usize = 100;

/// The decisions that an operation carries.
#[derive(Default)]
pub(super) struct Carried {
    pub(super) made: Vec<NewDecision>,
    pub(super) facts: Vec<Fact>,
    /// Nodes whose approval or rejection is only bound to rewritten texts: no new decision.
    pub(super) rebound: HashSet<NodeId>,
    /// The decisions whose place or text the operation changes.
    pub(super) moved: HashSet<DecisionId>,
    /// The keys that nodes have after the operation, if those are others.
    keys: HashMap<NodeId, String>,
}

impl Carried {
    /// Returns the key for a decision that the operation makes about a node.
    pub(super) fn key_after(&self, tx: &dyn Transaction, node: &Node) -> Result<String, Failure> {
        match self.keys.get(&node.id) {
            Some(key) => Ok(key.clone()),
            None => Ok(load_decision_key(tx, node)?),
        }
    }
}

/// Returns the decisions that follow their nodes to other paths or rewritten texts.
pub(super) fn carry_decisions(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    operation: &NewOperation,
) -> Result<Carried, Failure> {
    let mut carried = Carried {
        rebound: find_rebound(&operation.facts),
        ..Carried::default()
    };
    let reworded = find_reworded_comments(&operation.facts);
    // Nearly every operation ends here: the tree is loaded only for those that can change a path.
    if carried.rebound.is_empty() && reworded.is_empty() && !may_rename_nodes(&operation.facts) {
        return Ok(carried);
    }
    let before = load_plan_tree(tx)?;
    let after = apply_names(&before, &operation.facts);
    let mut moved: BTreeMap<DecisionId, CarriedTo> = BTreeMap::new();
    let absent = find_returned_names(&operation.facts);
    let former = before.nodes().map(|node| (node.id, key_of(&before, node)));
    for (id, old_key) in former.chain(absent) {
        let Some(now) = after.get(id) else {
            continue;
        };
        let new_key = key_of(&after, now);
        let is_rebound = carried.rebound.contains(&id);
        let is_commented = reworded.values().any(|(of, _)| *of == id);
        if old_key == new_key && !is_rebound && !is_commented {
            continue;
        }
        if old_key != new_key {
            carried.keys.insert(id, new_key.clone());
        }
        let node = before.get(id);
        let known = match node {
            Some(node) => load_node_decisions(tx, node)?,
            None => load_decisions(tx, &old_key)?,
        };
        let plan_file = named_plan_file(ctx, &after, now);
        for known in known {
            let Some(id) = known.id.clone() else { continue };
            let mut current = known.decision.clone();
            current.node.clone_from(&new_key);
            current.plan_file.clone_from(&plan_file);
            if let Some(node) = node.filter(|_| is_rebound) {
                rebind_decision(&mut current, node, &operation.facts);
            }
            if let (Verdict::Commented { place, .. }, Some((_, plan))) =
                (&mut current.what, reworded.get(&id))
            {
                place.plan = *plan;
            }
            // The file says what was decided where; the move is told against that.
            let original = known.as_in_file().clone();
            let to = CarriedTo::from_decisions(&original, &current);
            // Back where it was decided: an earlier move must not count any more.
            let is_back = to.is_none() && known.original.is_some();
            if let Some(to) = to.or_else(|| is_back.then(|| back_to(&original))) {
                moved.insert(id.clone(), to);
            }
            let after = KnownDecision {
                decision: current,
                original: Some(Box::new(original)),
                ..known.clone()
            };
            carried.facts.extend(rekey_facts(&id, &known, &after));
        }
    }
    carried.moved = moved.keys().cloned().collect();
    let entries: Vec<_> = moved.into_iter().collect();
    carried.made = carried_files(&entries, operation);
    Ok(carried)
}

/// Returns the decisions that tell where others belong now.
pub(super) fn carried_files(
    entries: &[(DecisionId, CarriedTo)],
    operation: &NewOperation,
) -> Vec<NewDecision> {
    // About the project: one change of shape moves the decisions of many nodes.
    let decisions = entries.chunks(MAX_CARRIED_PER_FILE).map(|chunk| {
        let what = Verdict::Carried {
            decisions: chunk.iter().cloned().collect(),
        };
        decision_of(operation, PROJECT_KEY.to_owned(), what, Vec::new())
    });
    decisions.map(NewDecision::from_decision).collect()
}

/// Returns the nodes that are taken out of the records of absent ones, with their former keys.
pub(super) fn find_returned_names(facts: &[Fact]) -> Vec<(NodeId, String)> {
    let returned = facts.iter().filter_map(|fact| match fact {
        Fact::RecordChanged {
            record,
            before: Some(body),
            after: None,
        } if record.kind == AbsentNode::KIND => {
            let absent: AbsentNode = serde_json::from_value(body.clone()).ok()?;
            let name = NodeKey {
                profile: absent.node.profile,
                path: absent.name,
            };
            Some((absent.node.id, decision_key(name)))
        }
        _ => None,
    });
    returned.collect()
}

fn back_to(original: &Decision) -> CarriedTo {
    CarriedTo {
        node: original.node.clone(),
        plan_file: original.plan_file.clone(),
        texts: None,
    }
}

/// Returns the facts that record a decision under its new key.
pub(super) fn rekey_facts(
    id: &DecisionId,
    before: &KnownDecision,
    after: &KnownDecision,
) -> Vec<Fact> {
    let key_of = |one: &KnownDecision| KnownDecision::record_key(&one.decision.node, id);
    let value = |one: &KnownDecision| serde_json::to_value(one).ok();
    let fact = |key: String, before, after| Fact::RecordChanged {
        record: RecordKey {
            kind: KnownDecision::KIND.to_owned(),
            key,
        },
        before,
        after,
    };
    match (key_of(before), key_of(after)) {
        (old, new) if old == new => vec![fact(new, value(before), value(after))],
        (old, new) => vec![
            fact(old, value(before), None),
            fact(new, None, value(after)),
        ],
    }
}

/// Returns the nodes whose verdict facts keep author and time: the same decision about a rewritten
/// text.
fn find_rebound(facts: &[Fact]) -> HashSet<NodeId> {
    facts
        .iter()
        .filter_map(|fact| match fact {
            Fact::ApprovalChanged {
                node,
                before: Some(before),
                after: Some(after),
            } if (&before.by, before.at) == (&after.by, after.at) => Some(*node),
            Fact::CondemnationChanged {
                node,
                before: Some(before),
                after: Some(after),
            } if (&before.by, before.at) == (&after.by, after.at) => Some(*node),
            _ => None,
        })
        .collect()
}

/// Returns the comments that are about another text now, by decision: their node, and that text.
fn find_reworded_comments(facts: &[Fact]) -> BTreeMap<DecisionId, (NodeId, Option<CanonicalHash>)> {
    let parse = |body: &Option<serde_json::Value>| -> Option<Comment> {
        serde_json::from_value(body.clone()?).ok()
    };
    let changed = facts.iter().filter_map(|fact| match fact {
        Fact::RecordChanged {
            record,
            before,
            after,
        } if record.kind == Comment::KIND => {
            let (before, after) = (parse(before)?, parse(after)?);
            (before.place.plan != after.place.plan)
                .then_some((after.decision?, (after.node, after.place.plan)))
        }
        _ => None,
    });
    changed.collect()
}

/// Binds a decision to the texts of the facts, if it is the one they change.
fn rebind_decision(decision: &mut Decision, node: &Node, facts: &[Fact]) {
    for fact in facts {
        match fact {
            Fact::ApprovalChanged {
                node: id,
                before: Some(before),
                after: Some(after),
            } if *id == node.id && decision.as_approval().as_ref() == Some(before) => {
                // Only the verdict is taken: node, author, time and signature stay those of the
                // decision.
                let bound = Decision::from_approval(String::new(), after, Vec::new());
                decision.what = bound.what;
            }
            Fact::CondemnationChanged {
                node: id,
                before: Some(before),
                after: Some(after),
            } if *id == node.id && decision.as_condemnation().as_ref() == Some(before) => {
                let bound = Decision::from_condemnation(String::new(), after, Vec::new());
                decision.what = bound.what;
            }
            _ => {}
        }
    }
}

/// Returns the tree with the names and parents that facts give.
pub(super) fn apply_names(tree: &Tree, facts: &[Fact]) -> Tree {
    let mut nodes: HashMap<NodeId, Node> =
        tree.nodes().map(|node| (node.id, node.clone())).collect();
    for fact in facts {
        match fact {
            Fact::NodeRenamed { node, after, .. } => {
                if let Some(node) = nodes.get_mut(node) {
                    node.set_name(after.clone());
                }
            }
            Fact::NodeMoved { node, after, .. } => {
                if let Some(node) = nodes.get_mut(node) {
                    node.parent = *after;
                }
            }
            Fact::NodeAdded { node } => {
                nodes.insert(node.id, (**node).clone());
            }
            Fact::NodeRemoved { node } => {
                nodes.remove(&node.id);
            }
            _ => {}
        }
    }
    Tree::new(nodes.into_values())
}

pub(super) fn key_of(tree: &Tree, node: &Node) -> String {
    decision_key(NodeKey {
        profile: node.profile.clone(),
        path: tree.alias_path(node),
    })
}

/// Returns the file that decisions about a node of a tree name, as [`super::named_plan_file`].
pub(super) fn named_plan_file(ctx: &Context<'_>, tree: &Tree, node: &Node) -> Option<String> {
    let lineage = std::iter::successors(Some(node), |node| tree.parent_of(node));
    if !lineage.clone().any(|node| has_free_names(ctx, node)) {
        return None;
    }
    lineage.into_iter().find_map(|node| node.path.clone())
}

/// Returns the decisions whose place differs from what the moves in force say, as known and as they
/// should be. `changed` are decisions that came or went, and `followed` the moves that only scans have
/// seen.
pub(super) fn find_carried_changes(
    known: &HashMap<DecisionId, KnownDecision>,
    followed: &FollowedMoves,
    changed: &mut Vec<(Option<KnownDecision>, KnownDecision)>,
) {
    let is_move = |one: &KnownDecision| matches!(one.decision.what, Verdict::Carried { .. });
    // Without any move the copies below would be made for nothing, at every change of the folder.
    let mut listed = known.values().chain(changed.iter().map(|(_, one)| one));
    let has_moves = listed.any(|one| is_move(one) || one.original.is_some());
    if !has_moves && followed.is_empty() {
        return;
    }
    let mut current: BTreeMap<DecisionId, KnownDecision> = BTreeMap::new();
    for (id, one) in known {
        current.insert(id.clone(), one.clone());
    }
    for (_, one) in changed.iter() {
        if let Some(id) = &one.id {
            current.insert(id.clone(), one.clone());
        }
    }
    // From all moves in force and not from those that just came: a merge may bring a move before or
    // after the decisions it carries, and both orders have to give one result (law 8).
    let moves = CarriedDecisions::from_known(current.values());
    for (id, one) in &current {
        let to = moves.get(id);
        let original = one.as_in_file().clone();
        let mut decision = match to {
            Some(to) => to.apply_to(&original),
            None => original.clone(),
        };
        let seen = followed.get(&decision.node);
        if let Some(seen) = seen {
            decision.node.clone_from(&seen.node);
            decision.plan_file.clone_from(&seen.plan_file);
        } else if to.is_none() && one.original.is_none() {
            continue;
        }
        let is_elsewhere = to.is_some() || seen.is_some();
        let after = KnownDecision {
            decision,
            original: is_elsewhere.then(|| Box::new(original)),
            ..one.clone()
        };
        if after == *one {
            continue;
        }
        let listed = changed
            .iter_mut()
            .find(|(_, other)| other.id.as_ref() == Some(id));
        match listed {
            Some((_, other)) => *other = after,
            None => changed.push((Some(one.clone()), after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::decision::{
        CarriedTexts, CarriedTo, Decision, DecisionId, MAX_DECISION_FILE_BYTES, PROJECT_KEY,
        Verdict, render_decision_file,
    };
    use domain::ids::{CanonicalHash, Digest32, Principal, VersionHash};
    use domain::node::ParentVersion;
    use domain::time::Timestamp;

    use super::MAX_CARRIED_PER_FILE;

    #[test]
    fn a_file_of_carried_decisions_is_small_enough_to_be_read_again() {
        let digest = |number: usize| Digest32::of_bytes(number.to_string().as_bytes());
        let entry = |number: usize| {
            let (text, version) = (CanonicalHash(digest(number)), VersionHash(digest(number)));
            let to = CarriedTo {
                plan_file: None,
                node: format!(
                    "story:{}/scene-{number:04}",
                    "глава-двадцать-первая/".repeat(4)
                ),
                texts: Some(CarriedTexts {
                    text,
                    version: Some(version),
                    parent: Some(ParentVersion {
                        version,
                        canonical: text,
                    }),
                    relied_sections: Some(digest(number)),
                }),
            };
            let mut id = digest(number).to_string();
            id.truncate(40);
            (DecisionId::parse_id(&id).expect("an id"), to)
        };
        let decision = Decision {
            node: PROJECT_KEY.to_owned(),
            what: Verdict::Carried {
                decisions: (0..MAX_CARRIED_PER_FILE).map(entry).collect(),
            },
            by: Principal::System,
            at: Timestamp::from_millis(1),
            supersedes: Vec::new(),
            signature: None,
            plan_file: None,
        };
        let (_, text) = render_decision_file(&decision);
        assert!(
            text.len() as u64 <= MAX_DECISION_FILE_BYTES,
            "{}",
            text.len()
        );
    }
}
