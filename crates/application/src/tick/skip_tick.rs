//! Skips a tick.

use domain::operation::Verb;
use domain::record::{self, ChangeRecords};
use domain::tick::{TickRecord, TickState, TickStatus};
use domain::time::Timestamp;

use super::run_tick::{TickOutcome, load_tick, plan_tick_files, refuse_changed};
use crate::context::Context;
use crate::failure::Failure;
use crate::file_writes::{PlannedFiles, begin_transaction};

/// Skips a tick that was begun and is not done; actions that were run stay. `shown` is the time of
/// the record that was shown, if any.
///
/// # Errors
/// When there is no such tick, it is done or skipped, it changed since it was shown, or the state
/// cannot be written.
pub fn skip_tick(
    ctx: &Context<'_>,
    tick: u64,
    shown: Option<Timestamp>,
) -> Result<TickOutcome, Failure> {
    let mut tx = begin_transaction(ctx)?;
    let before = load_tick(&*tx, tick)?;
    refuse_changed(&before, shown)?;
    if matches!(before.status, TickStatus::Done | TickStatus::Skipped) {
        return Err(
            Failure::refused(format!("tick {tick} is {}", before.status.as_str()))
                .with_step("tl story tick"),
        );
    }
    let record = TickRecord {
        status: TickStatus::Skipped,
        at: ctx.clock.now(),
        ..before.clone()
    };
    let state = record::read_record::<TickState>(&*tx, TickState::KEY)?;
    let mut after = state.clone().unwrap_or_default();
    // An older tick can be skipped too, which must not move the story back.
    after.current_tick = after.current_tick.max(tick);
    let mut operation = ctx.new_operation(Verb::Tick, format!("tick {tick}: skipped"));
    operation
        .facts
        .change_record(&TickRecord::record_key(tick), Some(&before), Some(&record));
    operation
        .facts
        .change_record(TickState::KEY, state.as_ref(), Some(&after));
    let planned = PlannedFiles::new(ctx, None);
    plan_tick_files(&planned, &record)?;
    planned.record_operation(&mut *tx, operation)?;
    planned.commit_and_write(ctx, tx)?;
    Ok(TickOutcome::from_record(record))
}
