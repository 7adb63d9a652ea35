//! Advances a workflow run: completes a step, passes or fails a gate. All effects are part of the
//! same operation.

use domain::decision::{ReviewVerdict, Verdict};
use domain::fact::Fact;
use domain::ids::{OperationId, Principal, VersionHash};
use domain::node::Progress;
use domain::operation::Verb;
use domain::plan_document::{document_file_path, read_plan, render_markdown};
use domain::ports::{NewOperation, Transaction};
use domain::record::ChangeRecords;
use domain::review::{IterationOutcome, Review};
use domain::work::completion::CompletionGap;
use domain::workflow::{
    FlowMove, FlowRun, FlowState, MoveRefused, RecordedMove, Requirement, StepEffect, StepKind,
    Workflow, next_step,
};
use serde::Serialize;

use super::step_context::{StepContext, gather_context};
use super::{
    FlowView, RunSelector, current_step, find_run, find_workflow, observe_milestones, run_changed,
};
use crate::claim_node::release_ended_document;
use crate::completion::{CompletionScope, find_gaps};
use crate::context::Context;
use crate::decisions::{attach_decision, load_decision_key};
use crate::failure::Failure;
use crate::file_writes::PlannedFiles;
use crate::locate::load_node;
use crate::observe::observe_within;
use crate::plan_documents::{StagedDocument, run_with_files, stage_freeze};
use crate::reviews;
use crate::scan::ScanScope;
use crate::working_copy::{is_state_shared, submit_named};

/// The result of a move.
#[derive(Clone, Debug, Serialize)]
pub struct AdvanceOutcome {
    pub success: bool,
    #[serde(flatten)]
    pub flow: FlowView,
    /// The conclusion of the review, at a gate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<IterationOutcome>,
    /// Checks that wait for a person; the run stays at its step.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waits_for_person: Vec<String>,
    pub operation: OperationId,
}

