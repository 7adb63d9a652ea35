//! Moves of a ticket between its work phases: refuses to skip one, or reports it where a file says so.

use domain::gates::{Event, FiredGate, GateVerdict, PhaseMove};
use domain::node::{Node, NodeStatus, Status};
use domain::policy::GateMode;
use domain::ports::{Snapshot, Transaction};
use domain::work::phase_order::{find_left_approval, find_skipped_phases};
use domain::work::work_level::WorkLevel;

use crate::context::{Context, Notice};
use crate::failure::Failure;
use crate::handle_host_event::{evaluate_with_overrides, override_note_key};
use crate::locate::load_node_path;
use crate::session_position::{has_work_phases, load_ticket};

/// The gates that a move of a ticket can fire.
const MOVE_GATES: [&str; 2] = ["order", "scenario-approval"];

/// Refuses to move a ticket past a phase of its work level, or out of its scenario gate without approval.
/// A person skips a phase with a reason, or lets a gate pass once.
pub(crate) fn refuse_skipped_phase(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    node: &Node,
    phase: &str,
    reason: Option<&str>,
) -> Result<(), Failure> {
    let from = phase_of(node);
    let mut verdict = judge_move(ctx, &*tx, node, from.as_deref(), phase)?;
    let has_reason = reason.is_some_and(|reason| !reason.trim().is_empty());
    // Only a person's reason: an agent would give itself one.
    if has_reason && ctx.actor.is_human() {
        verdict.blocks.retain(|fired| fired.gate != "order");
    }
    report_warnings(ctx, node, &verdict);
    if let Some(FiredGate { objection, .. }) = verdict.blocks.into_iter().next() {
        let failure = Failure::refused(objection.why);
        return Err(objection
            .next_steps
            .into_iter()
            .fold(failure, Failure::with_step));
    }
    let path = load_node_path(&*tx, node)?;
    for fired in &verdict.overridden {
        tx.save_note(&override_note_key(fired.gate, &path), None, ctx.clock.now())?;
    }
    Ok(())
}

/// Reports a phase that was written into a ticket's file although it comes later. The file is the
/// authority for the phase, so it counts.
pub(crate) fn report_skipped_phase(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    from: Option<&str>,
    to: &str,
) -> Result<(), Failure> {
    let verdict = judge_move(ctx, state, node, from, to)?;
    for fired in &verdict.blocks {
        let steps = fired.objection.next_steps.first();
        let step = steps.map_or(String::new(), |step| format!(" (next: {step})"));
        ctx.push_notice(Notice::PhaseSkipped {
            node: node.alias.clone(),
            why: format!("{}{step}", fired.objection.why),
        });
    }
    report_warnings(ctx, node, &verdict);
    Ok(())
}

/// Returns the phases that a ticket skips that is completed where it is, without the one that is the work
/// itself: whether that was done, the rest of the rule for done says.
pub(crate) fn list_skipped_phases<'c>(
    ctx: &Context<'c>,
    state: &dyn Snapshot,
    node: &Node,
) -> Result<Vec<&'c str>, Failure> {
    let Some(profile) = ctx.find_profile(&node.profile) else {
        return Ok(Vec::new());
    };
    let (phases, from) = (&profile.work_phases, phase_of(node));
    // A ticket without a known phase was made by hand. A move to the last phase was judged before it was
    // planned.
    let is_known = from
        .as_deref()
        .is_some_and(|from| phases.iter().any(|phase| phase.name == from));
    let (true, Some(last)) = (is_known && has_work_phases(ctx, node), phases.last()) else {
        return Ok(Vec::new());
    };
    if ctx.policy.gates.order == GateMode::Off || ctx.has_planned_files() {
        return Ok(Vec::new());
    }
    let find = |level| {
        let mut skipped = find_skipped_phases(phases, from.as_deref(), &last.name, level);
        skipped.retain(|name| {
            let phase = phases.iter().find(|phase| phase.name == *name);
            phase.is_some_and(|phase| phase.from_level > WorkLevel::Patch)
        });
        skipped
    };
    // Most tickets are beyond them, and need no look at their size.
    if find(WorkLevel::Feature).is_empty() {
        return Ok(Vec::new());
    }
    Ok(find(load_work_level(ctx, state, node)?))
}

/// Returns the size of a ticket. A child came out of the decomposition of its parent, whose behaviour was
/// defined there.
pub(crate) fn load_work_level(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
) -> Result<WorkLevel, Failure> {
    let ticket = load_ticket(ctx, state, node.clone(), None)?;
    let level = ticket.load_assessment(state)?.level;
    Ok(match node.parent {
        Some(_) => level.min(WorkLevel::Task),
        None => level,
    })
}

fn report_warnings(ctx: &Context<'_>, node: &Node, verdict: &GateVerdict) {
    for fired in verdict
        .warnings
        .iter()
        .filter(|fired| MOVE_GATES.contains(&fired.gate))
    {
        ctx.push_notice(Notice::PhaseSkipped {
            node: node.alias.clone(),
            why: fired.objection.why.clone(),
        });
    }
}

fn phase_of(node: &Node) -> Option<String> {
    node.description.work.as_ref()?.phase.clone()
}

fn judge_move(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    from: Option<&str>,
    to: &str,
) -> Result<GateVerdict, Failure> {
    let Some(profile) = ctx.find_profile(&node.profile) else {
        return Ok(GateVerdict::default());
    };
    let left_approval = find_left_approval(&profile.work_phases, from, to);
    let may_skip = find_skipped_phases(&profile.work_phases, from, to, WorkLevel::Feature);
    // Most moves go to the next phase, and need neither the ticket's size nor its scenarios.
    if left_approval.is_none() && may_skip.is_empty() {
        return Ok(GateVerdict::default());
    }
    let path = load_node_path(state, node)?;
    let ticket = load_ticket(ctx, state, node.clone(), None)?;
    let level = load_work_level(ctx, state, node)?;
    let skipped = find_skipped_phases(&profile.work_phases, from, to, level);
    let is_unapproved = |standing: &NodeStatus| !matches!(standing.status, Status::Approved);
    let mut unapproved = Vec::new();
    if is_unapproved(&node.standing) {
        unapproved.push(path.clone());
    }
    for scenario in ticket
        .scenarios
        .iter()
        .filter(|one| is_unapproved(&one.standing))
    {
        unapproved.push(format!("{path}/{}", scenario.alias));
    }
    evaluate_with_overrides(
        ctx,
        state,
        &Event {
            profiles: ctx.profiles,
            phase_move: Some(PhaseMove {
                path: &path,
                profile: Some(profile),
                to,
                level: level.as_str(),
                skipped: &skipped,
                left_approval,
                unapproved: &unapproved,
            }),
            ..Event::default()
        },
    )
}
