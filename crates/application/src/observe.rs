//! Observation: records the changes of the plan files before a use case reads or decides anything.
//!
//! A read-only use case takes the write lock only if a file changed. If the change cannot be
//! recorded (read-only disk, unreachable server), it is reported as a notice and the recorded state
//! is shown.

use std::rc::Rc;

use domain::fact::Fact;
use domain::ids::{NodeId, OperationId, Principal, VersionHash};
use domain::observation::{ObservedFile, OwningNode, facts_from_observations};
use domain::operation::Verb;
use domain::ports::{NewOperation, Snapshot, StoreFault, Transaction};
use domain::tree::Tree;

use crate::build_state::finish_build;
use crate::claim_node::{carry_renamed_claims, may_rename_nodes};
use crate::commit_overlay::{StateAtHead, overlay_commits};
use crate::context::{Context, Notice};
use crate::decisions::receive_decisions;
use crate::failure::{Failure, FailureKind};
use crate::file_progress::follow_file_progress;
use crate::file_writes::{self, PlannedFiles};
use crate::left_work::follow_left_work;
use crate::locate::{find_node, load_with_ancestors};
use crate::plan_backup::back_up_overwritten;
use crate::plan_documents::reconcile::{list_completed, report_unchanged_intents};
use crate::plan_documents::take_over_documents;
use crate::presence_facts::{push_identity_facts, push_presence_facts};
use crate::removed_scenarios::follow_removed_scenarios;
use crate::scan::{
    EarlierScan, FIRST_PLACEHOLDER_ID, NamedPlans, ScanResult, ScanScope, save_recorded_scan,
    save_seen_head, scan_named_plans, scan_plan_files, was_checked_out,
};
use crate::scan_summary::summarise_changes;
use crate::status_cascade::{cascade_statuses, count_stale_nodes};
use crate::ticket_cycles::mark_added_scenarios;
use crate::working_copy::{self, is_state_shared};

/// Minimum number of new file stamps for which an otherwise unchanged state is written. Fewer files
/// are read again by the next command, which is cheaper than taking the write lock.
const MIN_STAMPS_TO_WRITE: usize = 32;

/// Scans the files, records their changes, and returns an up-to-date snapshot.
///
/// Writes nothing if nothing changed.
pub(crate) fn observe_then_read<'s>(
    ctx: &Context<'s>,
    scope: ScanScope,
) -> Result<Box<dyn Snapshot + 's>, Failure> {
    let snapshot = ctx.store.begin_read()?;
    if ctx.store.is_shared() && working_copy::shows_shared_state(ctx) {
        return Ok(snapshot);
    }
    match observe_snapshot(ctx, snapshot, &[scope])? {
        Observed::Current { state, .. } => Ok(state),
        Observed::Changed { seen } => record_then_read(ctx, scope, *seen),
    }
}

/// A snapshot, compared with the files.
pub(crate) enum Observed<'s> {
    /// It is up to date.
    Current {
        state: Box<dyn Snapshot + 's>,
        /// The nodes outside the trail, if the scan has loaded them.
        tree: Option<Tree>,
        /// Whether texts of this working copy are laid over a shared state.
        is_overlay: bool,
    },
    /// Files changed that have to be recorded; the snapshot is closed, because the write lock may
    /// not be taken under it.
    Changed {
        /// The scan of the first scope in which something changed.
        seen: Box<EarlierScan>,
    },
}

/// Compares a snapshot with the files in `scopes`.
pub(crate) fn observe_snapshot<'s>(
    ctx: &Context<'s>,
    state: Box<dyn Snapshot + 's>,
    scopes: &[ScanScope],
) -> Result<Observed<'s>, Failure> {
    let mut tree = None;
    for scope in scopes {
        let mut seen = scan_plan_files(ctx, &*state, *scope, FIRST_PLACEHOLDER_ID)?;
        if seen.is_unchanged() && seen.stamps.len() < MIN_STAMPS_TO_WRITE {
            seen.decisions.remember(ctx);
            if *scope == ScanScope::WholeTree {
                // Reading ten thousand nodes again takes tens of milliseconds.
                tree = Some(Tree::new(Rc::unwrap_or_clone(seen.nodes)));
            }
            continue;
        }
        if !is_state_shared(ctx, &*state)? {
            let seen = Box::new(EarlierScan::new(&*state, seen)?);
            return Ok(Observed::Changed { seen });
        }
        // One overlay shows one scan.
        if scopes.len() > 1 {
            seen = scan_plan_files(ctx, &*state, ScanScope::Everything, FIRST_PLACEHOLDER_ID)?;
        }
        return Ok(Observed::Current {
            state: working_copy::overlay_copy(ctx, state, seen)?,
            tree: None,
            is_overlay: true,
        });
    }
    Ok(Observed::Current {
        state,
        tree,
        is_overlay: false,
    })
}

