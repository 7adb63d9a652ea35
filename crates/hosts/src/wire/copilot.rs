//! GitHub Copilot CLI's events and answers.
//!
//! Its own payloads do not contain the event's name. Under Claude Code's event names it sends
//! Claude Code's shape.

use domain::host_event::{Happening, Host, HostEvent};
use serde_json::{Value, json};

use super::answer::{self, AnswerVerdict, HostAnswer};
use super::fields::Fields;
use super::{claude_code, envelope, prompt, tools};

pub(super) fn read_event(name: &str, fields: &Fields<'_>) -> Option<HostEvent> {
    let call = || tools::read_tool_call(Host::Copilot, fields);
    let happening = match name {
        "preToolUse" => Happening::ToolAboutToRun(call()),
        "postToolUse" => Happening::ToolFinished {
            call: call(),
            failed: has_failed(fields),
        },
        "postToolUseFailure" => Happening::ToolFinished {
            call: call(),
            failed: true,
        },
        "userPromptSubmitted" => Happening::PromptSubmitted {
            prompt: prompt::restore_typed_prompt(
                fields.first_text(&["prompt"]).unwrap_or_default(),
            ),
        },
        "sessionStart" => Happening::SessionStarted {
            source: envelope::read_start_source(fields),
        },
        "preCompact" => Happening::Compacting,
        // Ending a subagent must not run the stop gates of the session.
        "agentStop" if fields.first_text(&["agentId"]).is_some() => Happening::SubagentStopping,
        "agentStop" => Happening::Stopping {
            again: fields.flag("stop_hook_active"),
        },
        "subagentStop" => Happening::SubagentStopping,
        "sessionEnd" => Happening::SessionEnded,
        name if is_claude_format(name) => {
            return claude_code::read_event(Host::Copilot, name, fields);
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
