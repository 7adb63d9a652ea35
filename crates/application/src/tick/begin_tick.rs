//! Begins a tick: returns the request to the planner, or the plan that an interrupted tick resumes.

use domain::context_budget::PromptSection;
use domain::ids::VersionHash;
use domain::ports::{FileReadResult, Snapshot};
use domain::tick::context::{DEFAULT_TEMPLATE, TEMPLATE_PATH};
use domain::tick::{ContextUsed, TickStatus, offline};
use serde::Serialize;
use serde_json::Value;

use super::run_tick::{load_tick, write_missing_files};
use super::story_state::{StoryState, names_in_plans, read_prose};
use crate::context::Context;
use crate::failure::Failure;
use crate::memory::memory_files;
use crate::memory::prose_files::observe_prose;
use crate::submit::observe_submitted_plans;

const SYSTEM_PROMPT: &str = "You plan stories. You answer with one JSON object and nothing else.";
/// Maximum size of a prompt template.
const MAX_TEMPLATE_BYTES: u64 = 256 * 1024;
/// Token limit of an answer: a plan of six actions, with room for a model that reasons first.
const MAX_ANSWER_TOKENS: u32 = 4_000;

/// The next step of the loop.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case", tag = "next")]
pub enum NextTick {
    /// A plan is needed.
    Ask(Box<TickAsk>),
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
    /// Path of the scene that the tick prepares.
    pub scene: Option<String>,
    /// Sizes of the prompt's sections, for people.
    #[serde(skip)]
    pub sections: Vec<PromptSection>,
}

/// What a tick is begun for.
#[derive(Clone, Copy, Debug, Default)]
pub struct TickRequest {
    /// Plan this tick again, because it has no plan that can be run; by default the next one.
    pub again: Option<u64>,
    /// Token limit of the context, where the model's own is smaller than the policy's.
    pub context_tokens: Option<usize>,
}

/// Returns the next step of the loop. Records nothing but observed file changes.
///
/// # Errors
/// When the state cannot be read.
pub fn begin_tick(ctx: &Context<'_>) -> Result<NextTick, Failure> {
    begin_tick_with(ctx, TickRequest::default())
}

/// As [`begin_tick`], for a given tick and context size.
///
/// # Errors
/// When the state cannot be read, or the tick to plan again does not exist.
pub fn begin_tick_with(ctx: &Context<'_>, request: TickRequest) -> Result<NextTick, Failure> {
    let (state, tree) = observe_story(ctx)?;
    let mut around = StoryState::gather(ctx, &*state, &tree, None)?;
    if let Some(tick) = request.again {
        around.plan_again(load_tick(&*state, tick)?);
    }
    if let Some(tokens) = request.context_tokens {
        // The smaller one: the policy is a limit of cost, which a large model must not lift.
        around.policy.context_tokens = around.policy.context_tokens.min(tokens);
    }
    let tick = around.tick;
    around
        .ticks
        .iter()
        .rev()
        // The two newest ticks; older files were checked when earlier ticks began.
        .take(2)
        .filter(|it| it.status != TickStatus::Planned)
        .for_each(|it| write_missing_files(ctx, it));
    // A plan that was paid for is run before another one is requested.
    if let Some(begun) = around
        .begun_tick()
        .filter(|record| record.status == TickStatus::Planned)
    {
        return Ok(NextTick::Run {
            tick,
            from_action: begun.next_action(),
        });
    }
    let template = load_template(ctx);
    let context = around.story_view().planner_context(&template);
    if let Some(least) = context.least_tokens {
        return Err(refuse_small_context(
            "plan",
            least,
            around.policy.context_tokens,
        ));
    }
    let prompt = context.render_prompt(&template);
    Ok(NextTick::Ask(Box::new(TickAsk {
        tick,
        attempt: around.begun_tick().map_or(0, |record| record.failures) + 1,
        nonce: request_nonce(&*state, &around)?,
        system: SYSTEM_PROMPT.to_owned(),
        prompt,
        schema: context.schema,
        max_output_tokens: MAX_ANSWER_TOKENS,
        context_used: context.used,
        scene: around.next_scene.as_ref().map(|(path, _)| path.clone()),
        sections: context.sections,
    })))
}

/// Returns the refusal of a prompt that would know nothing of the story: its answer would be paid for, and worth
/// nothing.
pub(crate) fn refuse_small_context(step: &str, least: usize, tokens: usize) -> Failure {
    // Rounded up: the estimate changes with every word of the plan.
    let least = least.next_multiple_of(500);
    let what = format!(
        "{tokens} tokens of context are too few for the step {step}: with blueprint, cast and facts it needs at least {least}"
    );
    Failure::refused(what)
        .with_step(format!(
            "tl config set policy.generation.context_tokens {least}"
        ))
        .with_step("or choose a model with a larger context: tl story model check")
}

/// Returns a plan made by rules, without a model; `None` if the book is written and nothing is open.
///
/// # Errors
/// When the state cannot be read.
pub fn offline_plan(ctx: &Context<'_>) -> Result<Option<Value>, Failure> {
    let (state, tree) = observe_story(ctx)?;
    let around = StoryState::gather(ctx, &*state, &tree, None)?;
    let prose = |path: &str| read_prose(ctx, &tree, path);
    Ok(offline::plan_offline(
        &around.story_view(),
        &names_in_plans(ctx, &*state, &tree),
        &prose,
    ))
}

fn observe_story<'s>(
    ctx: &Context<'s>,
) -> Result<(Box<dyn Snapshot + 's>, domain::tree::Tree), Failure> {
    let (_, tree) = observe_submitted_plans(ctx)?;
    observe_prose(ctx, &tree)?;
    Ok((memory_files::observe_memory(ctx)?, tree))
}

/// Returns the id of a request: a hash of store, tick and attempt. If any of them differs, the
/// answer is stale.
pub(super) fn request_nonce(state: &dyn Snapshot, around: &StoryState) -> Result<String, Failure> {
    // With the number of failures: the answer to a rejected attempt must not be taken for the next
    // one.
    let failures = around.begun_tick().map_or(0, |record| record.failures);
    let text = format!("{}/{}/{failures}", state.store_id()?, around.tick);
    Ok(VersionHash::of_bytes(text.as_bytes())
        .to_string()
        .chars()
        .take(16)
        .collect())
}

pub(super) fn stale_answer() -> Failure {
    let what =
        "stale answer: another run moved the story on meanwhile, or it answers another request";
    Failure::conflict(what).with_step("tl story tick   # begin it again")
}

/// Returns the project's template; an unreadable one is replaced by the default.
fn load_template(ctx: &Context<'_>) -> String {
    match ctx.files.read_file(TEMPLATE_PATH, MAX_TEMPLATE_BYTES) {
        FileReadResult::Text { text, .. } => text,
        // The loop runs unattended; a broken template must not stop it.
        FileReadResult::Missing | FileReadResult::Unreadable { .. } => DEFAULT_TEMPLATE.to_owned(),
    }
}
