//! Undo operations: invert their facts, and revert the files they wrote.
//!
//! The decision is in `domain::undo`; this loads its inputs and plans the files. An undo is an
//! operation and can be undone.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use domain::decision::{DecisionId, KnownDecision};
use domain::fact::Fact;
use domain::file_writes::{FileWrite, RedoAction};
use domain::ids::{NodeId, OperationId, Principal, VersionHash};
use domain::node::Content;
use domain::operation::{Operation, OperationHead, Verb};
use domain::ports::{FileReadResult, PlanFiles, Snapshot, StoreFault, Transaction};
use domain::presence::AbsentNode;
use domain::record::{RecordKey, Recorded as _, read_record, read_records};
use domain::shell_line::quote_word;
use domain::tree::Tree;
use domain::undo::{
    FileChange, UndoRefused, decide_undo, find_newest_decision, is_decision_of_person,
    refuse_overruling_people, refuse_withdrawn_failure,
};
use serde::Serialize;

use crate::claim_node::{carry_renamed_claims, follow_undone_claims, may_rename_nodes};
use crate::completion::follow_reopened;
use crate::context::Context;
use crate::decisions::record_with_decisions;
use crate::failure::{Failure, FailureKind};
use crate::file_writes::{PlannedFiles, hash_request};
use crate::locate::{load_node, load_with_ancestors};
use crate::observe::with_observed_files;
use crate::override_gate::end_undone_overrides;
use crate::plan_backup::write_backup;
use crate::record_policy::resolve_deciding_policy;
use crate::scan::ScanScope;
use crate::status_cascade::cascade_statuses;
use crate::transitions::collect_transitions;
use crate::unmask_version::unmask_version;
use crate::views::{OperationView, TransitionView};
use crate::working_copy::refuse_overwriting;

/// Which operations to undo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoTarget {
    /// The newest decision still in force.
    Newest,
    /// Only this one.
    Operation(OperationId),
    /// Everything after this one.
    BackTo(OperationId),
    /// Everything after the first one, if nothing was recorded since a preview that said that the
    /// undo would be the second one.
    BackToAsShown(OperationId, OperationId),
}

/// Outcome of [`undo`].
#[derive(Clone, Debug, Serialize)]
pub struct UndoOutcome {
    pub success: bool,
    pub undone: Vec<OperationView>,
    /// Reverted files.
    pub files: Vec<String>,
    /// Files edited since, which are left as they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kept_files: Vec<String>,
    /// Number of nodes that change in any way.
    pub changed_nodes: usize,
    pub changed_entities: Vec<TransitionView>,
    pub operation: OperationId,
}

/// Undoes operations.
///
/// # Errors
/// When there is nothing to undo, or a later operation changed the same values.
pub fn undo_operations(ctx: &Context<'_>, target: UndoTarget) -> Result<UndoOutcome, Failure> {
    // Identifies the request: a repeated bare `undo` after a kill would otherwise undo the decision
    // before it as well.
    let request = hash_request(&("undo", target));
    run_undo(ctx, target, Some(request))
}

/// Returns what an undo would do, and changes nothing.
///
/// # Errors
/// Those of [`undo_operations`].
pub fn preview_undo(ctx: &Context<'_>, target: UndoTarget) -> Result<UndoOutcome, Failure> {
    run_undo(ctx, target, None)
}

/// Maximum number of operations that a refused undo tries to take back together, for its next step.
const MAX_TRIED_OPERATIONS: u64 = 1_000;

/// Undoes operations, or only says what that would do if there is no `request`.
fn run_undo(
    ctx: &Context<'_>,
    target: UndoTarget,
    request: Option<VersionHash>,
) -> Result<UndoOutcome, Failure> {
    let is_preview = request.is_none();
    with_observed_files(ctx, ScanScope::Everything, request, |files, tx| {
        let trial = PlannedFiles::new(ctx, None);
        let planned = if is_preview { &trial } else { files };
        let operations = select_operations(ctx, &*tx, target)?;
        let outcome = undo_selected(ctx, planned, tx, &operations, is_preview);
        outcome.or_else(|failure| Err(offer_possible_undo(ctx, tx, &operations, failure)?))
    })
}

