//! OpenCode's events and answers, as our plugin sends and applies them.
//!
//! The plugin wraps the `input` and `output` of a hook. It adds `parentID` where it knows that the
//! session was started by another one: OpenCode's hooks do not tell that they run in a subagent.

use domain::host_event::{Happening, Host, HostEvent, StartSource, ToolCall};
use serde_json::{Value, json};

use crate::spec::ToolCallSample;
use crate::wire::answer::{AnswerVerdict, HostAnswer};
use crate::wire::fields::Fields;
use crate::wire::{prompt, tools};

const SYSTEM_TRANSFORM_HOOK: &str = "experimental.chat.system.transform";

pub(super) fn read_event(name: &str, fields: &Fields<'_>) -> Option<HostEvent> {
    let (input, output) = (fields.inner_fields("input"), fields.inner_fields("output"));
    let parent = fields.first_text(&["parentID"]);
    let happening = match name {
        "tool.execute.before" => Happening::ToolAboutToRun(read_tool_call(&input, &output)),
        "tool.execute.after" => Happening::ToolFinished {
            call: read_tool_call(&input, &output),
            failed: has_failed(&output),
        },
        "chat.message" => Happening::PromptSubmitted {
            prompt: prompt::restore_typed_prompt(read_message(&output)),
        },
        "command.execute.before" => Happening::PromptSubmitted {
            prompt: read_command(&input),
        },
        // The first hook that can reach the model (`session.created` has no output). It fires
        // before
        // every request, also for OpenCode's own helpers.
        SYSTEM_TRANSFORM_HOOK if is_helper_request(&output) => return None,
        SYSTEM_TRANSFORM_HOOK if parent.is_some() => Happening::SubagentStarted,
        SYSTEM_TRANSFORM_HOOK => Happening::SessionStarted {
            source: StartSource::Startup,
        },
        "experimental.session.compacting" => Happening::Compacting,
        "event:session.compacted" => Happening::Compacted,
        "event:session.idle" if parent.is_some() => Happening::SubagentStopping,
        // A follow-up is a new prompt, so OpenCode never reports a repeated stop; the stop gates
        // count
        // by themselves.
        "event:session.idle" => Happening::Stopping { again: false },
        "event:session.deleted" | "dispose" => Happening::SessionEnded,
        // Including `event:session.created`, which has no output to put an answer into.
        _ => return None,
    };
    let own = read_session_id(&input);
    let (session, agent) = match parent {
        Some(parent) => (parent, own),
        None => (own.unwrap_or_default(), None),
    };
    Some(HostEvent {
        host: Host::OpenCode,
        name: name.to_owned(),
        session,
        turn: input.first_text(&["messageID"]),
        agent,
        directory: fields.first_text(&["directory"]),
        happening,
    })
}

fn read_session_id(input: &Fields<'_>) -> Option<String> {
    let properties = input.inner_fields("properties");
    input
        .first_text(&["sessionID"])
        .or_else(|| properties.first_text(&["sessionID"]))
        .or_else(|| properties.inner_fields("info").first_text(&["id"]))
}

fn read_tool_call(input: &Fields<'_>, output: &Fields<'_>) -> ToolCall {
    // Before a call they are in `output`, where plugins may edit them; after it in `input`.
    let arguments = if output.has("args") {
        output.first_value(&["args"])
    } else {
        input.first_value(&["args"])
    };
    tools::classify_call(tools::DescribedCall {
        host: Host::OpenCode,
        id: input.first_text(&["callID"]),
        name: input.first_text(&["tool"]).unwrap_or_default(),
        input: arguments,
        server_tool: None,
    })
}

/// Whether the tool failed. MCP tools have the flag of the raw result, the shell its exit code.
fn has_failed(output: &Fields<'_>) -> bool {
    output.flag("isError")
        || output
            .inner_fields("metadata")
            .number("exit")
            .is_some_and(|code| code != 0.0)
}

/// Returns what the person wrote, without the synthetic parts OpenCode adds, such as mentioned
/// files.
fn read_message(output: &Fields<'_>) -> String {
    let parts = output.first_value(&["parts"]);
    let parts = parts.as_array().into_iter().flatten();
    let written = parts.filter(|part| part["type"] == "text" && part["synthetic"] != true);
    written
        .filter_map(|part| part["text"].as_str())
        .collect::<Vec<_>>()
        .join("\n")
}

fn read_command(input: &Fields<'_>) -> String {
    let arguments = input.first_text(&["arguments"]).unwrap_or_default();
    format!(
        "/{} {arguments}",
        input.first_text(&["command"]).unwrap_or_default()
    )
    .trim_end()
    .to_owned()
}

/// Whether the request is OpenCode's own, for a title or a summary.
fn is_helper_request(output: &Fields<'_>) -> bool {
    let system = output.first_value(&["system"]);
    let text = system
        .get(0)
        .and_then(Value::as_str)
        .or_else(|| system.as_str())
        .unwrap_or_default();
    // Known by the opening words of its system prompt, since the hook does not name the agent. The
    // rest is not searched: a project's rules may well contain the word.
    let start: String = text.trim_start().chars().take(200).collect();
    start.starts_with("You are a title generator") || start.to_lowercase().contains("summar")
}

pub(super) fn render_answer(event: &HostEvent, answer: &HostAnswer) -> Option<Value> {
    // OpenCode ignores the context once the prompt is replaced, and the prompt contains it.
    if let (Some(prompt), Happening::Compacting) = (&answer.compaction_prompt, &event.happening) {
        return Some(json!({ "prompt": prompt }));
    }
    match (&answer.verdict, event.name.as_str()) {
        (
            AnswerVerdict::Block(reason),
            "tool.execute.before" | "chat.message" | "command.execute.before",
        ) => Some(json!({ "deny": reason })),
        (AnswerVerdict::Block(reason), "event:session.idle") => Some(json!({ "followup": reason })),
        (AnswerVerdict::Context(context), "tool.execute.after") => {
            Some(json!({ "append": context }))
        }
        (AnswerVerdict::Context(context), "chat.message" | "command.execute.before") => {
            Some(json!({ "prompt_append": context }))
        }
        (AnswerVerdict::Context(context), SYSTEM_TRANSFORM_HOOK) => {
            Some(json!({ "system": context }))
        }
        (AnswerVerdict::Context(context), "experimental.session.compacting") => {
            Some(json!({ "context": [context] }))
        }
        (AnswerVerdict::Nothing | AnswerVerdict::Block(_) | AnswerVerdict::Context(_), _) => None,
    }
}

/// Renders the payload of a tool call.
pub(super) fn render_sample(call: &ToolCallSample<'_>) -> Value {
    json!({
        "hook_event_name": "tool.execute.before", "directory": call.directory, "worktree": call.directory,
        "input": { "tool": call.tool, "sessionID": call.session, "callID": call.session },
        "output": { "args": call.input },
    })
}
