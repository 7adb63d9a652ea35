//! Executes the actions of a plan on a copy of the memory, with access to the store, the files and
//! the gates.

use domain::host_event::FileEffect;
use domain::memory::{EntryKind, StoryMemory};
use domain::ports::{FileReadResult, Snapshot};
use domain::profile::locate_plan;
use domain::search::{MatchMode, SearchQuery};
use domain::tick::TickRecord;
use domain::tick::execute::{ExecutedAction, execute_plan, run_queries};
use domain::tick::plan::TickPlan;
use domain::tick::tools::{Draft, DraftPlace, StoryWorld, TickStage};
use domain::tree::Tree;

use super::story_state::{self, StoryState};
use crate::context::Context;
use crate::handle_host_event::{PlannedWrite, evaluate_write};
use crate::plan_node::{PlanRequest, locate_target};

/// Runs the actions on a copy of the memory. Returns the executed actions, the memory, and the
/// drafts to write.
pub(super) fn run_actions(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &Tree,
    around: &StoryState,
    record: &TickRecord,
) -> (Vec<ExecutedAction>, StoryMemory, Vec<Draft>) {
    with_stage(ctx, state, tree, around, record.tick, |mut stage| {
        // Actions that succeeded before an interruption are passed in and not run again.
        let executed = execute_plan(&mut stage, &record.plan, record.executed.clone());
        (executed, stage.memory, stage.drafts)
    })
}

/// Runs the queries of a plan. They change nothing.
pub(super) fn run_plan_queries(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &Tree,
    around: &StoryState,
    plan: &TickPlan,
) -> Vec<ExecutedAction> {
    with_stage(ctx, state, tree, around, around.tick, |mut stage| {
        run_queries(&mut stage, plan)
    })
}

/// Sets up the stage of a plan's actions. The domain's tools do no I/O; they get what they may read as
/// closures.
fn with_stage<T>(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &Tree,
    around: &StoryState,
    tick: u64,
    act: impl FnOnce(TickStage<'_>) -> T,
) -> T {
    let search = |kinds: &[EntryKind], query: &str, limit: usize| {
        let words: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
        let found = state.search_records(
            &words,
            &SearchQuery::parse_query(query),
            MatchMode::AllElseAny,
            limit,
        );
        found
            .map(|keys| keys.into_iter().map(|key| key.key).collect())
            .map_err(|fault| fault.to_string())
    };
    let text = |path: &str| story_state::plan_text(state, tree, path);
    let prose = |path: &str| story_state::read_prose(ctx, tree, path);
    let placed = |level: &str, id: &str, under: Option<&str>| {
        place_draft(ctx, state, tree, level, id, under)
    };
    let allows = |file: &str, text: &str| check_gates(ctx, state, file, text);
    let world = StoryWorld {
        nodes: around.nodes.clone(),
        search: &search,
        text: &text,
        prose: &prose,
        place: &placed,
        allows: &allows,
    };
    act(TickStage {
        memory: around.memory.clone(),
        tick,
        world: &world,
        drafts: Vec::new(),
    })
}

fn place_draft(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &Tree,
    level: &str,
    id: &str,
    under: Option<&str>,
) -> Result<DraftPlace, String> {
    let request = PlanRequest {
        kind: level.to_owned(),
        id: id.to_owned(),
        under: under.map(str::to_owned),
    };
    let planned = locate_target(ctx, state, tree, &request).map_err(|failure| failure.message)?;
    let file = planned
        .file
        .ok_or_else(|| format!("a {level} has no plan file"))?;
    let text = match ctx.files.read_file(&file, ctx.policy.max_plan_bytes) {
        FileReadResult::Text { text, .. } => Some(text),
        FileReadResult::Missing => None,
        // The action fails, not the tick's transaction: the planner can choose another place.
        FileReadResult::Unreadable { why, .. } => return Err(format!("`{file}`: {why}")),
    };
    Ok(DraftPlace {
        node: planned.path,
        file,
        text,
    })
}

/// Evaluates the gates as for an agent's tool call. The loop counts as having read what it changes.
fn check_gates(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    file: &str,
    text: &str,
) -> Result<(), String> {
    let place = locate_plan(ctx.profiles, file)
        .ok_or_else(|| format!("`{file}` is not the path of a plan"))?;
    let write = PlannedWrite {
        file,
        place: &place,
        effect: &FileEffect::Write {
            text: Some(text.to_owned()),
        },
    };
    let verdict = evaluate_write(ctx, state, &write).map_err(|failure| failure.message)?;
    // Without overrides: a person's permission is for the agent they talk to, not for the loop.
    match verdict.blocks.first().or(verdict.overridden.first()) {
        Some(fired) => Err(format!("{} gate: {}", fired.gate, fired.objection.why)),
        None => Ok(()),
    }
}
