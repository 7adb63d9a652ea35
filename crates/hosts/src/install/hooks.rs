//! Which events of each host we listen to, and how our entry for each looks.
//!
//! What the hosts accept was measured on the real ones. Two things are easy to get wrong: Gemini counts timeouts in
//! milliseconds, and Copilot also runs what it finds in `.claude/settings.json` but passes no `args` to it, so Claude
//! Code gets a command line and not a program with arguments.

use domain::host_event::Host;

use super::Setup;
use super::command_line::line;
use super::json::{Json, object};

/// Seconds a hook may take. It is done in a few milliseconds; this is for a machine on its knees.
const PATIENCE: u32 = 10;
/// Hosts end soon after a session does: Claude Code gives all hooks 1.5 s, Codex at most 3 s.
const PATIENCE_AT_END: u32 = 1;

/// How a host's list of an event's hooks is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// `[{"matcher": …, "hooks": [hook, …]}, …]`
    Grouped,
    /// `[hook, …]`
    Flat,
}

/// Returns how a host's lists are built.
pub(super) fn shape(host: Host) -> Shape {
    match host {
        Host::ClaudeCode | Host::Codex | Host::Gemini => Shape::Grouped,
        Host::Cursor | Host::Copilot | Host::OpenCode => Shape::Flat,
    }
}

/// Returns the format version the host's file must name.
pub(super) fn version(host: Host) -> Option<u32> {
    match host {
        Host::Cursor | Host::Copilot => Some(1),
        Host::ClaudeCode | Host::Codex | Host::Gemini | Host::OpenCode => None,
    }
}

/// Returns the events we listen to.
pub(super) fn events(host: Host) -> &'static [&'static str] {
    match host {
        Host::ClaudeCode => &[
            "SessionStart",
            "UserPromptSubmit",
            "UserPromptExpansion",
            "PreToolUse",
            "PostToolUse",
            "PostToolUseFailure",
            "PreCompact",
            "Stop",
            "SubagentStop",
            "SessionEnd",
        ],
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
        // `PreCompress` fires before every request and says nothing; `BeforeModel` shows whether the briefing is still there.
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
        // The plugin knows its events itself.
        Host::OpenCode => &[],
    }
}

/// Returns our hook for an event.
pub(super) fn hook(host: Host, event: &str, setup: &Setup) -> Json {
    let command = |event| Json::Text(line(&setup.program, host, event));
    let patience = if event == "SessionEnd" {
        PATIENCE_AT_END
    } else {
        PATIENCE
    };
    match host {
        Host::ClaudeCode => {
            let mut hook = vec![
                ("type".to_owned(), "command".into()),
                ("command".to_owned(), command(None)),
                ("timeout".to_owned(), patience.into()),
            ];
            if event == "PreToolUse" {
                hook.push(("onFailure".to_owned(), "block".into()));
            }
            Json::Object(hook)
        }
        Host::Codex => {
            let mut line = line(&setup.program, host, None);
            if setup.strict && event == "PreToolUse" {
                line.push_str(CODEX_STRICT);
            }
            object([
                ("type", "command".into()),
                ("command", Json::Text(line)),
                ("timeout", patience.into()),
            ])
        }
        Host::Gemini => object([
            ("name", "throughline".into()),
            ("type", "command".into()),
            ("command", command(None)),
            ("timeout", (patience * 1000).into()),
        ]),
        // The payload does not say which event it is.
        Host::Copilot => object([
            ("type", "command".into()),
            ("bash", command(Some(event))),
            ("timeoutSec", PATIENCE.into()),
        ]),
        Host::Cursor => {
            let mut hook = vec![
                ("command".to_owned(), command(None)),
                ("timeout".to_owned(), PATIENCE.into()),
            ];
            match event {
                "preToolUse" => hook.push(("failClosed".to_owned(), Json::Bool(true))),
                // We have a limit of our own; the host's would count what others ask for as well.
                "stop" => hook.push(("loop_limit".to_owned(), Json::Null)),
                _ => {}
            }
            Json::Object(hook)
        }
        Host::OpenCode => Json::Null,
    }
}

/// Codex has no setting for a hook that cannot run, but it blocks on 2 with a reason on stderr.
const CODEX_STRICT: &str =
    " || { echo 'Throughline could not run, so nothing may happen; see: tl doctor' >&2; exit 2; }";

/// Says whether a command line of ours stops the agent when it cannot run.
pub(super) fn is_strict(line: &str) -> bool {
    line.ends_with(CODEX_STRICT)
}
