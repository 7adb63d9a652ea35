//! Turns the facts of an operation into decisions, recorded with it and written after its commit.

use std::collections::BTreeMap;

use domain::comment::Comment;
use domain::decision::{
    Aspect, Decision, DecisionId, KnownDecision, NodeVerdict, Verdict, decide_verdict,
    decisions_in_force, render_decision_file, stand_on_decisions, superseded_by,
};
use domain::fact::Fact;
use domain::ids::{NodeId, OperationId};
use domain::node::{Node, Progress};
use domain::operation::Verb;
use domain::ports::{DecisionFolder, NewOperation, Snapshot, Transaction};
use domain::record::{Recorded, record_changed_fact};

use super::carry::carry_decisions;
use super::follow::share_followed_moves;
use super::made_notes::decide_notes;
use super::made_proofs::decide_proofs;
use super::receive::state_mark;
use super::removed_progress::decide_removed_progress;
use super::sign::{refuse_unsignable, sign_decision};
use super::undone::decide_undone;
use super::{load_decision_key, load_decisions, load_node_decisions, named_plan_file};
use crate::context::{Context, Notice};
use crate::failure::Failure;
use crate::file_writes::PlannedFiles;
use crate::locate::load_node;
use crate::observe::with_observed_files;
use crate::scan::ScanScope;

/// What an operation changes about one node.
struct NodeChange {
    before: NodeVerdict,
    after: NodeVerdict,
    progress: Option<Progress>,
}

/// A decision to be recorded, with the fact that carries it.
pub(super) struct NewDecision {
    id: DecisionId,
    text: String,
    decision: Decision,
}

impl NewDecision {
    pub(super) fn from_decision(decision: Decision) -> Self {
        // A signed one is masked already, and stays as it was signed.
        let decision = decision.with_masked_texts();
        let (id, text) = render_decision_file(&decision);
        Self { id, text, decision }
    }

    /// Returns the fact that records it.
    pub(super) fn to_fact(&self) -> Option<Fact> {
        let key = KnownDecision::record_key(&self.decision.node, &self.id);
        record_changed_fact(&key, None, Some(&self.to_known()))
    }

    fn to_known(&self) -> KnownDecision {
        KnownDecision {
            id: Some(self.id.clone()),
            decision: self.decision.clone(),
            present: true,
            trusted: true,
            vanished: false,
            signature_problem: None,
            original: None,
        }
    }
}

/// Records an operation together with the decisions it makes; their files are written after the
/// commit, with those planned by the caller.
pub(crate) fn record_with_decisions(
    ctx: &Context<'_>,
    planned: &PlannedFiles<'_>,
    tx: &mut dyn Transaction,
    mut operation: NewOperation,
) -> Result<OperationId, Failure> {
    match ctx.decisions {
        Some(folder) => attach_decisions(ctx, folder, planned, &*tx, &mut operation)?,
        None => {
            refuse_unsignable(ctx, &operation)?;
            // Where decisions become files again, this one is written then.
            if tx.load_note(WRITTEN_NOTE)?.is_some() {
                tx.save_note(WRITTEN_NOTE, None, ctx.clock.now())?;
            }
        }
    }
    planned.record_operation(tx, operation)
}

/// Returns a decision with the author and the time of the operation that makes it.
pub(super) fn decision_of(
    operation: &NewOperation,
    node: String,
    what: Verdict,
    supersedes: Vec<DecisionId>,
) -> Decision {
    Decision {
        node,
        what,
        by: operation.by.clone(),
        at: operation.at,
        supersedes,
        signature: None,
        plan_file: None,
    }
}

/// Adds a decision to the operation that makes it, and plans its file.
pub(crate) fn attach_decision(
    ctx: &Context<'_>,
    planned: &PlannedFiles<'_>,
    state: &dyn Snapshot,
    operation: &mut NewOperation,
    node: String,
    what: Verdict,
) -> Result<(), Failure> {
    let Some(folder) = ctx.decisions else {
        return Ok(());
    };
    let supersedes = superseded_by(&load_decisions(state, &node)?, &what);
    let decision = decision_of(operation, node, what, supersedes);
    let new = NewDecision::from_decision(sign_decision(ctx, decision)?);
    operation.facts.extend(new.to_fact());
    plan_decision_files(ctx, folder, state, planned, &[new])
}

