//! Handles a submitted prompt: typed commands that hooks act on, and notices since the last prompt.

use domain::approval::Force;
use domain::gates::{Fired, Objection};
use domain::host_event::{HostEvent, Reply};
use domain::ids::Digest32;
use domain::policy::GateMode;
use domain::typed_command::{TypedCommand, read};

use super::{Handled, Surroundings, effects, session, work};
use crate::approve::{ApproveRequest, approve};
use crate::brief::brief;
use crate::context::Context;
use crate::failure::Failure;
use crate::observe::observed;
use crate::plan_node::{PlanRequest, plan_node};
use crate::survey::Scope;

/// Acts on a typed command, and reports changes made outside the session.
pub(super) fn handle(
    ctx: &Context<'_>,
    event: &HostEvent,
    prompt: &str,
    surroundings: &Surroundings<'_>,
) -> Result<Handled, Failure> {
    drop(observed(ctx, Scope::Everything)?);
    work::new_turn(ctx)?;
    // A subagent's prompt is written by the main agent; honouring `/approve-plan` there would let
    // an agent approve its own plan.
    let command = read(prompt).filter(|_| event.agent.is_none());
    let mut handled = match command {
        Some(TypedCommand::Approve { node }) => approved_by_person(ctx, node, surroundings)?,
        Some(TypedCommand::Plan { level, id }) if knows_level(ctx, &level) => {
            plan(ctx, event, level, id)?
        }
        Some(TypedCommand::Plan { .. }) | None => Handled::default(),
    };
    let noticed: Vec<String> = ctx
        .take_noticed_in_short()
        .iter()
        .filter_map(effects::in_words)
        .collect();
    if handled.reply.block.is_some() {
        // A blocked prompt does not reach the model, so its notices wait for the next one.
        if !noticed.is_empty() {
            session::change(ctx, event, |memory| memory.untold.extend(noticed))?;
        }
        return Ok(handled);
    }
    let memory = session::memory(&*ctx.store.read()?, event)?;
    // Some hosts send one prompt twice. The digest covers prompt and answer, so that a second
    // approval of another node is still answered.
    let answered = handled
        .reply
        .context
        .as_ref()
        .map(|answer| Digest32::of(format!("{prompt}\n{answer}").as_bytes()));
    if answered.is_some() && answered == memory.answered {
        handled.reply = Reply::default();
    }
    let mut told: Vec<String> = surroundings.faults.map(str::to_owned).into_iter().collect();
    told.extend(memory.untold.iter().cloned().chain(noticed));
    told.extend(handled.reply.context.take());
    if memory.owed_a_briefing {
        told.push(brief(ctx, None)?);
    }
    if told.is_empty() && !memory.briefed_this_turn && memory.answered == answered {
        return Ok(handled);
    }
    let text = told.join("\n\n");
    let mut is_news = false;
    let (owed, untold) = (memory.owed_a_briefing, memory.untold);
    session::change(ctx, event, |memory| {
        // Clears only what this reply contains: a parallel call may have added notices since the
        // memory was read outside the transaction.
        memory.owed_a_briefing &= !owed;
        memory.untold.retain(|line| !untold.contains(line));
        memory.briefed_this_turn = false;
        memory.answered = answered;
        is_news = !text.is_empty() && memory.is_news(&text);
    })?;
    handled.faults_told = is_news && surroundings.faults.is_some();
    handled.reply.context = is_news.then_some(text);
    Ok(handled)
}

fn knows_level(ctx: &Context<'_>, name: &str) -> bool {
    ctx.profiles
        .iter()
        .any(|profile| profile.level(name).is_some())
}

/// Approves a plan on a person's typed command.
fn approved_by_person(
    ctx: &Context<'_>,
    node: Vec<String>,
    surroundings: &Surroundings<'_>,
) -> Result<Handled, Failure> {
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
    .at_work(ctx.git, ctx.session.clone());
    match approve(
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
            let mut handled = Handled::saying(Some(format!("{text}{warnings}")));
            handled.reply.notice = Some(text);
            Ok(handled)
        }
        Err(failure) if failure.is_answer() => Ok(refused("approve", &failure)),
        Err(failure) => Err(failure),
    }
}

/// Returns the planning prompt of a node with the parent's plan, or the reason for a refusal.
fn plan(
    ctx: &Context<'_>,
    event: &HostEvent,
    level: String,
    id: String,
) -> Result<Handled, Failure> {
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
            session::change(ctx, event, |memory| memory.given.extend(outcome.parent))?;
            Ok(Handled::saying(Some(outcome.prompt)))
        }
        Err(failure) if failure.is_answer() => match ctx.policy.gates.hierarchy {
            GateMode::Block => Ok(refused("plan", &failure)),
            GateMode::Warn | GateMode::Off => Ok(Handled::saying(Some(failure.message))),
        },
        Err(failure) => Err(failure),
    }
}

fn refused(what: &str, failure: &Failure) -> Handled {
    let objection = Objection::new(failure.message.clone(), failure.next_steps.clone());
    let fired = vec![Fired {
        gate: "hierarchy",
        plan: what.to_owned(),
        objection,
    }];
    let block = Some(domain::gates::explain(&fired));
    Handled {
        reply: Reply {
            block,
            ..Reply::default()
        },
        blocked: fired,
        ..Handled::default()
    }
}
