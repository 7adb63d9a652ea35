//! Assigns a milestone of the current wave: the first unclaimed one is claimed for this session.

use domain::node::Progress;
use domain::plan_document::{DocumentRecord, read_plan};
use domain::ports::Snapshot;
use domain::record::read_record;
use domain::workflow::{FlowRun, Requirement};
use serde::Serialize;

use super::step_context::{gather_context, milestone_waves};
use super::{RunSelector, current_step, find_run, find_workflow, observe_milestones};
use crate::claim_node::{self, ClaimView};
use crate::context::Context;
use crate::failure::{Failure, FailureKind};

/// The assigned milestone.
#[derive(Clone, Debug, Serialize)]
pub struct TakenMilestone {
    pub milestone: String,
    pub wave: u32,
    #[serde(flatten)]
    pub claim: ClaimView,
}

/// Returns the milestones that a run hands out at its current step; none at a step without waves.
pub(crate) fn list_handed_out(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    run: &FlowRun,
) -> Result<Vec<String>, Failure> {
    let hands_out = find_workflow(ctx, &run.workflow).is_ok_and(|workflow| {
        let step = workflow.find_step(&run.step);
        step.is_some_and(|(_, step)| step.requires.contains(&Requirement::Wave))
    });
    let record = read_record::<DocumentRecord>(state, &run.subject)?;
    let Some(record) = record.filter(|_| hands_out) else {
        return Ok(Vec::new());
    };
    let text = state.load_text(record.written)?.unwrap_or_default();
    let waves = read_plan(&text).map(|plan| milestone_waves(&plan));
    let at = usize::try_from(run.wave).unwrap_or(1).saturating_sub(1);
    Ok(waves
        .unwrap_or_default()
        .into_iter()
        .nth(at)
        .unwrap_or_default())
}

/// Assigns a milestone of the current wave: the one this session already holds, or the first free
/// one.
///
/// # Errors
/// When the step has no wave, or every open milestone is claimed.
pub fn take_milestone(ctx: &Context<'_>, which: &RunSelector) -> Result<TakenMilestone, Failure> {
    drop(observe_milestones(ctx)?);
    // Choosing and claiming in one transaction: parallel sessions must not get the same milestone.
    let mut tx = ctx.store.begin_write()?;
    let run = find_run(ctx, &*tx, which)?;
    let workflow = find_workflow(ctx, &run.workflow)?;
    let (_, step) = current_step(&workflow, &run)?;
    let ground = gather_context(ctx, &*tx, &workflow, step, &run)?;
    let wave = if step.requires.contains(&Requirement::Wave) {
        ground.wave_milestones(ctx, &*tx, run.wave)?
    } else {
        let what = format!("step `{}` hands out no milestones", step.name);
        return Err(Failure::refused(what).with_step(format!("tl flow next --for {}", run.subject)));
    };
    let open: Vec<_> = wave
        .into_iter()
        .filter(|one| one.progress != Progress::Complete)
        .collect();
    // Idempotent: a session that was interrupted gets its own milestone again instead of a second
    // one.
    let own = open.iter().filter(|one| one.is_own);
    let free = open
        .iter()
        .filter(|one| one.claimed_by.is_none() && one.progress != Progress::Blocked);
    let mut taken = None;
    for one in own.chain(free) {
        let Some(node) = &one.node else { continue };
        let path = format!("{}/{}", run.subject, one.milestone);
        match claim_node::claim_within(ctx, &mut *tx, node, &path) {
            Ok(claim) => {
                taken = Some((one, claim));
                break;
            }
            // The lock of this state does not exclude the other worktrees: one of them took it since.
            Err(failure) if failure.kind == FailureKind::Refused => {}
            Err(failure) => return Err(failure),
        }
    }
    let Some((one, claim)) = taken else {
        let what = format!("no milestone of wave {} is free", run.wave);
        let failure = Failure::refused(what).with_step("tl claim --list   # who has what");
        return Err(if open.is_empty() {
            failure.with_step(format!("tl flow done --for {}", run.subject))
        } else {
            failure
        });
    };
    tx.commit()?;
    Ok(TakenMilestone {
        milestone: one.milestone.clone(),
        wave: run.wave,
        claim,
    })
}
