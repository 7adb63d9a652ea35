//! Takes over the decisions that came or went with git: a pull, a merge, a checkout, a stash.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use domain::comment::Comment;
use domain::decision::{
    Aspect, Decision, DecisionId, KnownDecision, MAX_DECISION_FILE_BYTES, ProofVerdict, Verdict,
    check_signature, decisions_in_force, parse_decision_file, signature_basis, stand_on_decisions,
};
use domain::fact::Fact;
use domain::ids::{NodeId, OperationId};
use domain::node::Progress;
use domain::policy::ApprovalPolicy;
use domain::ports::{
    DecisionFolder, DecisionListing, FileReadResult, LookDepth, Snapshot, StateMark, StoreFault,
    TrackedState, Transaction,
};
use domain::record::record_changed_fact;
use domain::text::count_with_noun;
use domain::work::evidence::ProofCheck;

use super::attach::verdict_facts;
use super::carry::{find_carried_changes, rekey_facts};
use super::follow::{follow_moved_plans, load_followed_moves};
use super::made_notes::note_fact;
use super::made_proofs::proof_fact;
use super::observed_nodes::{NodeState, ObservedNodes};
use super::{MIN_NODES_TO_READ_ALL, find_nodes_by_key, load_all_decisions, load_decisions};
use crate::context::{Context, Notice};
use crate::failure::Failure;

/// The decisions that came or went since the last look.
#[derive(Debug, Default)]
pub(crate) struct DecisionChanges {
    /// Records to write, with what was known before.
    pub(super) changed: Vec<(Option<KnownDecision>, KnownDecision)>,
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

    /// Returns those of the nodes that no decision calls complete. A decision that does not count yet,
    /// because the clone is not adopted, is one too.
    pub(crate) fn retain_undecided(
        &self,
        state: &dyn Snapshot,
        keys: Vec<String>,
    ) -> Result<BTreeSet<String>, StoreFault> {
        let mut undecided = BTreeSet::new();
        self.visit_decisions(state, keys, |key, all| {
            if !is_called_complete(all) {
                undecided.insert(key);
            }
        })?;
        Ok(undecided)
    }

    /// Returns the checks that were declared for these nodes and that nobody has seen pass, by node. Like
    /// [`Self::retain_undecided`] also of a clone that is not adopted: such a check only asks for more.
    pub(crate) fn list_unpassed_checks(
        &self,
        state: &dyn Snapshot,
        keys: Vec<String>,
    ) -> Result<HashMap<String, ProofCheck>, StoreFault> {
        let mut unpassed = HashMap::new();
        self.visit_decisions(state, keys, |key, all| {
            unpassed.extend(find_unpassed_check(all).map(|check| (key, check)));
        })?;
        Ok(unpassed)
    }

    /// Passes on the decisions about each of these nodes, as they are after these changes.
    fn visit_decisions(
        &self,
        state: &dyn Snapshot,
        keys: Vec<String>,
        mut each: impl FnMut(String, &[KnownDecision]),
    ) -> Result<(), StoreFault> {
        // By node: a fresh clone has as many decisions as tickets.
        let mut arrived: HashMap<&str, Vec<&KnownDecision>> = HashMap::new();
        for (_, after) in &self.changed {
            arrived.entry(&after.decision.node).or_default().push(after);
        }
        for key in keys {
            let mut all = load_decisions(state, &key)?;
            for after in arrived.get(key.as_str()).into_iter().flatten() {
                all.retain(|known| known.id != after.id);
                all.push((*after).clone());
            }
            all.retain(|known| known.present);
            each(key, &all);
        }
        Ok(())
    }

    /// Whether some are about a node.
    pub(super) fn is_about(&self, key: &str) -> bool {
        self.changed
            .iter()
            .any(|(_, after)| after.decision.node == key)
    }

    /// Returns the keys of the nodes about which some are news: not only at another place.
    fn list_news(&self) -> HashSet<&str> {
        let is_news = |(before, after): &&(Option<KnownDecision>, KnownDecision)| {
            before
                .as_ref()
                .is_none_or(|it| it.counts() != after.counts())
        };
        let news = self.changed.iter().filter(is_news);
        news.map(|(_, after)| after.decision.node.as_str())
            .collect()
    }

