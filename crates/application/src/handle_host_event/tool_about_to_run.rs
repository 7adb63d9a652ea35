//! Evaluates the gates before a tool runs: may it change the plans and files it names?

use domain::gates::{self, FiredGate};
use domain::host_event::{HostEvent, ToolCall};
use domain::ids::NodeId;
use domain::node::Node;
use domain::ports::Snapshot;
use domain::profile::PlanPlace;
use domain::session_state::Conversation;

use super::commit::{Decision, Gathered, decide_and_commit};
use super::delegated_planning::check_delegated_plans;
use super::fitting::{FittedMessages, fit_messages};
use super::gather::{EvaluatedStep, NextStep, evaluate_step};
use super::operation_news::{NewsScope, OwnOperations, take_operation_news};
use super::plans::{TouchedPlan, find_recorded, scan_scope_of};
use super::{EventContext, EventOutcome, overlaps, plan_messages};
use crate::context::{Context, Notice};
use crate::failure::{Failure, FailureKind};
use crate::scan::ScanScope;
use crate::session_position::find_session_ticket;

/// Evaluates all gates about what the call would change.
pub(super) fn handle_tool_about_to_run(
    ctx: &Context<'_>,
    event: &HostEvent,
    call: &ToolCall,
    surroundings: &EventContext<'_>,
) -> Result<EventOutcome, Failure> {
    let delegation = check_delegated_plans(ctx, event, call)?;
    if let Some(refused) = delegation.refused {
        return Ok(refused);
    }
    let step = NextStep::from_call(ctx, event, call, surroundings.plans, surroundings.files);
    // The files above the plans are scanned, so that the gates see their current text.
    let scopes = |state: &dyn Snapshot| -> Result<Vec<ScanScope>, Failure> {
        let mut scopes = Vec::with_capacity(step.plans.len());
        for plan in &step.plans {
            scopes.push(scan_scope_of(state, &plan.place)?);
        }
        for (_, place) in &step.outputs {
            let node = find_recorded(state, place)?.node;
            scopes.push(node.map_or(ScanScope::Everything, |node| ScanScope::Lineage(node.id)));
        }
        // So are the ticket and its scenarios, where the gates look at the work.
        if step.is_work()
            && let Some(ticket) = find_session_ticket(ctx, state)?
        {
            scopes.push(ScanScope::Lineage(ticket.id));
        }
        Ok(scopes)
    };
    decide_and_commit(ctx, event, surroundings, scopes, |gathered| {
        let mut decision = decide_step(ctx, event, surroundings, &step, gathered)?;
        delegation.remember_in(event, &mut decision);
        Ok(decision)
    })
}

fn decide_step(
    ctx: &Context<'_>,
    event: &HostEvent,
    surroundings: &EventContext<'_>,
    step: &NextStep<'_>,
    gathered: Gathered<'_>,
) -> Result<Decision, Failure> {
    refuse_unreliable_state(gathered.notices, &step.plans)?;
    let EvaluatedStep {
        verdict,
        mut session,
        plans,
        outputs,
    } = evaluate_step(ctx, gathered.state, gathered.session, step)?;
    if !verdict.blocks.is_empty() {
        // An agent that tries again has read why, and pays for every word once more.
        let causes: Vec<String> = verdict.blocks.iter().map(FiredGate::cause_key).collect();
        let known: Vec<String> = causes
            .into_iter()
            .filter(|cause| session.conversation.count_fired_gate(cause))
            .collect();
        return Ok(Decision {
            outcome: EventOutcome::from_known_block(verdict, &|fired| {
                known.contains(&fired.cause_key())
            }),
            session,
            may_be_lost: true,
            ..Decision::default()
        });
    }
    let mut told: Vec<String> = Vec::from_iter(gates::render_handovers(&verdict.handovers));
    // A session without a cursor gets it at an event that writes anyway.
    if event.host.accepts_context_before_tools() && session.told_operation.is_some() {
        let own = OwnOperations::Deferred(gathered.notices);
        let news = take_operation_news(
            ctx,
            gathered.state,
            event,
            &mut session,
            own,
            NewsScope::IfUrgent,
        )?;
        told.extend(news);
    }
    let conversation = &mut session.conversation;
    if !verdict.warnings.is_empty() {
        let text = gates::render_objections(&verdict.warnings);
        // About files, a warning is given once, not before every edit: repeated text costs the agent
        // context.
        if !step.plans.is_empty() || conversation.remember_if_new(&text) {
            told.push(text);
        }
    }
    // Other hosts drop context that comes before a tool; they get it after the call.
    if event.host.accepts_context_before_tools() {
        let children = step.plans.iter().zip(&plans);
        let parents = children.filter_map(|(plan, one)| Some((&plan.place, one.parent.as_ref()?)));
        // A text is written from its plan.
        let written = step.outputs.iter().zip(&outputs);
        let written = written.filter_map(|((_, place), node)| Some((place, node.as_ref()?)));
        told.extend(give_parent_plans(
            ctx,
            gathered.state,
            conversation,
            event.agent.as_deref(),
            parents.chain(written),
        )?);
        told.extend(overlaps::describe_overlaps(
            ctx,
            gathered.state,
            conversation,
            surroundings,
        )?);
    }
    let FittedMessages { told, left } = fit_messages(event.host, told, None);
    conversation.untold.extend(left);
    Ok(Decision {
        outcome: EventOutcome {
            warned: [verdict.warnings, verdict.handovers].concat(),
            ..EventOutcome::from_messages(&told)
        },
        session,
        used: verdict.overridden,
        may_be_lost: true,
        ..Decision::default()
    })
}

/// Fails closed where a plan cannot be read: a gate would decide on the plan as it was before.
fn refuse_unreliable_state(notices: &[Notice], plans: &[&TouchedPlan<'_>]) -> Result<(), Failure> {
    for noticed in notices {
        if let Notice::Unavailable { path, why } = noticed
            // The recorded text may not be the one that would be overwritten.
            && plans.iter().any(|plan| plan.file == *path)
        {
            let why = format!("`{path}` cannot be read now: {why}");
            return Err(Failure::new(FailureKind::Unavailable, why));
        }
    }
    Ok(())
}

/// Returns the parents' plans that the session has not been given yet, each once.
fn give_parent_plans<'p>(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    conversation: &mut Conversation,
    agent: Option<&str>,
    parents: impl Iterator<Item = (&'p PlanPlace<'p>, &'p Node)>,
) -> Result<Vec<String>, Failure> {
    let (mut seen, mut texts): (Vec<NodeId>, Vec<String>) = (Vec::new(), Vec::new());
    for (child, parent) in parents {
        if !seen.contains(&parent.id) {
            seen.push(parent.id);
            texts.extend(plan_messages::give_parent_plan(
                ctx,
                state,
                conversation,
                agent,
                parent,
                child,
            )?);
        }
    }
    Ok(texts)
}
