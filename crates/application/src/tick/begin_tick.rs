//! Begins a tick: returns the request to the planner, or the plan that an interrupted tick resumes.

use domain::ids::VersionHash;
use domain::ports::{Reading, Snapshot};
use domain::tick::context::{TEMPLATE, TEMPLATE_TEXT};
use domain::tick::{ContextUsed, TickStatus, offline, plan};
use serde::Serialize;
use serde_json::Value;

use super::gather::{Surroundings, named};
use super::run_tick::catch_up;
use crate::context::Context;
use crate::failure::{Failure, FailureKind};
use crate::memory::files;
use crate::observe::observed_plans;

const SYSTEM: &str = "You plan stories. You answer with one JSON object and nothing else.";
/// Maximum size of a prompt template.
const MOST_TEMPLATE: u64 = 256 * 1024;
/// Token limit of an answer: a plan of six actions, with room for a model that reasons first.
const MOST_ANSWER: u32 = 4_000;

/// The next step of the loop.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case", tag = "next")]
pub enum NextTick {
    /// A plan is needed.
    Ask(TickAsk),
    /// A recorded plan was not run to its end, because a process was interrupted.
    Run { tick: u64, from_action: usize },
}

/// A request to the planner.
#[derive(Clone, Debug, Serialize)]
pub struct TickAsk {
    pub tick: u64,
    /// From 1; a higher number means that earlier plans for this tick failed.
    pub attempt: u32,
    /// Returned with the answer, which is rejected as stale if the story has moved on.
    pub nonce: String,
    pub system: String,
    pub prompt: String,
    pub schema: Value,
    pub max_output_tokens: u32,
    pub context_used: ContextUsed,
}

/// Returns the next step of the loop. Records nothing but observed file changes.
///
/// # Errors
/// When the state cannot be read.
pub fn begin_tick(ctx: &Context<'_>) -> Result<NextTick, Failure> {
    let (state, tree) = looked(ctx)?;
    let around = Surroundings::gather(ctx, &*state, &tree, None)?;
    let tick = around.state.current_tick + 1;
    around
        .ticks
        .iter()
        .rev()
        // The two newest ticks; older files were checked when earlier ticks began.
        .take(2)
        .filter(|it| it.status != TickStatus::Planned)
        .for_each(|it| catch_up(ctx, it));
    // A plan that was paid for is run before another one is requested.
    if let Some(begun) = around
        .begun()
        .filter(|record| record.status == TickStatus::Planned)
    {
        return Ok(NextTick::Run {
            tick,
            from_action: begun.next_action(),
        });
    }
    let context = around.view(ctx).planner_context();
    let prompt = context.prompt(&template(ctx));
    Ok(NextTick::Ask(TickAsk {
        tick,
        attempt: around.begun().map_or(0, |record| record.failures) + 1,
        nonce: nonce(&*state, &around)?,
        system: SYSTEM.to_owned(),
        prompt,
        schema: plan::schema(&around.memory),
        max_output_tokens: MOST_ANSWER,
        context_used: context.used,
    }))
}

/// Returns a plan made by rules, without a model.
///
/// # Errors
/// When the state cannot be read.
pub fn offline_plan(ctx: &Context<'_>) -> Result<Value, Failure> {
    let (state, tree) = looked(ctx)?;
    let around = Surroundings::gather(ctx, &*state, &tree, None)?;
    Ok(offline::plan(
        &around.view(ctx),
        &named(ctx, &*state, &tree),
    ))
}

fn looked<'s>(ctx: &Context<'s>) -> Result<(Box<dyn Snapshot + 's>, domain::tree::Tree), Failure> {
    let (_, tree) = observed_plans(ctx)?;
    Ok((files::observed(ctx)?, tree))
}

/// Returns the id of a request: a hash of store, tick and attempt. If any of them differs, the
/// answer is stale.
pub(super) fn nonce(state: &dyn Snapshot, around: &Surroundings) -> Result<String, Failure> {
    let failures = around.begun().map_or(0, |record| record.failures);
    let text = format!(
        "{}/{}/{failures}",
        state.store_id()?,
        around.state.current_tick + 1
    );
    Ok(VersionHash::of(text.as_bytes())
        .to_string()
        .chars()
        .take(16)
        .collect())
}

pub(super) fn late() -> Failure {
    Failure::new(
        FailureKind::Conflict,
        "stale answer: the story has moved on, or it answers another request",
    )
    .step("begin the tick again")
}

/// Returns the project's template; an unreadable one is replaced by the default.
fn template(ctx: &Context<'_>) -> String {
    match ctx.files.read(TEMPLATE, MOST_TEMPLATE) {
        Reading::Text { text, .. } => text,
        // The loop runs unattended; a broken template must not stop it.
        Reading::Missing | Reading::Unreadable { .. } => TEMPLATE_TEXT.to_owned(),
    }
}