/// Returns the refusal of an undo with the undos that are possible instead: each is tried first.
fn offer_possible_undo(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    operations: &[Operation],
    failure: Failure,
) -> Result<Failure, Failure> {
    let [refused] = operations else {
        return Ok(failure);
    };
    if failure.kind != FailureKind::Conflict {
        return Ok(failure);
    }
    let newer = tx.last_operation_id()?.0.saturating_sub(refused.id.0);
    if newer > MAX_TRIED_OPERATIONS {
        return Ok(failure);
    }
    let back_to = OperationId(refused.id.0.saturating_sub(1));
    let since = select_operations(ctx, &*tx, UndoTarget::BackTo(back_to))?;
    let mut is_possible = |operations: &[Operation]| {
        let trial = PlannedFiles::new(ctx, None);
        undo_selected(ctx, &trial, tx, operations, true).is_ok()
    };
    let mut steps = Vec::new();
    // What an undo took away may be what is missing.
    let mut undos = since.iter().filter(|one| one.verb == Verb::Undo);
    if let Some(undo) = undos.find(|one| one.by == ctx.actor && is_possible(&[(*one).clone()])) {
        steps.push(format!("tl undo {}   # {}", undo.id, undo.summary));
    }
    if since.len() > 1 && is_possible(&since) {
        steps.push(format!(
            "tl undo --to {back_to}   # takes back everything since"
        ));
    }
    Ok(steps.into_iter().fold(failure, Failure::with_step))
}

/// Undoes these operations, newest first, or only says what that would do.
fn undo_selected(
    ctx: &Context<'_>,
    planned: &PlannedFiles<'_>,
    tx: &mut dyn Transaction,
    operations: &[Operation],
    is_preview: bool,
) -> Result<UndoOutcome, Failure> {
    if !ctx.actor.is_human() {
        refuse_withdrawn_failure(operations)?;
    }
    let mut undone = Vec::new();
    for operation in operations {
        undone.push(OperationView::from_head(&*tx, operation.to_head())?);
    }
    let by = tx.next_operation_id()?;
    let decided = decide_undo(
        operations,
        by,
        &load_touched_nodes(&*tx, operations)?,
        load_touched_records(&*tx, operations)?,
    );
    let decided = match decided {
        Err(UndoRefused::PlanGone { operation, node }) => {
            return Err(refuse_gone(&*tx, operation, node)?);
        }
        decided => decided?,
    };
    let policy = resolve_deciding_policy(ctx, &*tx)?.approval;
    refuse_overruling_people(operations, &decided.facts, &ctx.actor, policy)?;
    let now = ctx.clock.now();
    let mut facts = decided.facts;
    if !is_preview {
        end_undone_overrides(ctx, tx, &facts)?;
    }
    let mut files = Vec::new();
    for change in &decided.files {
        // On a shared state the file may hold a text of this copy that nobody else has.
        refuse_overwriting(ctx, &*tx, change.node)?;
        // On the planned files: several undone operations may concern one file, and each step
        // has to see the result of the one before.
        let changed = ctx.with_planned_files(planned, |ctx| {
            restore_plan_file(ctx, planned, tx, change, &facts, now)
        });
        let (file, backup) = changed?;
        files.push(file);
        facts.extend(backup);
    }
    let mut kept_files: Vec<String> = decided.kept;
    for write in &decided.writes {
        match revert_file(ctx, planned, &*tx, write)? {
            // Plan files are reverted above, by their content; the same path here is not listed
            // twice.
            true if files.contains(&write.path) => {}
            true => files.push(write.path.clone()),
            false => kept_files.push(write.path.clone()),
        }
    }
    kept_files.sort();
    kept_files.dedup();
    // After all files are judged, and before the undo is recorded.
    refuse_partial_move(operations, &kept_files)?;
    follow_reopened(ctx, &*tx, &mut facts)?;
    // The inverted facts restore the statuses of that time; the cascade corrects them where a
    // later change elsewhere has made them wrong.
    cascade_statuses(ctx, tx, &mut facts, &[], now, None)?;
    let summary = match operations {
        [one] => format!("undo {} ({})", one.id, one.summary),
        several => format!("undo {} operations", several.len()),
    };
    let mut outcome = UndoOutcome {
        success: true,
        undone,
        files,
        kept_files,
        changed_nodes: count_changed_nodes(&facts),
        changed_entities: Vec::new(),
        operation: by,
    };
    if is_preview {
        let changed = collect_transitions(&*tx, &facts, None)?;
        let entities = changed.reinstated.into_iter().chain(changed.stale);
        outcome.changed_entities = entities.collect();
        return Ok(outcome);
    }
    let mut operation = ctx.new_operation(Verb::Undo, summary);
    operation.at = now;
    operation.facts = facts;
    let facts = operation.facts.clone();
    // Decisions of the undone operations are withdrawn by new ones, so that no merge brings
    // them back.
    outcome.operation = record_with_decisions(ctx, planned, tx, operation)?;
    if may_rename_nodes(&facts) {
        carry_renamed_claims(ctx, &*tx)?;
    }
    // After the operation is recorded: if that fails, the other worktrees still see the claims
    // as they were.
    follow_undone_claims(ctx, &*tx, &facts)?;
    let changed = collect_transitions(&*tx, &facts, None)?;
    let entities = changed.reinstated.into_iter().chain(changed.stale);
    outcome.changed_entities = entities.collect();
    Ok(outcome)
}

