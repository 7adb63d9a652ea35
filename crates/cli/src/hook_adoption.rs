//! Hook replies in a clone that this user has not adopted.
//!
//! Approvals that came with a clone do not count until a person adopts it. A foreign state cannot be
//! used at all; decision files of others are left out, and the gates are evaluated without them.

use application::handle_host_event::{EventOutcome, TouchedPlan, evaluate_unadopted};
use domain::gates::{FiredGate, Unadopted, describe_unadopted_decisions};
use domain::host_event::{Happening, HostEvent, Reply};
use domain::policy::Policy;
use domain::profile::Profile;
use domain::typed_command;

use crate::hook_ledger::LedgerFile;
use crate::standing_problem::is_told_to_agent_at;

/// Name of the gate in the ledger.
const ADOPT_GATE: &str = "adopt";

/// Repeated at every prompt: the person may have joined the session after its start.
const REMINDER: &str = "Throughline: this project is not adopted yet, so its gates are off and its plans cannot be written. \
     Ask the person to run `tl state adopt` in their own terminal.";

/// Returns the reply for a state that came with a clone or a copy and is not adopted yet.
///
/// Its gates cannot be evaluated, so writes to plans are blocked. The notice comes at the start of a
/// session, as a reminder at every prompt, and once in a session that was not seen to start.
pub(crate) fn reply_for_unadopted(
    event: &HostEvent,
    plans: &[TouchedPlan<'_>],
    (profiles, policy): (&[Profile], &Policy),
    ledger: &LedgerFile,
) -> EventOutcome {
    let written: Vec<&TouchedPlan<'_>> = plans
        .iter()
        .filter(|plan| plan.effect.modifies_file())
        .collect();
    let evaluate = |plans: &[&TouchedPlan<'_>], is_typed_command: bool| {
        evaluate_unadopted(profiles, policy, Unadopted::State, plans, is_typed_command)
    };
    let refused = match &event.happening {
        Happening::ToolAboutToRun(_) => evaluate(&written, false).blocks,
        Happening::PromptSubmitted { prompt } => {
            let is_command = typed_command::parse_typed_command(prompt).is_some();
            let verdict = evaluate(&[], is_command);
            // Its state cannot be used, whatever the gates are set to.
            [verdict.blocks, verdict.warnings].concat()
        }
        _ => Vec::new(),
    };
    if !refused.is_empty() {
        let blocked = refused;
        let block = Some(domain::gates::render_objections(&blocked));
        return EventOutcome {
            reply: Reply {
                block,
                ..Reply::default()
            },
            blocked,
            ..EventOutcome::default()
        };
    }
    let starts = matches!(event.happening, Happening::SessionStarted { .. });
    let is_prompt = matches!(event.happening, Happening::PromptSubmitted { .. });
    // What does not reach the agent must not count as told.
    if is_prompt && !event.host.accepts_context_with_prompts() {
        return EventOutcome::default();
    }
    // The ledger is the memory here: session memory is in the state that must not be used.
    let was_told = || {
        ledger
            .read_latest_lines()
            .iter()
            .any(|line| line.session == event.session && line.gate.as_deref() == Some(ADOPT_GATE))
    };
    let is_reminder = !starts && was_told();
    if is_reminder && !is_told_to_agent_at(event, ledger) {
        return EventOutcome::default();
    }
    let warned = vec![FiredGate {
        gate: ADOPT_GATE,
        subject: String::new(),
        objection: Unadopted::State.objection(),
    }];
    let context = if is_reminder {
        REMINDER.to_owned()
    } else {
        domain::gates::render_objections(&warned)
    };
    EventOutcome {
        reply: Reply {
            context: Some(context),
            notice: starts.then(|| REMINDER.to_owned()),
            ..Reply::default()
        },
        warned,
        ..EventOutcome::default()
    }
}

/// Adds a notice about decisions of others that do not count: for the agent as every standing problem,
/// for the person at the start of a session.
pub(crate) fn add_adoption_notice(
    mut handled: EventOutcome,
    event: &HostEvent,
    unadopted_decisions: usize,
    ledger: &LedgerFile,
) -> EventOutcome {
    if unadopted_decisions == 0 || !is_told_to_agent_at(event, ledger) {
        return handled;
    }
    let notice = describe_unadopted_decisions(unadopted_decisions);
    let reply = &mut handled.reply;
    reply.context = Some(match reply.context.take() {
        // A briefing says it among its first lines.
        Some(context) if context.contains(&notice) => context,
        Some(context) => format!("{context}\n{notice}"),
        None => notice.clone(),
    });
    if matches!(event.happening, Happening::SessionStarted { .. }) {
        reply.notice.get_or_insert(notice);
    }
    handled
}