fn attach_decisions(
    ctx: &Context<'_>,
    folder: &dyn DecisionFolder,
    planned: &PlannedFiles<'_>,
    tx: &dyn Transaction,
    operation: &mut NewOperation,
) -> Result<(), Failure> {
    let mut made = Vec::new();
    let mut facts = Vec::new();
    // First, because the loop makes no decision about nodes whose verdict is only carried.
    let carried = carry_decisions(ctx, tx, operation)?;
    for (id, mut change) in collect_changes(tx, operation)? {
        // The same decision about a text with other references, or that was made at the place a plan
        // was moved to: it is carried, not made again.
        if carried.rebound.contains(&id) || operation.verb == Verb::Move {
            change.after = change.before.clone();
        }
        let Some(node) = tx.load_node(id)? else {
            continue;
        };
        let key = load_decision_key(tx, &node)?;
        let plan_file = named_plan_file(ctx, tx, &node)?;
        let mut known = load_node_decisions(tx, &node)?;
        let verdict = decide_verdict(
            &key,
            &known,
            &change.before,
            &change.after,
            &operation.by,
            operation.at,
        );
        let progress = change.progress.map(|progress| {
            let what = Verdict::Progress { progress };
            let supersedes = superseded_by(&known, &what);
            decision_of(operation, key.clone(), what, supersedes)
        });
        for decision in verdict.into_iter().chain(progress) {
            let decision = Decision {
                plan_file: plan_file.clone(),
                ..decision
            };
            let new = NewDecision::from_decision(sign_decision(ctx, decision)?);
            // The verdict below is aligned with the decisions as they will be, the new ones
            // included.
            known.push(new.to_known());
            made.push(new);
        }
        facts.extend(align_verdict(tx, operation.verb, &node, &change, &known)?);
    }
    made.extend(decide_comments(ctx, tx, operation)?);
    made.extend(decide_notes(
        tx,
        &operation.by,
        operation.at,
        &operation.facts,
    )?);
    made.extend(decide_proofs(ctx, tx, operation, &carried)?);
    made.extend(decide_undone(tx, operation)?);
    made.extend(decide_removed_progress(ctx, tx, operation)?);
    made.extend(carried.made);
    facts.extend(carried.facts);
    if !made.is_empty() {
        let (moves, told) = share_followed_moves(tx, operation, &carried.moved)?;
        made.extend(moves);
        facts.extend(told);
    }
    facts.extend(made.iter().filter_map(NewDecision::to_fact));
    operation.facts.append(&mut facts);
    plan_decision_files(ctx, folder, tx, planned, &made)
}

/// Plans the files. The list of decisions made here is written first: a file without its entry in
/// it would count as a stranger's.
pub(super) fn plan_decision_files(
    ctx: &Context<'_>,
    folder: &dyn DecisionFolder,
    state: &dyn Snapshot,
    planned: &PlannedFiles<'_>,
    made: &[NewDecision],
) -> Result<(), Failure> {
    if made.is_empty() {
        return Ok(());
    }
    // Before the first file exists: a file that vanishes later is compared with this commit.
    folder.expect_write(&state_mark(ctx, state)?);
    let ids: Vec<DecisionId> = made.iter().map(|new| new.id.clone()).collect();
    folder.mark_made_here(&ids)?;
    for new in made {
        planned.put_file(&new.id.file_path(), Some(&new.text))?;
    }
    Ok(())
}

/// Collects the changed verdicts and progress of an operation, by node.
fn collect_changes(
    tx: &dyn Transaction,
    operation: &NewOperation,
) -> Result<BTreeMap<NodeId, NodeChange>, Failure> {
    // Progress that follows from files or commits is derived again by every clone; only what
    // someone set is a decision.
    let decides_progress = |after: Progress| match operation.verb {
        Verb::Progress | Verb::Undo => true,
        // Entering a node makes it active for this session; only leaving it as done is for others.
        Verb::Focus => after == Progress::Complete,
        _ => false,
    };
    let mut changes = BTreeMap::new();
    for fact in &operation.facts {
        let node = match fact {
            Fact::ApprovalChanged { node, .. } | Fact::CondemnationChanged { node, .. } => *node,
            Fact::ProgressChanged { node, after, .. } if decides_progress(*after) => *node,
            _ => continue,
        };
        let change = match changes.entry(node) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => {
                let verdict = tx.load_node(node)?.map(verdict_of_node).unwrap_or_default();
                entry.insert(NodeChange {
                    before: verdict.clone(),
                    after: verdict,
                    progress: None,
                })
            }
        };
        match fact {
            Fact::ApprovalChanged { after, .. } => change.after.approval.clone_from(after),
            Fact::CondemnationChanged { after, .. } => change.after.condemnation.clone_from(after),
            Fact::ProgressChanged { after, .. } => change.progress = Some(*after),
            _ => {}
        }
    }
    Ok(changes)
}

