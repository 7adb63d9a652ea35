//! Advances a workflow run: completes a step, passes or fails a gate. All effects are part of the
//! same operation.

use domain::ids::{OperationId, VersionHash};
use domain::operation::Verb;
use domain::plan_document::{file, read, render};
use domain::record;
use domain::review::{Concluded, Said};
use domain::workflow::{
    FlowRun, FlowState, Move, MoveRefused, Moved, Requirement, StepEffect, StepKind, Workflow,
    next_step,
};
use serde::Serialize;

use super::gather::{Ground, ground};
use super::{FlowView, Which, changed, find, present, under_way};
use crate::context::Context;
use crate::failure::{Failure, FailureKind};
use crate::file_writes::PlannedFiles;
use crate::observe::observe_within;
use crate::plan_documents::{Staged, staged_freeze, with_files};
use crate::reviews;
use crate::survey::Scope;

/// The result of a move.
#[derive(Clone, Debug, Serialize)]
pub struct Advanced {
    pub success: bool,
    #[serde(flatten)]
    pub flow: FlowView,
    /// The conclusion of the review, at a gate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<Concluded>,
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
pub fn advance(ctx: &Context<'_>, which: &Which, how: Move) -> Result<Advanced, Failure> {
    with_files(ctx, &("flow", which, how), |tx, planned| {
        let run = under_way(ctx, &*tx, which)?;
        let workflow = find(ctx, &run.workflow)?;
        let (at, step) = present(&workflow, &run)?;
        // A plan that was written a moment ago has to be recorded before it can count.
        if step.requires.contains(&Requirement::NodeWritten) {
            observe_within(ctx, tx, Scope::Everything)?;
        }
        let ground = ground(ctx, &*tx, &workflow, step, &run)?;
        let now = ctx.clock.now();
        let said = Said {
            by: &ctx.actor,
            at: now,
        };
        let before = ground.review.clone();
        let mut review = ground.review.clone();
        let concluded = match (&mut review, step.kind, how) {
            (Some(review), StepKind::Gate, Move::Pass | Move::Fail) => {
                Some(review.conclude(said, &ctx.policy.review)?)
            }
            _ => None,
        };
        let mut operation = ctx.operation(Verb::Flow, String::new());
        operation.at = now;
        if let Some(Concluded::NeedsPerson { escalated }) = &concluded {
            // The conclusion is recorded although the run does not move: the escalation must not
            // depend on the next attempt.
            operation.summary = format!("{} of {} waits for a person", step.name, run.subject);
            operation.facts =
                reviews::staged(ctx, &*tx, before.as_ref(), review.as_ref(), planned)?;
            let operation = planned.record(tx, operation)?;
            return Ok(Advanced {
                success: false,
                flow: FlowView::of(&workflow, &run),
                waits_for_person: escalated.clone(),
                review: concluded,
                operation,
            });
        }
        let missing = ground.missing(ctx, &*tx, step, &run)?;
        let onward = next_step(&workflow, at, how, missing, concluded.as_ref())
            .map_err(|refused| refusal(&run, refused))?;
        let mut after = moved(ctx, &workflow, &run, step.kind, how, onward, now);
        // A complete wave leads to the next wave in the same step; only the last one leaves the
        // step.
        let more_waves = usize::try_from(run.wave).is_ok_and(|wave| wave < ground.waves.len());
        if step.requires.contains(&Requirement::Waves) && more_waves {
            after.step.clone_from(&run.step);
            after.state = FlowState::Active;
            after.wave += 1;
        }
        let staged = effects(ctx, tx, planned, &step.effects, &ground, how, now)?;
        operation.facts = staged.facts;
        operation.texts = staged.texts;
        // Authors join the running review, so that none of them can judge their own work in a later
        // iteration.
        if step.kind == StepKind::Work
            && let Some(review) = &mut review
        {
            after.authors.iter().for_each(|author| {
                if !review.authors.contains(author) {
                    review.authors.push(author.clone());
                }
            });
        }
        let facts = reviews::staged(ctx, &*tx, before.as_ref(), review.as_ref(), planned)?;
        operation.facts.extend(facts);
        operation.facts.extend(changed(Some(&run), &after));
        operation.summary = format!("{} of {}: {}", step.name, run.subject, how.word());
        let operation = planned.record(tx, operation)?;
        Ok(Advanced {
            success: true,
            flow: FlowView::of(&workflow, &after),
            review: concluded,
            waits_for_person: Vec::new(),
            operation,
        })
    })
}

/// Returns the run after a move.
fn moved(
    ctx: &Context<'_>,
    workflow: &Workflow,
    run: &FlowRun,
    kind: StepKind,
    how: Move,
    onward: Option<&str>,
    now: domain::time::Timestamp,
) -> FlowRun {
    let mut after = run.clone();
    after.moves.push(Moved {
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
        .and_then(|step| workflow.step(step))
        .is_some_and(|(_, next)| next.kind == StepKind::Review);
    match (kind, how) {
        // Submitting work for review counts as authorship, even without an edit.
        (StepKind::Work, _) if leads_to_review => after.worked(&ctx.actor),
        // After a passed gate new work begins, and its authors are recorded from scratch.
        (StepKind::Gate, Move::Pass) => after.authors.clear(),
        (StepKind::Work | StepKind::Review | StepKind::Gate, _) => {}
    }
    after
}

/// Stages the effects of leaving a step: freezing and rendering.
fn effects(
    ctx: &Context<'_>,
    tx: &mut dyn domain::ports::Transaction,
    planned: &PlannedFiles<'_>,
    effects: &[StepEffect],
    ground: &Ground,
    how: Move,
    now: domain::time::Timestamp,
) -> Result<Staged, Failure> {
    let mut all = Staged::default();
    // A failed gate sends the work back; freezing it then would end the loop.
    let Some(document) = ground.document.as_ref().filter(|_| how != Move::Fail) else {
        return Ok(all);
    };
    let mut record = document.record.clone();
    let mut plan = document.plan.clone();
    if effects.contains(&StepEffect::FreezeContext)
        && let Some((text, _)) = &ground.context
    {
        // The text is stored, not only its hash: a revision copies the context from here.
        record.context = Some(VersionHash::of(text.as_bytes()));
        all.texts.push(text.clone());
    }
    if effects.contains(&StepEffect::Freeze) {
        let mut staged = staged_freeze(ctx, &*tx, document, &mut record, now)?;
        planned.put(&file(&document.id, "plan.json"), Some(&staged.text))?;
        plan = read(&staged.text).unwrap_or(plan);
        all.facts.append(&mut staged.facts);
        all.texts.append(&mut staged.texts);
    }
    if effects.contains(&StepEffect::Render) {
        let page = render(&plan, &record.written.short());
        planned.put(&file(&document.id, "plan.md"), Some(&page))?;
    }
    all.facts.extend(record::changed(
        &document.id,
        Some(&document.record),
        Some(&record),
    ));
    Ok(all)
}

fn refusal(run: &FlowRun, refused: MoveRefused) -> Failure {
    let failure = Failure::new(FailureKind::Refused, refused.to_string());
    let subject = &run.subject;
    match refused {
        MoveRefused::IsAGate { .. } => failure
            .step(format!("tl flow pass --for {subject}"))
            .step(format!("tl flow fail --for {subject}")),
        MoveRefused::NoGate { .. } => failure.step(format!("tl flow done --for {subject}")),
        MoveRefused::NotYet { .. } => failure.step(format!("tl flow next --for {subject}")),
        MoveRefused::Blocked { .. } => failure
            .step(format!(
                "tl flow fail --for {subject}   # the findings go back"
            ))
            .step("tl review status"),
        MoveRefused::NothingFails => failure.step(format!("tl flow pass --for {subject}")),
    }
}
