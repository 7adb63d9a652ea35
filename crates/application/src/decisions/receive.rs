//! Takes over the decisions that came or went with git: a pull, a merge, a checkout, a stash.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use domain::comment::Comment;
use domain::decision::{
    Decision, DecisionId, KnownDecision, MAX_DECISION_FILE_BYTES, NodeVerdict, Verdict,
    check_signature, decisions_in_force, parse_decision_file, signature_basis, stand_on_decisions,
};
use domain::fact::Fact;
use domain::ids::{CanonicalHash, NodeId, OperationId};
use domain::node::{Node, Progress};
use domain::policy::ApprovalPolicy;
use domain::ports::{
    DecisionFolder, DecisionListing, FileReadResult, NodeKey, Snapshot, StateMark, Transaction,
};
use domain::record::record_changed_fact;
use domain::text::count_with_noun;

use super::attach::verdict_facts;
use super::carry::{find_carried_changes, rekey_facts};
use super::made_notes::note_fact;
use super::made_proofs::proof_fact;
use super::{
    MIN_NODES_TO_READ_ALL, find_node_by_key, load_all_decisions, load_decision_key, load_decisions,
};
use crate::context::{Context, Notice};
use crate::failure::Failure;

/// The decisions that came or went since the last look.
#[derive(Debug, Default)]
pub(crate) struct DecisionChanges {
    /// Records to write, with what was known before.
    changed: Vec<(Option<KnownDecision>, KnownDecision)>,
    /// The look they were found by.
    listing: Option<DecisionListing>,
    /// Whether some do not count yet: a push or an adoption, which change no file, can change that.
    has_waiting: bool,
}

impl DecisionChanges {
    /// Returns changes that were not found by a look.
    pub(crate) fn from_changed(changed: Vec<(Option<KnownDecision>, KnownDecision)>) -> Self {
        Self {
            changed,
            ..Self::default()
        }
    }

    /// Whether the folder is as recorded.
    pub(crate) fn is_empty(&self) -> bool {
        self.changed.is_empty()
    }

    /// Remembers a look that found everything as committed, so that the next one compares with it.
    ///
    /// Never called inside a transaction: if that failed, the changes would be taken for recorded.
    pub(crate) fn remember(&self, ctx: &Context<'_>) {
        if let (Some(folder), Some(listing)) = (ctx.decisions, &self.listing)
            && self.is_empty()
            && !self.has_waiting
        {
            folder.remember_look(listing);
        }
    }

