//! OpenCode: what our plugin sends for each of its hooks, and what the plugin does with the answer.
//!
//! The plugin wraps a hook's own `input` and `output`. Where it knows that the session was started by another
//! one, it adds `parentID`: OpenCode itself does not say in a hook that it is a subagent's.

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
        // The first hook that can tell the model anything; it comes before every request.
        SYSTEM if is_helper(&output) => return None,
        SYSTEM => Happening::SessionStarted {
            source: StartSource::Startup,
        },
        "experimental.session.compacting" => Happening::Compacting,
        "event:session.compacted" => Happening::Compacted,
        "event:session.idle" if parent.is_some() => Happening::SubagentStopping,
        "event:session.idle" => Happening::Stopping { again: false },
        "event:session.deleted" | "dispose" => Happening::SessionEnded,
        // Also `event:session.created`: nothing can be said there.
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

/// A server's tool gives its raw result, the shell its exit code.
fn failed(output: &Fields<'_>) -> bool {
    output.flag("isError")
        || output
            .inner("metadata")
            .number("exit")
            .is_some_and(|code| code != 0.0)
}

/// What the person wrote; what OpenCode adds, such as files they mention, is marked as synthetic.
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

/// Says whether the request is OpenCode's own, for a title or a summary.
fn is_helper(output: &Fields<'_>) -> bool {
    let system = output.value(&["system"]);
    let text = system
        .get(0)
        .and_then(Value::as_str)
        .or_else(|| system.as_str())
        .unwrap_or_default();
    let start: String = text.trim_start().chars().take(200).collect();
    start.starts_with("You are a title generator") || start.to_lowercase().contains("summar")
}

pub(super) fn render(event: &HostEvent, answer: &Answer) -> Option<Value> {
    // What is in the prompt need not be in the context too; OpenCode does not look at it then.
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
