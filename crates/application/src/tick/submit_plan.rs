//! Handles a planner's answer: validates it, records it, then runs it. Recorded first, so that a
//! paid plan is not lost.

use domain::memory::StoryMemory;
use domain::operation::Verb;
use domain::record::ChangeRecords;
use domain::tick::execute::ExecutedAction;
use domain::tick::plan::TickPlan;
use domain::tick::{MAX_TICK_ATTEMPTS, ModelSpending, TickRecord, TickState, TickStatus};
use domain::tree::Tree;
use serde_json::Value;

use super::begin_tick::{request_nonce, stale_answer};
use super::consult_queries::{consult_queries, record_consulted};
use super::run_tick::{TickOutcome, load_tick, plan_tick_files, run_recorded_plan};
use super::spending::spending_facts;
use super::story_state::{KnownMemory, StoryState, find_next_scene};
use crate::context::Context;
use crate::failure::Failure;
use crate::file_writes::{PlannedFiles, begin_transaction};
use crate::memory::memory_files;

/// A planner's answer.
#[derive(Clone, Debug, Default)]
pub struct PlanAnswer {
    pub nonce: String,
    /// The tick that was planned again; by default the next one.
    pub again: Option<u64>,
    pub plan: Value,
    /// Path of the scene that it prepares.
    pub scene: Option<String>,
    /// Queries whose results the planner got before this plan.
    pub consulted: Vec<ExecutedAction>,
    /// Name of the planner.
    pub planner: String,
    pub spent: Vec<ModelSpending>,
}

/// Validates a plan without recording it.
///
/// # Errors
/// The reason why it cannot be run, for the planner to fix.
pub fn check_plan(ctx: &Context<'_>, plan: &Value) -> Result<TickPlan, Failure> {
    let memory = memory_files::load_memory(&*ctx.store.begin_read()?)?;
    read_effective_plan(plan, &memory)
}

/// Parses a plan that is to be run.
fn read_effective_plan(plan: &Value, memory: &StoryMemory) -> Result<TickPlan, Failure> {
    let read = TickPlan::read_plan(plan, memory).and_then(|plan| {
        plan.require_effect()?;
        Ok(plan)
    });
    read.map_err(|refused| invalid_plan(&refused.to_string()))
}

fn invalid_plan(why: &str) -> Failure {
    Failure::invalid(format!("the plan cannot be run: {why}"))
        .with_step("answer again with this fixed")
}

/// Records and runs the plan of a host's own model, as the plan for the next open scene. A plan that only asks is
/// not run: it comes back with what its queries found, for a plan that knows it.
///
/// # Errors
/// As [`submit_plan`], and with the results of the queries.
pub fn submit_host_plan(ctx: &Context<'_>, answer: PlanAnswer) -> Result<TickOutcome, Failure> {
    let memory = memory_files::load_memory(&*ctx.store.begin_read()?)?;
    let only_asks =
        TickPlan::read_plan(&answer.plan, &memory).is_ok_and(|plan| plan.require_effect().is_err());
    if only_asks && let Some(consulted) = consult_queries(ctx, &answer.plan)? {
        return Err(
            Failure::invalid(consulted.message).with_step("answer again with the whole plan")
        );
    }
    // The host answers in another call than the one that named the scene to it.
    let scene = find_next_scene(ctx)?;
    submit_plan(ctx, &PlanAnswer { scene, ..answer })
}

/// Records a plan and runs it.
///
/// # Errors
/// When the answer is stale or not a plan (then nothing is recorded), or the state cannot be
/// written. A plan whose actions fail is an outcome, not an error.
pub fn submit_plan(ctx: &Context<'_>, answer: &PlanAnswer) -> Result<TickOutcome, Failure> {
    let (record, memory) = record_valid_plan(ctx, answer)?;
    run_recorded_plan(ctx, record.tick, memory)
}

/// Records a plan; the next call of `begin_tick` returns it to be run.
///
/// # Errors
/// As [`submit_plan`].
pub fn record_plan(ctx: &Context<'_>, answer: &PlanAnswer) -> Result<u64, Failure> {
    Ok(record_valid_plan(ctx, answer)?.0.tick)
}

