//! Runs a recorded plan: its actions, their effects and the story's new state in one operation.

use domain::memory::EntryKind;
use domain::operation::Verb;
use domain::ports::{FileReadResult, Snapshot};
use domain::record::{self, ChangeRecords};
use domain::secrets::mask_secrets;
use domain::tick::execute::ExecutedAction;
use domain::tick::plan::TickPlan;
use domain::tick::tools;
use domain::tick::{MAX_TICK_ATTEMPTS, TickRecord, TickState, TickStatus, files as tick_files};
use domain::time::Timestamp;
use domain::tree::Tree;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::action_stage::run_actions;
use super::begin_tick::stale_answer;
use super::story_state::{KnownMemory, StoryState};
use crate::context::{Context, Notice};
use crate::failure::Failure;
use crate::file_writes::{PlannedFiles, begin_transaction};
use crate::memory::memory_files;
use crate::observe::{observe_within, record_planned};
use crate::scan::ScanScope;
use crate::submit::observe_submitted_plans;

/// Maximum size of a plan file.
const MAX_PLAN_BYTES: u64 = 4 * 1024 * 1024;

/// The outcome of a tick.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TickOutcome {
    pub tick: u64,
    #[schemars(with = "String")]
    pub status: TickStatus,
    pub planner: String,
    #[schemars(with = "crate::views::Object")]
    pub plan: TickPlan,
    #[schemars(with = "Vec<crate::views::Object>")]
    pub executed: Vec<ExecutedAction>,
    pub errors: Vec<String>,
    pub warnings: Vec<String>,
    pub failures: u32,
    pub plan_file: String,
    /// The error report, if the tick failed.
    pub error_file: Option<String>,
}

impl TickOutcome {
    /// Builds the outcome from a tick's record.
    pub(super) fn from_record(record: TickRecord) -> Self {
        let failed = matches!(record.status, TickStatus::Failed | TickStatus::Parked);
        let error_file = failed.then(|| tick_files::tick_error_path(record.tick, false));
        Self {
            tick: record.tick,
            status: record.status,
            planner: record.planner,
            plan: record.plan,
            executed: record.executed,
            errors: record.errors,
            warnings: record.warnings,
            failures: record.failures,
            plan_file: tick_files::tick_plan_path(record.tick),
            error_file,
        }
    }
}

/// Writes the files of a tick that are missing, or that a process left behind after the notes were
/// lost. An edited plan is kept.
pub(super) fn write_missing_files(ctx: &Context<'_>, record: &TickRecord) {
    let is_behind = match ctx
        .files
        .read_file(&tick_files::tick_plan_path(record.tick), MAX_PLAN_BYTES)
    {
        FileReadResult::Missing => true,
        FileReadResult::Unreadable { .. } => false,
        FileReadResult::Text { text, .. } => {
            serde_json::from_str::<Value>(&text).is_ok_and(|file| {
                // The same plan with another status is an outdated file of ours; another plan is an
                // edit, which `retry_tick` uses.
                file["status"] != record.status.as_str()
                    && serde_json::from_value::<TickPlan>(file["plan"].clone())
                        .is_ok_and(|plan| plan == record.plan)
            })
        }
    };
    if is_behind {
        let what = format!(
            "tick {} was {} when a process ended; its files are written now",
            record.tick,
            record.status.as_str()
        );
        ctx.push_notice(Notice::CaughtUp { what });
        for (path, text) in tick_files_of(record) {
            write_copy(ctx, &path, &text);
        }
    }
}

/// Returns the files of a tick: its plan, and the error report.
fn tick_files_of(record: &TickRecord) -> Vec<(String, String)> {
    let mut files = vec![(
        tick_files::tick_plan_path(record.tick),
        tick_files::render_plan_file(record),
    )];
    if matches!(record.status, TickStatus::Failed | TickStatus::Parked) {
        files.push((
            tick_files::tick_error_path(record.tick, false),
            tick_files::render_error_file(record),
        ));
        files.push((
            tick_files::tick_error_path(record.tick, true),
            tick_files::render_error_log(record),
        ));
    }
    files
}

/// Plans to write the files of a tick.
pub(super) fn plan_tick_files(
    planned: &PlannedFiles<'_>,
    record: &TickRecord,
) -> Result<(), Failure> {
    tick_files_of(record)
        .into_iter()
        .try_for_each(|(path, text)| planned.put_file(&path, Some(&text)))
}

