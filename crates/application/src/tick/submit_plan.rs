//! Handles a planner's answer: validates it, records it, then runs it. Recorded first, so that a
//! paid plan is not lost.

use domain::operation::Verb;
use domain::record;
use domain::tick::plan::Plan;
use domain::tick::{MOST_ATTEMPTS, Spending, TickRecord, TickState, TickStatus};
use domain::tree::Tree;
use serde_json::Value;

use super::begin_tick::{late, nonce};
use super::gather::{KnownMemory, Surroundings};
use super::run_tick::{TickOutcome, plan_files_of, run_kept};
use super::spending::spent;
use crate::context::Context;
use crate::failure::{Failure, FailureKind};
use crate::file_writes::{PlannedFiles, begin};
use crate::memory::files;

/// A planner's answer.
#[derive(Clone, Debug, Default)]
pub struct PlanAnswer {
    pub nonce: String,
    pub plan: Value,
    /// Name of the planner.
    pub planner: String,
    pub spent: Vec<Spending>,
}

/// Validates a plan without recording it.
///
/// # Errors
/// The reason why it cannot be run, for the planner to fix.
pub fn check_plan(ctx: &Context<'_>, plan: &Value) -> Result<Plan, Failure> {
    let memory = files::stored(&*ctx.store.read()?)?;
    Plan::read(plan, &memory).map_err(|refused| refused_plan(&refused.to_string()))
}

fn refused_plan(why: &str) -> Failure {
    Failure::new(
        FailureKind::Invalid,
        format!("the plan cannot be run: {why}"),
    )
    .step("answer again with this fixed")
}

/// Records a plan and runs it.
///
/// # Errors
/// When the answer is stale or not a plan (then nothing is recorded), or the state cannot be
/// written. A plan whose actions fail is an outcome, not an error.
pub fn submit_plan(ctx: &Context<'_>, answer: &PlanAnswer) -> Result<TickOutcome, Failure> {
    let (record, memory) = kept(ctx, answer)?;
    run_kept(ctx, record.tick, memory)
}

/// Records a plan; the next call of `begin_tick` returns it to be run.
///
/// # Errors
/// As [`submit_plan`].
pub fn keep_plan(ctx: &Context<'_>, answer: &PlanAnswer) -> Result<u64, Failure> {
    Ok(kept(ctx, answer)?.0.tick)
}

fn kept(ctx: &Context<'_>, answer: &PlanAnswer) -> Result<(TickRecord, KnownMemory), Failure> {
    keep(ctx, answer, |around| {
        let plan = Plan::read(&answer.plan, &around.memory)
            .map_err(|refused| refused_plan(&refused.to_string()))?;
        let failures = around.begun().map_or(0, |record| record.failures);
        Ok(TickRecord {
            tick: around.state.current_tick + 1,
            status: TickStatus::Planned,
            at: ctx.clock.now(),
            planner: answer.planner.clone(),
            warnings: plan.warnings(),
            plan,
            executed: Vec::new(),
            errors: Vec::new(),
            failures,
            context_used: around.view(ctx).used(),
        })
    })
}

/// Records that no plan came: the planner failed, or answered nothing that can be run.
///
/// # Errors
/// When the answer is stale, or the state cannot be written.
pub fn plan_failed(
    ctx: &Context<'_>,
    answer: &PlanAnswer,
    why: &str,
) -> Result<TickOutcome, Failure> {
    let (record, _) = keep(ctx, answer, |around| {
        let failures = around.begun().map_or(0, |record| record.failures) + 1;
        // The rejected answer is kept if it parses as a plan, so that a person can edit and retry
        // it.
        let plan = serde_json::from_value(answer.plan.clone()).unwrap_or_default();
        Ok(TickRecord {
            tick: around.state.current_tick + 1,
            status: if failures < MOST_ATTEMPTS {
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
            context_used: around.view(ctx).used(),
            warnings: Vec::new(),
        })
    })?;
    Ok(TickOutcome::of(record))
}

fn keep(
    ctx: &Context<'_>,
    answer: &PlanAnswer,
    make: impl FnOnce(&Surroundings) -> Result<TickRecord, Failure>,
) -> Result<(TickRecord, KnownMemory), Failure> {
    let mut tx = begin(ctx)?;
    // A plan is validated against the memory alone; the tree is scanned when it is run.
    let around = Surroundings::gather(ctx, &*tx, &Tree::new([]), None)?;
    // The model may have taken minutes; meanwhile another process may have finished this tick.
    if nonce(&*tx, &around)? != answer.nonce {
        return Err(late());
    }
    let record = make(&around)?;
    let mut operation = ctx.operation(
        Verb::Tick,
        format!("tick {}: {}", record.tick, record.status.word()),
    );
    operation.facts = spent(&*tx, &answer.spent)?;
    operation.facts.extend(record::changed(
        &TickRecord::key(record.tick),
        around.begun(),
        Some(&record),
    ));
    // A parked tick counts as passed, or the loop would ask for it forever.
    if record.status == TickStatus::Parked {
        let after = TickState {
            current_tick: record.tick,
            ..around.state.clone()
        };
        let before = (around.state != TickState::default()).then_some(&around.state);
        operation
            .facts
            .extend(record::changed(TickState::KEY, before, Some(&after)));
    }
    let planned = PlannedFiles::of(ctx, None);
    plan_files_of(&planned, &record)?;
    let head = planned.record(&mut *tx, operation)?;
    planned.commit(ctx, tx)?;
    Ok((
        record,
        KnownMemory {
            memory: around.memory,
            head,
        },
    ))
}
