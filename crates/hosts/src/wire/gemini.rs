//! Gemini CLI's events and answers.

use domain::briefing::OPENING;
use domain::host_event::{Happening, Host, HostEvent};
use serde_json::Value;

use super::answer::{self, Answer, Verdict};
use super::fields::Fields;
use super::{envelope, prompt, tools};

pub(super) fn read(name: &str, fields: &Fields<'_>) -> Option<HostEvent> {
    let happening = match name {
        "BeforeTool" => Happening::ToolAboutToRun(tools::call_of(Host::Gemini, fields)),
        "AfterTool" => Happening::ToolFinished {
            call: tools::call_of(Host::Gemini, fields),
            failed: fields.inner("tool_response").has("error"),
        },
        "BeforeAgent" => Happening::PromptSubmitted {
            prompt: prompt::typed(fields.text(&["prompt"]).unwrap_or_default()),
        },
        "AfterAgent" => Happening::Stopping {
            again: fields.flag("stop_hook_active"),
        },
        "SessionStart" => Happening::SessionStarted {
            source: envelope::start_source(fields),
        },
        "SessionEnd" => Happening::SessionEnded,
        // `PreCompress` fires before every request to the model, so it does not tell that anything
        // is
        // compacted. The request does: once the briefing is missing from it, the history was
        // compacted.
        "BeforeModel" if !fields.raw("llm_request")?.contains(OPENING) => Happening::Compacted,
        _ => return None,
    };
    Some(envelope::event(Host::Gemini, name, fields, happening))
}

pub(super) fn render(event: &HostEvent, answer: &Answer) -> Option<Value> {
    let said = match (&answer.verdict, &event.happening) {
        (Verdict::Block(reason), _) => Some(answer::decision("deny", reason)),
        // `BeforeTool` has no field for context.
        (Verdict::Nothing, _) | (Verdict::Context(_), Happening::ToolAboutToRun(_)) => None,
        (Verdict::Context(context), _) => Some(answer::nested_context(&event.name, context)),
    };
    answer::with_notice(said, answer.notice.as_deref())
}
