//! Hook entries of each host: the events we subscribe to and the form of an entry.
//!
//! What the hosts accept was measured on the real ones. Two things are easy to get wrong: Gemini's
//! timeouts are in milliseconds, and Copilot also runs the hooks in `.claude/settings.json` but
//! passes no `args` to them, so Claude Code gets a command line and not a program with arguments.

use domain::host_event::Host;

use super::HookSetup;
use super::command_line::hook_command_line;
use super::ordered_json::{OrderedJson, json_object};

/// Timeout of a hook in seconds. It takes a few milliseconds; this is for an overloaded machine.
const HOOK_TIMEOUT_SECONDS: u32 = 10;
/// Timeout at the end of a session, in seconds: Claude Code gives all hooks together 1.5 s, Codex
/// at most 3 s.
const SESSION_END_TIMEOUT_SECONDS: u32 = 1;

/// Structure of a host's list of hooks for an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HookListShape {
    /// `[{"matcher": …, "hooks": [hook, …]}, …]`
    Grouped,
    /// `[hook, …]`
    Flat,
}

/// Returns the structure of a host's hook lists.
pub(super) fn hook_list_shape(host: Host) -> HookListShape {
    match host {
        Host::ClaudeCode | Host::Codex | Host::Gemini => HookListShape::Grouped,
        Host::Cursor | Host::Copilot | Host::OpenCode => HookListShape::Flat,
    }
}

/// Returns the format version that the host's file must state.
pub(super) fn format_version(host: Host) -> Option<u32> {
    match host {
        Host::Cursor | Host::Copilot => Some(1),
        Host::ClaudeCode | Host::Codex | Host::Gemini | Host::OpenCode => None,
    }
}

/// Returns the events we subscribe to.
pub(super) fn hook_events(host: Host) -> &'static [&'static str] {
    match host {
        Host::ClaudeCode => &[
            "SessionStart",
            "UserPromptSubmit",
            // A typed `/command` is reported here, not as a tool call.
            "UserPromptExpansion",
            "PreToolUse",
            "PostToolUse",
            "PostToolUseFailure",
            "PreCompact",
            "Stop",
            "SubagentStop",
            "SessionEnd",
        ],
        // Codex has no event for failed tools; `PostToolUse` reports a failed shell command as
        // well.
        Host::Codex => &[
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse",
            "PostToolUse",
            "PreCompact",
            "Stop",
            "SubagentStop",
            "SessionEnd",
        ],
        // `PreCompress` fires before every request and tells nothing; `BeforeModel` shows whether
        // the
        // briefing is still in the request.
        Host::Gemini => &[
            "SessionStart",
            "BeforeAgent",
            "BeforeModel",
            "BeforeTool",
            "AfterTool",
            "AfterAgent",
            "SessionEnd",
        ],
        Host::Copilot => &[
            "sessionStart",
            "userPromptSubmitted",
            "preToolUse",
            "postToolUse",
            "postToolUseFailure",
            "preCompact",
            "agentStop",
            "subagentStop",
            "sessionEnd",
        ],
        Host::Cursor => &[
            "sessionStart",
            "beforeSubmitPrompt",
            "preToolUse",
            "postToolUse",
            "postToolUseFailure",
            "preCompact",
            "stop",
            "subagentStop",
            "sessionEnd",
        ],
        // The plugin subscribes to its events itself.
        Host::OpenCode => &[],
    }
}

/// Returns our entry for an event.
pub(super) fn hook_entry(host: Host, event: &str, setup: &HookSetup) -> OrderedJson {
    let command = |event| OrderedJson::Text(hook_command_line(&setup.program, host, event));
    let patience = if event == "SessionEnd" {
        SESSION_END_TIMEOUT_SECONDS
    } else {
        HOOK_TIMEOUT_SECONDS
    };
    match host {
        Host::ClaudeCode => {
            let mut hook = vec![
                ("type".to_owned(), "command".into()),
                ("command".to_owned(), command(None)),
                ("timeout".to_owned(), patience.into()),
            ];
            // Hooks fail open by default. Since 2.1.295 this makes a crash, a timeout or a missing
            // program
            // block, but only before a tool: a failing prompt hook would lock the user out.
            if event == "PreToolUse" {
                hook.push(("onFailure".to_owned(), "block".into()));
            }
            OrderedJson::Object(hook)
        }
        Host::Codex => {
            let mut line = hook_command_line(&setup.program, host, None);
            // Any change of the line un-trusts the hook in Codex until the user confirms it, so it
            // is added
            // only on request.
            if setup.strict && event == "PreToolUse" {
                line.push_str(CODEX_FAIL_CLOSED);
            }
            json_object([
                ("type", "command".into()),
                ("command", OrderedJson::Text(line)),
                ("timeout", patience.into()),
            ])
        }
        Host::Gemini => json_object([
            ("name", "throughline".into()),
            ("type", "command".into()),
            ("command", command(None)),
            ("timeout", (patience * 1000).into()),
        ]),
        // The payload does not contain the event's name, so it goes onto the command line.
        Host::Copilot => json_object([
            ("type", "command".into()),
            ("bash", command(Some(event))),
            ("timeoutSec", HOOK_TIMEOUT_SECONDS.into()),
        ]),
        Host::Cursor => {
            let mut hook = vec![
                ("command".to_owned(), command(None)),
                ("timeout".to_owned(), HOOK_TIMEOUT_SECONDS.into()),
            ];
            match event {
                // Otherwise a hook that crashes or times out lets the tool run.
                "preToolUse" => hook.push(("failClosed".to_owned(), OrderedJson::Bool(true))),
                // The stop gates have a limit of their own; the host's would also count other
                // hooks' follow-ups.
                "stop" => hook.push(("loop_limit".to_owned(), OrderedJson::Null)),
                _ => {}
            }
            OrderedJson::Object(hook)
        }
        Host::OpenCode => OrderedJson::Null,
    }
}

/// Fail-closed suffix for Codex, which has no setting for it but blocks on exit code 2 with a
/// reason on stderr.
const CODEX_FAIL_CLOSED: &str =
    " || { echo 'Throughline could not run, so nothing may happen; see: tl doctor' >&2; exit 2; }";

/// Whether one of our command lines fails closed.
pub(super) fn is_fail_closed(line: &str) -> bool {
    line.ends_with(CODEX_FAIL_CLOSED)
}