pub(super) fn verdict_of_node(node: Node) -> NodeVerdict {
    NodeVerdict {
        approval: node.approval,
        condemnation: node.condemnation,
    }
}

/// Returns the facts that bring a node to what its decisions say, where the operation left more:
/// rejecting an approved text ends its approval in every clone, so it ends here too.
fn align_verdict(
    tx: &dyn Transaction,
    verb: Verb,
    node: &Node,
    change: &NodeChange,
    known: &[KnownDecision],
) -> Result<Vec<Fact>, Failure> {
    // An undo may change the text as well, and what it restores is what it decides.
    if verb == Verb::Undo || change.before == change.after {
        return Ok(Vec::new());
    }
    let parent = match node.parent {
        Some(parent) => load_node(tx, parent)?.content.canonical_hash(),
        None => None,
    };
    let standing = stand_on_decisions(known, node.content.canonical_hash(), parent).verdict;
    Ok(verdict_facts(node.id, &change.after, standing))
}

/// Returns the facts that change a verdict.
pub(super) fn verdict_facts(node: NodeId, before: &NodeVerdict, after: NodeVerdict) -> Vec<Fact> {
    let mut facts = Vec::new();
    if before.approval != after.approval {
        facts.push(Fact::ApprovalChanged {
            node,
            before: before.approval.clone(),
            after: after.approval,
        });
    }
    if before.condemnation != after.condemnation {
        facts.push(Fact::CondemnationChanged {
            node,
            before: before.condemnation.clone(),
            after: after.condemnation,
        });
    }
    facts
}

/// Returns the decisions for added and removed comments; an added one gets the id of its decision.
fn decide_comments(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    operation: &mut NewOperation,
) -> Result<Vec<NewDecision>, Failure> {
    let mut made = Vec::new();
    for fact in &mut operation.facts {
        let Fact::RecordChanged {
            record,
            before,
            after,
        } = fact
        else {
            continue;
        };
        if record.kind != Comment::KIND {
            continue;
        }
        let parse = |body: &serde_json::Value| serde_json::from_value::<Comment>(body.clone()).ok();
        match (
            before.as_ref().and_then(parse),
            after.as_ref().and_then(parse),
        ) {
            (None, Some(mut comment)) => {
                let Some(node) = tx.load_node(comment.node)? else {
                    continue;
                };
                let new = NewDecision::from_decision(Decision {
                    node: load_decision_key(tx, &node)?,
                    what: Verdict::Commented {
                        text: comment.text.clone(),
                        place: comment.place.clone(),
                    },
                    by: comment.by.clone(),
                    at: comment.at,
                    supersedes: Vec::new(),
                    signature: None,
                    plan_file: named_plan_file(ctx, tx, &node)?,
                });
                // Before the fact is recorded: the decision is a part of the comment's key, so that
                // several comments received by one operation have different ones.
                comment.decision = Some(new.id.clone());
                record.key = comment.record_key();
                *after = serde_json::to_value(&comment).ok();
                made.push(new);
            }
            (Some(comment), None) => {
                let (Some(of), Some(node)) = (comment.decision, tx.load_node(comment.node)?) else {
                    continue;
                };
                made.push(NewDecision::from_decision(Decision {
                    node: load_decision_key(tx, &node)?,
                    what: Verdict::Withdrawn {
                        aspect: Aspect::Comment,
                    },
                    by: operation.by.clone(),
                    at: operation.at,
                    supersedes: vec![of],
                    signature: None,
                    plan_file: named_plan_file(ctx, tx, &node)?,
                }));
            }
            _ => {}
        }
    }
    Ok(made)
}

/// Whether the decisions of a state are not files yet; see [`write_existing_decisions`].
#[must_use]
pub fn lacks_decision_files(state: &dyn Snapshot) -> bool {
    state
        .load_note(WRITTEN_NOTE)
        .is_ok_and(|note| note.is_none())
}

