//! Runs a recorded plan: its actions, their effects and the story's new state in one operation.

use domain::memory::EntryKind;
use domain::operation::Verb;
use domain::ports::{Reading, Snapshot};
use domain::record;
use domain::secrets::mask;
use domain::tick::execute::Executed;
use domain::tick::plan::Plan;
use domain::tick::tools;
use domain::tick::{MOST_ATTEMPTS, TickRecord, TickState, TickStatus, files as tick_files};
use domain::time::Timestamp;
use domain::tree::Tree;
use serde::Serialize;
use serde_json::Value;

use super::begin_tick::late;
use super::gather::{KnownMemory, Surroundings};
use super::stage::on_stage;
use crate::context::{Context, Noticed};
use crate::failure::{Failure, FailureKind};
use crate::file_writes::{PlannedFiles, begin};
use crate::memory::files;
use crate::observe::{observe_within, observed_plans, record_planned};
use crate::survey::Scope;

/// Maximum size of a plan file.
const MOST_PLAN: u64 = 4 * 1024 * 1024;

/// The outcome of a tick.
#[derive(Clone, Debug, Serialize)]
pub struct TickOutcome {
    pub tick: u64,
    pub status: TickStatus,
    pub planner: String,
    pub plan: Plan,
    pub executed: Vec<Executed>,
    pub errors: Vec<String>,
    pub warnings: Vec<String>,
    pub failures: u32,
    pub plan_file: String,
    /// The error report, if the tick failed.
    pub error_file: Option<String>,
}

impl TickOutcome {
    /// Builds the outcome from a tick's record.
    pub(super) fn of(record: TickRecord) -> Self {
        let failed = matches!(record.status, TickStatus::Failed | TickStatus::Parked);
        let error_file = failed.then(|| tick_files::error_path(record.tick, false));
        Self {
            tick: record.tick,
            status: record.status,
            planner: record.planner,
            plan: record.plan,
            executed: record.executed,
            errors: record.errors,
            warnings: record.warnings,
            failures: record.failures,
            plan_file: tick_files::plan_path(record.tick),
            error_file,
        }
    }
}

/// Writes the files of a tick that are missing, or that a process left behind after the notes were
/// lost. A plan that somebody edited is kept.
pub(super) fn catch_up(ctx: &Context<'_>, record: &TickRecord) {
    let is_behind = match ctx
        .files
        .read(&tick_files::plan_path(record.tick), MOST_PLAN)
    {
        Reading::Missing => true,
        Reading::Unreadable { .. } => false,
        Reading::Text { text, .. } => serde_json::from_str::<Value>(&text).is_ok_and(|file| {
            // The same plan with another status is an outdated file of ours; another plan is an
            // edit, which `retry_tick` uses.
            file["status"] != record.status.word()
                && serde_json::from_value::<Plan>(file["plan"].clone())
                    .is_ok_and(|plan| plan == record.plan)
        }),
    };
    if is_behind {
        let what = format!(
            "tick {} was {} when a process ended; its files are written now",
            record.tick,
            record.status.word()
        );
        ctx.notice(Noticed::CaughtUp { what });
        for (path, text) in files_of(record) {
            write(ctx, &path, &text);
        }
    }
}

/// Returns the files of a tick: its plan, and the error report.
fn files_of(record: &TickRecord) -> Vec<(String, String)> {
    let mut files = vec![(
        tick_files::plan_path(record.tick),
        tick_files::plan_file(record),
    )];
    if matches!(record.status, TickStatus::Failed | TickStatus::Parked) {
        files.push((
            tick_files::error_path(record.tick, false),
            tick_files::error_file(record),
        ));
        files.push((
            tick_files::error_path(record.tick, true),
            tick_files::error_log(record),
        ));
    }
    files
}

/// Plans to write the files of a tick.
pub(super) fn plan_files_of(
    planned: &PlannedFiles<'_>,
    record: &TickRecord,
) -> Result<(), Failure> {
    files_of(record)
        .into_iter()
        .try_for_each(|(path, text)| planned.put(&path, Some(&text)))
}

