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
        "BeforeAgent" => read_prompt(fields),
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

/// Reads the prompt as it was typed: headless, what other hooks said at the start of the session comes
/// before it.
fn read_prompt(fields: &Fields<'_>) -> Happening {
    let prompt = fields.first_text(&["prompt"]).unwrap_or_default();
    let typed = prompt
        .strip_prefix("<hook_context>")
        .and_then(|rest| rest.split_once("</hook_context>"))
        .map_or(prompt.as_str(), |(_, typed)| typed.trim_start());
    Happening::PromptSubmitted {
        prompt: prompt::restore_typed_prompt(typed.to_owned()),
    }
}

pub(super) fn render_answer(event: &HostEvent, answer: &HostAnswer) -> Option<Value> {
    let said = match (&answer.verdict, &event.happening) {
        (AnswerVerdict::Block(reason), _) => Some(answer::decision_json("deny", reason)),
        // `BeforeTool` has no field for context. That of `SessionStart` is put before the prompt, and
        // a slash command that does not come first is not expanded, neither ours nor the user's.
        (AnswerVerdict::Nothing, _)
        | (
            AnswerVerdict::Context(_),
            Happening::ToolAboutToRun(_) | Happening::SessionStarted { .. },
        ) => None,
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
