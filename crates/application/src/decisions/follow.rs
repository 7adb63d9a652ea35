//! Decisions follow plans that were moved by hand: with `git mv`, or in a file manager.
//!
//! A scan writes no decision, because a clean tree stays clean by looking. It records the move as a
//! [`FollowedMove`], and the next decision that is made here says it to all other clones. A clone that
//! first sees a plan at its new place recognises it by the text that was decided on.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use domain::decision::{
    CarriedDecisions, CarriedTo, DecisionId, FollowedMove, KnownDecision, PROJECT_KEY, Verdict,
    decisions_in_force,
};
use domain::fact::Fact;
use domain::ids::{CanonicalHash, NodeId, OperationId};
use domain::node::Node;
use domain::ports::{NewOperation, Snapshot, StoreFault, Transaction};
use domain::record::{read_records, record_changed_fact};
use domain::tree::Tree;

use super::attach::{NewDecision, plan_decision_files};
use super::carry::{
    apply_names, carried_files, find_carried_changes, find_returned_names, key_of, named_plan_file,
};
use super::observed_nodes::ObservedNodes;
use super::receive::ChangesByNode;
use super::{
    DecisionChanges, find_nodes_by_key, load_all_decisions, load_decision_key, load_decisions,
};
use crate::context::Context;
use crate::failure::Failure;
use crate::file_writes::PlannedFiles;
use crate::observe::load_plan_tree;

/// Moves that scans have seen, by the key that the decisions name.
pub(super) type FollowedMoves = BTreeMap<String, FollowedMove>;

/// What follows from the moves that a scan has seen.
pub(super) struct Followed {
    /// All changed decisions, those that followed included.
    pub(super) changes: DecisionChanges,
    pub(super) facts: Vec<Fact>,
    /// The nodes that have another key now.
    pub(super) renamed: BTreeMap<NodeId, String>,
}

/// Returns the recorded moves.
pub(super) fn load_followed_moves(state: &dyn Snapshot) -> Result<FollowedMoves, StoreFault> {
    Ok(read_records(state, "")?.into_iter().collect())
}

/// Lets decisions follow the plans that the facts of a scan move; `None` if none does.
pub(super) fn follow_moved_plans(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    after: &ObservedNodes,
    facts: &[Fact],
    changes: &DecisionChanges,
) -> Result<Option<Followed>, Failure> {
    let former = load_followed_moves(tx)?;
    let is_renamed = facts
        .iter()
        .any(|fact| matches!(fact, Fact::NodeRenamed { .. } | Fact::NodeMoved { .. }));
    let has_returned = !find_returned_names(facts).is_empty();
    let orphans = find_orphans(tx, after, changes, has_returned)?;
    let may_end = !former.is_empty() && !after.added.is_empty();
    // Nearly every scan ends here, before any tree is loaded.
    if !is_renamed && orphans.is_empty() && !may_end {
        return Ok(None);
    }
    let before = load_plan_tree(tx)?;
    let tree = apply_names(&before, facts);
    let places = Places::new(ctx, &tree);
    let mut moves = former.clone();
    let mut renamed = BTreeMap::new();
    for node in before.nodes().filter(|_| is_renamed) {
        let Some(now) = tree.get(node.id) else {
            continue;
        };
        let (was, is) = (key_of(&before, node), key_of(&tree, now));
        if was != is {
            let has_decisions = changes.is_about(&was) || !load_decisions(tx, &was)?.is_empty();
            redirect_moves(&mut moves, &was, &places.place_of(now), has_decisions);
            renamed.insert(node.id, is);
        }
    }
    match_orphans(tx, after, changes, &orphans, &places, &mut moves)?;
    // A plan is still, or again, at that place: its decisions are about it, whatever its text is. But not if it is one
    // that came from elsewhere with its own.
    let taken: BTreeSet<String> = moves.values().map(|to| to.node.clone()).collect();
    moves.retain(|key, _| !places.by_key.contains_key(key) || taken.contains(key));
    // A renamed plan is judged by the decisions at its new place, also if those came there in another way.
    if moves == former && renamed.is_empty() {
        return Ok(None);
    }
    let mut known: HashMap<DecisionId, KnownDecision> = HashMap::new();
    for one in load_all_decisions(tx)?.into_values().flatten() {
        known.extend(one.id.clone().map(|id| (id, one)));
    }
    let mut changed = changes.changed.clone();
    find_carried_changes(&known, &moves, &mut changed);
    changed.retain(|(before, after)| before.as_ref() != Some(after));
    changed.sort_by(|a, b| a.1.id.cmp(&b.1.id));
    Ok(Some(Followed {
        changes: DecisionChanges::from_changed(changed),
        facts: changed_moves(&former, &moves),
        renamed,
    }))
}

/// Directs what led to a node, and its own decisions, to its new place.
fn redirect_moves(moves: &mut FollowedMoves, was: &str, now: &FollowedMove, has_decisions: bool) {
    for to in moves.values_mut().filter(|to| to.node == was) {
        to.clone_from(now);
    }
    if has_decisions {
        moves.insert(was.to_owned(), now.clone());
    }
}

