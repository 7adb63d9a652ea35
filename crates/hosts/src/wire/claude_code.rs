//! Claude Code's events and answers. Codex sends the same shape, and so does Copilot when it runs
//! hooks from Claude Code's settings.

use domain::host_event::{Happening, Host, HostEvent};
use serde_json::Value;

use super::answer::{self, Answer, Verdict};
use super::fields::Fields;
use super::{envelope, prompt, tools};

pub(super) fn read(host: Host, name: &str, fields: &Fields<'_>) -> Option<HostEvent> {
    let happening = match name {
        "PreToolUse" => Happening::ToolAboutToRun(tools::call_of(host, fields)),
        "PostToolUse" => Happening::ToolFinished {
            call: tools::call_of(host, fields),
            failed: failed(fields),
        },
        "PostToolUseFailure" => Happening::ToolFinished {
            call: tools::call_of(host, fields),
            failed: true,
        },
        "UserPromptSubmit" => Happening::PromptSubmitted {
            prompt: prompt::typed(fields.text(&["prompt"]).unwrap_or_default()),
        },
        // A typed `/command` is reported here, with its name and arguments; no tool call announces
        // it.
        "UserPromptExpansion" => Happening::PromptSubmitted {
            prompt: typed_command(fields),
        },
        "SessionStart" => Happening::SessionStarted {
            source: envelope::start_source(fields),
        },
        "PreCompact" => Happening::Compacting,
        "PostCompact" => Happening::Compacted,
        // Copilot uses this name for the end of a subagent as well.
        "Stop" if fields.text(&["agent_id"]).is_some() => Happening::SubagentStopping,
        "Stop" => Happening::Stopping {
            again: fields.flag("stop_hook_active"),
        },
        // Compaction also fires this event, with an empty type, for an agent that was never
        // started.
        "SubagentStop" if fields.has("agent_type") && fields.text(&["agent_type"]).is_none() => {
            return None;
        }
        "SubagentStop" => Happening::SubagentStopping,
        "SessionEnd" => Happening::SessionEnded,
        _ => return None,
    };
    Some(envelope::event(host, name, fields, happening))
}

/// Whether the tool failed, in Copilot's form; Claude Code has a separate event for failures.
fn failed(fields: &Fields<'_>) -> bool {
    fields
        .inner("tool_result")
        .text(&["result_type"])
        .is_some_and(|result| result != "success")
}

fn typed_command(fields: &Fields<'_>) -> String {
    let arguments = fields.text(&["command_args"]).unwrap_or_default();
    match fields.text(&["command_name"]) {
        Some(name) => format!("/{name} {arguments}").trim_end().to_owned(),
        None => fields.text(&["prompt"]).unwrap_or_default(),
    }
}

pub(super) fn render(event: &HostEvent, answer: &Answer) -> Option<Value> {
    answer::with_notice(said(event, answer), answer.notice.as_deref())
}

/// Renders the answer without the notice, which Codex would reject as an unknown field.
pub(super) fn said(event: &HostEvent, answer: &Answer) -> Option<Value> {
    match (&answer.verdict, &event.happening) {
        (Verdict::Nothing, _) => None,
        (Verdict::Block(reason), Happening::ToolAboutToRun(_)) => {
            Some(answer::denial(&event.name, reason))
        }
        (Verdict::Block(reason), _) => Some(answer::decision("block", reason)),
        // Context around a compaction is not passed on. The `SessionStart` with source `compact`,
        // which
        // follows it, carries the briefing.
        (Verdict::Context(_), Happening::Compacting | Happening::Compacted) => None,
        (Verdict::Context(context), _) => Some(answer::nested_context(&event.name, context)),
    }
}
