//! Handles a submitted prompt: typed commands that hooks act on, and notices since the last prompt.

use domain::gates::{FiredGate, GateVerdict, Objection};
use domain::host_event::{HostEvent, Reply};
use domain::ids::{Digest32, NodeId, OperationId, VersionHash};
use domain::policy::GateMode;
use domain::ports::Snapshot;
use domain::typed_command::{TypedCommand, parse_typed_command};

use super::commit::{Decision, Gathered, try_decide_and_commit};
use super::fitting::{FittedMessages, fit_messages};
use super::named_ticket::{accept_for_person, offer_ticket};
use super::operation_news::{NewsScope, OwnOperations, noticed_operation, take_operation_news};
use super::tool_finished::shorten_repeated_news;
use super::typed_decision::decide_for_person;
use super::{EventContext, EventOutcome, plan_messages};
use crate::brief::compose_briefing_on;
use crate::build_state::{UnfinishedBuild, continue_build, needs_build};
use crate::context::Context;
use crate::coordination::load_focus_key;
use crate::failure::{Failure, FailureKind};
use crate::plan_node::{PlanRequest, plan_node};
use crate::scan::ScanScope;
use crate::uncommitted::count_overdue_lines;
use crate::work_guides::{GuidedStep, give_due_guide};

/// Acts on a typed command, and reports changes made outside the session.
///
/// A command is a use case of its own, with its own transaction; the event's is the one after it.
pub(super) fn handle_prompt(
    ctx: &Context<'_>,
    event: &HostEvent,
    prompt: &str,
    surroundings: &EventContext<'_>,
) -> Result<EventOutcome, Failure> {
    // A subagent's prompt is written by the main agent; honouring `/approve-plan` there would let
    // an agent approve its own plan.
    let command = parse_typed_command(prompt).filter(|_| event.agent.is_none());
    // A typed command would decide on plans that are not recorded yet.
    if command.is_some()
        && needs_build(ctx, &*ctx.store.begin_read()?)?
        && let Some(unfinished) = continue_build(ctx)?
    {
        return Ok(answer_unfinished(true, unfinished));
    }
    let answer = match command {
        Some(TypedCommand::Approve { node }) => decide_for_person(ctx, node, surroundings)?,
        Some(TypedCommand::Plan { level, id }) if knows_level(ctx, &level) => {
            plan_for_person(ctx, level, id, surroundings)?
        }
        Some(TypedCommand::AcceptTicket) => accept_for_person(ctx, surroundings.person)?
            .map(CommandAnswer::from)
            .unwrap_or_default(),
        Some(TypedCommand::Plan { .. }) | None => CommandAnswer::default(),
    };
    let scopes = |_: &dyn Snapshot| Ok(vec![ScanScope::NextPart]);
    let handled = try_decide_and_commit(ctx, event, surroundings, scopes, |gathered| {
        decide_prompt(ctx, event, prompt, surroundings, &answer, gathered)
    })?;
    Ok(handled.unwrap_or_else(|unfinished| answer_unfinished(false, unfinished)))
}

/// Answers a prompt while the state is being built; a typed command is refused.
fn answer_unfinished(is_command: bool, unfinished: UnfinishedBuild) -> EventOutcome {
    let text = format!("Throughline: {}.", unfinished.describe());
    match is_command {
        true => EventOutcome {
            reply: Reply {
                block: Some(text),
                ..Reply::default()
            },
            ..EventOutcome::default()
        },
        false => EventOutcome::from_messages(&[text]),
    }
}

/// What became of a typed command.
#[derive(Default)]
pub(super) struct CommandAnswer {
    pub(super) outcome: EventOutcome,
    /// The parent's plan in the answer, which need not be given again before the first write.
    pub(super) given: Option<(NodeId, VersionHash)>,
    /// The operation that carried it out.
    pub(super) operation: Option<OperationId>,
}

impl From<EventOutcome> for CommandAnswer {
    fn from(outcome: EventOutcome) -> Self {
        Self {
            outcome,
            ..Self::default()
        }
    }
}