fn changed_moves(before: &FollowedMoves, after: &FollowedMoves) -> Vec<Fact> {
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    keys.into_iter()
        .filter_map(|key| record_changed_fact(key, before.get(key), after.get(key)))
        .collect()
}

/// The nodes of a tree by the keys of their decisions.
struct Places<'t> {
    ctx: &'t Context<'t>,
    tree: &'t Tree,
    by_key: HashMap<String, Vec<&'t Node>>,
}

impl<'t> Places<'t> {
    fn new(ctx: &'t Context<'t>, tree: &'t Tree) -> Self {
        let mut by_key: HashMap<String, Vec<&Node>> = HashMap::new();
        for node in tree.nodes() {
            by_key.entry(key_of(tree, node)).or_default().push(node);
        }
        Self { ctx, tree, by_key }
    }

    fn place_of(&self, node: &Node) -> FollowedMove {
        FollowedMove {
            node: key_of(self.tree, node),
            plan_file: named_plan_file(self.ctx, self.tree, node),
        }
    }

    /// Returns the node with a key; `None` for several.
    fn single_node(&self, key: &str) -> Option<&'t Node> {
        match self.by_key.get(key).map(Vec::as_slice) {
            Some([node]) => Some(node),
            _ => None,
        }
    }
}

/// Decisions about a place where no plan is.
struct Orphan {
    key: String,
    /// The texts they are about.
    texts: BTreeSet<CanonicalHash>,
}

/// Returns the orphans among the changed decisions, or among all of them.
fn find_orphans(
    tx: &dyn Transaction,
    after: &ObservedNodes,
    changes: &DecisionChanges,
    among_all: bool,
) -> Result<Vec<Orphan>, Failure> {
    let changed = ChangesByNode::from_changes(changes);
    let mut keys: BTreeSet<String> = changed.keys().map(str::to_owned).collect();
    if among_all {
        keys.extend(load_all_decisions(tx)?.into_keys());
    }
    // A plan that is gone may be in the place of another, whose text it is now.
    for id in &after.removed {
        if let Some(node) = tx.load_node(*id)? {
            keys.insert(load_decision_key(tx, &node)?);
        }
    }
    keys.remove(PROJECT_KEY);
    // A decision comes and goes with its plan: then this is all.
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let mut added = BTreeSet::new();
    for id in after.added.keys() {
        added.extend(after.key_of(tx, *id)?);
    }
    let mut orphans = Vec::new();
    for key in keys {
        if added.contains(&key) || has_node(tx, after, &key)? {
            continue;
        }
        let known = changed.known_after(&key, load_decisions(tx, &key)?);
        let texts = decided_texts(&known);
        orphans.push(Orphan { key, texts });
    }
    Ok(orphans)
}

fn has_node(tx: &dyn Transaction, after: &ObservedNodes, key: &str) -> Result<bool, StoreFault> {
    let found = find_nodes_by_key(tx, key)?;
    Ok(found.iter().any(|node| !after.removed.contains(&node.id)))
}

/// Returns the texts that decisions in force are about: of a verdict, else of comments.
fn decided_texts(known: &[KnownDecision]) -> BTreeSet<CanonicalHash> {
    let in_force = decisions_in_force(known);
    let verdicts: BTreeSet<CanonicalHash> = in_force
        .iter()
        .filter_map(|one| match &one.decision.what {
            Verdict::Approved { text, .. } => Some(*text),
            _ => one.decision.as_condemnation()?.canonical,
        })
        .collect();
    if !verdicts.is_empty() {
        return verdicts;
    }
    in_force
        .iter()
        .filter_map(|one| match &one.decision.what {
            Verdict::Commented { place, .. } => place.plan,
            _ => None,
        })
        .collect()
}