/// Writes a file. The store has its content, so a failure is only a notice.
fn write(ctx: &Context<'_>, path: &str, text: &str) {
    if let Err(fault) = ctx.files.replace(path, &mask(text)) {
        ctx.notice(Noticed::NotWritten {
            path: path.to_owned(),
            why: Failure::from(fault).message,
        });
    }
}

/// Runs the remaining actions of a tick's plan.
///
/// # Errors
/// When there is no such plan, or the state cannot be written. A failed action is a regular
/// outcome.
pub fn run_tick(ctx: &Context<'_>, tick: u64) -> Result<TickOutcome, Failure> {
    run(ctx, tick, None, None, None)
}

/// Runs a plan that was recorded a moment ago, with the memory it was validated against.
pub(super) fn run_kept(
    ctx: &Context<'_>,
    tick: u64,
    memory: KnownMemory,
) -> Result<TickOutcome, Failure> {
    run(ctx, tick, None, Some(memory), None)
}

/// Retries a failed tick from the failed action, with the plan in its file if somebody edited it.
/// `shown` is the time of the record that was shown, if any.
///
/// # Errors
/// As [`run_tick`]; also when the edited plan cannot be run.
pub fn retry_tick(
    ctx: &Context<'_>,
    tick: u64,
    shown: Option<Timestamp>,
) -> Result<TickOutcome, Failure> {
    let state = ctx.store.read()?;
    let record = known(&*state, tick)?;
    let again = matches!(
        record.status,
        TickStatus::Failed | TickStatus::Parked | TickStatus::Planned
    );
    if !again {
        return Err(Failure::new(
            FailureKind::Refused,
            format!("tick {tick} is {}", record.status.word()),
        )
        .step("tl tick"));
    }
    drop(state);
    run(ctx, tick, edited(ctx, tick)?, None, shown)
}

/// Returns the plan in the tick's file; `None` if there is no file.
fn edited(ctx: &Context<'_>, tick: u64) -> Result<Option<Value>, Failure> {
    let path = tick_files::plan_path(tick);
    let text = match ctx.files.read(&path, MOST_PLAN) {
        Reading::Text { text, .. } => text,
        Reading::Missing => return Ok(None),
        Reading::Unreadable { why, .. } => {
            return Err(Failure::new(
                FailureKind::Invalid,
                format!("`{path}`: {why}"),
            ));
        }
    };
    let file: Value = serde_json::from_str(&text).map_err(|error| {
        Failure::new(
            FailureKind::Invalid,
            format!("`{path}` is not valid JSON: {error}"),
        )
    })?;
    match file.get("plan") {
        Some(plan) => Ok(Some(plan.clone())),
        None => Err(Failure::new(
            FailureKind::Invalid,
            format!("`{path}` has no `plan`"),
        )),
    }
}

pub(super) fn known(state: &dyn Snapshot, tick: u64) -> Result<TickRecord, Failure> {
    record::read::<TickRecord>(state, &TickRecord::key(tick))?.ok_or_else(|| {
        Failure::new(FailureKind::NotFound, format!("there is no tick {tick}")).step("tl tick")
    })
}

/// Refuses a decision about a tick that changed since it was shown.
pub(super) fn refuse_changed(record: &TickRecord, shown: Option<Timestamp>) -> Result<(), Failure> {
    if shown.is_none_or(|shown| shown == record.at) {
        return Ok(());
    }
    let what = format!(
        "tick {} changed since it was shown: it is {} now",
        record.tick,
        record.status.word()
    );
    Err(Failure::new(FailureKind::Conflict, what).step("tl tick --status"))
}

