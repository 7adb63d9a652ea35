//! Cursor: its events and answers.

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
        // The same calls once more, by what they do. We ask for the ones above; these are for other settings.
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
        // A person who stops the agent wants it stopped.
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

/// The call of an event that is about one tool and has its input at the top.
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
    // What is started in this session knows which one it is.
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
        // The model has been seen to get the message that is meant for the person.
        (Verdict::Block(reason), _) => {
            Some(json!({ "permission": "deny", "user_message": reason, "agent_message": reason }))
        }
        (Verdict::Context(context), _) => matches!(
            event.name.as_str(),
            "preToolUse" | "postToolUse" | "sessionStart"
        )
        .then(|| json!({ "additional_context": context })),
    }
}