/// Writes a file. The store has its content, so a failure is only a notice.
fn write_copy(ctx: &Context<'_>, path: &str, text: &str) {
    if let Err(fault) = ctx.files.replace_file(path, &mask_secrets(text)) {
        ctx.push_notice(Notice::NotWritten {
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
    run_plan(ctx, tick, None, None, None)
}

/// Runs a plan that was recorded a moment ago, with the memory it was validated against.
pub(super) fn run_recorded_plan(
    ctx: &Context<'_>,
    tick: u64,
    memory: KnownMemory,
) -> Result<TickOutcome, Failure> {
    run_plan(ctx, tick, None, Some(memory), None)
}

/// How a failed tick is retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryMode {
    /// Its plan is run from the failed action.
    RunPlan,
    /// There is no plan that can be run: the planner is asked again.
    PlanAgain,
}

/// Decides how a failed tick is retried. A plan that a person edited is always run.
///
/// # Errors
/// When there is no such tick, or its file cannot be read.
pub fn retry_mode(ctx: &Context<'_>, tick: u64) -> Result<RetryMode, Failure> {
    let state = ctx.store.begin_read()?;
    let record = load_tick(&*state, tick)?;
    let is_open = matches!(record.status, TickStatus::Failed | TickStatus::Parked);
    if !is_open || !record.executed.is_empty() {
        return Ok(RetryMode::RunPlan);
    }
    let is_edited = read_edited_plan(ctx, tick)?.is_some_and(|edited| {
        // A plan that does not parse was edited: running it gives the person the error at its
        // place.
        serde_json::from_value::<TickPlan>(edited).map_or(true, |plan| plan != record.plan)
    });
    let plan = serde_json::to_value(&record.plan).unwrap_or_default();
    let memory = memory_files::load_memory(&*state)?;
    Ok(
        if is_edited || TickPlan::read_plan(&plan, &memory).is_ok() {
            RetryMode::RunPlan
        } else {
            RetryMode::PlanAgain
        },
    )
}

/// Retries a failed tick from the failed action, with the plan in its file if that was edited.
/// `shown` is the time of the record that was shown, if any.
///
/// # Errors
/// As [`run_tick`]; also when the edited plan cannot be run.
pub fn retry_tick(
    ctx: &Context<'_>,
    tick: u64,
    shown: Option<Timestamp>,
) -> Result<TickOutcome, Failure> {
    let state = ctx.store.begin_read()?;
    let record = load_tick(&*state, tick)?;
    let again = matches!(
        record.status,
        TickStatus::Failed | TickStatus::Parked | TickStatus::Planned
    );
    if !again {
        return Err(
            Failure::refused(format!("tick {tick} is {}", record.status.as_str()))
                .with_step("tl story tick"),
        );
    }
    drop(state);
    if retry_mode(ctx, tick)? == RetryMode::PlanAgain {
        // A caller without a model: the dashboard.
        let what = format!("tick {tick} has no plan that can be run; it has to be planned again");
        return Err(Failure::refused(what).with_step(format!("tl story tick --retry {tick}")));
    }
    run_plan(ctx, tick, read_edited_plan(ctx, tick)?, None, shown)
}

/// Returns the plan in the tick's file; `None` if there is no file.
fn read_edited_plan(ctx: &Context<'_>, tick: u64) -> Result<Option<Value>, Failure> {
    let path = tick_files::tick_plan_path(tick);
    let text = match ctx.files.read_file(&path, MAX_PLAN_BYTES) {
        FileReadResult::Text { text, .. } => text,
        FileReadResult::Missing => return Ok(None),
        FileReadResult::Unreadable { why, .. } => {
            return Err(Failure::invalid(format!("`{path}`: {why}")));
        }
    };
    let file: Value = serde_json::from_str(&text)
        .map_err(|error| Failure::invalid(format!("`{path}` is not valid JSON: {error}")))?;
    match file.get("plan") {
        Some(plan) => Ok(Some(plan.clone())),
        None => Err(Failure::invalid(format!("`{path}` has no `plan`"))),
    }
}

pub(super) fn load_tick(state: &dyn Snapshot, tick: u64) -> Result<TickRecord, Failure> {
    record::read_record::<TickRecord>(state, &TickRecord::record_key(tick))?.ok_or_else(|| {
        Failure::not_found(format!("there is no tick {tick}")).with_step("tl story tick")
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
        record.status.as_str()
    );
    Err(Failure::conflict(what).with_step("tl story tick --status"))
}

fn run_plan(
    ctx: &Context<'_>,
    tick: u64,
    edited: Option<Value>,
    memory: Option<KnownMemory>,
    shown: Option<Timestamp>,
) -> Result<TickOutcome, Failure> {
    let before = load_tick(&*ctx.store.begin_read()?, tick)?;
    // A cheap early check; the record is compared again inside the transaction.
    refuse_changed(&before, shown)?;
    // Plan files are scanned only if an action reads them; most actions need the memory alone. An
    // edited plan may contain any action.
    let stands_on_plans = edited.is_some()
        || before
            .plan
            .actions
            .iter()
            .any(|action| tools::tool_reads_plans(&action.tool));
    let tree = if stands_on_plans {
        observe_submitted_plans(ctx)?.1
    } else {
        Tree::new([])
    };
    let mut tx = begin_transaction(ctx)?;
    let planned = PlannedFiles::new(ctx, None);
    let mut memory_files = memory_files::import_edits_within(ctx, &mut *tx)?;
    // Another process may have run or edited the tick since it was read; running it twice would
    // apply its actions twice.
    if load_tick(&*tx, tick)? != before {
        return Err(stale_answer());
    }
    let around = StoryState::gather(ctx, &*tx, &tree, memory)?;
    let mut record = before.clone();
    if let Some(plan) = edited {
        record.plan = parse_edited_plan(tick, &plan, &around)?;
    }
    let (executed, memory, drafts) = run_actions(ctx, &*tx, &tree, &around, &record);
    record.executed = executed;
    for draft in &drafts {
        // Drafts are written with the operation: a tick whose commit fails leaves no plan behind.
        planned.put_file(&draft.file, Some(&draft.text))?;
    }
    record_result(&mut record, ctx.clock.now());
    let mut facts = memory.change_facts();
    facts.change_record(&TickRecord::record_key(tick), Some(&before), Some(&record));
    facts.extend(advance_story(&*tx, &around.state, &record)?);
    let summary = format!("tick {tick}: {}", record.status.as_str());
    if drafts.is_empty() {
        plan_tick_files(&planned, &record)?;
        let mut operation = ctx.new_operation(Verb::Tick, summary);
        operation.facts = facts;
        planned.record_operation(&mut *tx, operation)?;
    } else {
        // Plans may have been edited since the actions read them; such edits are recorded
        // first, as an operation of their own.
        observe_within(ctx, &mut *tx, ScanScope::Everything)?;
        plan_tick_files(&planned, &record)?;
        record_planned(ctx, &mut *tx, &planned, Verb::Tick, summary, facts)?;
    }
    // Before the commit: which files are about to be written must survive a crash.
    memory_files.register_changes(ctx, &mut *tx, &memory)?;
    tx.commit()?;
    memory_files.write_files(ctx);
    planned.write_committed(ctx)?;
    Ok(TickOutcome::from_record(record))
}

/// Parses a plan that a person edited. It is validated like a model's: its ids may name entries that
/// do not exist.
fn parse_edited_plan(tick: u64, plan: &Value, around: &StoryState) -> Result<TickPlan, Failure> {
    TickPlan::read_plan(plan, &around.memory).map_err(|why| {
        let path = tick_files::tick_plan_path(tick);
        let what = format!("the plan in `{path}` cannot be run: {why}");
        Failure::invalid(what)
    })
}

/// Sets status and errors of a tick by its last action.
fn record_result(record: &mut TickRecord, at: Timestamp) {
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
    let is_failed = failed.is_some();
    record.failures += u32::from(is_failed);
    record.at = at;
    record.status = match is_failed {
        false => TickStatus::Done,
        // Parked ticks are left to a person: the loop goes on with the next one instead of paying
        // for the same failure again.
        true if record.failures < MAX_TICK_ATTEMPTS => TickStatus::Failed,
        true => TickStatus::Parked,
    };
}

/// Returns the fact that the story moved on; a failed tick stays where it is.
fn advance_story(
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
            .filter(|pov| EntryKind::parse_id(pov).is_some());
        after.active_character = chosen.or(made);
    }
    let was_kept = record::read_record::<TickState>(state, TickState::KEY)?;
    Ok(record::record_changed_fact(
        TickState::KEY,
        was_kept.as_ref(),
        Some(&after),
    ))
}