/// Returns the refusal of an undo about a plan that is not in the tree.
fn refuse_gone(
    state: &dyn Snapshot,
    operation: OperationId,
    node: NodeId,
) -> Result<Failure, Failure> {
    let absent = read_records::<AbsentNode>(state, "")?;
    let mut absent = absent.into_iter().map(|(_, absent)| absent);
    if let Some(absent) = absent.find(|absent| absent.node.id == node) {
        let name = &absent.name;
        let Some(branch) = absent.branch else {
            let why = format!("the plan file of `{name}` is not here");
            return Ok(UndoRefused::ChangedSince { operation, why }.into());
        };
        let why = format!("`{name}` is not on this branch: it was last seen on {branch}");
        let failure = Failure::from(UndoRefused::ChangedSince { operation, why });
        return Ok(failure.with_step(format!("git checkout {}", quote_word(&branch))));
    }
    let since = state.last_operation_id()?.0.saturating_sub(operation.0);
    let since = usize::try_from(since.min(MAX_TRIED_OPERATIONS)).unwrap_or_default();
    let operations = state.load_operations(None, since)?;
    let removed = operations.iter().find_map(|operation| {
        operation.facts.iter().find_map(|fact| match fact {
            Fact::NodeRemoved { node: removed } if removed.id == node => {
                Some((removed.alias.clone(), operation.id))
            }
            _ => None,
        })
    });
    Ok(match removed {
        Some((name, by)) => {
            let why = format!("operation {by} removed `{name}`");
            UndoRefused::ChangedSince { operation, why }.into()
        }
        None => UndoRefused::PlanGone { operation, node }.into(),
    })
}

fn count_changed_nodes(facts: &[Fact]) -> usize {
    let nodes: BTreeSet<NodeId> = facts.iter().flat_map(Fact::changed_nodes).collect();
    nodes.len()
}

/// Refuses to take back a change of shape by half: a plan edited since would stay at a place that its
/// node has left.
fn refuse_partial_move(operations: &[Operation], kept: &[String]) -> Result<(), Failure> {
    let moved = operations
        .iter()
        .find(|operation| operation.verb.moves_files());
    let (Some(operation), Some(first)) = (moved, kept.first()) else {
        return Ok(());
    };
    let more = match kept.len() {
        1 => String::new(),
        several => format!(" and {} more", several - 1),
    };
    let why = format!("`{first}`{more} was edited since");
    Err(UndoRefused::ChangedSince {
        operation: operation.id,
        why,
    }
    .into())
}

/// The decision files of a state that are here. Loaded when it is first asked for: every decision is read.
#[derive(Default)]
struct PresentDecisions(OnceCell<HashSet<DecisionId>>);

