//! Runs the queries of a plan before it is submitted, so that the planner can use what they find.

use domain::tick::TickRecord;
use domain::tick::context::render_consultation;
use domain::tick::execute::{ExecutedAction, has_found_something};
use domain::tick::plan::TickPlan;
use domain::tick::tools::{is_query, tool_reads_plans};
use domain::tree::Tree;
use serde_json::Value;

use super::action_stage::run_plan_queries;
use super::story_state::StoryState;
use crate::context::Context;
use crate::failure::Failure;
use crate::observe::observe_plans;

/// What the queries of a plan found.
#[derive(Clone, Debug)]
pub struct Consultation {
    pub found: Vec<ExecutedAction>,
    /// What the planner is told.
    pub message: String,
}

/// Runs the queries of a plan, and changes nothing. Returns `None` if there are none, they found nothing,
/// or the plan is not valid: then it is refused when it is submitted.
///
/// # Errors
/// When the state cannot be read.
pub fn consult_queries(ctx: &Context<'_>, plan: &Value) -> Result<Option<Consultation>, Failure> {
    let (state, tree) = observe_plans(ctx)?;
    let around = StoryState::gather(ctx, &*state, &tree, None)?;
    let Ok(plan) = TickPlan::read_plan(plan, &around.memory) else {
        return Ok(None);
    };
    let mut tools = plan.actions.iter().map(|action| action.tool.as_str());
    if !tools.any(is_query) {
        return Ok(None);
    }
    let needs_tree = plan.actions.iter().any(|it| tool_reads_plans(&it.tool));
    let tree = if needs_tree { tree } else { Tree::new([]) };
    let found = run_plan_queries(ctx, &*state, &tree, &around, &plan);
    if !found.iter().any(has_found_something) {
        return Ok(None);
    }
    // A third of the context: the prompt of the first turn is sent again with it.
    let message = render_consultation(&found, ctx.policy.generation.context_tokens / 3);
    Ok(Some(Consultation { found, message }))
}

/// Adds what was found in an earlier turn, without repetition.
pub(super) fn record_consulted(record: &mut TickRecord, found: &[ExecutedAction]) {
    for action in found {
        let is_known = record
            .consulted
            .iter()
            .any(|it| it.tool == action.tool && it.args == action.args);
        if !is_known {
            record.consulted.push(action.clone());
        }
    }
}