/// Records the changes in `scope` and returns an up-to-date snapshot.
fn record_then_read<'s>(
    ctx: &Context<'s>,
    scope: ScanScope,
    seen: EarlierScan,
) -> Result<Box<dyn Snapshot + 's>, Failure> {
    let is_unchanged = seen.is_unchanged();
    match record_changes(ctx, scope, seen) {
        Ok(()) => {}
        // A state that cannot be written can still be read, with a notice. Damage and conflicts are
        // left to the edge, which repairs or retries.
        Err(failure) if !failure.needs_runner() && !failure.is_rejection() => {
            if !is_unchanged {
                ctx.push_notice(Notice::NotRecorded {
                    why: failure.message,
                });
            }
        }
        Err(failure) => return Err(failure),
    }
    Ok(ctx.store.begin_read()?)
}

/// A node found by name, with a snapshot that is up to date for it.
pub(crate) struct ObservedNode<'s, 'w> {
    pub(crate) state: Box<dyn Snapshot + 's>,
    pub(crate) id: NodeId,
    /// The arguments after the node.
    pub(crate) rest: &'w [String],
}

/// Finds a node by name and observes the files it depends on.
///
/// An unknown name may belong to a file written a moment ago, so the whole project is scanned
/// before the node is reported as missing.
pub(crate) fn observe_node<'s, 'w>(
    ctx: &Context<'s>,
    words: &'w [String],
    scope: fn(NodeId) -> ScanScope,
) -> Result<ObservedNode<'s, 'w>, Failure> {
    let state = ctx.store.begin_read()?;
    match find_node(ctx, &*state, words) {
        Ok((id, rest)) => {
            // The common case: nothing changed, and the snapshot the name was resolved in is
            // returned without a second read.
            let seen = scan_plan_files(ctx, &*state, scope(id), FIRST_PLACEHOLDER_ID)?;
            if seen.is_unchanged() {
                seen.decisions.remember(ctx);
                return Ok(ObservedNode { state, id, rest });
            }
            drop(state);
            let state = observe_then_read(ctx, scope(id))?;
            let (id, rest) = find_observed_node(ctx, &*state, words, (id, rest))?;
            Ok(ObservedNode { state, id, rest })
        }
        Err(failure) if failure.kind == FailureKind::NotFound => {
            drop(state);
            let state = observe_then_read(ctx, ScanScope::Everything)?;
            let (id, rest) = find_node(ctx, &*state, words)?;
            Ok(ObservedNode { state, id, rest })
        }
        Err(failure) => Err(failure),
    }
}

/// Finds a node again after changes were recorded: another one may have its name now, or it went with a
/// branch. One that was renamed is still meant by its former name.
fn find_observed_node<'w>(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    words: &'w [String],
    known: (NodeId, &'w [String]),
) -> Result<(NodeId, &'w [String]), Failure> {
    match find_node(ctx, state, words) {
        Err(failure) if failure.kind == FailureKind::NotFound => match state.load_node(known.0)? {
            Some(_) => Ok(known),
            None => Err(failure),
        },
        found => found,
    }
}

/// Finds a node by name and runs `act` in a write transaction that first records the changes of the
/// files the node depends on. `act` receives the arguments after the node.
pub(crate) fn with_observed_node<T>(
    ctx: &Context<'_>,
    words: &[String],
    act: impl FnOnce(&mut dyn Transaction, NodeId, &[String]) -> Result<T, Failure>,
) -> Result<T, Failure> {
    with_observed_node_files(ctx, words, None, |_, tx, id, rest| act(tx, id, rest))
}