fn run(
    ctx: &Context<'_>,
    tick: u64,
    edited: Option<Value>,
    memory: Option<KnownMemory>,
    shown: Option<Timestamp>,
) -> Result<TickOutcome, Failure> {
    let before = known(&*ctx.store.read()?, tick)?;
    // A cheap early check; the record is compared again inside the transaction.
    refuse_changed(&before, shown)?;
    // Plan files are scanned only if an action reads them; most actions need the memory alone. An
    // edited plan may contain any action.
    let stands_on_plans = edited.is_some()
        || before
            .plan
            .actions
            .iter()
            .any(|action| tools::reads_plans(&action.tool));
    let tree = if stands_on_plans {
        observed_plans(ctx)?.1
    } else {
        Tree::new([])
    };
    let mut tx = begin(ctx)?;
    let planned = PlannedFiles::of(ctx, None);
    let mut memory_files = files::observe_within(ctx, &mut *tx)?;
    // Another process may have run or edited the tick since it was read; running it twice would
    // apply its actions twice.
    if known(&*tx, tick)? != before {
        return Err(late());
    }
    let around = Surroundings::gather(ctx, &*tx, &tree, memory)?;
    let mut record = before.clone();
    if let Some(plan) = edited {
        let refused = |why: String| {
            Failure::new(
                FailureKind::Invalid,
                format!(
                    "the plan in `{}` cannot be run: {why}",
                    tick_files::plan_path(tick)
                ),
            )
        };
        // An edited plan is validated like a model's: its ids may name entries that do not exist.
        record.plan = Plan::read(&plan, &around.memory).map_err(|why| refused(why.to_string()))?;
    }
    let (executed, memory, drafts) = on_stage(ctx, &*tx, &tree, &around, &record);
    record.executed = executed;
    for draft in &drafts {
        // Drafts are written with the operation: a tick whose commit fails leaves no plan behind.
        planned.put(&draft.file, Some(&draft.text))?;
    }
    let failed = record.executed.last().filter(|action| !action.success);
    record.errors = failed
        .map(|action| {
            format!(
                "action {} (`{}`): {}",
                action.action_index,
                action.tool,
                action.error.clone().unwrap_or_default()
            )
        })
        .into_iter()
        .collect();
    record.failures += u32::from(failed.is_some());
    record.at = ctx.clock.now();
    record.status = match failed {
        None => TickStatus::Done,
        // Parked ticks are left to a person: the loop goes on with the next one instead of paying
        // for the same failure again.
        Some(_) if record.failures < MOST_ATTEMPTS => TickStatus::Failed,
        Some(_) => TickStatus::Parked,
    };
    let mut facts = memory.changes();
    facts.extend(record::changed(
        &TickRecord::key(tick),
        Some(&before),
        Some(&record),
    ));
    facts.extend(advanced(&*tx, &around.state, &record)?);
    let summary = format!("tick {tick}: {}", record.status.word());
    if drafts.is_empty() {
        plan_files_of(&planned, &record)?;
        let mut operation = ctx.operation(Verb::Tick, summary);
        operation.facts = facts;
        planned.record(&mut *tx, operation)?;
    } else {
        // Plans may have been edited since the actions read them; such edits are recorded
        // first, as an operation of their own.
        observe_within(ctx, &mut *tx, Scope::Everything)?;
        plan_files_of(&planned, &record)?;
        record_planned(ctx, &mut *tx, &planned, Verb::Tick, summary, facts)?;
    }
    memory_files.expect(ctx, &mut *tx, &memory)?;
    tx.commit()?;
    memory_files.write(ctx);
    planned.write(ctx)?;
    Ok(TickOutcome::of(record))
}

/// Returns the fact that the story moved on; a failed tick stays where it is.
fn advanced(
    state: &dyn Snapshot,
    before: &TickState,
    record: &TickRecord,
) -> Result<Option<domain::fact::Fact>, Failure> {
    if record.status == TickStatus::Failed {
        return Ok(None);
    }
    let mut after = before.clone();
    after.current_tick = after.current_tick.max(record.tick);
    if after.active_character.is_none() {
        // The first character becomes the point of view, unless the plan names one.
        let made = record
            .executed
            .iter()
            .find(|action| action.success && action.tool == "character.generate");
        let made =
            made.and_then(|action| action.result.as_ref()?["id"].as_str().map(str::to_owned));
        let chosen = record
            .plan
            .pov_character
            .clone()
            .filter(|pov| EntryKind::of_id(pov).is_some());
        after.active_character = chosen.or(made);
    }
    let was_kept = record::read::<TickState>(state, TickState::KEY)?;
    Ok(record::changed(
        TickState::KEY,
        was_kept.as_ref(),
        Some(&after),
    ))
}
