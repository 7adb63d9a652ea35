//! Scenarios of the edges: hooks of agent hosts, MCP calls, entries in hosts' settings.

use super::story::STORY;
use super::{Acknowledges, Repeats, Scenario};

/// An edit of an approved plan by an agent.
const EDITED: &str =
    "printf '# Act 1\\n\\n## Purpose\\nAnother.\\n' > acts/act-1/strategic-plan.md\n";

/// The same, noticed: the act has a version before.
const SEEN: &str = "printf '# Act 1\\n\\n## Purpose\\nAnother.\\n' > acts/act-1/strategic-plan.md\ntl approve act-1\n";

pub(super) fn scenarios() -> Vec<Scenario> {
    let s = Scenario::new;
    let mcp = |name: &'static str, tool: &str| {
        s(name, &["mcp"], &STORY, SEEN, "tl mcp")
            .with_input(mcp_call(tool))
            .acknowledging(Acknowledges::ByOutput)
    };
    vec![
        hook("hook-edit", EDITED, r#""hook_event_name":"PostToolUse","tool_name":"Edit","tool_input":{"file_path":"acts/act-1/strategic-plan.md"},"tool_response":{"success":true}"#),
        hook("hook-approve", "", r#""hook_event_name":"UserPromptSubmit","prompt":"/approve-plan chapter-02""#)
            .acknowledging(Acknowledges::ByOutput),
        hook("hook-session-start", "", r#""hook_event_name":"SessionStart","source":"startup""#).read_only(),
        hook("hook-read", "", r#""hook_event_name":"PostToolUse","tool_name":"Read","tool_input":{"file_path":"acts/act-1/strategic-plan.md"},"tool_response":{"success":true}"#)
            .read_only(),
        mcp("mcp-approve", r#"{"name":"approve_entity","arguments":{"entity_type":"chapter","entity_id":"chapter-02"}}"#),
        mcp("mcp-invalidate", r#"{"name":"cascade_invalidate","arguments":{"entity_type":"act","entity_id":"act-1","reason":"wrong"}}"#),
        mcp("mcp-restore", r#"{"name":"restore_backup","arguments":{"entity_type":"act","entity_id":"act-1","version":"-1"}}"#),
        s("uninstall", &["host-uninstall"], &STORY, "tl init --host claude-code", "tl host uninstall claude-code")
            .with(Repeats::Resume),
    ]
}

/// An event of Claude Code in the project.
fn hook(name: &'static str, setup: &'static str, event: &str) -> Scenario {
    Scenario::new(name, &["hook"], &STORY, setup, "tl hook claude-code")
        .with_input(format!(r#"{{"session_id":"s1","cwd":".",{event}}}"#))
        .acknowledging(Acknowledges::Never)
}

/// A client that greets the server, makes one call and waits for the answer.
fn mcp_call(call: &str) -> String {
    [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"lane","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        &format!(r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{call}}}"#),
        "",
    ]
    .join("\n")
}