impl PresentDecisions {
    fn contains(&self, state: &dyn Snapshot, record_key: &str) -> Result<bool, StoreFault> {
        if let Some(known) = read_record::<KnownDecision>(state, record_key)? {
            return Ok(known.present);
        }
        // A change of shape records a decision under its plan's present name.
        let ids = match self.0.get() {
            Some(ids) => ids,
            None => {
                let known = read_records::<KnownDecision>(state, "")?.into_iter();
                let present = known.filter(|(_, known)| known.present);
                let ids = present.filter_map(|(key, _)| DecisionId::of_record_key(&key));
                let ids = ids.collect();
                self.0.get_or_init(|| ids)
            }
        };
        Ok(DecisionId::of_record_key(record_key).is_some_and(|id| ids.contains(&id)))
    }
}

/// Whether the decisions of an operation went with their branch: there is nothing to take back here.
fn is_decision_of_another_branch(
    state: &dyn Snapshot,
    operation: &Operation,
    present: &PresentDecisions,
) -> Result<bool, StoreFault> {
    let mut is_gone = false;
    for fact in &operation.facts {
        if let Fact::RecordChanged { record, .. } = fact
            && record.kind == KnownDecision::KIND
        {
            if present.contains(state, &record.key)? {
                return Ok(false);
            }
            is_gone = true;
        }
    }
    Ok(is_gone)
}

/// Refuses a bare undo by a principal without a decision, and names the last one of another.
fn nothing_to_undo(by: &Principal, of_others: Option<OperationHead>) -> Failure {
    match of_others {
        None => UndoRefused::Nothing.into(),
        Some(other) => Failure::refused(format!("there is nothing to undo by {by}")).with_step(
            format!("tl undo {}   # {} by {}", other.id, other.summary, other.by),
        ),
    }
}

/// Returns the operations to undo, newest first.
fn select_operations(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    target: UndoTarget,
) -> Result<Vec<Operation>, Failure> {
    match target {
        UndoTarget::Newest => {
            let by = &ctx.actor;
            // By pages: the newest decision is nearly always among the last few operations, behind
            // some observations.
            let mut before = None;
            let mut of_others = None;
            let present = PresentDecisions::default();
            loop {
                let page = state.load_operations(before, 100)?;
                let Some(last) = page.last() else {
                    return Err(nothing_to_undo(by, of_others));
                };
                let mut undone = BTreeSet::new();
                for operation in &page {
                    if state.undone_by(operation.id)?.is_some()
                        || is_decision_of_another_branch(state, operation, &present)?
                    {
                        undone.insert(operation.id);
                    }
                }
                let is_undone = |id| undone.contains(&id);
                if let Some(found) = find_newest_decision(&page, by, &is_undone) {
                    return Ok(vec![found.clone()]);
                }
                of_others = of_others.or_else(|| {
                    // An agent is not led to undo what it may not.
                    let may_undo = |one: &&Operation| by.is_human() || !is_decision_of_person(one);
                    let mut decisions = page.iter().filter(|one| one.verb.is_decision());
                    decisions
                        .find(|one| !is_undone(one.id) && may_undo(one))
                        .map(Operation::to_head)
                });
                before = Some(last.id);
            }
        }
        UndoTarget::Operation(id) => {
            let operation = state
                .load_operation(id)?
                .ok_or(UndoRefused::NoSuchOperation(id))?;
            match state.undone_by(id)? {
                Some(by) => Err(UndoRefused::UndoneAlready { operation: id, by }.into()),
                None => Ok(vec![operation]),
            }
        }
        UndoTarget::BackToAsShown(_, shown) if state.last_operation_id()?.next_id() != shown => {
            Err(Failure::conflict(
                "something was recorded since this was shown, and nothing was undone",
            ))
        }
        UndoTarget::BackTo(id) | UndoTarget::BackToAsShown(id, _) => {
            if id != OperationId(0) && state.load_operation(id)?.is_none() {
                return Err(UndoRefused::NoSuchOperation(id).into());
            }
            let mut found = Vec::new();
            for operation in state.load_operations(None, usize::MAX)? {
                // Undone operations and their undo are both included: inverted together they cancel
                // out.
                if operation.id > id {
                    found.push(operation);
                }
            }
            if found.is_empty() {
                Err(UndoRefused::Nothing.into())
            } else {
                Ok(found)
            }
        }
    }
}

