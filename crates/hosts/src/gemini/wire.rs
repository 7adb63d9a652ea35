//! Gemini CLI's events and answers.

use domain::briefing::BRIEFING_OPENING;
use domain::host_event::{Happening, Host, HostEvent};
use serde_json::{Value, json};

use crate::spec::ToolCallSample;
use crate::wire::answer::{self, AnswerVerdict, HostAnswer};
use crate::wire::fields::Fields;
use crate::wire::{envelope, prompt, tools};

pub(super) fn read_event(name: &str, fields: &Fields<'_>) -> Option<HostEvent> {
    let happening = match name {
        "BeforeTool" => tools::read_call_before(Host::Gemini, fields),
        "AfterTool" => tools::read_call_after(
            Host::Gemini,
            fields,
            fields.inner_fields("tool_response").has("error"),
        ),
        "BeforeAgent" => prompt::read_submitted_prompt(fields),
        "AfterAgent" => Happening::Stopping {
            again: fields.flag("stop_hook_active"),
        },
        "SessionStart" => envelope::read_session_start(fields),
        "SessionEnd" => Happening::SessionEnded,
        // `PreCompress` fires before every request to the model, so it does not tell that anything
        // is
        // compacted. The request does: once the briefing is missing from it, the history was
        // compacted.
        "BeforeModel" if !fields.raw_json("llm_request")?.contains(BRIEFING_OPENING) => {
            Happening::Compacted
        }
        _ => return None,
    };
    Some(envelope::build_event(Host::Gemini, name, fields, happening))
}

pub(super) fn render_answer(event: &HostEvent, answer: &HostAnswer) -> Option<Value> {
    let said = match (&answer.verdict, &event.happening) {
        (AnswerVerdict::Block(reason), _) => Some(answer::decision_json("deny", reason)),
        // `BeforeTool` has no field for context.
        (AnswerVerdict::Nothing, _) | (AnswerVerdict::Context(_), Happening::ToolAboutToRun(_)) => {
            None
        }
        (AnswerVerdict::Context(context), _) => {
            Some(answer::nested_context_json(&event.name, context))
        }
    };
    answer::add_notice(said, answer.notice.as_deref())
}

/// Renders the payload of a tool call.
pub(super) fn render_sample(call: &ToolCallSample<'_>) -> Value {
    json!({
        "session_id": call.session, "transcript_path": "", "cwd": call.directory, "hook_event_name": "BeforeTool",
        "tool_name": call.tool, "tool_input": call.input,
    })
}
