//! Payloads as hosts sent them (Cursor's as documented), and short ways to read one.

use std::path::Path;

use domain::host_event::{Happening, Host, HostEvent, ToolCall};
use hosts::wire;
use serde_json::Value;

/// The folders of `tests/data`, and whose payloads they hold.
pub(crate) const FOLDERS: [(&str, Host); 7] = [
    ("claude-code", Host::ClaudeCode),
    ("codex", Host::Codex),
    ("copilot", Host::Copilot),
    ("copilot-claude-format", Host::Copilot),
    ("cursor", Host::Cursor),
    ("gemini", Host::Gemini),
    ("opencode", Host::OpenCode),
];

/// One file of `tests/data`: an event and its payloads.
pub(crate) struct Recorded {
    pub(crate) event: String,
    pub(crate) payloads: Vec<Value>,
}

/// Returns all events of a folder in the order of their names.
pub(crate) fn recorded(folder: &str) -> Vec<Recorded> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(folder);
    let mut events: Vec<Recorded> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            let event = path
                .file_stem()
                .unwrap()
                .to_str()
                .unwrap()
                .replace("event_", "event:");
            Recorded {
                event,
                payloads: serde_json::from_str(&text).unwrap(),
            }
        })
        .collect();
    events.sort_by(|a, b| a.event.cmp(&b.event));
    events
}

pub(crate) fn read(host: Host, event: &str, payload: &Value) -> Option<HostEvent> {
    wire::read_event(host, Some(event), payload.to_string().as_bytes()).unwrap()
}

/// Reads a call of a tool from a payload with Claude Code's fields.
pub(crate) fn call(host: Host, tool: &str, input: &Value) -> ToolCall {
    let (event, payload) = match host {
        Host::OpenCode => (
            "tool.execute.before",
            serde_json::json!({ "input": { "tool": tool }, "output": { "args": input } }),
        ),
        Host::Gemini => (
            "BeforeTool",
            serde_json::json!({ "tool_name": tool, "tool_input": input }),
        ),
        Host::Copilot => (
            "preToolUse",
            serde_json::json!({ "toolName": tool, "toolArgs": input }),
        ),
        Host::Cursor => (
            "preToolUse",
            serde_json::json!({ "tool_name": tool, "tool_input": input }),
        ),
        Host::ClaudeCode | Host::Codex => (
            "PreToolUse",
            serde_json::json!({ "tool_name": tool, "tool_input": input }),
        ),
    };
    match read(host, event, &payload).unwrap().happening {
        Happening::ToolAboutToRun(call) => call,
        other => panic!("{other:?}"),
    }
}

/// Compares with a snapshot in `tests/snapshots`.
macro_rules! assert_golden {
    ($name:expr, $text:expr) => {
        insta::with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false,
            omit_expression => true }, { insta::assert_snapshot!($name, $text) })
    };
}
pub(crate) use assert_golden;
