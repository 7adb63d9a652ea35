//! The shape of an event that may have nothing to store: one read snapshot, one decision, and a
//! write transaction only if there is something to write.

use domain::gates::FiredGate;
use domain::host_event::HostEvent;
use domain::ports::{NodeKey, Snapshot, StoreFault, Transaction};
use domain::session_state::{NOTE_KEY_PREFIX, RETENTION_MS, SessionState};
use domain::time::Timestamp;

use super::gather::override_key;
use super::missed_calls::{record_missed_authors, take_over_missed_calls};
use super::planned_write::use_up_overrides;
use super::{EventContext, EventOutcome, host_sessions};
use crate::build_state::{UnfinishedBuild, continue_build, needs_build};
use crate::context::{Context, Notice};
use crate::coordination::record_activity;
use crate::failure::Failure;
use crate::observe::{Observed, observe_snapshot, observe_within_from};
use crate::plan_summary::StoredSummary;
use crate::scan::ScanScope;
use crate::session_state::{load_event_state, store_session_state};

/// What an event is decided on.
pub(super) struct Gathered<'g> {
    pub(super) state: &'g dyn Snapshot,
    pub(super) session: SessionState,
    /// What the scan noticed.
    pub(super) notices: &'g [Notice],
}

/// What an event decided, and what to store with it.
#[derive(Default)]
pub(super) struct Decision {
    pub(super) outcome: EventOutcome,
    pub(super) session: SessionState,
    /// The overrides that let the step pass.
    pub(super) used: Vec<FiredGate>,
    /// The node to tell the other worktrees, if this event shows that the session is at work.
    pub(super) presence: Option<Option<NodeKey>>,
    /// Whether the answer may be given if the session's state cannot be stored: then a text is given
    /// again.
    pub(super) may_be_lost: bool,
    /// The summary of the plans that a briefing was composed of.
    pub(super) summary: Option<StoredSummary>,
    /// Whether the notes of sessions that never ended are to be deleted.
    pub(super) expires_notes: bool,
}

