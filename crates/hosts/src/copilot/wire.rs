//! GitHub Copilot CLI's events and answers.
//!
//! Its own payloads do not contain the event's name. Under Claude Code's event names it sends
//! Claude Code's shape.

use domain::host_event::{Happening, Host, HostEvent};
use serde_json::{Value, json};

use crate::claude_code;
use crate::spec::ToolCallSample;
use crate::wire::answer::{self, AnswerVerdict, HostAnswer};
use crate::wire::fields::Fields;
use crate::wire::{envelope, prompt, tools};

pub(super) fn read_event(name: &str, fields: &Fields<'_>) -> Option<HostEvent> {
    let happening = match name {
        "preToolUse" => tools::read_call_before(Host::Copilot, fields),
        "postToolUse" => tools::read_call_after(Host::Copilot, fields, has_failed(fields)),
        "postToolUseFailure" => tools::read_call_after(Host::Copilot, fields, true),
        "userPromptSubmitted" => prompt::read_submitted_prompt(fields),
        "sessionStart" => envelope::read_session_start(fields),
        "preCompact" => Happening::Compacting,
        // Ending a subagent must not run the stop gates of the session.
        "agentStop" if fields.first_text(&["agentId"]).is_some() => Happening::SubagentStopping,
        "agentStop" => Happening::Stopping {
            again: fields.flag("stop_hook_active"),
        },
        "subagentStart" => Happening::SubagentStarted,
        "subagentStop" => Happening::SubagentStopping,
        "sessionEnd" => Happening::SessionEnded,
        name if is_claude_format(name) => {
            return claude_code::wire::read_event(Host::Copilot, name, fields);
        }
        _ => return None,
    };
    Some(envelope::build_event(
        Host::Copilot,
        name,
        fields,
        happening,
    ))
}

fn is_claude_format(name: &str) -> bool {
    // Copilot itself tells the formats apart by the case of the event's name.
    name.starts_with(|first: char| first.is_ascii_uppercase())
}

fn has_failed(fields: &Fields<'_>) -> bool {
    fields
        .inner_fields("toolResult")
        .first_text(&["resultType"])
        .is_some_and(|result| result != "success")
}

pub(super) fn render_answer(event: &HostEvent, answer: &HostAnswer) -> Option<Value> {
    match (&answer.verdict, &event.happening) {
        (AnswerVerdict::Block(reason), Happening::ToolAboutToRun(_))
            if is_claude_format(&event.name) =>
        {
            Some(answer::denial_json(&event.name, reason))
        }
        (AnswerVerdict::Block(reason), Happening::ToolAboutToRun(_)) => {
            Some(json!({ "permissionDecision": "deny", "permissionDecisionReason": reason }))
        }
        (AnswerVerdict::Block(reason), _) => Some(answer::decision_json("block", reason)),
        (AnswerVerdict::Nothing, _)
        | (AnswerVerdict::Context(_), Happening::Compacting | Happening::Compacted) => None,
        // Flat under Claude Code's names as well: Copilot accepts the nested denial, but ignores
        // nested
        // context.
        (AnswerVerdict::Context(context), _) => Some(json!({ "additionalContext": context })),
    }
}

/// Renders the payload of a tool call.
pub(super) fn render_sample(call: &ToolCallSample<'_>) -> Value {
    json!({
        "sessionId": call.session, "timestamp": 0, "cwd": call.directory, "toolName": call.tool, "toolArgs": call.input,
    })
}