/// Writes the decisions of a project that has none as files yet: one from before, or one that was
/// put into a repository later.
///
/// # Errors
/// When the state cannot be written.
pub fn write_existing_decisions(ctx: &Context<'_>) -> Result<(), Failure> {
    let Some(folder) = ctx.decisions else {
        return Ok(());
    };
    // Before the transaction, which adds files of its own to the folder.
    let found = folder.list_all()?;
    let written = with_observed_files(ctx, ScanScope::Everything, None, |planned, tx| {
        let mut made = Vec::new();
        for node in tx.nodes_outside(&[domain::trail::PROFILE])? {
            made.extend(decide_existing(ctx, &*tx, &node)?);
        }
        let mut operation = ctx.new_operation(Verb::Migrate, String::new());
        for (_, comment) in domain::record::read_records::<Comment>(&*tx, "")? {
            let known = (comment.decision.is_none(), tx.load_node(comment.node)?);
            if let (true, Some(node)) = known {
                let new = NewDecision::from_decision(Decision {
                    node: load_decision_key(&*tx, &node)?,
                    what: Verdict::Commented {
                        text: comment.text.clone(),
                        place: comment.place.clone(),
                    },
                    by: comment.by.clone(),
                    at: comment.at,
                    supersedes: Vec::new(),
                    signature: None,
                    plan_file: named_plan_file(ctx, &*tx, &node)?,
                });
                operation.facts.extend(rekey_comment(comment, &new.id));
                made.push(new);
            }
        }
        operation
            .facts
            .extend(made.iter().filter_map(NewDecision::to_fact));
        plan_decision_files(ctx, folder, &*tx, planned, &made)?;
        operation.summary = format!("wrote {} decisions as files", made.len());
        if !made.is_empty() {
            planned.record_operation(tx, operation)?;
        }
        // Also when there was nothing to write: otherwise every command would read all nodes again.
        note_decision_files(ctx, tx)?;
        Ok(made.len())
    })?;
    // A state with decisions that are no files is from before they were: this user made or adopted
    // it. Files that are here already came with a clone, and wait for a person's word.
    if written > 0 && found.is_empty() {
        folder.mark_adopted()?;
    }
    if written > 0 {
        ctx.push_notice(Notice::DecisionsWritten { count: written });
    }
    Ok(())
}

/// Notes that the decisions of this state are files, if the project keeps them as files.
pub(crate) fn note_decision_files(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
) -> Result<(), Failure> {
    if ctx.decisions.is_some() {
        tx.save_note(WRITTEN_NOTE, Some("files"), ctx.clock.now())?;
    }
    Ok(())
}

/// Note that the decisions of this state are files.
const WRITTEN_NOTE: &str = "decisions";

/// Returns the facts that give a comment the id of its decision.
fn rekey_comment(comment: Comment, id: &DecisionId) -> Vec<Fact> {
    let old = record_changed_fact(&comment.record_key(), Some(&comment), None);
    let named = Comment {
        decision: Some(id.clone()),
        ..comment
    };
    let new = record_changed_fact(&named.record_key(), None, Some(&named));
    old.into_iter().chain(new).collect()
}

/// Returns the decisions a node stands on that are not files yet.
fn decide_existing(
    ctx: &Context<'_>,
    tx: &dyn Snapshot,
    node: &Node,
) -> Result<Vec<NewDecision>, Failure> {
    let verdict = verdict_of_node(node.clone());
    // Trees that are only the work of a machine have no verdicts, and cost no look-up.
    let has_progress = node.progress != Progress::Pending && node.description.work.is_none();
    if verdict == NodeVerdict::default() && !has_progress {
        return Ok(Vec::new());
    }
    let key = load_decision_key(tx, node)?;
    let known = load_node_decisions(tx, node)?;
    let plan_file = named_plan_file(ctx, tx, node)?;
    let mut made = Vec::new();
    let in_force = decisions_in_force(&known);
    if !in_force
        .iter()
        .any(|known| known.decision.what.aspect() == Aspect::Verdict)
    {
        // Named by content: two clones that migrate the same state write the same files.
        made.extend(
            verdict
                .approval
                .as_ref()
                .map(|approval| Decision::from_approval(key.clone(), approval, Vec::new())),
        );
        made.extend(
            verdict
                .condemnation
                .as_ref()
                .map(|rejected| Decision::from_condemnation(key.clone(), rejected, Vec::new())),
        );
    }
    if has_progress
        && !in_force
            .iter()
            .any(|known| known.decision.what.aspect() == Aspect::Progress)
    {
        made.push(Decision {
            node: key,
            what: Verdict::Progress {
                progress: node.progress,
            },
            // The state before did not record who set a progress.
            by: domain::ids::Principal::System,
            at: node.updated_at,
            supersedes: Vec::new(),
            signature: None,
            plan_file: None,
        });
    }
    let with_file = |decision| Decision {
        plan_file: plan_file.clone(),
        ..decision
    };
    let made = made.into_iter().map(with_file);
    Ok(made.map(NewDecision::from_decision).collect())
}