    /// Returns a one-line summary: `received: approval of act-1 by human:ann`.
    pub(crate) fn summarise(&self) -> String {
        let name = |wanted: bool| -> Vec<String> {
            self.changed
                .iter()
                // Decisions that are not trusted are left out of both lists: the line about waiting
                // ones names them, and "gone" would announce the loss of something that never
                // counted.
                .filter(|(_, after)| {
                    after.counts() == wanted && after.present == wanted && after.trusted
                })
                .filter(|(before, after)| {
                    before.as_ref().is_some_and(KnownDecision::counts) != after.counts()
                })
                .map(|(_, after)| after.decision.describe_briefly())
                .collect()
        };
        let part = |word: &str, names: Vec<String>| match names.as_slice() {
            [] => None,
            [one] => Some(format!("{word}: {one}")),
            [first, rest @ ..] => Some(format!(
                "{word}: {first} and {}",
                count_with_noun(rest.len(), "other decision", "other decisions")
            )),
        };
        let waiting: Vec<String> = self
            .changed
            .iter()
            .filter(|(before, after)| before.is_none() && after.present && !after.trusted)
            .map(|(_, after)| after.decision.describe_briefly())
            .collect();
        let unsigned = self
            .changed
            .iter()
            .filter(|(_, after)| after.trusted && after.signature_problem.is_some())
            .map(|(_, after)| after.decision.describe_briefly())
            .collect();
        let parts = [
            part("received through git, not counted yet", waiting),
            part("not counted without a valid signature", unsigned),
            part("received through git", name(true)),
            part("gone with the branch", name(false)),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

/// Compares the decision files with the recorded decisions.
pub(crate) fn find_decision_changes(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    thorough: bool,
) -> Result<DecisionChanges, Failure> {
    let Some(folder) = ctx.decisions else {
        return Ok(DecisionChanges::default());
    };
    // Nearly always unchanged, which a stat of git's index shows: the records are read only after
    // the folder is known to have changed.
    let mark = state_mark(ctx, state)?;
    let Some(listing) = folder.list_changed(&mark, thorough)? else {
        return Ok(DecisionChanges::default());
    };
    let mut known: HashMap<DecisionId, KnownDecision> = HashMap::new();
    for one in load_all_decisions(state)?.into_values().flatten() {
        known.extend(one.id.clone().map(|id| (id, one)));
    }
    let mut changed = Vec::new();
    for one in known.values() {
        // Records outlive their files: a decision that went with its branch comes back with its
        // former trust, without another question to git (law 4).
        let is_there = one.id.as_ref().is_some_and(|id| listing.ids.contains(id));
        if one.present != is_there {
            let after = KnownDecision {
                present: is_there,
                vanished: !is_there && listing.is_head_unmoved,
                ..one.clone()
            };
            changed.push((Some(one.clone()), after));
        }
    }
    report_vanished(ctx, folder, &listing, &changed)?;
    for id in listing.ids.iter().filter(|id| !known.contains_key(id)) {
        changed.extend(read_decision(ctx, id).map(|decision| {
            let new = KnownDecision {
                id: Some(id.clone()),
                decision,
                present: true,
                trusted: false,
                vanished: false,
                signature_problem: None,
                original: None,
            };
            (None, new)
        }));
    }
    // Decisions that did not count when they came may do so now: they were pushed meanwhile. With
    // another list of signers, or another rule, all are checked again.
    let is_listed =
        |one: &KnownDecision| one.id.as_ref().is_some_and(|id| listing.ids.contains(id));
    let waiting = known
        .values()
        .filter(|one| one.present && is_listed(one))
        .filter(|one| !one.trusted || !listing.is_basis_same)
        .map(|one| (Some(one.clone()), one.clone()));
    changed.extend(waiting);
    let has_waiting = trust_decisions(ctx, folder, &mut changed)?;
    check_signatures(ctx, &mut changed);
    find_carried_changes(&known, &mut changed);
    // Candidates for another check are listed above with an unchanged copy; without a difference
    // they would be recorded as an operation by every scan (law 1).
    changed.retain(|(before, after)| before.as_ref() != Some(after));
    // The records come from a hash map: facts in its order would differ from run to run.
    changed.sort_by(|a, b| a.1.id.cmp(&b.1.id));
    Ok(DecisionChanges {
        changed,
        listing: Some(listing),
        has_waiting,
    })
}

/// Returns what a look at the folder is compared with.
pub(super) fn state_mark(ctx: &Context<'_>, state: &dyn Snapshot) -> Result<StateMark, Failure> {
    Ok(StateMark {
        store: state.store_id()?,
        operation: state.last_operation_id()?,
        basis: signature_basis(ctx.policy),
    })
}

/// Reports decisions made here whose files vanished although no commit was checked out.
fn report_vanished(
    ctx: &Context<'_>,
    folder: &dyn DecisionFolder,
    listing: &DecisionListing,
    changed: &[(Option<KnownDecision>, KnownDecision)],
) -> Result<(), Failure> {
    // With another commit checked out, files that are gone went with their branch.
    if !listing.is_head_unmoved || changed.iter().all(|(_, after)| after.present) {
        return Ok(());
    }
    let made_here = folder.made_here()?;
    let is_ours = |one: &KnownDecision| one.id.as_ref().is_some_and(|id| made_here.contains(id));
    let vanished: Vec<String> = changed
        .iter()
        .filter(|(_, after)| !after.present && is_ours(after))
        .map(|(_, after)| after.decision.describe_briefly())
        .collect();
    if let Some(first) = vanished.first() {
        ctx.push_notice(Notice::DecisionsVanished {
            first: first.clone(),
            count: vanished.len(),
        });
    }
    Ok(())
}

/// Reads a decision file; one that is not a decision is reported and does not count.
fn read_decision(ctx: &Context<'_>, id: &DecisionId) -> Option<Decision> {
    let path = id.file_path();
    let why = match ctx.files.read_file(&path, MAX_DECISION_FILE_BYTES) {
        FileReadResult::Text { text, .. } => match parse_decision_file(id, &text) {
            Ok(decision) => return Some(decision),
            Err(problem) => problem.to_string(),
        },
        // Gone again since the listing: the next look finds the folder changed.
        FileReadResult::Missing => return None,
        FileReadResult::Unreadable { why, .. } => why,
    };
    ctx.push_notice(Notice::NotADecision { path, why });
    None
}

/// Decides which of the present decisions count, and returns whether some do not.
fn trust_decisions(
    ctx: &Context<'_>,
    folder: &dyn DecisionFolder,
    changed: &mut [(Option<KnownDecision>, KnownDecision)],
) -> Result<bool, Failure> {
    if changed.iter().all(|(_, after)| after.trusted) {
        return Ok(false);
    }
    let made_here = folder.made_here()?;
    let is_adopted = folder.is_adopted();
    // Under `human` an approval that no remote-tracking branch has could have been written by an
    // agent in this working tree. What makes a plan stricter needs no proof.
    let needs_remote = |one: &KnownDecision| {
        ctx.policy.approval == ApprovalPolicy::Human
            && matches!(
                one.decision.what,
                Verdict::Approved { .. } | Verdict::Withdrawn { .. } | Verdict::Carried { .. }
            )
    };
    // Asked about all at once, and only about those where the answer matters: the question starts a
    // git process.
    let asked: BTreeSet<DecisionId> = changed
        .iter()
        .map(|(_, after)| after)
        .filter(|one| is_adopted && !one.trusted && needs_remote(one))
        .filter_map(|one| one.id.clone())
        .filter(|id| !made_here.contains(id))
        .collect();
    let pushed = folder.find_in_remote_history(&asked)?;
    let mut waiting = 0;
    for (_, one) in changed.iter_mut().filter(|(_, one)| !one.trusted) {
        let Some(id) = &one.id else { continue };
        one.trusted =
            made_here.contains(id) || is_adopted && (!needs_remote(one) || pushed.contains(id));
        waiting += usize::from(one.present && !one.trusted);
    }
    // Only without adoption, which a person has to give: the notice of a hook at starts and prompts
    // counts these. In an adopted clone a push is enough.
    if !is_adopted {
        ctx.set_unadopted_decisions(waiting);
    }
    if waiting > 0 {
        ctx.push_notice(Notice::DecisionsWaiting {
            count: waiting,
            is_adopted,
        });
    }
    Ok(waiting > 0)
}

/// Decides which of the present decisions lack a valid signature, where signatures are required.
fn check_signatures(ctx: &Context<'_>, changed: &mut [(Option<KnownDecision>, KnownDecision)]) {
    let mut unsigned = Vec::new();
    for (before, one) in changed.iter_mut().filter(|(_, one)| one.present) {
        // What was signed is the decision in its file, not one bound to rewritten texts.
        let problem = check_signature(one.as_in_file(), ctx.policy, ctx.signatures);
        one.signature_problem = problem.map(|problem| problem.to_string());
        // Reported once, when the problem is new: all decisions are checked again with each change
        // of the signers or the rule.
        let is_new = before
            .as_ref()
            .and_then(|known| known.signature_problem.as_ref())
            != one.signature_problem.as_ref();
        if let (true, Some(why)) = (is_new, &one.signature_problem) {
            unsigned.push((one.decision.describe_briefly(), why.clone()));
        }
    }
    let count = unsigned.len();
    if let Some((first, why)) = unsigned.into_iter().min() {
        ctx.push_notice(Notice::DecisionsUnsigned { first, why, count });
    }
}

/// Adds the facts of changed decisions to those of the observed files.
///
/// Also for nodes whose text changed: of several approvals the one for the present text holds.
pub(crate) fn receive_decisions(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    changes: &DecisionChanges,
    facts: &mut Vec<Fact>,
) -> Result<(), Failure> {
    if ctx.decisions.is_none() {
        return Ok(());
    }
    let operation = tx.next_operation_id()?;
    let after = ObservedNodes::from_facts(facts);
    let changed = ChangesByNode::from_changes(changes);
    let moved = find_moved_decisions(tx, &after, &changed)?;
    let mut affected = after.find_affected(tx)?;
    for key in changed.0.keys().copied() {
        if !affected.contains_key(key)
            && let Some(id) = find_node_by_key(tx, key)?
        {
            affected.insert(key.to_owned(), id);
        }
    }
    // A detected move changes no decision of the node's own key, so the lists above do not have it.
    affected.extend(moved.iter().map(|(id, (key, _))| (key.clone(), *id)));
    affected.retain(|_, id| !after.removed.contains(id));
    let all = match affected.len() {
        MIN_NODES_TO_READ_ALL.. => Some(load_all_decisions(tx)?),
        _ => None,
    };
    for (key, id) in &affected {
        let known = match &all {
            Some(all) => all.get(key).cloned().unwrap_or_default(),
            None => load_decisions(tx, key)?,
        };
        let mut known = changed.known_after(key, known);
        // A plan that was moved before this clone saw it: its decisions name the former place.
        if let (true, Some((_, former))) = (known.is_empty(), moved.get(id)) {
            known.clone_from(former);
        }
        if !known.is_empty() {
            let state = after.state_of(tx, *id)?;
            facts.extend(standing_facts(
                *id,
                &state,
                &known,
                changed.takes_back_progress(key),
            ));
            facts.extend(proof_fact(tx, *id, &known)?);
        }
    }
    for (before, one) in &changes.changed {
        let Some(id) = &one.id else { continue };
        match before {
            Some(before) => facts.extend(rekey_facts(id, before, one)),
            None => {
                let key = KnownDecision::record_key(&one.decision.node, id);
                facts.extend(record_changed_fact(&key, None, Some(one)));
            }
        }
    }
    for (key, ones) in &changed.0 {
        // Comments and notes are judged over all decisions of the key and not over the changed ones
        // alone: what supersedes them may have been here for long.
        let known = changed.known_after(key, load_decisions(tx, key)?);
        let in_force: BTreeSet<&DecisionId> = decisions_in_force(&known)
            .into_iter()
            .filter_map(|one| one.id.as_ref())
            .collect();
        // What a withdrawal supersedes ends with its arrival, and holds again when it goes.
        let touched: BTreeSet<&DecisionId> = ones
            .iter()
            .flat_map(|one| one.id.iter().chain(&one.decision.supersedes))
            .collect();
        for one in &known {
            let Some(id) = one.id.as_ref().filter(|id| touched.contains(id)) else {
                continue;
            };
            let holds = in_force.contains(id);
            if let Some(node) = affected.get(*key) {
                facts.extend(comment_fact(tx, *node, id, one, holds, operation)?);
            }
            let note = note_fact(tx, one, holds, facts)?;
            facts.extend(note);
        }
    }
    Ok(())
}

/// Changed decisions by the key of their node.
struct ChangesByNode<'c>(BTreeMap<&'c str, Vec<Cow<'c, KnownDecision>>>);

impl<'c> ChangesByNode<'c> {
    fn from_changes(changes: &'c DecisionChanges) -> Self {
        let mut by_node: BTreeMap<&str, Vec<Cow<'_, KnownDecision>>> = BTreeMap::new();
        for (before, one) in &changes.changed {
            let node = one.decision.node.as_str();
            by_node.entry(node).or_default().push(Cow::Borrowed(one));
            // Carried to another node: it is gone from the one it was about.
            if let Some(before) = before.as_ref().filter(|it| it.decision.node != node) {
                let gone = KnownDecision {
                    present: false,
                    ..before.clone()
                };
                let was = by_node.entry(&before.decision.node).or_default();
                was.push(Cow::Owned(gone));
            }
        }
        Self(by_node)
    }

    /// Returns the decisions of a node after the changes.
    fn known_after(&self, key: &str, mut known: Vec<KnownDecision>) -> Vec<KnownDecision> {
        for one in self.0.get(key).into_iter().flatten() {
            known.retain(|other| other.id != one.id);
            known.push(one.as_ref().clone());
        }
        known
    }

    /// Whether a decision about the progress of a node does not count any more.
    fn takes_back_progress(&self, key: &str) -> bool {
        let changed = self.0.get(key).into_iter().flatten();
        changed
            .filter(|one| !one.counts())
            .any(|one| matches!(one.decision.what, Verdict::Progress { .. }))
    }
}

/// Returns the facts that bring a node to what its decisions say.
fn standing_facts(
    node: NodeId,
    state: &NodeState,
    known: &[KnownDecision],
    takes_back_progress: bool,
) -> Vec<Fact> {
    let standing = stand_on_decisions(known, state.text, state.parent_text);
    let mut facts = verdict_facts(node, &state.verdict, standing.verdict);
    // A clone derives most progress from files and commits; only where a decision had set it does
    // its end mean that the work is pending again.
    let progress = standing
        .progress
        .or_else(|| takes_back_progress.then_some(Progress::Pending));
    facts.extend(
        progress
            .filter(|progress| *progress != state.progress)
            .map(|after| Fact::ProgressChanged {
                node,
                before: state.progress,
                after,
            }),
    );
    facts
}

/// Returns the decisions of plans that are at another place now, by the node that is there and its
/// key.
///
/// A plan without decisions is the moved one if it has exactly the approved text of one plan
/// that is gone, and no other plan has it: two identical stubs share no approval. A function of
/// contents and decisions, so every clone comes to the same result.
fn find_moved_decisions(
    tx: &dyn Transaction,
    after: &ObservedNodes,
    changed: &ChangesByNode<'_>,
) -> Result<HashMap<NodeId, (String, Vec<KnownDecision>)>, Failure> {
    let mut found = HashMap::new();
    // A plan that is moved while its decisions stay is followed by the scan itself.
    if changed.0.is_empty() {
        return Ok(found);
    }
    let mut keys = BTreeSet::new();
    for id in after.added.keys() {
        keys.extend(after.key_of(tx, *id)?);
    }
    let mut orphans = Vec::new();
    for key in changed.0.keys().copied() {
        // A plan is still, or again, at that path: its decisions are about it, whatever its text
        // is.
        if keys.contains(key) || find_node_by_key(tx, key)?.is_some() {
            continue;
        }
        let known = changed.known_after(key, load_decisions(tx, key)?);
        let approved = decisions_in_force(&known)
            .into_iter()
            .find_map(|one| one.decision.as_approval());
        orphans.extend(approved.map(|approval| (approval.canonical, known)));
    }
    // Nearly always none: a decision comes and goes with its plan.
    if orphans.is_empty() {
        return Ok(found);
    }
    let mut texts: HashMap<CanonicalHash, Vec<NodeId>> = HashMap::new();
    // Every plan counts as a possible twin, not only the new ones: the text must be unique in the
    // whole tree for the move to be certain.
    for node in tx.nodes_outside(&[domain::trail::PROFILE])? {
        if after.removed.contains(&node.id) {
            continue;
        }
        if let Some(text) = after.text_of(tx, node.id)? {
            texts.entry(text).or_default().push(node.id);
        }
    }
    for (id, node) in &after.added {
        if let Some(text) = node.content.canonical_hash() {
            texts.entry(text).or_default().push(*id);
        }
    }
    for (text, known) in &orphans {
        let is_single = orphans.iter().filter(|(other, _)| other == text).count() == 1;
        if let (true, Some([id])) = (is_single, texts.get(text).map(Vec::as_slice))
            && let Some(key) = after.key_of(tx, *id)?
            && changed
                .known_after(&key, load_decisions(tx, &key)?)
                .is_empty()
        {
            found.insert(*id, (key, known.clone()));
        }
    }
    Ok(found)
}

/// Returns the fact that adds or removes the comment of a decision.
fn comment_fact(
    tx: &dyn Transaction,
    node: NodeId,
    id: &DecisionId,
    one: &KnownDecision,
    holds: bool,
    operation: OperationId,
) -> Result<Option<Fact>, Failure> {
    let Verdict::Commented { text, place } = &one.decision.what else {
        return Ok(None);
    };
    let prefix = domain::comment::comment_key_prefix(node);
    // By the decision and not by the key of the record, which contains the number of the operation
    // that received it and differs from clone to clone.
    let recorded = domain::record::read_records::<Comment>(tx, &prefix)?
        .into_iter()
        .map(|(_, comment)| comment)
        .find(|comment| comment.decision.as_ref() == Some(id));
    let wanted = holds.then(|| Comment {
        node,
        operation,
        by: one.decision.by.clone(),
        at: one.decision.at,
        text: text.clone(),
        decision: Some(id.clone()),
        carried_at: None,
        place: place.clone(),
    });
    Ok(match (recorded, wanted) {
        (None, Some(new)) => record_changed_fact(&new.record_key(), None, Some(&new)),
        (Some(old), None) => record_changed_fact(&old.record_key(), Some(&old), None),
        _ => None,
    })
}

/// The nodes as the observed facts leave them.
struct ObservedNodes {
    added: BTreeMap<NodeId, Node>,
    /// Gone with their branch: their decisions went too, and come back with them.
    removed: BTreeSet<NodeId>,
    texts: BTreeMap<NodeId, Option<CanonicalHash>>,
    progress: BTreeMap<NodeId, Progress>,
}

/// What a node's decisions are compared with.
struct NodeState {
    text: Option<CanonicalHash>,
    parent_text: Option<CanonicalHash>,
    verdict: NodeVerdict,
    progress: Progress,
}

impl ObservedNodes {
    fn from_facts(facts: &[Fact]) -> Self {
        let (mut added, mut removed) = (BTreeMap::new(), BTreeSet::new());
        let (mut texts, mut progress) = (BTreeMap::new(), BTreeMap::new());
        for fact in facts {
            match fact {
                Fact::NodeAdded { node } => {
                    texts.insert(node.id, node.content.canonical_hash());
                    added.insert(node.id, (**node).clone());
                }
                Fact::NodeRemoved { node } => {
                    removed.insert(node.id);
                }
                Fact::ContentChanged { node, after, .. } => {
                    texts.insert(*node, after.canonical_hash());
                }
                Fact::ProgressChanged { node, after, .. } => {
                    progress.insert(*node, *after);
                }
                _ => {}
            }
        }
        Self {
            added,
            removed,
            texts,
            progress,
        }
    }

    /// Returns the nodes whose texts changed, and their children, by the key of their decisions.
    fn find_affected(&self, tx: &dyn Transaction) -> Result<BTreeMap<String, NodeId>, Failure> {
        let mut found = BTreeMap::new();
        for id in self.texts.keys() {
            if let Some(key) = self.key_of(tx, *id)? {
                found.insert(key, *id);
            }
            // The store has no children of an added node yet; those added with it are listed
            // themselves.
            if self.added.contains_key(id) {
                continue;
            }
            for child in tx.load_children(*id)? {
                found.insert(load_decision_key(tx, &child)?, child.id);
            }
        }
        Ok(found)
    }

    fn key_of(&self, tx: &dyn Transaction, id: NodeId) -> Result<Option<String>, Failure> {
        let mut aliases = Vec::new();
        let mut above = Some(id);
        // Up to the first ancestor that the store has: the nodes of a new branch are added
        // together, and none of them can be loaded before the operation is recorded.
        while let Some(id) = above {
            match self.added.get(&id) {
                Some(node) => {
                    above = node.parent;
                    aliases.push(node.alias.clone());
                    if above.is_none() {
                        aliases.reverse();
                        let key = NodeKey {
                            profile: node.profile.clone(),
                            path: aliases.join("/"),
                        };
                        return Ok(Some(key.to_string()));
                    }
                }
                None => {
                    let Some(node) = tx.load_node(id)? else {
                        return Ok(None);
                    };
                    let mut key = load_decision_key(tx, &node)?;
                    for alias in aliases.iter().rev() {
                        key.push('/');
                        key.push_str(alias);
                    }
                    return Ok(Some(key));
                }
            }
        }
        Ok(None)
    }

    fn state_of(&self, tx: &dyn Transaction, id: NodeId) -> Result<NodeState, Failure> {
        let node = match self.added.get(&id) {
            Some(node) => Some(node.clone()),
            None => tx.load_node(id)?,
        };
        let parent = node.as_ref().and_then(|node| node.parent);
        let parent_text = match parent {
            Some(parent) => self.text_of(tx, parent)?,
            None => None,
        };
        Ok(NodeState {
            text: self.text_of(tx, id)?,
            parent_text,
            progress: self
                .progress
                .get(&id)
                .copied()
                .or(node.as_ref().map(|node| node.progress))
                .unwrap_or_default(),
            verdict: node.map(super::attach::verdict_of_node).unwrap_or_default(),
        })
    }

    fn text_of(&self, tx: &dyn Transaction, id: NodeId) -> Result<Option<CanonicalHash>, Failure> {
        match self.texts.get(&id) {
            Some(text) => Ok(*text),
            None => Ok(tx
                .load_node(id)?
                .and_then(|node| node.content.canonical_hash())),
        }
    }
}