/// Moves a run to its next step.
///
/// # Errors
/// When the step is not done, the review does not allow it, or an effect is refused; then nothing
/// is changed.
pub fn advance_run(
    ctx: &Context<'_>,
    which: &RunSelector,
    how: FlowMove,
) -> Result<AdvanceOutcome, Failure> {
    drop(observe_milestones(ctx)?);
    run_with_files(ctx, &("flow", which, how), |tx, planned| {
        let run = find_run(ctx, &*tx, which)?;
        let workflow = find_workflow(ctx, &run.workflow)?;
        let (at, step) = current_step(&workflow, &run)?;
        // A plan that was written a moment ago has to be recorded before it can count.
        if step.requires.contains(&Requirement::NodeWritten) {
            match is_state_shared(ctx, tx)? {
                true => submit_named(ctx, tx, std::slice::from_ref(&run.subject))?,
                false => drop(observe_within(ctx, tx, ScanScope::Everything)?),
            }
        }
        let ground = gather_context(ctx, &*tx, &workflow, step, &run)?;
        let now = ctx.clock.now();
        let said = reviews::review_actor(ctx);
        let before = ground.review.clone();
        let mut review = ground.review.clone();
        // On a copy: the conclusion is recorded only if the move is allowed, or if it waits for a
        // person.
        let concluded = match (&mut review, step.kind, how) {
            (Some(review), StepKind::Gate, FlowMove::Pass | FlowMove::Fail) => {
                Some(review.conclude_iteration(said, &ctx.policy.review)?)
            }
            _ => None,
        };
        let verdict =
            match (&before, &review, &concluded) {
                (Some(before), Some(review), Some(concluded)) => Some(
                    ReviewVerdict::from_conclusion(review, before.iteration, concluded),
                ),
                _ => None,
            };
        let mut operation = ctx.new_operation(Verb::Flow, String::new());
        operation.at = now;
        if let Some(IterationOutcome::NeedsPerson { escalated }) = &concluded {
            // The conclusion is recorded although the run does not move: the escalation must not
            // depend on the next attempt.
            operation.summary = format!("{} of {} waits for a person", step.name, run.subject);
            operation.facts =
                reviews::stage_review(ctx, &*tx, before.as_ref(), review.as_ref(), planned)?;
            reviews::attach_verdict(ctx, planned, &*tx, &mut operation, verdict)?;
            let operation = planned.record_operation(tx, operation)?;
            return Ok(AdvanceOutcome {
                success: false,
                flow: FlowView::from_run(&workflow, &run),
                waits_for_person: escalated.clone(),
                review: concluded,
                operation,
            });
        }
        let missing = ground.unmet_requirements(ctx, &*tx, step, &run)?;
        let onward = next_step(&workflow, at, how, missing, concluded.as_ref())
            .map_err(|refused| refusal_failure(&run, refused))?;
        let mut after = moved_run(ctx, &workflow, &run, step.kind, how, onward, now);
        // A complete wave leads to the next one in the same step; only the last leaves the step.
        let more_waves = usize::try_from(run.wave).is_ok_and(|wave| wave < ground.waves.len());
        if step.requires.contains(&Requirement::Waves) && more_waves {
            after.step.clone_from(&run.step);
            after.state = FlowState::Active;
            after.wave += 1;
        }
        let staged = stage_effects(ctx, tx, planned, &step.effects, &ground, how, now)?;
        operation.facts = staged.facts;
        operation.texts = staged.texts;
        if let (StepKind::Work, Some(review)) = (step.kind, &mut review) {
            join_review(review, &after.authors);
        }
        let facts = reviews::stage_review(ctx, &*tx, before.as_ref(), review.as_ref(), planned)?;
        operation.facts.extend(facts);
        reviews::attach_verdict(ctx, planned, &*tx, &mut operation, verdict)?;
        operation.facts.extend(run_changed(Some(&run), &after));
        if after.state == FlowState::Finished {
            complete_document(ctx, &*tx, planned, &workflow, &ground, &mut operation)?;
        }
        operation.summary = format!("{} of {}: {}", step.name, run.subject, how.as_str());
        let operation = planned.record_operation(tx, operation)?;
        Ok(AdvanceOutcome {
            success: true,
            flow: FlowView::from_run(&workflow, &after),
            review: concluded,
            waits_for_person: Vec::new(),
            operation,
        })
    })
}

/// Completes the document of a workflow that carried it out to its end.
fn complete_document(
    ctx: &Context<'_>,
    state: &dyn Transaction,
    planned: &PlannedFiles<'_>,
    workflow: &Workflow,
    ground: &StepContext,
    operation: &mut NewOperation,
) -> Result<(), Failure> {
    let carries_out = workflow
        .steps
        .iter()
        .any(|step| step.requires.contains(&Requirement::Waves));
    let Some(document) = ground.document.as_ref().filter(|_| carries_out) else {
        return Ok(());
    };
    let node = load_node(state, document.record.node)?;
    let scope = CompletionScope::WithoutWorkflow;
    let mut gaps = find_gaps(ctx, state, &node, scope)?;
    // A person who ends the run knows what was left out: reconciling told it.
    let is_known = |gap: &CompletionGap| {
        ctx.actor.is_human() && matches!(gap, CompletionGap::UnchangedIntent { .. })
    };
    gaps.retain(|gap| !is_known(gap));
    // Not an error: the run ends all the same, and the document stays open with what is missing.
    if node.progress == Progress::Complete || !gaps.is_empty() {
        return Ok(());
    }
    let progress = Progress::Complete;
    operation.facts.push(Fact::ProgressChanged {
        node: node.id,
        before: node.progress,
        after: progress,
    });
    let released = release_ended_document(ctx, state, &operation.facts)?;
    operation.facts.extend(released);
    // The run stays in this state: for the others the end is a decision.
    let key = load_decision_key(state, &node)?;
    attach_decision(
        ctx,
        planned,
        state,
        operation,
        key,
        Verdict::Progress { progress },
    )
}

