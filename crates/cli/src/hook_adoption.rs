//! Hook replies in a clone that this user has not adopted.
//!
//! Approvals that came with a clone do not count until a person adopts it. A foreign state cannot be
//! used at all; decision files of others are left out, and the gates are evaluated without them.

use application::handle_host_event::{EventOutcome, TouchedPlan};
use domain::gates::{FiredGate, Objection};
use domain::host_event::{Happening, HostEvent, Reply};
use domain::policy::{GateMode, Policy};
use domain::text::count_with_noun;
use domain::typed_command;

use crate::hook_ledger::LedgerFile;

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
    policy: &Policy,
    ledger: &LedgerFile,
) -> EventOutcome {
    let why = "the state of this project came from elsewhere (a clone, a copy) and was not adopted by this user: its \
                         approvals do not count yet, and its gates cannot be evaluated";
    let steps = vec![
        "ask the person to run `tl state adopt`   # takes over its approvals".to_owned(),
        "or to run `tl state rebuild`   # starts from the plan files, everything a draft"
            .to_owned(),
    ];
    let fired = |plan: String| {
        vec![FiredGate {
            gate: ADOPT_GATE,
            subject: plan,
            objection: Objection::new(why.to_owned(), steps.clone()),
        }]
    };
    let refused = match &event.happening {
        Happening::ToolAboutToRun(_) => {
            find_written_plan(plans).filter(|_| blocks_somewhere(policy))
        }
        // We carry out typed commands ourselves, on the state that cannot be used, whatever the
        // gates are set to.
        Happening::PromptSubmitted { prompt } => {
            typed_command::parse_typed_command(prompt).map(|_| "typed command".to_owned())
        }
        _ => None,
    };
    if let Some(plan) = refused {
        let blocked = fired(plan);
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
    // The ledger is the memory here: session memory is in the state that must not be used.
    let was_told = || {
        ledger
            .read_latest_lines()
            .iter()
            .any(|line| line.session == event.session && line.gate.as_deref() == Some(ADOPT_GATE))
    };
    let is_prompt = matches!(event.happening, Happening::PromptSubmitted { .. });
    let is_reminder = !starts && was_told();
    if is_reminder && !is_prompt {
        return EventOutcome::default();
    }
    let warned = fired(String::new());
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

/// Refuses a write to a plan in a clone whose decision files are not adopted: the approvals it would
/// rest on do not count yet.
pub(crate) fn refuse_unadopted_write(
    event: &HostEvent,
    plans: &[TouchedPlan<'_>],
    policy: &Policy,
) -> Option<EventOutcome> {
    // After a call there is nothing left to refuse.
    let Happening::ToolAboutToRun(_) = &event.happening else {
        return None;
    };
    let subject = find_written_plan(plans).filter(|_| blocks_somewhere(policy))?;
    let why = "this clone is not adopted by this user: decisions of others (approvals, for example) do not count \
               here yet, so its plans are not to be written";
    let step = "ask the person to run `tl state adopt` in their own terminal".to_owned();
    let blocked = vec![FiredGate {
        gate: ADOPT_GATE,
        subject,
        objection: Objection::new(why.to_owned(), vec![step]),
    }];
    Some(EventOutcome {
        reply: Reply {
            block: Some(domain::gates::render_objections(&blocked)),
            ..Reply::default()
        },
        blocked,
        ..EventOutcome::default()
    })
}

/// Returns the first plan that a call writes.
fn find_written_plan(plans: &[TouchedPlan<'_>]) -> Option<String> {
    plans
        .iter()
        .find(|plan| plan.effect.modifies_file())
        .map(|plan| plan.place.path_alias())
}

/// Whether a gate blocks. Otherwise the project only wants warnings, and a clone is no reason to be
/// stricter.
fn blocks_somewhere(policy: &Policy) -> bool {
    let gates = &policy.gates;
    [gates.hierarchy, gates.read_before_write, gates.shrink].contains(&GateMode::Block)
}

/// Adds a notice about decisions of others that do not count, at the start of a session and at every
/// prompt.
pub(crate) fn add_adoption_notice(
    mut handled: EventOutcome,
    event: &HostEvent,
    unadopted_decisions: usize,
) -> EventOutcome {
    let starts = matches!(event.happening, Happening::SessionStarted { .. });
    let is_prompt = matches!(event.happening, Happening::PromptSubmitted { .. });
    if unadopted_decisions == 0 || !(starts || is_prompt) {
        return handled;
    }
    let notice = format!(
        "Throughline: this clone is not adopted yet, so {} of others (approvals, for example) do not count here. \
         Ask the person to run `tl state adopt` in their own terminal.",
        count_with_noun(unadopted_decisions, "decision", "decisions"),
    );
    let reply = &mut handled.reply;
    // At a start it comes last: a host that compacts is recognised by the first words of the briefing.
    reply.context = Some(match reply.context.take() {
        Some(context) => format!("{context}\n{notice}"),
        None => notice.clone(),
    });
    if starts {
        reply.notice.get_or_insert(notice);
    }
    handled
}