/// Like [`with_observed_node`] for an operation that does not depend on the node's text: it does not
/// submit this working copy's text to a shared state, unless the node is not known there yet.
pub(crate) fn with_recorded_node<T>(
    ctx: &Context<'_>,
    words: &[String],
    act: impl FnOnce(&mut dyn Transaction, NodeId, &[String]) -> Result<T, Failure>,
) -> Result<T, Failure> {
    with_recorded_node_files(ctx, words, None, |_, tx, id, rest| act(tx, id, rest))
}

/// Like [`with_recorded_node`] for an operation that writes files.
pub(crate) fn with_recorded_node_files<T>(
    ctx: &Context<'_>,
    words: &[String],
    request: Option<VersionHash>,
    act: impl FnOnce(&PlannedFiles<'_>, &mut dyn Transaction, NodeId, &[String]) -> Result<T, Failure>,
) -> Result<T, Failure> {
    with_node_files(
        ctx,
        words,
        request,
        (LineageText::AsRecorded, no_others),
        act,
    )
}

/// Like [`with_node`] for an operation that writes files: `act` plans them, and they are written
/// after the commit. A `request` that an interrupted process carried out is not carried out again.
pub(crate) fn with_observed_node_files<T>(
    ctx: &Context<'_>,
    words: &[String],
    request: Option<VersionHash>,
    act: impl FnOnce(&PlannedFiles<'_>, &mut dyn Transaction, NodeId, &[String]) -> Result<T, Failure>,
) -> Result<T, Failure> {
    with_node_files(
        ctx,
        words,
        request,
        (LineageText::Submitted, no_others),
        act,
    )
}

/// Like [`with_observed_node_files`] for a decision that depends on files of other nodes, too, which
/// `others` lists once the node itself is up to date.
pub(crate) fn with_observed_files_of<T>(
    ctx: &Context<'_>,
    words: &[String],
    others: OtherScopes,
    act: impl FnOnce(&PlannedFiles<'_>, &mut dyn Transaction, NodeId, &[String]) -> Result<T, Failure>,
) -> Result<T, Failure> {
    with_node_files(ctx, words, None, (LineageText::Submitted, others), act)
}

/// Lists what else a decision about a node depends on.
pub(crate) type OtherScopes =
    fn(&Context<'_>, &dyn Snapshot, NodeId) -> Result<Vec<ScanScope>, Failure>;

#[expect(
    clippy::unnecessary_wraps,
    reason = "a decision may have to read nodes"
)]
fn no_others(_: &Context<'_>, _: &dyn Snapshot, _: NodeId) -> Result<Vec<ScanScope>, Failure> {
    Ok(Vec::new())
}

/// Which texts of a node and its ancestors an operation on a shared state is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineageText {
    /// Those of this working copy, which are submitted.
    Submitted,
    AsRecorded,
}

fn with_node_files<T>(
    ctx: &Context<'_>,
    words: &[String],
    request: Option<VersionHash>,
    (text, others): (LineageText, OtherScopes),
    act: impl FnOnce(&PlannedFiles<'_>, &mut dyn Transaction, NodeId, &[String]) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut tx = file_writes::begin_transaction(ctx)?;
    if let Some(done) = answer_repeated_request(ctx, &mut *tx, request)? {
        // Committed although the request fails: the transaction used up the note about the
        // interrupted request, so that asking a third time carries it out.
        tx.commit()?;
        return Err(done);
    }
    let planned = PlannedFiles::new(ctx, request);
    let is_shared = is_state_shared(ctx, &*tx)?;
    let mut observed = None;
    let (id, rest) = match find_node(ctx, &*tx, words) {
        Err(failure) if failure.kind == FailureKind::NotFound => {
            observed = match is_shared {
                true => working_copy::submit_new_node(ctx, &mut *tx, words)?,
                false => observe_within(ctx, &mut *tx, ScanScope::Everything)?,
            };
            match find_node(ctx, &*tx, words) {
                Ok(found) => found,
                Err(failure) => return keep_observed(ctx, tx, observed, failure),
            }
        }
        other => other?,
    };
    // Under the write lock: no file change of another command can come between this scan and the
    // decision.
    observed = match (is_shared, text) {
        (false, _) => observe_within(ctx, &mut *tx, ScanScope::Lineage(id))?,
        (true, LineageText::Submitted) => working_copy::submit_lineage(ctx, &mut *tx, id)?,
        (true, LineageText::AsRecorded) => None,
    }
    .or(observed);
    let (id, rest) = match &observed {
        None => (id, rest),
        Some(_) => match find_observed_node(ctx, &*tx, words, (id, rest)) {
            Ok(found) => found,
            Err(failure) => return keep_observed(ctx, tx, observed, failure),
        },
    };
    for scope in others(ctx, &*tx, id)? {
        observed = observe_within(ctx, &mut *tx, scope)?.or(observed);
    }
    match act(&planned, &mut *tx, id, rest) {
        Ok(value) => {
            planned.commit_and_write(ctx, tx)?;
            Ok(value)
        }
        Err(failure) => keep_observed(ctx, tx, observed, failure),
    }
}

/// Returns the answer to a request that an interrupted process carried out. The caller commits the
/// transaction in that case.
pub(crate) fn answer_repeated_request(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    request: Option<VersionHash>,
) -> Result<Option<Failure>, Failure> {
    let Some(request) = request else {
        return Ok(None);
    };
    let done = file_writes::take_interrupted_operation(ctx, tx, request)?;
    done.map(|operation| file_writes::already_done_failure(&*tx, operation))
        .transpose()
}

/// Commits the observed changes although the operation was refused: they are true either way.
///
/// Not on a shared state: a refused decision submits nothing.
fn keep_observed<T>(
    ctx: &Context<'_>,
    tx: Box<dyn Transaction + '_>,
    observed: Option<OperationId>,
    failure: Failure,
) -> Result<T, Failure> {
    if is_state_shared(ctx, &*tx)? {
        return Err(failure);
    }
    // After an error of the store the transaction is not trusted any more.
    if failure.is_rejection() && observed.is_some() {
        tx.commit()?;
    }
    Err(failure)
}

/// Scans every file, records the changes, and returns the whole tree.
///
/// A whole scan also completes the part of the mirror that earlier commits deferred.
pub(crate) fn observe_tree<'s>(
    ctx: &Context<'s>,
) -> Result<(Box<dyn Snapshot + 's>, Tree), Failure> {
    let (snapshot, plans) = observe_plans_at_head(ctx)?;
    if !domain::trail::has_trail_profile(ctx.profiles) {
        return Ok((snapshot, plans));
    }
    let tree = Tree::new(snapshot.all_nodes()?);
    Ok((snapshot, tree))
}

/// Like [`observe_plans`], with the progress that commits led to since it was recorded.
pub(crate) fn observe_plans_at_head<'s>(
    ctx: &Context<'s>,
) -> Result<(Box<dyn Snapshot + 's>, Tree), Failure> {
    let (state, tree) = observe_plans(ctx)?;
    let StateAtHead { state, operations } = overlay_commits(ctx, state)?;
    let tree = match operations.as_slice() {
        [] => tree,
        _ => load_plan_tree(&*state)?,
    };
    Ok((state, tree))
}