    /// Whether a decision is among those that came or went.
    pub(super) fn has(&self, known: &KnownDecision) -> bool {
        self.changed.iter().any(|(_, after)| after.id == known.id)
    }

    /// Returns the decisions that came or went, as they are now.
    pub(super) fn list_changed(&self) -> impl Iterator<Item = &KnownDecision> {
        self.changed.iter().map(|(_, after)| after)
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
        let name = |wanted: bool, is_vanished: bool| -> Vec<String> {
            self.changed
                .iter()
                .filter(|(_, after)| after.vanished == is_vanished)
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
            part("received through git", name(true, false)),
            part("gone with the branch", name(false, false)),
            part("file missing or damaged", name(false, true)),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if !parts.is_empty() {
            return parts.join("; ");
        }
        // The same decisions as before, for other places or texts.
        let carried = self.changed.iter();
        let carried = carried.filter(|(before, after)| before.is_some() && after.counts());
        let carried = carried.map(|(_, after)| after.decision.describe_briefly());
        part("carried along", carried.collect()).unwrap_or_default()
    }
}

/// Whether a decision that no other one supersedes calls the node complete.
fn is_called_complete(all: &[KnownDecision]) -> bool {
    let complete = Verdict::Progress {
        progress: Progress::Complete,
    };
    list_latest(all)
        .into_iter()
        .any(|known| known.decision.what == complete)
}

/// Returns a check of which no decision that is not superseded says that it passed.
fn find_unpassed_check(all: &[KnownDecision]) -> Option<ProofCheck> {
    let verdicts: Vec<&ProofVerdict> = list_latest(all)
        .into_iter()
        .filter_map(|known| match &known.decision.what {
            Verdict::Proved(verdict) => Some(verdict),
            _ => None,
        })
        .collect();
    let has_passed = |check: &ProofCheck| {
        verdicts.iter().any(|one| {
            one.check == *check && one.result.as_ref().is_some_and(|result| result.passed)
        })
    };
    let found = verdicts.iter().find(|one| !has_passed(&one.check));
    found.map(|one| one.check.clone())
}

/// Returns the decisions that no other one supersedes, whether or not they count yet.
fn list_latest(all: &[KnownDecision]) -> Vec<&KnownDecision> {
    let superseded: BTreeSet<&DecisionId> = all
        .iter()
        .flat_map(|known| &known.decision.supersedes)
        .collect();
    all.iter()
        .filter(|known| known.id.as_ref().is_none_or(|id| !superseded.contains(id)))
        .collect()
}

/// Compares the decision files with the recorded decisions.
pub(crate) fn find_decision_changes(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    depth: LookDepth,
) -> Result<DecisionChanges, Failure> {
    let Some(folder) = ctx.decisions else {
        return Ok(DecisionChanges::default());
    };
    // Nearly always unchanged, which a stat of git's index shows: the records are read only after
    // the folder is known to have changed.
    let mark = state_mark(ctx, state)?;
    let Some(listing) = folder.list_changed(&mark, depth)? else {
        return Ok(DecisionChanges::default());
    };
    let mut known: HashMap<DecisionId, KnownDecision> = HashMap::new();
    for one in load_all_decisions(state)?.into_values().flatten() {
        known.extend(one.id.clone().map(|id| (id, one)));
    }
    let damaged = find_damaged_files(ctx, &known, &listing);
    let mut changed = Vec::new();
    for (id, one) in &known {
        // Records outlive their files: a decision that went with its branch comes back with its
        // former trust, without another question to git (law 4).
        let is_there = listing.ids.contains(id) && !damaged.contains(id);
        if one.present != is_there {
            let after = KnownDecision {
                present: is_there,
                vanished: !is_there && listing.is_head_unmoved,
                ..one.clone()
            };
            changed.push((Some(one.clone()), after));
        }
    }
    keep_decisions_of_other_places(ctx, folder, &mut changed)?;
    report_vanished(ctx, folder, &listing, &damaged, &changed)?;
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
    let waiting = known
        .iter()
        .filter(|(id, _)| listing.ids.contains(id) && !damaged.contains(id))
        .map(|(_, one)| one)
        .filter(|one| one.present)
        .filter(|one| !one.trusted || !listing.is_basis_same)
        .map(|one| (Some(one.clone()), one.clone()));
    changed.extend(waiting);
    let has_waiting = trust_decisions(ctx, folder, &mut changed)?;
    check_signatures(ctx, &mut changed);
    find_carried_changes(&known, &load_followed_moves(state)?, &mut changed);
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

/// Takes those decisions for absent, not lost, that git has elsewhere: an aborted merge and a stash take files away
/// although no other commit is checked out. A file that is in git's index was deleted by hand.
fn keep_decisions_of_other_places(
    ctx: &Context<'_>,
    folder: &dyn DecisionFolder,
    changed: &mut [(Option<KnownDecision>, KnownDecision)],
) -> Result<(), Failure> {
    let vanished = |one: &KnownDecision| one.id.clone().filter(|_| one.vanished);
    let ids: Vec<DecisionId> = changed
        .iter()
        .filter_map(|(_, one)| vanished(one))
        .collect();
    if ids.is_empty() {
        return Ok(());
    }
    let paths: Vec<String> = ids.iter().map(DecisionId::file_path).collect();
    let Some(states) = ctx.git.tracked_states(&paths)? else {
        return Ok(());
    };
    let states = ids.iter().zip(states);
    let mut untracked: BTreeSet<&DecisionId> = states
        .filter_map(|(id, state)| (state == TrackedState::Untracked).then_some(id))
        .collect();
    if untracked.is_empty() {
        return Ok(());
    }
    let places = folder.list_other_places()?;
    untracked.retain(|id| places.iter().any(|place| place.contains(*id)));
    for (_, one) in changed.iter_mut() {
        if one.id.as_ref().is_some_and(|id| untracked.contains(id)) {
            one.vanished = false;
        }
    }
    Ok(())
}

/// Reports decisions made here whose files vanished although no commit was checked out.
fn report_vanished(
    ctx: &Context<'_>,
    folder: &dyn DecisionFolder,
    listing: &DecisionListing,
    damaged: &BTreeSet<DecisionId>,
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
        .filter(|(_, after)| after.vanished && is_ours(after))
        // Those are there, and were reported.
        .filter(|(_, after)| after.id.as_ref().is_none_or(|id| !damaged.contains(id)))
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

/// Returns the known decisions whose files are not what was decided any more.
///
/// Read are those that were written since the last look, and those that did not count at that: they
/// may be damaged still.
fn find_damaged_files(
    ctx: &Context<'_>,
    known: &HashMap<DecisionId, KnownDecision>,
    listing: &DecisionListing,
) -> BTreeSet<DecisionId> {
    let is_doubtful = |id: &&DecisionId| {
        let one = known.get(*id);
        one.is_some_and(|one| !one.present || listing.rewritten.contains(id))
    };
    let doubtful = listing.ids.iter().filter(is_doubtful);
    doubtful
        .filter(|id| read_decision(ctx, id).is_none())
        .cloned()
        .collect()
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
    let followed = follow_moved_plans(ctx, tx, &after, facts, changes)?;
    let changes = followed.as_ref().map_or(changes, |found| &found.changes);
    let changed = ChangesByNode::from_changes(changes);
    let mut affected = find_affected_nodes(tx, &after, &changed)?;
    if let Some(followed) = &followed {
        let news = changes.list_news();
        for (id, key) in &followed.renamed {
            // Its decisions are the same, at another place.
            affected.remove(id);
            if after.has_new_text(*id) || news.contains(key.as_str()) {
                affected.insert(*id, key.clone());
            }
        }
        facts.extend(followed.facts.iter().cloned());
    }
    let all = match affected.len() {
        MIN_NODES_TO_READ_ALL.. => Some(load_all_decisions(tx)?),
        _ => None,
    };
    for (id, key) in &affected {
        let known = match &all {
            Some(all) => all.get(key).cloned().unwrap_or_default(),
            None => load_decisions(tx, key)?,
        };
        let known = changed.known_after(key, known);
        let known = after.select_decisions(tx, *id, key, known)?;
        if !known.is_empty() {
            let state = after.state_of(tx, *id)?;
            let takes_back_progress = known.iter().any(takes_back_progress);
            facts.extend(standing_facts(*id, &state, &known, takes_back_progress));
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
    let mut said = SaidOfNodes {
        affected: BTreeMap::new(),
        after: &after,
        operation,
    };
    for (id, key) in &affected {
        said.affected.entry(key.as_str()).or_default().push(*id);
    }
    for (key, ones) in &changed.0 {
        push_said_facts(tx, &said, &changed, (key, ones), facts)?;
    }
    Ok(())
}

/// Whether a decision about the progress of its node does not count any more.
fn takes_back_progress(one: &KnownDecision) -> bool {
    !one.counts() && matches!(one.decision.what, Verdict::Progress { .. })
}

/// Returns the nodes whose decisions may say something else now, with the keys of their decisions.
fn find_affected_nodes(
    tx: &dyn Transaction,
    after: &ObservedNodes,
    changed: &ChangesByNode<'_>,
) -> Result<BTreeMap<NodeId, String>, Failure> {
    let mut affected = after.find_affected(tx)?;
    let keys: HashSet<String> = affected.values().cloned().collect();
    for key in changed.0.keys().copied() {
        if !keys.contains(key) || after.has_labels {
            let nodes = find_nodes_by_key(tx, key)?;
            affected.extend(nodes.into_iter().map(|node| (node.id, key.to_owned())));
        }
    }
    affected.retain(|id, _| !after.removed.contains(id));
    Ok(affected)
}

/// What is needed to give comments and notes to their nodes.
struct SaidOfNodes<'c> {
    /// By key: several, where nodes share an id.
    affected: BTreeMap<&'c str, Vec<NodeId>>,
    after: &'c ObservedNodes,
    operation: OperationId,
}

/// Adds the facts about the comments and notes among the changed decisions of a key.
fn push_said_facts(
    tx: &dyn Transaction,
    said: &SaidOfNodes<'_>,
    changed: &ChangesByNode<'_>,
    (key, ones): (&str, &[Cow<'_, KnownDecision>]),
    facts: &mut Vec<Fact>,
) -> Result<(), Failure> {
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
    let nodes = said.affected.get(key).map(Vec::as_slice);
    for node in nodes.unwrap_or_default() {
        let held = match nodes {
            Some([_]) => known.clone(),
            _ => said.after.select_decisions(tx, *node, key, known.clone())?,
        };
        for one in &held {
            let Some(id) = one.id.as_ref().filter(|id| touched.contains(id)) else {
                continue;
            };
            let holds = in_force.contains(id);
            facts.extend(comment_fact(tx, *node, id, one, holds, said.operation)?);
        }
    }
    for one in &known {
        if let Some(id) = one.id.as_ref().filter(|id| touched.contains(id)) {
            let note = note_fact(tx, one, in_force.contains(id), facts)?;
            facts.extend(note);
        }
    }
    Ok(())
}

/// Changed decisions by the key of their node.
pub(super) struct ChangesByNode<'c>(BTreeMap<&'c str, Vec<Cow<'c, KnownDecision>>>);

impl<'c> ChangesByNode<'c> {
    pub(super) fn from_changes(changes: &'c DecisionChanges) -> Self {
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

    /// Returns the keys of the nodes.
    pub(super) fn keys(&self) -> impl Iterator<Item = &'c str> {
        self.0.keys().copied()
    }

    /// Returns the decisions of a node after the changes.
    pub(super) fn known_after(
        &self,
        key: &str,
        mut known: Vec<KnownDecision>,
    ) -> Vec<KnownDecision> {
        for one in self.0.get(key).into_iter().flatten() {
            known.retain(|other| other.id != one.id);
            known.push(one.as_ref().clone());
        }
        known
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
    // Progress and proofs say nothing about the verdict: a plan document is approved by its freeze,
    // which is in its file.
    let is_decided = known
        .iter()
        .any(|one| one.decision.what.aspect() == Aspect::Verdict);
    let mut facts = match is_decided {
        true => verdict_facts(node, &state.verdict, standing.verdict),
        false => Vec::new(),
    };
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
        // A change of shape rewrote the text it is about.
        (Some(old), Some(new)) if old.place != new.place => {
            let after = Comment {
                place: new.place,
                ..old.clone()
            };
            record_changed_fact(&old.record_key(), Some(&old), Some(&after))
        }
        _ => None,
    })
}
