//! Handles a submitted prompt: typed commands that hooks act on, and notices since the last prompt.

use domain::approval::Force;
use domain::gates::{FiredGate, Objection};
use domain::host_event::{HostEvent, Reply};
use domain::ids::Digest32;
use domain::policy::GateMode;
use domain::typed_command::{TypedCommand, parse_typed_command};

use super::{EventContext, EventOutcome, plan_messages, session_events, work_gates};
use crate::approve::{ApproveRequest, approve_node};
use crate::brief::compose_briefing;
use crate::context::Context;
use crate::failure::Failure;
use crate::observe::observe_then_read;
use crate::plan_node::{PlanRequest, plan_node};
use crate::scan::ScanScope;

/// Acts on a typed command, and reports changes made outside the session.
pub(super) fn handle_prompt(
    ctx: &Context<'_>,
    event: &HostEvent,
    prompt: &str,
    surroundings: &EventContext<'_>,
) -> Result<EventOutcome, Failure> {
    drop(observe_then_read(ctx, ScanScope::Everything)?);
    work_gates::start_turn(ctx)?;
    // A subagent's prompt is written by the main agent; honouring `/approve-plan` there would let
    // an agent approve its own plan.
    let command = parse_typed_command(prompt).filter(|_| event.agent.is_none());
    let mut handled = match command {
        Some(TypedCommand::Approve { node }) => approve_for_person(ctx, node, surroundings)?,
        Some(TypedCommand::Plan { level, id }) if knows_level(ctx, &level) => {
            plan_for_person(ctx, event, level, id)?
        }
        Some(TypedCommand::Plan { .. }) | None => EventOutcome::default(),
    };
    let noticed: Vec<String> = ctx
        .take_short_notices()
        .iter()
        .filter_map(plan_messages::render_notice)
        .collect();
    if handled.reply.block.is_some() {
        // A blocked prompt does not reach the model, so its notices wait for the next one.
        if !noticed.is_empty() {
            session_events::update_memory(ctx, event, |memory| memory.untold.extend(noticed))?;
        }
        return Ok(handled);
    }
    let memory = session_events::load_memory(&*ctx.store.begin_read()?, event)?;
    // Some hosts send one prompt twice. The digest covers prompt and answer, so that a second
    // approval of another node is still answered.
    let answered = handled
        .reply
        .context
        .as_ref()
        .map(|answer| Digest32::of_bytes(format!("{prompt}\n{answer}").as_bytes()));
    if answered.is_some() && answered == memory.answered {
        handled.reply = Reply::default();
    }
    let mut told: Vec<String> = surroundings.faults.map(str::to_owned).into_iter().collect();
    told.extend(memory.untold.iter().cloned().chain(noticed));
    told.extend(handled.reply.context.take());
    if memory.owed_a_briefing {
        told.push(compose_briefing(ctx, None)?);
    }
    if told.is_empty() && !memory.briefed_this_turn && memory.answered == answered {
        return Ok(handled);
    }
    let text = told.join("\n\n");
    let mut is_news = false;
    let (owed, untold) = (memory.owed_a_briefing, memory.untold);
    session_events::update_memory(ctx, event, |memory| {
        // Clears only what this reply contains: a parallel call may have added notices since the
        // memory was read outside the transaction.
        memory.owed_a_briefing &= !owed;
        memory.untold.retain(|line| !untold.contains(line));
        memory.briefed_this_turn = false;
        memory.answered = answered;
        is_news = !text.is_empty() && memory.remember_if_new(&text);
    })?;
    handled.faults_told = is_news && surroundings.faults.is_some();
    handled.reply.context = is_news.then_some(text);
    Ok(handled)
}

fn knows_level(ctx: &Context<'_>, name: &str) -> bool {
    ctx.profiles
        .iter()
        .any(|profile| profile.find_level(name).is_some())
}

/// Approves a plan on a person's typed command.
fn approve_for_person(
    ctx: &Context<'_>,
    node: Vec<String>,
    surroundings: &EventContext<'_>,
) -> Result<EventOutcome, Failure> {
    // The hook runs as the agent, and under policy `human` only a person's approval counts.
    let as_person = Context::new(
        ctx.store,
        ctx.files,
        ctx.clock,
        ctx.profiles,
        ctx.policy,
        surroundings.person.clone(),
        ctx.channel,
    )
    .with_git_and_session(ctx.git, ctx.session.clone());
    match approve_node(
        &as_person,
        &ApproveRequest {
            node,
            force: Force::No,
            shown: None,
        },
    ) {
        Ok(outcome) => {
            // The same text whether it was approved now or before: a host that sends the prompt
            // twice must not see two different answers.
            let text = format!(
                "Throughline: `{}` is approved (typed by {}).",
                outcome.path, surroundings.person
            );
            let warnings: String = outcome
                .warnings
                .iter()
                .map(|warning| format!("\n- {warning}"))
                .collect();
            let mut handled = EventOutcome::with_context(Some(format!("{text}{warnings}")));
            handled.reply.notice = Some(text);
            Ok(handled)
        }
        Err(failure) if failure.is_rejection() => Ok(block_with_failure("approve", &failure)),
        Err(failure) => Err(failure),
    }
}

/// Returns the planning prompt of a node with the parent's plan, or the reason for a refusal.
fn plan_for_person(
    ctx: &Context<'_>,
    event: &HostEvent,
    level: String,
    id: String,
) -> Result<EventOutcome, Failure> {
    match plan_node(
        ctx,
        &PlanRequest {
            kind: level,
            id,
            under: None,
        },
    ) {
        Ok(outcome) => {
            // The prompt contains the parent's plan, which need not be given again before the first
            // write.
            session_events::update_memory(ctx, event, |memory| {
                memory.given.extend(outcome.parent)
            })?;
            Ok(EventOutcome::with_context(Some(outcome.prompt)))
        }
        Err(failure) if failure.is_rejection() => match ctx.policy.gates.hierarchy {
            GateMode::Block => Ok(block_with_failure("plan", &failure)),
            GateMode::Warn | GateMode::Off => Ok(EventOutcome::with_context(Some(failure.message))),
        },
        Err(failure) => Err(failure),
    }
}

fn block_with_failure(what: &str, failure: &Failure) -> EventOutcome {
    let objection = Objection::new(failure.message.clone(), failure.next_steps.clone());
    let fired = vec![FiredGate {
        gate: "hierarchy",
        plan: what.to_owned(),
        objection,
    }];
    let block = Some(domain::gates::render_objections(&fired));
    EventOutcome {
        reply: Reply {
            block,
            ..Reply::default()
        },
        blocked: fired,
        ..EventOutcome::default()
    }
}
