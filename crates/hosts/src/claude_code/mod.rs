//! Claude Code. Other hosts copied its formats, and some read its settings.

mod plugin;
pub(crate) mod wire;

use domain::host_event::Host;

pub use self::plugin::plugin_files;
use crate::install::AgentCommand;
use crate::spec::{
    CommandFiles, HookFormat, HookListShape, HookSetup, HostQuirks, HostSpec, OrderedJson,
    PluginSwitch, ServerFile, SettingsHooks, SettingsPlace, hook_command_line,
    hook_timeout_seconds,
};

pub(crate) static SPEC: HostSpec = HostSpec {
    host: Host::ClaudeCode,
    aliases: &["claude", "claudecode", "claude_code"],
    project_files: &[".claude", "CLAUDE.md"],
    programs: &["claude"],
    mark_variables: &["CLAUDECODE"],
    session_variables: &["CLAUDE_CODE_SESSION_ID"],
    hooks_path: ".claude/settings.json",
    hooks: HookFormat::Settings(SettingsHooks {
        events: &[
            "SessionStart",
            "UserPromptSubmit",
            // A typed `/command` is reported here, not as a tool call.
            "UserPromptExpansion",
            "PreToolUse",
            "PostToolUse",
            "PostToolUseFailure",
            "PreCompact",
            "Stop",
            "SubagentStart",
            "SubagentStop",
            "SessionEnd",
        ],
        shape: HookListShape::Grouped,
        format_version: None,
        entry: hook_entry,
        fail_closed_suffix: None,
        status_line_key: Some("statusLine"),
    }),
    servers: ServerFile::standard(".mcp.json"),
    commands: CommandFiles {
        folder: ".claude/commands/",
        suffix: ".md",
        arguments: Some("$ARGUMENTS"),
        frame: frame_command,
    },
    read_event: |name, fields| wire::read_event(Host::ClaudeCode, name, fields),
    render_answer: wire::render_answer,
    gate_event: "PreToolUse",
    read_tool: ("Read", "file_path"),
    render_sample: wire::render_sample,
    quirks: HostQuirks {
        // Project, local and user settings are merged, and plugins add their own hooks.
        other_settings: &[
            SettingsPlace::Project(".claude/settings.local.json"),
            SettingsPlace::User {
                variable: "CLAUDE_CONFIG_DIR",
                folder: ".claude",
                file: "settings.json",
            },
        ],
        plugin_switch: Some(PluginSwitch {
            is_enabled: plugin::is_enabled,
            disable: "claude plugin disable throughline@throughline",
        }),
        ..HostQuirks::NONE
    },
};

/// Returns our entry for an event: a command line, because Copilot also runs these hooks but passes
/// no `args` to them.
fn hook_entry(event: &str, setup: &HookSetup) -> OrderedJson {
    let line = hook_command_line(setup, Host::ClaudeCode, event);
    let mut hook = vec![
        ("type".to_owned(), "command".into()),
        ("command".to_owned(), OrderedJson::Text(line)),
        ("timeout".to_owned(), hook_timeout_seconds(event).into()),
    ];
    // Hooks fail open by default. Since 2.1.295 this makes a crash, a timeout or a missing program
    // block, but only before a tool: a failing prompt hook would lock the user out.
    if event == "PreToolUse" {
        hook.push(("onFailure".to_owned(), "block".into()));
    }
    OrderedJson::Object(hook)
}

fn frame_command(command: &AgentCommand, text: &str) -> String {
    let hint = match command.hint {
        "" => String::new(),
        hint => format!("argument-hint: \"{hint}\"\n"),
    };
    format!(
        "---\ndescription: {}\n{hint}---\n\n{text}",
        command.description
    )
}