/// Like [`observe_tree`] without the trail, which has no files and can be long.
pub(crate) fn observe_plans<'s>(
    ctx: &Context<'s>,
) -> Result<(Box<dyn Snapshot + 's>, Tree), Failure> {
    ctx.store.finish_mirror();
    let snapshot = ctx.store.begin_read()?;
    let (state, tree) = match observe_snapshot(ctx, snapshot, &[ScanScope::WholeTree])? {
        Observed::Current { state, tree, .. } => (state, tree),
        // Not scanned a second time before the lock is taken: a checkout may have changed hundreds
        // of files.
        Observed::Changed { seen } => {
            let nodes = seen.loaded_nodes();
            let state = record_then_read(ctx, ScanScope::Everything, *seen)?;
            let tree = nodes.into_tree(&*state)?;
            (state, tree)
        }
    };
    let tree = match tree {
        Some(tree) => tree,
        None => load_plan_tree(&*state)?,
    };
    Ok((state, tree))
}

/// Loads the tree of all plans, without the trail.
pub(crate) fn load_plan_tree(state: &dyn Snapshot) -> Result<Tree, Failure> {
    Ok(Tree::new(state.nodes_outside(&[domain::trail::PROFILE])?))
}

/// Records the changes in `scope` as an operation of its own. `seen` is a scan of the same scope
/// from before the write lock.
fn record_changes(ctx: &Context<'_>, scope: ScanScope, seen: EarlierScan) -> Result<(), Failure> {
    let mut tx = ctx.store.begin_write()?;
    observe_within_from(ctx, &mut *tx, scope, Some(seen))?;
    tx.commit()?;
    // Only with a scan of the whole project, which takes its time anyway; a command about one node
    // leaves the deferred part to a later one.
    if scope == ScanScope::Everything {
        ctx.store.finish_mirror();
    }
    Ok(())
}