/// Loads every node the operations touched, with its ancestors.
fn load_touched_nodes(state: &dyn Snapshot, operations: &[Operation]) -> Result<Tree, StoreFault> {
    let facts = || operations.iter().flat_map(|operation| &operation.facts);
    let mut wanted: Vec<NodeId> = facts().flat_map(Fact::changed_nodes).collect();
    // A removed or moved node returns below its former parent, which the operations may not have
    // touched.
    wanted.extend(facts().filter_map(|fact| match fact {
        Fact::NodeRemoved { node } => node.parent,
        Fact::NodeMoved { before, .. } => *before,
        _ => None,
    }));
    // Plans that are below an added one since then are in the way of its removal.
    for fact in facts() {
        if let Fact::NodeAdded { node } = fact {
            wanted.extend(state.load_subtree(node.id)?.iter().map(|node| node.id));
        }
    }
    load_with_ancestors(state, wanted)
}

/// Loads every record the operations touched.
fn load_touched_records(
    state: &dyn Snapshot,
    operations: &[Operation],
) -> Result<BTreeMap<RecordKey, serde_json::Value>, StoreFault> {
    let mut found = BTreeMap::new();
    for fact in operations.iter().flat_map(|operation| &operation.facts) {
        if let Fact::RecordChanged { record, .. } = fact
            && let Some(body) = state.record_body(&record.kind, &record.key)?
        {
            found.insert(record.clone(), body);
        }
    }
    Ok(found)
}

/// Plans the reversal of a file that is not a node's content, if it is still as it was written.
/// Returns whether it is.
fn revert_file(
    ctx: &Context<'_>,
    planned: &PlannedFiles<'_>,
    tx: &dyn Transaction,
    write: &FileWrite,
) -> Result<bool, Failure> {
    // Read from the planned files: later edits of the same file are reverted before this one.
    let found = match planned.read_file(&write.path, ctx.policy.max_plan_bytes) {
        FileReadResult::Text { text, .. } => Some(VersionHash::of_bytes(text.as_bytes())),
        FileReadResult::Missing => None,
        FileReadResult::Unreadable { .. } => return Ok(false),
    };
    if write.redo_action(found) == RedoAction::LeaveAlone {
        return Ok(false);
    }
    let text = match write.after {
        Some(version) => Some(tx.load_text(version)?.ok_or_else(|| StoreFault::Damaged {
            what: "a stored text is missing".to_owned(),
        })?),
        None => None,
    };
    planned.put_file(&write.path, text.as_deref())?;
    Ok(true)
}

/// Reverts a plan file; its present text is backed up first.
fn restore_plan_file(
    ctx: &Context<'_>,
    planned: &PlannedFiles<'_>,
    tx: &dyn Transaction,
    change: &FileChange,
    facts: &[Fact],
    now: domain::time::Timestamp,
) -> Result<(String, Option<Fact>), Failure> {
    let returning = facts.iter().find_map(|fact| match fact {
        Fact::NodeAdded { node } if node.id == change.node => Some(node),
        _ => None,
    });
    // A returning node brings its file. It is created exclusively: if a user has put another file
    // there meanwhile, the undo fails instead of replacing it.
    if let (Some(node), Content::Text { version, .. }) = (returning, &change.after) {
        let file = node.path.clone().unwrap_or_default();
        let text = unmask_version(ctx, tx, *version, &file)?;
        ctx.files.create_file(&file, &text)?;
        return Ok((file, None));
    }
    let node = load_node(tx, change.node)?;
    let file = node.path.clone().unwrap_or_default();
    let backup = write_backup(ctx, tx, &node, "undo", now)?;
    match &change.after {
        Content::Text { version, .. } => {
            let text = unmask_version(ctx, tx, *version, &file)?;
            planned.put_file(&file, Some(&text))?;
        }
        // The file did not exist before: the backup just written is its only readable copy.
        Content::Missing => planned.put_file(&file, None)?,
        // An unreadable content was never stored, so it cannot be restored.
        Content::Unreadable { .. } => {}
    }
    Ok((file, backup))
}