fn decide_prompt(
    ctx: &Context<'_>,
    event: &HostEvent,
    prompt: &str,
    surroundings: &EventContext<'_>,
    answer: &CommandAnswer,
    gathered: Gathered<'_>,
) -> Result<Decision, Failure> {
    let mut session = gathered.session;
    // A new turn: the follow-up of the last one may be given again.
    session.work.followed_up = None;
    let own: Vec<OperationId> = gathered
        .notices
        .iter()
        .filter_map(noticed_operation)
        .chain(answer.operation)
        .collect();
    let own = OwnOperations::Told(&own);
    // A blocked prompt does not reach the model: news taken here would count as delivered.
    let (news, guide, lines) = match &answer.outcome.reply.block {
        Some(_) => (None, None, None),
        None => (
            take_operation_news(
                ctx,
                gathered.state,
                event,
                &mut session,
                own,
                NewsScope::All,
            )?,
            give_due_guide(ctx, gathered.state, &mut session, GuidedStep::Prompt)?,
            count_overdue_lines(ctx, gathered.state, &mut session.work)?,
        ),
    };
    let conversation = &mut session.conversation;
    // What was handed over to a subagent belongs to the turn before.
    conversation.handed_over.clear();
    conversation.given.extend(answer.given);
    let noticed = plan_messages::render_notices(gathered.notices);
    let has_noticed = !noticed.is_empty();
    let mut outcome = answer.outcome.clone();
    let mut summary = None;
    if outcome.reply.block.is_some() {
        // A blocked prompt does not reach the model, so its notices wait for the next one.
        conversation.untold.extend(noticed);
    } else {
        // Some hosts send one prompt twice. The digest covers prompt and answer, so that a second
        // approval of another node is still answered.
        let answered = outcome
            .reply
            .context
            .as_ref()
            .map(|answer| Digest32::of_bytes(format!("{prompt}\n{answer}").as_bytes()));
        if answered.is_some() && answered == conversation.answered {
            outcome.reply = Reply::default();
        }
        let faults = surroundings.faults.map(str::to_owned);
        let is_delivered = event.host.accepts_context_with_prompts();
        let mut told: Vec<String> = faults.filter(|_| is_delivered).into_iter().collect();
        told.append(&mut conversation.untold);
        told.extend(noticed);
        told.extend(news);
        let asked_for = outcome.reply.context.is_some().then_some(told.len());
        told.extend(outcome.reply.context.take());
        told.extend(guide);
        told.extend(lines);
        let is_subagent = event.agent.is_some();
        told.extend(offer_ticket(
            ctx,
            gathered.state,
            conversation,
            prompt,
            is_subagent,
        )?);
        // What is remembered of yesterday is old, for the person as well.
        let is_due = conversation.is_new_day(ctx.clock.now()) && event.agent.is_none();
        if is_delivered && (std::mem::take(&mut conversation.owed_a_briefing) || is_due) {
            let (text, stored) = compose_briefing_on(ctx, gathered.state, None)?;
            told.push(text);
            summary = Some(stored);
            conversation.briefed_at = Some(ctx.clock.now());
            // It may be the same as the last one, which was told a day ago.
            conversation.told = None;
        }
        conversation.briefed_this_turn = false;
        conversation.answered = answered;
        if is_delivered {
            let FittedMessages { told, left } = fit_messages(event.host, told, asked_for);
            conversation.untold = left;
            let text = told.join("\n\n");
            let is_new = !text.is_empty() && conversation.remember_if_new(&text);
            outcome.faults_told = is_new && surroundings.faults.is_some();
            outcome.reply.context = match is_new {
                true => Some(text),
                // Something changed again; a prompt that a host sends twice finds no change.
                false => has_noticed.then(|| shorten_repeated_news(&text)),
            };
        } else {
            conversation.untold = told;
        }
    }
    Ok(Decision {
        outcome,
        session,
        presence: Some(load_focus_key(ctx, gathered.state)?),
        summary,
        ..Decision::default()
    })
}

fn knows_level(ctx: &Context<'_>, name: &str) -> bool {
    ctx.profiles
        .iter()
        .any(|profile| profile.find_level(name).is_some())
}

/// Returns the planning prompt of a node with the parent's plan, or the reason for a refusal.
fn plan_for_person(
    ctx: &Context<'_>,
    level: String,
    id: String,
    surroundings: &EventContext<'_>,
) -> Result<CommandAnswer, Failure> {
    let request = PlanRequest {
        kind: level,
        id,
        under: None,
    };
    match plan_node(ctx, &request) {
        Ok(outcome) => Ok(CommandAnswer {
            outcome: EventOutcome::from_messages(&[outcome.prompt]),
            given: outcome.parent,
            operation: None,
        }),
        Err(failure) if failure.is_rejection() => match ctx.policy.gates.hierarchy {
            GateMode::Block => {
                // A blocked prompt is read by the person, whose next steps are other ones.
                let person = ctx.acting_as(surroundings.person.clone());
                let failure = plan_node(&person, &request).err().unwrap_or(failure);
                Ok(block_with_failure("plan", &failure).into())
            }
            GateMode::Warn | GateMode::Off => {
                Ok(EventOutcome::from_messages(&[failure.message]).into())
            }
        },
        Err(failure) => Err(failure),
    }
}

pub(super) fn block_with_failure(what: &str, failure: &Failure) -> EventOutcome {
    // No gate objects to a name that is not known.
    if failure.kind != FailureKind::Refused {
        let steps: String = failure
            .next_steps
            .iter()
            .map(|step| format!("\n  next: {step}"))
            .collect();
        let block = format!("Throughline cannot {what}: {}{steps}", failure.message);
        return EventOutcome {
            reply: Reply {
                block: Some(block),
                ..Reply::default()
            },
            ..EventOutcome::default()
        };
    }
    let objection = Objection::new(failure.message.clone(), failure.next_steps.clone());
    EventOutcome::from_block(GateVerdict {
        blocks: vec![FiredGate {
            gate: "hierarchy",
            subject: what.to_owned(),
            objection,
        }],
        ..GateVerdict::default()
    })
}
