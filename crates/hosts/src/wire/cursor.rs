//! Cursor's events and answers.
//!
//! Written from its documentation and not driven by tests, because Cursor does not run without its
//! service.

use domain::host_event::{Happening, Host, HostEvent, ToolCall};
use serde_json::{Value, json};

use super::answer::{Answer, Verdict};
use super::fields::Fields;
use super::{envelope, prompt, tools};

pub(super) fn read(name: &str, fields: &Fields<'_>) -> Option<HostEvent> {
    let finished = |call: ToolCall, failed: bool| Happening::ToolFinished { call, failed };
    let happening = match name {
        "preToolUse" => Happening::ToolAboutToRun(tools::call_of(Host::Cursor, fields)),
        "postToolUse" => finished(tools::call_of(Host::Cursor, fields), false),
        "postToolUseFailure" => finished(tools::call_of(Host::Cursor, fields), true),
        // The same calls again, by kind. The installer subscribes to the ones above; these are for
        // settings written by hand.
        "beforeShellExecution" => {
            Happening::ToolAboutToRun(named("Shell", &["command", "cwd"], fields))
        }
        "afterShellExecution" => finished(named("Shell", &["command", "cwd"], fields), false),
        "beforeReadFile" => Happening::ToolAboutToRun(named("Read", &["file_path"], fields)),
        "afterFileEdit" => finished(named("Edit", &["file_path", "edits"], fields), false),
        "beforeMCPExecution" => Happening::ToolAboutToRun(of_server(fields)),
        "afterMCPExecution" => finished(of_server(fields), false),
        "beforeSubmitPrompt" => Happening::PromptSubmitted {
            prompt: prompt::typed(fields.text(&["prompt"]).unwrap_or_default()),
        },
        "sessionStart" => Happening::SessionStarted {
            source: envelope::start_source(fields),
        },
        "preCompact" => Happening::Compacting,
        // A follow-up here would restart an agent that a person has just aborted.
        "stop"
            if fields
                .text(&["status"])
                .is_some_and(|status| status == "aborted") =>
        {
            return None;
        }
        "stop" => Happening::Stopping {
            again: fields.number("loop_count").is_some_and(|count| count > 0.0),
        },
        "subagentStop" => Happening::SubagentStopping,
        "sessionEnd" => Happening::SessionEnded,
        _ => return None,
    };
    Some(envelope::event(Host::Cursor, name, fields, happening))
}

/// Builds the call of an event about one tool, whose input is at the top level.
fn named(tool: &str, inputs: &[&str], fields: &Fields<'_>) -> ToolCall {
    let input = inputs
        .iter()
        .map(|name| ((*name).to_owned(), fields.value(&[name])))
        .collect();
    described(tool.to_owned(), Value::Object(input), None, fields)
}

fn of_server(fields: &Fields<'_>) -> ToolCall {
    let tool = fields.text(&["tool_name"]).unwrap_or_default();
    described(
        format!("MCP:{tool}"),
        fields.value(&["tool_input"]),
        Some(tool),
        fields,
    )
}

fn described(
    name: String,
    input: Value,
    server_tool: Option<String>,
    fields: &Fields<'_>,
) -> ToolCall {
    let id = fields.text(&["tool_use_id"]);
    tools::call(tools::Described {
        host: Host::Cursor,
        id,
        name,
        input,
        server_tool,
    })
}

pub(super) fn render(event: &HostEvent, answer: &Answer) -> Option<Value> {
    let said = said(event, answer);
    // Commands that the agent starts inherit the session's id, so that `tl` acts in its name.
    if matches!(event.happening, Happening::SessionStarted { .. }) && !event.session.is_empty() {
        let mut said = said.unwrap_or_else(|| json!({}));
        said["env"] = json!({ "THROUGHLINE_SESSION": event.session });
        return Some(said);
    }
    said
}

fn said(event: &HostEvent, answer: &Answer) -> Option<Value> {
    match (&answer.verdict, &event.happening) {
        (Verdict::Nothing, _) => None,
        (Verdict::Block(reason), Happening::PromptSubmitted { .. }) => {
            Some(json!({ "continue": false, "user_message": reason }))
        }
        (Verdict::Block(reason), Happening::Stopping { .. } | Happening::SubagentStopping) => {
            Some(json!({ "followup_message": reason }))
        }
        // In both fields: on a denial the model was observed to receive `user_message`.
        (Verdict::Block(reason), _) => {
            Some(json!({ "permission": "deny", "user_message": reason, "agent_message": reason }))
        }
        // Only these events have a field for context; elsewhere it is dropped.
        (Verdict::Context(context), _) => matches!(
            event.name.as_str(),
            "preToolUse" | "postToolUse" | "sessionStart"
        )
        .then(|| json!({ "additional_context": context })),
    }
}