fn record_valid_plan(
    ctx: &Context<'_>,
    answer: &PlanAnswer,
) -> Result<(TickRecord, KnownMemory), Failure> {
    record_tick(ctx, answer, |around| {
        let plan = read_effective_plan(&answer.plan, &around.memory)?;
        let failures = around.begun_tick().map_or(0, |record| record.failures);
        let mut record = TickRecord {
            tick: around.tick,
            status: TickStatus::Planned,
            at: ctx.clock.now(),
            planner: answer.planner.clone(),
            warnings: plan.warnings(),
            plan,
            executed: Vec::new(),
            errors: Vec::new(),
            failures,
            context_used: around.story_view().context_used(),
            scene: answer.scene.clone(),
            consulted: Vec::new(),
        };
        record_consulted(&mut record, &answer.consulted);
        Ok(record)
    })
}

/// Records that no plan came: the planner failed, or answered nothing that can be run.
///
/// # Errors
/// When the answer is stale, or the state cannot be written.
pub fn record_failed_plan(
    ctx: &Context<'_>,
    answer: &PlanAnswer,
    why: &str,
) -> Result<TickOutcome, Failure> {
    let (record, _) = record_tick(ctx, answer, |around| {
        let failures = around.begun_tick().map_or(0, |record| record.failures) + 1;
        // The rejected answer is kept if it parses as a plan, so that a person can edit and retry
        // it.
        let plan = serde_json::from_value(answer.plan.clone()).unwrap_or_default();
        Ok(TickRecord {
            tick: around.tick,
            status: if failures < MAX_TICK_ATTEMPTS {
                TickStatus::Failed
            } else {
                TickStatus::Parked
            },
            at: ctx.clock.now(),
            planner: answer.planner.clone(),
            plan,
            executed: Vec::new(),
            errors: vec![why.to_owned()],
            failures,
            context_used: around.story_view().context_used(),
            warnings: Vec::new(),
            scene: answer.scene.clone(),
            consulted: Vec::new(),
        })
    })?;
    Ok(TickOutcome::from_record(record))
}

fn record_tick(
    ctx: &Context<'_>,
    answer: &PlanAnswer,
    make: impl FnOnce(&StoryState) -> Result<TickRecord, Failure>,
) -> Result<(TickRecord, KnownMemory), Failure> {
    let mut tx = begin_transaction(ctx)?;
    // A plan is validated against the memory alone; the tree is scanned when it is run.
    let mut around = StoryState::gather(ctx, &*tx, &Tree::new([]), None)?;
    if let Some(tick) = answer.again {
        around.plan_again(load_tick(&*tx, tick)?);
    }
    // The model may have taken minutes; meanwhile another process may have finished this tick.
    if request_nonce(&*tx, &around)? != answer.nonce {
        return Err(stale_answer());
    }
    let record = make(&around)?;
    let mut operation = ctx.new_operation(
        Verb::Tick,
        format!("tick {}: {}", record.tick, record.status.as_str()),
    );
    operation.facts = spending_facts(&*tx, &answer.spent)?;
    operation.facts.change_record(
        &TickRecord::record_key(record.tick),
        around.begun_tick(),
        Some(&record),
    );
    // A parked tick counts as passed, or the loop would ask for it forever.
    if record.status == TickStatus::Parked {
        let after = TickState {
            // An older tick that is parked once more must not move the story back.
            current_tick: around.state.current_tick.max(record.tick),
            ..around.state.clone()
        };
        let before = (around.state != TickState::default()).then_some(&around.state);
        operation
            .facts
            .change_record(TickState::KEY, before, Some(&after));
    }
    let planned = PlannedFiles::new(ctx, None);
    plan_tick_files(&planned, &record)?;
    let head = planned.record_operation(&mut *tx, operation)?;
    planned.commit_and_write(ctx, tx)?;
    Ok((
        record,
        KnownMemory {
            memory: around.memory,
            head,
        },
    ))
}
