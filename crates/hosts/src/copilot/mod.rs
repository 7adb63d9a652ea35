//! GitHub Copilot CLI. It also reads Claude Code's settings and runs the hooks in them.

mod wire;

use domain::host_event::Host;

use crate::spec::{
    CommandFiles, ForeignHooks, HOOK_TIMEOUT_SECONDS, HookFormat, HookListShape, HookSetup,
    HostQuirks, HostSpec, OrderedJson, ServerFile, SettingsHooks, hook_command_line, json_object,
};

pub(crate) static SPEC: HostSpec = HostSpec {
    host: Host::Copilot,
    aliases: &["copilot-cli", "github-copilot"],
    project_files: &[
        ".github/hooks",
        ".github/copilot",
        ".github/copilot-instructions.md",
    ],
    programs: &["copilot"],
    mark_variables: &["COPILOT_CLI"],
    session_variables: &["COPILOT_AGENT_SESSION_ID"],
    hooks_path: ".github/hooks/throughline.json",
    hooks: HookFormat::Settings(SettingsHooks {
        events: &[
            "sessionStart",
            "userPromptSubmitted",
            "preToolUse",
            "postToolUse",
            "postToolUseFailure",
            "preCompact",
            "agentStop",
            "subagentStart",
            "subagentStop",
            "sessionEnd",
        ],
        shape: HookListShape::Flat,
        format_version: Some(1),
        entry: hook_entry,
        fail_closed_suffix: None,
        status_line_key: None,
    }),
    // Claude Code's file, which Copilot reads as well.
    servers: ServerFile::standard(".mcp.json"),
    commands: CommandFiles::SKILLS,
    read_event: wire::read_event,
    render_answer: wire::render_answer,
    gate_event: "preToolUse",
    read_tool: ("view", "path"),
    render_sample: wire::render_sample,
    quirks: HostQuirks {
        foreign_hooks: Some(ForeignHooks {
            host: Host::ClaudeCode,
            duplicate: "Copilot runs the hooks in .claude/settings.json as well as its own",
        }),
        // The server's name ends at the first separator or a later one. A remainder of it in front of
        // the tool's name hardly affects the guess.
        parse_server_tool: |name| name.split_once(['-', '/']).map(|(_, tool)| tool),
        ..HostQuirks::NONE
    },
};

fn hook_entry(event: &str, setup: &HookSetup) -> OrderedJson {
    // The payload does not contain the event's name, so it goes onto the command line.
    let line = format!("{} {event}", hook_command_line(setup, Host::Copilot, event));
    json_object([
        ("type", "command".into()),
        ("bash", OrderedJson::Text(line)),
        ("timeoutSec", HOOK_TIMEOUT_SECONDS.into()),
    ])
}
