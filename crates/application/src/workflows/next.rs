//! Shows the current step of a run: its prompt, with the material its role needs.

use domain::workflow::{
    Given, SectionSources, StepPrompt, build_section, describe_moves, render_step_prompt,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::step_context::{WaveMilestone, gather_context};
use super::{FlowView, RunSelector, current_step, find_run, find_workflow, observe_milestones};
use crate::context::Context;
use crate::failure::Failure;

/// The current step.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NextStep {
    #[serde(flatten)]
    pub flow: FlowView,
    /// The review iteration it belongs to.
    pub iteration: u32,
    pub prompt: String,
    /// The commands the role may use.
    pub may: Vec<String>,
    /// The unmet requirements of the step.
    pub missing: Vec<String>,
    /// The milestones of the current wave, with their progress.
    #[schemars(with = "Vec<crate::views::Object>")]
    pub wave_milestones: Vec<WaveMilestone>,
}

/// Returns the current step. Read-only, so that it can be repeated after a crash.
///
/// # Errors
/// When there is no active run, or its document cannot be read.
pub fn show_next_step(ctx: &Context<'_>, which: &RunSelector) -> Result<NextStep, Failure> {
    let state = observe_milestones(ctx)?;
    let run = find_run(ctx, &*state, which)?;
    let workflow = find_workflow(ctx, &run.workflow)?;
    let (at, step) = current_step(&workflow, &run)?;
    // The planning prompt observes plan files and may write; an open snapshot would then be
    // outdated.
    drop(state);
    let node = if step.gives.contains(&Given::Node) {
        planning_prompt(ctx, &run.subject)
    } else {
        None
    };
    let state = ctx.store.begin_read()?;
    let ground = gather_context(ctx, &*state, &workflow, step, &run)?;
    let missing = ground.unmet_requirements(ctx, &*state, step, &run)?;
    let wave = if step.gives.contains(&Given::Wave) {
        ground.wave_milestones(ctx, &*state, run.wave)?
    } else {
        Vec::new()
    };
    let standings: Vec<(String, String)> = wave
        .iter()
        .map(|one| {
            let holder = one
                .claimed_by
                .as_ref()
                .map(|session| format!(", claimed by {session}"))
                .unwrap_or_default();
            (one.milestone.clone(), format!("{}{holder}", one.progress))
        })
        .collect();
    let material = SectionSources {
        plan: ground.document.as_ref().map(|document| &document.plan),
        context: ground.context.as_ref().map(|(text, _)| text.as_str()),
        review: ground.review.as_ref(),
        wave: &standings,
        node: node.as_deref(),
    };
    let sections: Vec<_> = step
        .gives
        .iter()
        .filter_map(|given| build_section(*given, &material))
        .collect();
    let iteration = ground.review.as_ref().map_or(1, |review| review.iteration);
    let after = describe_moves(&workflow, at, &run.subject);
    let prompt = render_step_prompt(&StepPrompt {
        workflow: &workflow,
        step: at,
        subject: &run.subject,
        iteration,
        wave: run.wave,
        sections: &sections,
        after: &after,
    });
    Ok(NextStep {
        flow: FlowView::from_run(&workflow, &run),
        iteration,
        prompt,
        may: workflow
            .find_role(&step.role)
            .map(|role| role.may.clone())
            .unwrap_or_default(),
        missing,
        wave_milestones: wave,
    })
}

/// Returns the planning prompt of a node, or the reason for its refusal.
fn planning_prompt(ctx: &Context<'_>, path: &str) -> Option<String> {
    let own = path.rsplit('/').next()?;
    let kind = own.split('-').next()?.to_owned();
    let under = path.rsplit_once('/').map(|(above, _)| above.to_owned());
    let request = crate::plan_node::PlanRequest {
        kind,
        id: own.to_owned(),
        under,
    };
    match crate::plan_node::plan_node(ctx, &request) {
        Ok(outcome) => Some(outcome.prompt),
        // The reason belongs in the prompt: the agent has to resolve it before it can plan.
        Err(failure) => Some(failure.message),
    }
}