/// Runs `act`, which may plan files, in a write transaction that first records the changes in `scope`.
///
/// The observed changes are kept if `act` is refused.
pub(crate) fn with_observed_files<T>(
    ctx: &Context<'_>,
    scope: ScanScope,
    request: Option<VersionHash>,
    act: impl FnOnce(&PlannedFiles<'_>, &mut dyn Transaction) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut tx = file_writes::begin_transaction(ctx)?;
    if let Some(done) = answer_repeated_request(ctx, &mut *tx, request)? {
        tx.commit()?;
        return Err(done);
    }
    let planned = PlannedFiles::new(ctx, request);
    let observed = observe_within(ctx, &mut *tx, scope)?;
    match act(&planned, &mut *tx) {
        Ok(value) => {
            planned.commit_and_write(ctx, tx)?;
            Ok(value)
        }
        // The act may name a plan that only this working copy has.
        Err(failure) if failure.kind == FailureKind::NotFound && is_state_shared(ctx, &*tx)? => {
            Err(failure.with_step("tl submit   # if the plan is new in your working copy"))
        }
        Err(failure) => keep_observed(ctx, tx, observed, failure),
    }
}

/// Runs `act` in a write transaction without a scan: for an operation that depends on no plan and
/// writes only new files.
pub(crate) fn with_new_files<T>(
    ctx: &Context<'_>,
    request: Option<VersionHash>,
    act: impl FnOnce(&PlannedFiles<'_>, &mut dyn Transaction) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut tx = file_writes::begin_transaction(ctx)?;
    if let Some(done) = answer_repeated_request(ctx, &mut *tx, request)? {
        tx.commit()?;
        return Err(done);
    }
    let planned = PlannedFiles::new(ctx, request);
    let value = act(&planned, &mut *tx)?;
    planned.commit_and_write(ctx, tx)?;
    Ok(value)
}

/// Records the changes in `scope` in this transaction; nothing on a shared state, where texts are
/// submitted.
pub(crate) fn observe_within(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    scope: ScanScope,
) -> Result<Option<OperationId>, Failure> {
    observe_within_from(ctx, tx, scope, None)
}

/// Like [`observe_within`]; `earlier` is a scan of the same scope from before the write lock.
pub(crate) fn observe_within_from(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    scope: ScanScope,
    earlier: Option<EarlierScan>,
) -> Result<Option<OperationId>, Failure> {
    if is_state_shared(ctx, &*tx)? {
        file_writes::complete_writes_within(ctx, tx)?;
        return Ok(None);
    }
    record_scanned(ctx, tx, scope, earlier)
}

/// Records the changes in `scope`, also on a shared state: for a state that begins with these files.
pub(crate) fn record_all_changes(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    scope: ScanScope,
) -> Result<Option<OperationId>, Failure> {
    record_scanned(ctx, tx, scope, None)
}

fn record_scanned(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    scope: ScanScope,
    earlier: Option<EarlierScan>,
) -> Result<Option<OperationId>, Failure> {
    // Before pending files are written, which the scan left out.
    let earlier = earlier.map(|seen| seen.into_current(&*tx)).transpose()?;
    // Another process may have committed while this one waited for the lock, and not have written
    // its files yet: scanned now, they would look like edits by hand.
    file_writes::complete_writes_within(ctx, tx)?;
    let seen = match earlier.flatten() {
        Some(seen) => seen,
        None => scan_plan_files(ctx, &*tx, scope, tx.next_node_id()?)?,
    };
    let first_new = tx.next_node_id()?;
    let operation = build_operation(ctx, tx, &seen, Verb::Observe)?;
    let facts = operation
        .as_ref()
        .map(|operation| operation.facts.as_slice());
    let stamps = seen.recorded_stamps(facts, first_new);
    let completed = facts.map(list_completed).unwrap_or_default();
    let operation = operation
        .map(|operation| record_built(ctx, tx, operation, Verb::Observe))
        .transpose()?;
    tx.save_file_stamps(&stamps)?;
    if let Some(recorded) = operation.filter(|_| seen.is_cacheable) {
        save_recorded_scan(ctx, &*tx, recorded)?;
    }
    report_unchanged_intents(ctx, &*tx, &completed)?;
    // After the decisions that came with them, which are known from here on.
    take_over_documents(ctx, tx, &seen.documents)?;
    save_seen_head(ctx, tx, seen.is_whole)?;
    if seen.is_whole {
        finish_build(ctx, tx)?;
    }
    Ok(operation)
}

/// Records the effect of planned files as the caller's own operation, before they are written.
/// Returns `None` if nothing changes.
pub(crate) fn record_planned(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    planned: &PlannedFiles<'_>,
    verb: Verb,
    summary: String,
    more: Vec<Fact>,
) -> Result<Option<OperationId>, Failure> {
    let operation = build_planned_operation(ctx, tx, planned, verb, |_| Ok(()))?;
    record_planned_operation(ctx, tx, planned, operation, (verb, summary), more)
}

/// Like [`record_planned`] for files of plans that the caller names: nothing else is scanned.
pub(crate) fn record_named_plans(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    planned: &PlannedFiles<'_>,
    named: &NamedPlans<'_>,
    (verb, summary): (Verb, String),
    more: Vec<Fact>,
) -> Result<Option<OperationId>, Failure> {
    let operation = build_named_operation(ctx, tx, planned, named, verb)?;
    record_planned_operation(ctx, tx, planned, operation, (verb, summary), more)
}

/// Returns the operation that [`record_named_plans`] records.
pub(crate) fn build_named_operation(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    planned: &PlannedFiles<'_>,
    named: &NamedPlans<'_>,
    verb: Verb,
) -> Result<Option<NewOperation>, Failure> {
    ctx.with_planned_files(planned, |ctx| {
        let mut seen = scan_named_plans(ctx, &*tx, named, tx.next_node_id()?)?;
        if is_state_shared(ctx, &*tx)? {
            working_copy::keep_planned(tx, &mut seen, planned)?;
        }
        build_operation(ctx, tx, &seen, verb)
    })
}

/// Records an operation for planned files.
pub(crate) fn record_planned_operation(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    planned: &PlannedFiles<'_>,
    operation: Option<NewOperation>,
    (verb, summary): (Verb, String),
    more: Vec<Fact>,
) -> Result<Option<OperationId>, Failure> {
    if operation.is_none() && more.is_empty() && planned.is_empty() {
        return Ok(None);
    }
    let mut operation = operation.unwrap_or_else(|| ctx.new_operation(verb, String::new()));
    // Unlike that of an edit that was noticed, the author of these files is known.
    operation.by = ctx.actor.clone();
    operation.summary = summary;
    operation.facts.extend(more);
    planned.record_operation(tx, operation).map(Some)
}

/// Returns the operation for planned files; `adjust` may change what the scan of them found.
pub(crate) fn build_planned_operation(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    planned: &PlannedFiles<'_>,
    verb: Verb,
    adjust: impl FnOnce(&mut ScanResult) -> Result<(), Failure>,
) -> Result<Option<NewOperation>, Failure> {
    // The tree is derived from the planned texts by the same scan that reads files, so that a
    // planned ticket and one written by hand give the same facts.
    ctx.with_planned_files(planned, |ctx| {
        let mut seen = scan_plan_files(ctx, &*tx, ScanScope::Everything, tx.next_node_id()?)?;
        if is_state_shared(ctx, &*tx)? {
            working_copy::keep_planned(tx, &mut seen, planned)?;
        }
        adjust(&mut seen)?;
        build_operation(ctx, tx, &seen, verb)
    })
}

/// Records sightings as one operation.
pub(crate) fn record_sightings(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    seen: &ScanResult,
    verb: Verb,
) -> Result<Option<OperationId>, Failure> {
    let operation = build_operation(ctx, tx, seen, verb)?;
    operation
        .map(|operation| record_built(ctx, tx, operation, verb))
        .transpose()
}

fn record_built(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    operation: NewOperation,
    verb: Verb,
) -> Result<OperationId, Failure> {
    let (summary, stale) = (
        operation.summary.clone(),
        count_stale_nodes(ctx, &*tx, &operation.facts)?,
    );
    let may_rename = may_rename_nodes(&operation.facts);
    let id = tx.record_operation(operation)?;
    if may_rename {
        carry_renamed_claims(ctx, &*tx)?;
    }
    // Only for changes made outside: those of the caller's own operation are in its outcome.
    match verb {
        Verb::Observe => ctx.push_notice(Notice::Changes {
            operation: id,
            summary,
            stale,
        }),
        Verb::Submit => ctx.push_notice(Notice::Submitted {
            operation: id,
            summary,
            stale,
        }),
        _ => {}
    }
    Ok(id)
}

/// Returns the operation for these sightings; `None` if everything is as recorded.
fn build_operation(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    seen: &ScanResult,
    verb: Verb,
) -> Result<Option<NewOperation>, Failure> {
    let Some((tree, mut operation)) = derive_operation(ctx, tx, seen, verb)? else {
        return Ok(None);
    };
    let now = operation.at;
    // Another id is no other text, and a copy would stay in the folder that the plan leaves.
    if !verb.moves_files() {
        let is_checkout = verb == Verb::Observe && was_checked_out(ctx, &*tx)?;
        back_up_overwritten(ctx, tx, &tree, &mut operation.facts, now, is_checkout)?;
    }
    Ok(Some(operation))
}

/// Derives the operation for these sightings without writing anything; also returns the nodes it is
/// about, with their ancestors.
pub(crate) fn derive_operation(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    seen: &ScanResult,
    verb: Verb,
) -> Result<Option<(Tree, NewOperation)>, Failure> {
    if seen.is_unchanged() {
        return Ok(None);
    }
    let tree = load_sighted_tree(tx, &seen.sightings)?;
    let now = ctx.clock.now();
    let mut facts = facts_from_observations(&tree, &seen.sightings, now);
    follow_file_progress(ctx, tx, seen, &mut facts)?;
    push_identity_facts(&*tx, seen, &mut facts)?;
    push_presence_facts(ctx, &*tx, seen, now, &mut facts)?;
    follow_removed_scenarios(ctx, &*tx, &mut facts)?;
    follow_left_work(ctx, &*tx, &seen.texts, &mut facts)?;
    mark_added_scenarios(ctx, &*tx, &mut facts)?;
    receive_decisions(ctx, &*tx, &seen.decisions, &mut facts)?;
    if facts.is_empty() {
        return Ok(None);
    }
    // The new texts are passed along because the precise cascade compares them, and they are not in
    // the store before the operation is recorded.
    cascade_statuses(ctx, tx, &mut facts, &seen.texts, now, None)?;
    let summary = [
        summarise_changes(&tree, seen, &facts),
        seen.decisions.summarise(),
    ];
    let summary: Vec<String> = summary
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect();
    let mut summary = summary.join("; ");
    if verb == Verb::Observe && was_checked_out(ctx, &*tx)? {
        let branch = ctx.git.current_branch();
        let branch = branch.map_or_else(String::new, |branch| format!(" of {branch}"));
        summary = format!("checkout{branch}: {summary}");
    }
    let mut operation = ctx.new_operation(verb, summary);
    // The editor of a file is unknown. Naming the caller would attribute an edit to a person who
    // only ran `tl status`.
    if verb == Verb::Observe {
        operation.by = Principal::System;
    }
    operation.at = now;
    operation.facts = facts;
    operation.texts = seen.texts.clone();
    Ok(Some((tree, operation)))
}

/// Returns the nodes of the sightings with their ancestors.
fn load_sighted_tree(tx: &dyn Transaction, sightings: &[ObservedFile]) -> Result<Tree, StoreFault> {
    let mut wanted: Vec<NodeId> = Vec::new();
    for sighting in sightings {
        match &sighting.place {
            OwningNode::Known(id) => wanted.push(*id),
            OwningNode::New(new) => wanted.extend(new.parent),
            OwningNode::Returned(node) => wanted.extend(node.parent),
        }
    }
    load_with_ancestors(tx, wanted)
}
