//! Gemini CLI's events and answers.

use domain::briefing::BRIEFING_OPENING;
use domain::host_event::{Happening, Host, HostEvent};
use serde_json::Value;

use super::answer::{self, AnswerVerdict, HostAnswer};
use super::fields::Fields;
use super::{envelope, prompt, tools};

pub(super) fn read_event(name: &str, fields: &Fields<'_>) -> Option<HostEvent> {
    let happening = match name {
        "BeforeTool" => Happening::ToolAboutToRun(tools::read_tool_call(Host::Gemini, fields)),
        "AfterTool" => Happening::ToolFinished {
            call: tools::read_tool_call(Host::Gemini, fields),
            failed: fields.inner_fields("tool_response").has("error"),
        },
        "BeforeAgent" => Happening::PromptSubmitted {
            prompt: prompt::restore_typed_prompt(
                fields.first_text(&["prompt"]).unwrap_or_default(),
            ),
        },
        "AfterAgent" => Happening::Stopping {
            again: fields.flag("stop_hook_active"),
        },
        "SessionStart" => Happening::SessionStarted {
            source: envelope::read_start_source(fields),
        },
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