/// Adds the moves of plans that this clone first saw at their new place.
///
/// A plan without decisions is the moved one if it alone has the text that was decided on at one place
/// without a plan: two identical stubs share no approval. A function of contents and decisions, so
/// every clone comes to the same result.
fn match_orphans(
    tx: &dyn Transaction,
    after: &ObservedNodes,
    changes: &DecisionChanges,
    orphans: &[Orphan],
    places: &Places<'_>,
    moves: &mut FollowedMoves,
) -> Result<(), Failure> {
    let orphans: Vec<&Orphan> = orphans
        .iter()
        .filter(|one| !moves.contains_key(&one.key) && !places.by_key.contains_key(&one.key))
        .collect();
    if orphans.is_empty() {
        return Ok(());
    }
    let changed = ChangesByNode::from_changes(changes);
    // Made on another branch, which did not know that the plan and its decisions were carried elsewhere.
    let carried = carried_with_changes(tx, changes)?;
    for orphan in &orphans {
        let place = carried.place_after(&orphan.key);
        if let Some(node) = place.and_then(|place| places.single_node(place)) {
            moves.insert(orphan.key.clone(), places.place_of(node));
        }
    }
    // Without decisions, or with some about another text: then it took the place of the plan they are about.
    let is_free = |node: &Node| -> Result<bool, Failure> {
        let key = key_of(places.tree, node);
        let known = changed.known_after(&key, load_decisions(tx, &key)?);
        let texts = decided_texts(&known);
        let is_other = |text| !texts.is_empty() && !texts.contains(&text);
        Ok(known.is_empty() || after.text_in(node).is_some_and(is_other))
    };
    // Every plan counts as a possible twin, not only the new ones.
    let mut holders: HashMap<CanonicalHash, Vec<&Node>> = HashMap::new();
    for node in places.tree.nodes() {
        if let Some(text) = after.text_in(node) {
            holders.entry(text).or_default().push(node);
        }
    }
    let mut wanted: HashMap<CanonicalHash, usize> = HashMap::new();
    for text in orphans.iter().flat_map(|orphan| &orphan.texts) {
        *wanted.entry(*text).or_default() += 1;
    }
    let mut next: Vec<(String, BTreeSet<CanonicalHash>)> = orphans
        .iter()
        .map(|one| (one.key.clone(), one.texts.clone()))
        .collect();
    while let Some((key, texts)) = next.pop() {
        let texts = texts
            .iter()
            .filter(|text| wanted.get(text).is_none_or(|count| *count == 1));
        let found = texts.filter_map(|text| holders.get(text));
        let found: Vec<&&Node> = found.flatten().collect();
        if let [node] = found.as_slice()
            && !moves.contains_key(&key)
            && is_free(node)?
        {
            let place = places.place_of(node);
            // The plan whose place was taken may be elsewhere, too.
            let known = changed.known_after(&place.node, load_decisions(tx, &place.node)?);
            if place.node != key && !known.is_empty() {
                next.push((place.node.clone(), decided_texts(&known)));
            }
            moves.insert(key, place);
        }
    }
    // What is below a moved plan moved with it.
    for orphan in &orphans {
        let above = orphan.key.rmatch_indices('/').find_map(|(at, _)| {
            let (above, rest) = orphan.key.split_at(at);
            Some(format!("{}{rest}", moves.get(above)?.node))
        });
        if let Some(node) = above.and_then(|key| places.single_node(&key))
            && !moves.contains_key(&orphan.key)
            && is_free(node)?
        {
            moves.insert(orphan.key.clone(), places.place_of(node));
        }
    }
    Ok(())
}

/// Returns where decisions belong by the moves that are recorded or arrive.
fn carried_with_changes(
    tx: &dyn Transaction,
    changes: &DecisionChanges,
) -> Result<CarriedDecisions, StoreFault> {
    let arrived = changes.changed.iter().map(|(_, after)| after);
    let ids: HashSet<&DecisionId> = arrived.clone().filter_map(|one| one.id.as_ref()).collect();
    let known = load_all_decisions(tx)?;
    let known = known.values().flatten();
    let known = known.filter(|one| one.id.as_ref().is_none_or(|id| !ids.contains(id)));
    Ok(CarriedDecisions::from_known(known.chain(arrived)))
}

/// Returns the decisions that tell other clones of the moves that scans have seen here, and the facts
/// that these need no record any more. `carried` are told by the operation itself.
pub(super) fn share_followed_moves(
    tx: &dyn Transaction,
    operation: &NewOperation,
    carried: &HashSet<DecisionId>,
) -> Result<(Vec<NewDecision>, Vec<Fact>), Failure> {
    let moves = load_followed_moves(tx)?;
    let places: BTreeSet<&String> = moves.values().map(|to| &to.node).collect();
    let mut entries = Vec::new();
    for key in places {
        for one in load_decisions(tx, key)? {
            let to = CarriedTo::from_decisions(one.as_in_file(), &one.decision);
            if let (Some(id), Some(to)) = (one.id, to)
                && !carried.contains(&id)
            {
                entries.push((id, to));
            }
        }
    }
    let facts = changed_moves(&moves, &FollowedMoves::new());
    Ok((carried_files(&entries, operation), facts))
}

/// Whether the decisions about `was` followed their plan to a node.
pub(crate) fn is_followed_to(
    state: &dyn Snapshot,
    was: &str,
    node: &str,
) -> Result<bool, StoreFault> {
    let is_named = |key: &str| {
        let path = key.split_once(':').map_or(key, |(_, path)| path);
        let above = path.strip_suffix(was);
        above.is_some_and(|above| above.is_empty() || above.ends_with('/'))
    };
    let moves = load_followed_moves(state)?;
    Ok(moves
        .iter()
        .any(|(key, to)| to.node == node && is_named(key)))
}

/// Records an operation that tells other clones of the moves that scans have seen here.
pub(crate) fn record_followed_moves(
    ctx: &Context<'_>,
    planned: &PlannedFiles<'_>,
    tx: &mut dyn Transaction,
    mut operation: NewOperation,
) -> Result<OperationId, Failure> {
    let (made, facts) = share_followed_moves(&*tx, &operation, &HashSet::new())?;
    operation.facts.extend(facts);
    operation
        .facts
        .extend(made.iter().filter_map(NewDecision::to_fact));
    if let Some(folder) = ctx.decisions {
        plan_decision_files(ctx, folder, &*tx, planned, &made)?;
    }
    planned.record_operation(tx, operation)
}
