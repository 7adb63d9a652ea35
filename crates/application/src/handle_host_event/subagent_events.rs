//! The start of a subagent: it sees nothing of the conversation it works for.

use domain::host_event::HostEvent;
use domain::ports::{Snapshot, StoreFault};

use super::commit::{Decision, Gathered, decide_and_commit};
use super::{EventContext, EventOutcome};
use crate::brief::compose_briefing_on;
use crate::context::Context;
use crate::failure::Failure;
use crate::plan_node::{PlanOutcome, PlanRequest, plan_node};
use crate::scan::ScanScope;
use crate::session_state::load_event_state;

/// Gives a subagent its context: the planning prompt with the parent's plan if planning was handed
/// to it, or else the briefing.
pub(super) fn handle_subagent_start(
    ctx: &Context<'_>,
    event: &HostEvent,
    surroundings: &EventContext<'_>,
) -> Result<EventOutcome, Failure> {
    let before = load_event_state(&*ctx.store.begin_read()?, event)?;
    // Hosts do not say which call a subagent belongs to; they start in the order of the calls.
    let handed_over = before.conversation.handed_over.into_iter().next();
    let planned = match &handed_over {
        None => None,
        Some(plan) => match plan_node(ctx, &PlanRequest::from(plan)) {
            Err(failure) if !failure.is_rejection() => return Err(failure),
            outcome => Some(outcome),
        },
    };
    let scopes = |_: &dyn Snapshot| Ok(vec![ScanScope::NextPart]);
    decide_and_commit(ctx, event, surroundings, scopes, |gathered| {
        let Gathered {
            state, mut session, ..
        } = gathered;
        let conversation = &mut session.conversation;
        if let Some(plan) = &handed_over {
            let at = conversation.handed_over.iter().position(|one| one == plan);
            // Another subagent that started at the same time has taken it.
            let Some(at) = at else {
                return Err(StoreFault::Conflict.into());
            };
            conversation.handed_over.remove(at);
        }
        let text = match &planned {
            None => compose_briefing_on(ctx, state, None)?.0,
            Some(Err(failure)) => failure.message.clone(),
            Some(Ok(PlanOutcome { prompt, parent, .. })) => {
                if let (Some((node, version)), Some(_)) = (parent, &event.agent) {
                    conversation.remember_given(event.agent.as_deref(), *node, *version);
                }
                prompt.clone()
            }
        };
        Ok(Decision {
            outcome: EventOutcome::from_messages(&[text]),
            session,
            may_be_lost: true,
            ..Decision::default()
        })
    })
}
