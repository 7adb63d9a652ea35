//! Builds the state of a fresh clone in slices, for hooks, which have a deadline.
//!
//! A clone of ten thousand plans takes seconds to record. In one transaction that is killed at the
//! deadline it would start over at every event; in slices each event goes on where the last one
//! stopped. Commands have no deadline and record the rest at once.

use domain::ids::NodeId;
use domain::operation::Verb;
use domain::ports::{Snapshot, Transaction};

use crate::context::Context;
use crate::failure::Failure;
use crate::observe::record_sightings;
use crate::scan::{FIRST_PLACEHOLDER_ID, ScanScope, save_seen_head, scan_plan_files};
use crate::working_copy::is_state_shared;

/// Note of a state that is being built: the number of plans recorded so far; [`BUILT`] after all.
const BUILD_NOTE_KEY: &str = "scan/build";

/// Value of the note once every plan file was recorded.
const BUILT: &str = "built";

/// Last operation of a state in which nothing but its beginning is recorded.
const MAX_NEW_STATE_OPERATION: u64 = 3;

/// Last operation of a state that may still be being built; in a later one the note is not looked
/// for.
const MAX_BUILD_OPERATION: u64 = 1024;

/// Part of the hook deadline that is spent on slices, as a divisor: the rest is for the event.
const DEADLINE_SHARE: u64 = 4;

/// A state that is not complete yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnfinishedBuild {
    /// The plans recorded so far.
    pub(crate) plans: usize,
}

impl UnfinishedBuild {
    /// Returns the failure of a step that cannot be judged on an incomplete state.
    pub(crate) fn into_failure(self) -> Failure {
        Failure::unavailable(self.describe()).with_step("tl status")
    }

    /// Describes the state for an agent.
    pub(crate) fn describe(self) -> String {
        format!(
            "the state of this project is being built from its plan files: {} plans so far. \
             `tl status` completes it and shows when it is done",
            self.plans
        )
    }
}

/// Whether the plan files are more than one event can record. Costs nothing in a state with a history.
pub(crate) fn needs_build(ctx: &Context<'_>, state: &dyn Snapshot) -> Result<bool, Failure> {
    let last = state.last_operation_id()?.0;
    if last > MAX_BUILD_OPERATION || is_state_shared(ctx, state)? {
        return Ok(false);
    }
    if let Some(note) = state.load_note(BUILD_NOTE_KEY)? {
        return Ok(note != BUILT);
    }
    // A small project is recorded with the event itself.
    Ok(last <= MAX_NEW_STATE_OPERATION
        && scan_plan_files(ctx, state, ScanScope::Slice, FIRST_PLACEHOLDER_ID)?.is_partial)
}

/// Records slices of the plan files until a part of the hook deadline is over; returns how far it
/// came if that was not enough.
pub(crate) fn continue_build(ctx: &Context<'_>) -> Result<Option<UnfinishedBuild>, Failure> {
    let begun = ctx.clock.now().as_millis();
    let budget = i64::try_from(ctx.policy.hook_deadline_ms / DEADLINE_SHARE).unwrap_or(i64::MAX);
    loop {
        // A transaction per slice: what is committed stays, even if the host kills the hook.
        let mut tx = ctx.store.begin_write()?;
        let unfinished = record_slice(ctx, &mut *tx)?;
        tx.commit()?;
        // A notice per slice would be news of our own work.
        ctx.take_notices();
        if unfinished.is_none() || ctx.clock.now().as_millis() - begun >= budget {
            return Ok(unfinished);
        }
    }
}

/// Records one slice; returns how far it came if files are left.
fn record_slice(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
) -> Result<Option<UnfinishedBuild>, Failure> {
    let first_new = tx.next_node_id()?;
    let seen = scan_plan_files(ctx, &*tx, ScanScope::Slice, first_new)?;
    let operation = record_sightings(ctx, tx, &seen, Verb::Observe)?;
    let recorded = operation.map(|id| tx.load_operation(id)).transpose()?;
    let facts = recorded.flatten().map(|operation| operation.facts);
    let stamps = seen.recorded_stamps(facts.as_deref(), first_new);
    tx.save_file_stamps(&stamps)?;
    save_seen_head(ctx, tx, false)?;
    let NodeId(next) = tx.next_node_id()?;
    let plans = usize::try_from(next.saturating_sub(1)).unwrap_or_default();
    let note = match seen.is_partial {
        true => &plans.to_string(),
        false => BUILT,
    };
    tx.save_note(BUILD_NOTE_KEY, Some(note), ctx.clock.now())?;
    Ok(seen.is_partial.then_some(UnfinishedBuild { plans }))
}

/// Notes that every file was recorded. Without the note each hook of a new state would look at every
/// file to see whether that is so.
pub(crate) fn finish_build(ctx: &Context<'_>, tx: &mut dyn Transaction) -> Result<(), Failure> {
    let last = tx.last_operation_id()?.0;
    if last > MAX_BUILD_OPERATION {
        return Ok(());
    }
    let note = tx.load_note(BUILD_NOTE_KEY)?;
    let is_expected = last <= MAX_NEW_STATE_OPERATION || note.is_some();
    if is_expected && note.as_deref() != Some(BUILT) {
        tx.save_note(BUILD_NOTE_KEY, Some(BUILT), ctx.clock.now())?;
    }
    Ok(())
}