/// Brings the state up to date with the files in `scopes`, decides, and commits.
///
/// `decide` may be called twice: if another call of the session came between the decision and the
/// write lock, it decides again inside the transaction. Storing the first decision would undo what
/// that call counted, which the `loc` gate trusts.
///
/// Fails while the state is being built.
pub(super) fn decide_and_commit(
    ctx: &Context<'_>,
    event: &HostEvent,
    surroundings: &EventContext<'_>,
    scopes: impl FnOnce(&dyn Snapshot) -> Result<Vec<ScanScope>, Failure>,
    decide: impl Fn(Gathered<'_>) -> Result<Decision, Failure>,
) -> Result<EventOutcome, Failure> {
    try_decide_and_commit(ctx, event, surroundings, scopes, decide)?
        .map_err(UnfinishedBuild::into_failure)
}

/// Like [`decide_and_commit`], for events that have an answer while the state is being built.
pub(super) fn try_decide_and_commit(
    ctx: &Context<'_>,
    event: &HostEvent,
    surroundings: &EventContext<'_>,
    scopes: impl FnOnce(&dyn Snapshot) -> Result<Vec<ScanScope>, Failure>,
    decide: impl Fn(Gathered<'_>) -> Result<Decision, Failure>,
) -> Result<Result<EventOutcome, UnfinishedBuild>, Failure> {
    let decide_on = |state: &dyn Snapshot,
                     before: &SessionState,
                     notices: &[Notice]|
     -> Result<Decision, Failure> {
        let mut session = before.clone();
        take_over_missed_calls(ctx, state, surroundings.missed, &mut session)?;
        decide(Gathered {
            state,
            session,
            notices,
        })
    };
    let mut state = ctx.store.begin_read()?;
    if needs_build(ctx, &*state)? {
        drop(state);
        if let Some(unfinished) = continue_build(ctx)? {
            return Ok(Err(unfinished));
        }
        state = ctx.store.begin_read()?;
    }
    let scopes = scopes(&*state)?;
    let (state, is_overlay) = match observe_snapshot(ctx, state, &scopes)? {
        Observed::Current {
            state, is_overlay, ..
        } => (state, is_overlay),
        Observed::Changed { seen } => {
            let mut tx = ctx.store.begin_write()?;
            // The scan before the lock is of the first scope that changed; with several it is not
            // known which.
            let mut seen = Some(*seen).filter(|_| scopes.len() == 1);
            for scope in scopes {
                let scope = match scope {
                    // Only the nodes that changed are needed to record them; the next part would be
                    // another one.
                    ScanScope::WholeTree | ScanScope::NextPart => ScanScope::Everything,
                    scope => scope,
                };
                observe_within_from(ctx, &mut *tx, scope, seen.take())?;
            }
            let notices = ctx.take_notices();
            let before = load_event_state(&*tx, event)?;
            let decision = decide_on(&*tx, &before, &notices)?;
            return commit_decision(ctx, event, surroundings, tx, &before, decision).map(Ok);
        }
    };
    let notices = ctx.take_notices();
    let before = load_event_state(&*state, event)?;
    let decision = decide_on(&*state, &before, &notices)?;
    let registers = host_sessions::needs_registration(&*state, event, surroundings.host_process)?;
    let has_changes = differs_from(&decision.session, &before)
        || !decision.used.is_empty()
        || decision.expires_notes
        || !surroundings.missed.is_empty()
        || registers;
    if !has_changes {
        drop(state);
        record_presence(ctx, &decision);
        return Ok(Ok(decision.outcome));
    }
    let head = state.last_operation_id()?;
    drop(state);
    let passes_unstored = decision.may_be_lost && decision.used.is_empty();
    let decided = decision.outcome.clone();
    let write = || -> Result<EventOutcome, Failure> {
        let tx = ctx.store.begin_write()?;
        // Read again under the lock: hosts run tools in parallel, and each call has a process of
        // its own.
        let now = load_event_state(&*tx, event)?;
        let is_current = tx.last_operation_id()? == head && now == before;
        let decision = match is_current && are_unused(&*tx, &decision.used)? {
            true => decision,
            // The texts of this working copy are not in the transaction: the caller retries.
            false if is_overlay => return Err(StoreFault::Conflict.into()),
            false => decide_on(&*tx, &now, &notices)?,
        };
        commit_decision(ctx, event, surroundings, tx, &now, decision)
    };
    match write() {
        // A person's override counts once: if it cannot be used up, the step does not pass.
        Err(failure) if passes_unstored && !failure.needs_runner() => Ok(Ok(decided)),
        written => written.map(Ok),
    }
}

/// Whether a session's state is worth storing. The first cursor alone is not: the next event that
/// stores something sets it too.
fn differs_from(session: &SessionState, before: &SessionState) -> bool {
    match before.told_operation {
        Some(_) => session != before,
        None => {
            let told_operation = None;
            let session = session.clone();
            SessionState {
                told_operation,
                ..session
            } != *before
        }
    }
}

/// Stores a decision.
pub(super) fn commit_decision(
    ctx: &Context<'_>,
    event: &HostEvent,
    surroundings: &EventContext<'_>,
    mut tx: Box<dyn Transaction + '_>,
    before: &SessionState,
    decision: Decision,
) -> Result<EventOutcome, Failure> {
    if decision.session != *before {
        store_session_state(ctx, &mut *tx, &decision.session)?;
    }
    record_missed_authors(ctx, &mut *tx, surroundings.missed)?;
    use_up_overrides(ctx, &mut *tx, &decision.used)?;
    host_sessions::register_session(ctx, &mut *tx, event, surroundings.host_process)?;
    if let Some(summary) = &decision.summary {
        summary.save_note(ctx, &mut *tx)?;
    }
    if decision.expires_notes {
        let long_ago = ctx.clock.now().as_millis() - RETENTION_MS;
        tx.delete_notes_before(NOTE_KEY_PREFIX, Timestamp::from_millis(long_ago))?;
    }
    tx.commit()?;
    record_presence(ctx, &decision);
    Ok(EventOutcome {
        missed_recorded: true,
        ..decision.outcome
    })
}

/// Tells the other worktrees that this session is at work. After the commit: the write lock of the
/// state is not held while waiting for another one.
fn record_presence(ctx: &Context<'_>, decision: &Decision) {
    if let Some(focus) = &decision.presence {
        record_activity(ctx, focus.as_ref(), &[]);
    }
}

/// Whether no parallel call has used one of these overrides.
fn are_unused(state: &dyn Snapshot, used: &[FiredGate]) -> Result<bool, Failure> {
    for fired in used {
        if state.load_note(&override_key(fired))?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}
