//! Applies the diffs of a milestone: checked against the files as they are, all of them or none.
//!
//! The operation is recorded first and the files are written after its commit, like every other file of
//! the project. Git is not involved.

use domain::fact::Fact;
use domain::ids::OperationId;
use domain::node::Progress;
use domain::operation::Verb;
use domain::plan_document::{UnappliedChange, apply_milestone};
use domain::workflow::Requirement;
use schemars::JsonSchema;
use serde::Serialize;

use super::step_context::{WaveMilestone, gather_context};
use super::{RunSelector, current_step, find_run, find_workflow, observe_milestones};
use crate::claim_node;
use crate::context::Context;
use crate::failure::Failure;
use crate::plan_documents::{check_allowed, read_project_file, run_with_files};

/// A milestone whose diffs were applied.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AppliedMilestone {
    pub success: bool,
    pub milestone: String,
    /// The path of its node.
    pub node: String,
    /// The files that were written or deleted; none if they had the changes already.
    pub files: Vec<String>,
    pub operation: OperationId,
}

/// Applies the diffs of a milestone of the current wave, claims it, and makes it active.
///
/// # Errors
/// When the step hands out no milestones, another session has this one, or a diff does not apply; then
/// nothing is written.
pub fn apply_changes(
    ctx: &Context<'_>,
    which: &RunSelector,
    milestone: &str,
) -> Result<AppliedMilestone, Failure> {
    drop(observe_milestones(ctx)?);
    run_with_files(ctx, &("flow apply", which, milestone), |tx, planned| {
        let run = find_run(ctx, &*tx, which)?;
        let workflow = find_workflow(ctx, &run.workflow)?;
        let (_, step) = current_step(&workflow, &run)?;
        if !step.requires.contains(&Requirement::Wave) {
            let what = format!("step `{}` hands out no milestones", step.name);
            let next = format!("tl flow next --for {}", run.subject);
            return Err(Failure::refused(what).with_step(next));
        }
        let worked = check_allowed(ctx, &*tx, &run.subject, &["apply"])?;
        let ground = gather_context(ctx, &*tx, &workflow, step, &run)?;
        let wave = ground.wave_milestones(ctx, &*tx, run.wave)?;
        // People copy the node's path from other commands.
        let id = milestone.rsplit('/').next().unwrap_or(milestone);
        let one = find_in_wave(&wave, id, run.wave)?;
        let path = format!("{}/{id}", run.subject);
        refuse_finished(one, &path)?;
        let plan = ground.document.as_ref().map(|document| &document.plan);
        let planned_milestone = plan.and_then(|plan| plan.find_milestone(id));
        let (Some(planned_milestone), Some(node)) = (planned_milestone, &one.node) else {
            return Err(Failure::not_found(format!("`{id}` is not in the plan")));
        };
        if planned_milestone.code_changes.is_empty() {
            let what = format!("`{id}` has no diffs: its intents are carried out by hand");
            return Err(Failure::refused(what).with_step(format!("tl progress {path} active")));
        }
        let read_file = |path: &str| read_project_file(ctx, path);
        // All diffs are tried in memory first: a milestone is applied as a whole or not at all.
        let files = apply_milestone(planned_milestone, &read_file)
            .map_err(|unapplied| unapplied_failure(id, &path, &unapplied))?;
        for (file, text) in &files {
            planned.put_file(file, text.as_deref())?;
        }
        let names: Vec<String> = files.into_keys().collect();
        let summary = match names.is_empty() {
            true => format!("{id} of {} is applied already", run.subject),
            false => format!("apply {id} of {}: {}", run.subject, names.join(", ")),
        };
        let mut operation = ctx.new_operation(Verb::Flow, summary);
        operation.facts = worked;
        if node.progress != Progress::Active {
            operation.facts.push(Fact::ProgressChanged {
                node: node.id,
                before: node.progress,
                after: Progress::Active,
            });
        }
        let operation = planned.record_operation(tx, operation)?;
        // After the operation: a claim that fails undoes the transaction, and no file is written
        // before its commit.
        if one.claimed_by.is_none() {
            claim_node::claim_within(ctx, tx, node, &path)?;
        }
        Ok(AppliedMilestone {
            success: true,
            milestone: id.to_owned(),
            node: path,
            files: names,
            operation,
        })
    })
}

fn find_in_wave<'w>(
    wave: &'w [WaveMilestone],
    id: &str,
    number: u32,
) -> Result<&'w WaveMilestone, Failure> {
    wave.iter().find(|one| one.milestone == id).ok_or_else(|| {
        let known: Vec<&str> = wave.iter().map(|one| one.milestone.as_str()).collect();
        let what = format!(
            "`{id}` is not in wave {number}, which has {}",
            known.join(", ")
        );
        Failure::refused(what).with_step("tl flow take   # a free milestone of this wave")
    })
}

/// Refuses a milestone that is complete, or that another session works on.
fn refuse_finished(one: &WaveMilestone, path: &str) -> Result<(), Failure> {
    if one.progress == Progress::Complete {
        let what = format!(
            "`{}` is complete: its diffs are in the files",
            one.milestone
        );
        return Err(Failure::refused(what).with_step("tl flow take   # a free milestone"));
    }
    match &one.claimed_by {
        Some(session) if !one.is_own => {
            let what = format!("`{path}` is claimed by {session}");
            Err(Failure::refused(what).with_step("tl flow take   # a free milestone of this wave"))
        }
        _ => Ok(()),
    }
}

fn unapplied_failure(id: &str, path: &str, unapplied: &[UnappliedChange]) -> Failure {
    let reasons: Vec<String> = unapplied
        .iter()
        .map(|one| format!("{}: {}", one.change, one.problem))
        .collect();
    let what = format!(
        "the diffs of `{id}` do not apply, and nothing was written: {}",
        reasons.join("; ")
    );
    let failure = Failure::refused(what);
    let mut intents: Vec<&str> = unapplied.iter().map(|one| one.intent.as_str()).collect();
    intents.dedup();
    let failure = intents.iter().fold(failure, |failure, intent| {
        failure.with_step(format!("tl doc show {intent}   # what it is meant to do"))
    });
    failure.with_step(format!(
        "tl progress {path} active   # and carry it out by hand"
    ))
}