/// Adds the authors to the running review, so that none of them can judge their own work in a later
/// iteration.
fn join_review(review: &mut Review, authors: &[Principal]) {
    for author in authors {
        if !review.authors.contains(author) {
            review.authors.push(author.clone());
        }
    }
}

/// Returns the run after a move.
fn moved_run(
    ctx: &Context<'_>,
    workflow: &Workflow,
    run: &FlowRun,
    kind: StepKind,
    how: FlowMove,
    onward: Option<&str>,
    now: domain::time::Timestamp,
) -> FlowRun {
    let mut after = run.clone();
    after.moves.push(RecordedMove {
        step: run.step.clone(),
        how,
        by: ctx.actor.clone(),
        at: now,
    });
    match onward {
        Some(step) => after.step = step.to_owned(),
        None => after.state = FlowState::Finished,
    }
    let leads_to_review = onward
        .and_then(|step| workflow.find_step(step))
        .is_some_and(|(_, next)| next.kind == StepKind::Review);
    match (kind, how) {
        // Submitting work for review counts as authorship, even without an edit.
        (StepKind::Work, _) if leads_to_review => after.add_author(&ctx.actor),
        // After a passed gate new work begins, and its authors are recorded from scratch.
        (StepKind::Gate, FlowMove::Pass) => after.authors.clear(),
        (StepKind::Work | StepKind::Review | StepKind::Gate, _) => {}
    }
    after
}

/// Stages the effects of leaving a step: freezing and rendering.
fn stage_effects(
    ctx: &Context<'_>,
    tx: &mut dyn domain::ports::Transaction,
    planned: &PlannedFiles<'_>,
    effects: &[StepEffect],
    ground: &StepContext,
    how: FlowMove,
    now: domain::time::Timestamp,
) -> Result<StagedDocument, Failure> {
    let mut all = StagedDocument::default();
    // A failed gate sends the work back; freezing it then would end the loop.
    let Some(document) = ground.document.as_ref().filter(|_| how != FlowMove::Fail) else {
        return Ok(all);
    };
    let mut record = document.record.clone();
    let mut plan = document.plan.clone();
    if effects.contains(&StepEffect::FreezeContext)
        && let Some((text, _)) = &ground.context
    {
        // The text is stored, not only its hash: a revision copies the context from here.
        record.context = Some(VersionHash::of_bytes(text.as_bytes()));
        all.texts.push(text.clone());
    }
    if effects.contains(&StepEffect::Freeze) {
        let mut staged = stage_freeze(ctx, &*tx, document, &mut record, now)?;
        planned.put_file(
            &document_file_path(&document.id, "plan.json"),
            Some(&staged.text),
        )?;
        plan = read_plan(&staged.text).unwrap_or(plan);
        all.facts.append(&mut staged.facts);
        all.texts.append(&mut staged.texts);
    }
    if effects.contains(&StepEffect::Render) {
        let page = render_markdown(&plan, &record.written.short_hex());
        planned.put_file(&document_file_path(&document.id, "plan.md"), Some(&page))?;
    }
    all.facts
        .change_record(&document.id, Some(&document.record), Some(&record));
    Ok(all)
}

fn refusal_failure(run: &FlowRun, refused: MoveRefused) -> Failure {
    let failure = Failure::refused(refused.to_string());
    let subject = &run.subject;
    match refused {
        MoveRefused::IsAGate { .. } => failure
            .with_step(format!("tl flow pass --for {subject}"))
            .with_step(format!("tl flow fail --for {subject}")),
        MoveRefused::NoGate { .. } => failure.with_step(format!("tl flow done --for {subject}")),
        MoveRefused::NotYet { .. } => failure.with_step(format!("tl flow next --for {subject}")),
        MoveRefused::Blocked { .. } => failure
            .with_step(format!(
                "tl flow fail --for {subject}   # the findings go back"
            ))
            .with_step("tl review status"),
        MoveRefused::NothingFails => failure.with_step(format!("tl flow pass --for {subject}")),
    }
}
