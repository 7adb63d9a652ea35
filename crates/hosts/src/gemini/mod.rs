//! Gemini CLI.

mod wire;

use domain::host_event::Host;

use crate::spec::{
    CommandFiles, HookFormat, HookListShape, HookSetup, HostQuirks, HostSpec, OrderedJson,
    ServerFile, SettingsHooks, hook_command_line, hook_timeout_seconds, json_object,
};

pub(crate) static SPEC: HostSpec = HostSpec {
    host: Host::Gemini,
    aliases: &["gemini-cli"],
    project_files: &[".gemini", "GEMINI.md"],
    programs: &["gemini"],
    mark_variables: &["GEMINI_CLI"],
    session_variables: &["GEMINI_SESSION_ID"],
    hooks_path: ".gemini/settings.json",
    hooks: HookFormat::Settings(SettingsHooks {
        // `PreCompress` fires before every request and tells nothing; `BeforeModel` shows whether
        // the briefing is still in the request.
        events: &[
            "SessionStart",
            "BeforeAgent",
            "BeforeModel",
            "BeforeTool",
            "AfterTool",
            "AfterAgent",
            "SessionEnd",
        ],
        shape: HookListShape::Grouped,
        format_version: None,
        entry: hook_entry,
        fail_closed_suffix: None,
        status_line_key: None,
    }),
    servers: ServerFile::standard(".gemini/settings.json"),
    commands: CommandFiles {
        folder: ".gemini/commands/",
        suffix: ".toml",
        arguments: Some("{{args}}"),
        // A literal TOML string: the text needs no escapes, and a test keeps `'''` out of it.
        frame: |command, text| {
            let description = command.description;
            format!("description = \"{description}\"\nprompt = '''\n{text}'''\n")
        },
    },
    read_event: wire::read_event,
    render_answer: wire::render_answer,
    gate_event: "BeforeTool",
    read_tool: ("read_file", "file_path"),
    render_sample: wire::render_sample,
    quirks: HostQuirks {
        parse_server_tool: |name| name.strip_prefix("mcp_"),
        ..HostQuirks::NONE
    },
};

fn hook_entry(event: &str, setup: &HookSetup) -> OrderedJson {
    let line = hook_command_line(setup, Host::Gemini, event);
    json_object([
        ("name", "throughline".into()),
        ("type", "command".into()),
        ("command", OrderedJson::Text(line)),
        // In milliseconds, unlike all other hosts.
        ("timeout", (hook_timeout_seconds(event) * 1000).into()),
    ])
}
