//! Cursor. Written from its documentation and not driven by tests, because Cursor does not run
//! without its service.

mod wire;

use domain::host_event::Host;

use crate::spec::{
    CommandFiles, HOOK_TIMEOUT_SECONDS, HookFormat, HookListShape, HookSetup, HostQuirks, HostSpec,
    OrderedJson, ServerFile, SettingsHooks, hook_command_line,
};

pub(crate) static SPEC: HostSpec = HostSpec {
    host: Host::Cursor,
    aliases: &["cursor-agent"],
    project_files: &[".cursor"],
    programs: &["cursor", "cursor-agent"],
    mark_variables: &["CURSOR_AGENT"],
    session_variables: &[],
    hooks_path: ".cursor/hooks.json",
    hooks: HookFormat::Settings(SettingsHooks {
        events: &[
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
        shape: HookListShape::Flat,
        format_version: Some(1),
        entry: hook_entry,
        fail_closed_suffix: None,
        status_line_key: None,
    }),
    servers: ServerFile::standard(".cursor/mcp.json"),
    commands: CommandFiles {
        folder: ".cursor/commands/",
        suffix: ".md",
        arguments: None,
        frame: |_, text| text.to_owned(),
    },
    read_event: wire::read_event,
    render_answer: wire::render_answer,
    gate_event: "preToolUse",
    read_tool: ("Read", "file_path"),
    render_sample: wire::render_sample,
    quirks: HostQuirks::NONE,
};

fn hook_entry(event: &str, setup: &HookSetup) -> OrderedJson {
    let line = hook_command_line(setup, Host::Cursor, event);
    let mut hook = vec![
        ("command".to_owned(), OrderedJson::Text(line)),
        ("timeout".to_owned(), HOOK_TIMEOUT_SECONDS.into()),
    ];
    match event {
        // Otherwise a hook that crashes or times out lets the tool run.
        "preToolUse" => hook.push(("failClosed".to_owned(), OrderedJson::Bool(true))),
        // The stop gates have a limit of their own; the host's would also count other hooks'
        // follow-ups.
        "stop" => hook.push(("loop_limit".to_owned(), OrderedJson::Null)),
        _ => {}
    }
    OrderedJson::Object(hook)
}
