//! GitHub Copilot CLI's events and answers.
//!
//! Its own payloads do not contain the event's name. Under Claude Code's event names it sends
//! Claude Code's shape.

use domain::host_event::{Happening, Host, HostEvent};
use serde_json::{Value, json};

use super::answer::{self, Answer, Verdict};
use super::fields::Fields;
use super::{claude_code, envelope, prompt, tools};

pub(super) fn read(name: &str, fields: &Fields<'_>) -> Option<HostEvent> {
    let call = || tools::call_of(Host::Copilot, fields);
    let happening = match name {
        "preToolUse" => Happening::ToolAboutToRun(call()),
        "postToolUse" => Happening::ToolFinished {
            call: call(),
            failed: failed(fields),
        },
        "postToolUseFailure" => Happening::ToolFinished {
            call: call(),
            failed: true,
        },
        "userPromptSubmitted" => Happening::PromptSubmitted {
            prompt: prompt::typed(fields.text(&["prompt"]).unwrap_or_default()),
        },
        "sessionStart" => Happening::SessionStarted {
            source: envelope::start_source(fields),
        },
        "preCompact" => Happening::Compacting,
        // Ending a subagent must not run the stop gates of the session.
        "agentStop" if fields.text(&["agentId"]).is_some() => Happening::SubagentStopping,
        "agentStop" => Happening::Stopping {
            again: fields.flag("stop_hook_active"),
        },
        "subagentStop" => Happening::SubagentStopping,
        "sessionEnd" => Happening::SessionEnded,
        name if is_claude_format(name) => return claude_code::read(Host::Copilot, name, fields),
        _ => return None,
    };
    Some(envelope::event(Host::Copilot, name, fields, happening))
}

fn is_claude_format(name: &str) -> bool {
    // Copilot itself tells the formats apart by the case of the event's name.
    name.starts_with(|first: char| first.is_ascii_uppercase())
}

fn failed(fields: &Fields<'_>) -> bool {
    fields
        .inner("toolResult")
        .text(&["resultType"])
        .is_some_and(|result| result != "success")
}

pub(super) fn render(event: &HostEvent, answer: &Answer) -> Option<Value> {
    match (&answer.verdict, &event.happening) {
        (Verdict::Block(reason), Happening::ToolAboutToRun(_)) if is_claude_format(&event.name) => {
            Some(answer::denial(&event.name, reason))
        }
        (Verdict::Block(reason), Happening::ToolAboutToRun(_)) => {
            Some(json!({ "permissionDecision": "deny", "permissionDecisionReason": reason }))
        }
        (Verdict::Block(reason), _) => Some(answer::decision("block", reason)),
        (Verdict::Nothing, _)
        | (Verdict::Context(_), Happening::Compacting | Happening::Compacted) => None,
        // Flat under Claude Code's names as well: Copilot accepts the nested denial, but ignores
        // nested
        // context.
        (Verdict::Context(context), _) => Some(json!({ "additionalContext": context })),
    }
}
