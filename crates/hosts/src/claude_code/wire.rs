//! Claude Code's events and answers. Codex sends the same shape, and so does Copilot when it runs
//! hooks from Claude Code's settings.

use domain::host_event::{Happening, Host, HostEvent};
use serde_json::{Value, json};

use crate::spec::ToolCallSample;
use crate::wire::answer::{self, AnswerVerdict, HostAnswer};
use crate::wire::fields::Fields;
use crate::wire::{envelope, prompt, tools};

pub(crate) fn read_event(host: Host, name: &str, fields: &Fields<'_>) -> Option<HostEvent> {
    let happening = match name {
        "PreToolUse" => tools::read_call_before(host, fields),
        "PostToolUse" => tools::read_call_after(host, fields, has_failed(fields)),
        "PostToolUseFailure" => tools::read_call_after(host, fields, true),
        "UserPromptSubmit" => prompt::read_submitted_prompt(fields),
        // A typed `/command` is reported here, with its name and arguments; no tool call announces
        // it.
        "UserPromptExpansion" => Happening::PromptSubmitted {
            prompt: read_typed_command(fields),
        },
        "SessionStart" => envelope::read_session_start(fields),
        "PreCompact" => Happening::Compacting,
        "PostCompact" => Happening::Compacted,
        // Copilot uses this name for the end of a subagent as well.
        "Stop" if fields.first_text(&["agent_id"]).is_some() => Happening::SubagentStopping,
        "Stop" => Happening::Stopping {
            again: fields.flag("stop_hook_active"),
        },
        // Compaction also fires this event, with an empty type, for an agent that was never
        // started.
        "SubagentStop"
            if fields.has("agent_type") && fields.first_text(&["agent_type"]).is_none() =>
        {
            return None;
        }
        "SubagentStart" => Happening::SubagentStarted,
        "SubagentStop" => Happening::SubagentStopping,
        "SessionEnd" => Happening::SessionEnded,
        _ => return None,
    };
    Some(envelope::build_event(host, name, fields, happening))
}

/// Whether the tool failed, in Copilot's form; Claude Code has a separate event for failures.
fn has_failed(fields: &Fields<'_>) -> bool {
    fields
        .inner_fields("tool_result")
        .first_text(&["result_type"])
        .is_some_and(|result| result != "success")
}

fn read_typed_command(fields: &Fields<'_>) -> String {
    let arguments = fields.first_text(&["command_args"]).unwrap_or_default();
    match fields.first_text(&["command_name"]) {
        Some(name) => format!("/{name} {arguments}").trim_end().to_owned(),
        None => fields.first_text(&["prompt"]).unwrap_or_default(),
    }
}

pub(super) fn render_answer(event: &HostEvent, answer: &HostAnswer) -> Option<Value> {
    answer::add_notice(
        render_without_notice(event, answer),
        answer.notice.as_deref(),
    )
}

/// Renders the answer without the notice, which Codex would reject as an unknown field.
pub(crate) fn render_without_notice(event: &HostEvent, answer: &HostAnswer) -> Option<Value> {
    match (&answer.verdict, &event.happening) {
        (AnswerVerdict::Nothing, _) => None,
        (AnswerVerdict::Block(reason), Happening::ToolAboutToRun(_)) => {
            Some(answer::denial_json(&event.name, reason))
        }
        (AnswerVerdict::Block(reason), _) => Some(answer::decision_json("block", reason)),
        // Context around a compaction is not passed on. The `SessionStart` with source `compact`,
        // which
        // follows it, carries the briefing.
        (AnswerVerdict::Context(_), Happening::Compacting | Happening::Compacted) => None,
        (AnswerVerdict::Context(context), _) => {
            Some(answer::nested_context_json(&event.name, context))
        }
    }
}

/// Renders the payload of a tool call.
pub(crate) fn render_sample(call: &ToolCallSample<'_>) -> Value {
    json!({
        "session_id": call.session, "transcript_path": "", "cwd": call.directory, "hook_event_name": "PreToolUse",
        "tool_name": call.tool, "tool_input": call.input, "tool_use_id": call.session,
    })
}
