//! Codex CLI: Claude Code's hooks, which it runs only once the user trusts them.

mod wire;

use domain::host_event::Host;

use crate::claude_code;
use crate::spec::{
    CommandFiles, HookFormat, HookListShape, HookSetup, HostQuirks, HostSpec, OrderedJson,
    ServerFile, ServerFormat, SettingsHooks, hook_command_line, hook_timeout_seconds, json_object,
};

/// It has no setting for failing closed, but blocks on exit code 2 with a reason on stderr.
const FAIL_CLOSED_SUFFIX: &str = " || { echo 'Throughline could not run, so nothing may happen; see: tl host doctor' >&2; exit 2; }";

pub(crate) static SPEC: HostSpec = HostSpec {
    host: Host::Codex,
    aliases: &[],
    project_files: &[".codex"],
    programs: &["codex"],
    mark_variables: &["CODEX_SANDBOX"],
    // A subagent has a thread of its own; hooks report the session, so that comes first.
    session_variables: &["CODEX_SESSION_ID", "CODEX_THREAD_ID"],
    hooks_path: ".codex/hooks.json",
    hooks: HookFormat::Settings(SettingsHooks {
        // There is no event for failed tools; `PostToolUse` reports a failed shell command as well.
        events: &[
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse",
            "PostToolUse",
            "PreCompact",
            "Stop",
            "SubagentStart",
            "SubagentStop",
            "SessionEnd",
        ],
        shape: HookListShape::Grouped,
        format_version: None,
        entry: hook_entry,
        fail_closed_suffix: Some(FAIL_CLOSED_SUFFIX),
        status_line_key: None,
    }),
    servers: ServerFile {
        path: ".codex/config.toml",
        key: "mcp_servers",
        format: ServerFormat::Toml,
    },
    commands: CommandFiles::SKILLS,
    read_event: wire::read_event,
    // Codex rejects an answer with a field it does not know, and lets the call pass.
    render_answer: claude_code::wire::render_without_notice,
    gate_event: "PreToolUse",
    read_tool: ("Read", "file_path"),
    render_sample: claude_code::wire::render_sample,
    quirks: HostQuirks {
        // It keeps a hash per hook: every change of the command line makes it untrusted again, and
        // it is then skipped without a message.
        install_note: Some(
            "Codex runs hooks only once they are trusted: open codex here, or `tl host doctor --trust codex`",
        ),
        needs_hook_trust: true,
        ..HostQuirks::NONE
    },
};

fn hook_entry(event: &str, setup: &HookSetup) -> OrderedJson {
    let mut line = hook_command_line(setup, Host::Codex, event);
    // Any change of the line un-trusts the hook until the user confirms it, so the suffix is added
    // only on request.
    if setup.strict && event == "PreToolUse" {
        line.push_str(FAIL_CLOSED_SUFFIX);
    }
    json_object([
        ("type", "command".into()),
        ("command", OrderedJson::Text(line)),
        ("timeout", hook_timeout_seconds(event).into()),
    ])
}
