//! OpenCode's events and answers, as our plugin sends and applies them.
//!
//! The plugin wraps the `input` and `output` of a hook. It adds `parentID` where it knows that the
//! session was started by another one: OpenCode's hooks do not tell that they run in a subagent.

use domain::host_event::{Happening, Host, HostEvent, StartSource, ToolCall};
use serde_json::{Value, json};

use super::answer::{Answer, Verdict};
use super::fields::Fields;
use super::{prompt, tools};

const SYSTEM: &str = "experimental.chat.system.transform";

pub(super) fn read(name: &str, fields: &Fields<'_>) -> Option<HostEvent> {
    let (input, output) = (fields.inner("input"), fields.inner("output"));
    let parent = fields.text(&["parentID"]);
    let happening = match name {
        "tool.execute.before" => Happening::ToolAboutToRun(call(&input, &output)),
        "tool.execute.after" => Happening::ToolFinished {
            call: call(&input, &output),
            failed: failed(&output),
        },
        "chat.message" => Happening::PromptSubmitted {
            prompt: prompt::typed(message(&output)),
        },
        "command.execute.before" => Happening::PromptSubmitted {
            prompt: command(&input),
        },
        // The first hook that can reach the model (`session.created` has no output). It fires
        // before
        // every request, also for OpenCode's own helpers.
        SYSTEM if is_helper(&output) => return None,
        SYSTEM => Happening::SessionStarted {
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
    let own = session(&input);
    let (session, agent) = match parent {
        Some(parent) => (parent, own),
        None => (own.unwrap_or_default(), None),
    };
    Some(HostEvent {
        host: Host::OpenCode,
        name: name.to_owned(),
        session,
        turn: input.text(&["messageID"]),
        agent,
        directory: fields.text(&["directory"]),
        happening,
    })
}

fn session(input: &Fields<'_>) -> Option<String> {
    let properties = input.inner("properties");
    input
        .text(&["sessionID"])
        .or_else(|| properties.text(&["sessionID"]))
        .or_else(|| properties.inner("info").text(&["id"]))
}

fn call(input: &Fields<'_>, output: &Fields<'_>) -> ToolCall {
    // Before a call they are in `output`, where plugins may edit them; after it in `input`.
    let arguments = if output.has("args") {
        output.value(&["args"])
    } else {
        input.value(&["args"])
    };
    tools::call(tools::Described {
        host: Host::OpenCode,
        id: input.text(&["callID"]),
        name: input.text(&["tool"]).unwrap_or_default(),
        input: arguments,
        server_tool: None,
    })
}

/// Whether the tool failed. MCP tools have the flag of the raw result, the shell its exit code.
fn failed(output: &Fields<'_>) -> bool {
    output.flag("isError")
        || output
            .inner("metadata")
            .number("exit")
            .is_some_and(|code| code != 0.0)
}

/// Returns what the person wrote, without the synthetic parts OpenCode adds, such as mentioned
/// files.
fn message(output: &Fields<'_>) -> String {
    let parts = output.value(&["parts"]);
    let parts = parts.as_array().into_iter().flatten();
    let written = parts.filter(|part| part["type"] == "text" && part["synthetic"] != true);
    written
        .filter_map(|part| part["text"].as_str())
        .collect::<Vec<_>>()
        .join("\n")
}

fn command(input: &Fields<'_>) -> String {
    let arguments = input.text(&["arguments"]).unwrap_or_default();
    format!(
        "/{} {arguments}",
        input.text(&["command"]).unwrap_or_default()
    )
    .trim_end()
    .to_owned()
}

/// Whether the request is OpenCode's own, for a title or a summary.
fn is_helper(output: &Fields<'_>) -> bool {
    let system = output.value(&["system"]);
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

pub(super) fn render(event: &HostEvent, answer: &Answer) -> Option<Value> {
    // OpenCode ignores the context once the prompt is replaced, and the prompt contains it.
    if let (Some(prompt), Happening::Compacting) = (&answer.compaction_prompt, &event.happening) {
        return Some(json!({ "prompt": prompt }));
    }
    match (&answer.verdict, event.name.as_str()) {
        (
            Verdict::Block(reason),
            "tool.execute.before" | "chat.message" | "command.execute.before",
        ) => Some(json!({ "deny": reason })),
        (Verdict::Block(reason), "event:session.idle") => Some(json!({ "followup": reason })),
        (Verdict::Context(context), "tool.execute.after") => Some(json!({ "append": context })),
        (Verdict::Context(context), "chat.message" | "command.execute.before") => {
            Some(json!({ "prompt_append": context }))
        }
        (Verdict::Context(context), SYSTEM) => Some(json!({ "system": context })),
        (Verdict::Context(context), "experimental.session.compacting") => {
            Some(json!({ "context": [context] }))
        }
        (Verdict::Nothing | Verdict::Block(_) | Verdict::Context(_), _) => None,
    }
}
