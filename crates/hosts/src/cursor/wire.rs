//! Cursor's events and answers.
//!
//! Written from its documentation and not driven by tests, because Cursor does not run without its
//! service.

use domain::host_event::{Happening, Host, HostEvent, ToolCall};
use serde_json::{Value, json};

use crate::spec::ToolCallSample;
use crate::wire::answer::{AnswerVerdict, HostAnswer};
use crate::wire::fields::Fields;
use crate::wire::{envelope, prompt, tools};

pub(super) fn read_event(name: &str, fields: &Fields<'_>) -> Option<HostEvent> {
    let finished = |call: ToolCall, failed: bool| Happening::ToolFinished { call, failed };
    let happening = match name {
        "preToolUse" => tools::read_call_before(Host::Cursor, fields),
        "postToolUse" => tools::read_call_after(Host::Cursor, fields, false),
        "postToolUseFailure" => tools::read_call_after(Host::Cursor, fields, true),
        // The same calls again, by kind. The installer subscribes to the ones above; these are for
        // settings written by hand.
        "beforeShellExecution" => {
            Happening::ToolAboutToRun(call_of_tool("Shell", &["command", "cwd"], fields))
        }
        "afterShellExecution" => {
            finished(call_of_tool("Shell", &["command", "cwd"], fields), false)
        }
        "beforeReadFile" => Happening::ToolAboutToRun(call_of_tool("Read", &["file_path"], fields)),
        "afterFileEdit" => finished(call_of_tool("Edit", &["file_path", "edits"], fields), false),
        "beforeMCPExecution" => Happening::ToolAboutToRun(call_of_server(fields)),
        "afterMCPExecution" => finished(call_of_server(fields), false),
        "beforeSubmitPrompt" => prompt::read_submitted_prompt(fields),
        "sessionStart" => envelope::read_session_start(fields),
        "preCompact" => Happening::Compacting,
        // A follow-up here would restart an agent that a person has just aborted.
        "stop"
            if fields
                .first_text(&["status"])
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
    Some(envelope::build_event(Host::Cursor, name, fields, happening))
}

/// Builds the call of an event about one tool, whose input is at the top level.
fn call_of_tool(tool: &str, inputs: &[&str], fields: &Fields<'_>) -> ToolCall {
    let input = inputs
        .iter()
        .map(|name| ((*name).to_owned(), fields.first_value(&[name])))
        .collect();
    describe_call(tool.to_owned(), Value::Object(input), None, fields)
}

fn call_of_server(fields: &Fields<'_>) -> ToolCall {
    let tool = fields.first_text(&["tool_name"]).unwrap_or_default();
    describe_call(
        format!("MCP:{tool}"),
        fields.first_value(&["tool_input"]),
        Some(tool),
        fields,
    )
}

fn describe_call(
    name: String,
    input: Value,
    server_tool: Option<String>,
    fields: &Fields<'_>,
) -> ToolCall {
    let id = fields.first_text(&["tool_use_id"]);
    tools::classify_call(tools::DescribedCall {
        host: Host::Cursor,
        id,
        name,
        input,
        server_tool,
    })
}

pub(super) fn render_answer(event: &HostEvent, answer: &HostAnswer) -> Option<Value> {
    let said = render_verdict(event, answer);
    // Commands that the agent starts inherit the session's id, so that `tl` acts in its name.
    if matches!(event.happening, Happening::SessionStarted { .. }) && !event.session.is_empty() {
        let mut said = said.unwrap_or_else(|| json!({}));
        said["env"] = json!({ "THROUGHLINE_SESSION": event.session });
        return Some(said);
    }
    said
}

fn render_verdict(event: &HostEvent, answer: &HostAnswer) -> Option<Value> {
    match (&answer.verdict, &event.happening) {
        (AnswerVerdict::Nothing, _) => None,
        (AnswerVerdict::Block(reason), Happening::PromptSubmitted { .. }) => {
            Some(json!({ "continue": false, "user_message": reason }))
        }
        (
            AnswerVerdict::Block(reason),
            Happening::Stopping { .. } | Happening::SubagentStopping,
        ) => Some(json!({ "followup_message": reason })),
        // In both fields: on a denial the model was observed to receive `user_message`.
        (AnswerVerdict::Block(reason), _) => {
            Some(json!({ "permission": "deny", "user_message": reason, "agent_message": reason }))
        }
        // Only these events have a field for context; elsewhere it is dropped.
        (AnswerVerdict::Context(context), _) => matches!(
            event.name.as_str(),
            "preToolUse" | "postToolUse" | "sessionStart"
        )
        .then(|| json!({ "additional_context": context })),
    }
}

/// Renders the payload of a tool call.
pub(super) fn render_sample(call: &ToolCallSample<'_>) -> Value {
    json!({
        "conversation_id": call.session, "generation_id": call.session, "session_id": call.session,
        "hook_event_name": "preToolUse", "workspace_roots": [call.directory],
        "tool_name": call.tool, "tool_input": call.input, "tool_use_id": call.session,
    })
}
