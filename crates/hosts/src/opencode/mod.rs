//! OpenCode: its hooks start no program, so a plugin does.

mod plugin;
mod wire;

use domain::host_event::Host;

use crate::spec::{
    CommandFiles, HookFormat, HostQuirks, HostSpec, OrderedJson, PluginHooks, ServerFile,
    ServerFormat, json_object,
};

pub(crate) static SPEC: HostSpec = HostSpec {
    host: Host::OpenCode,
    aliases: &[],
    project_files: &[".opencode", "opencode.json"],
    programs: &["opencode"],
    mark_variables: &["OPENCODE"],
    session_variables: &[],
    hooks_path: ".opencode/plugins/throughline.js",
    hooks: HookFormat::Plugin(PluginHooks {
        render: plugin::render_plugin,
        find_installed: plugin::find_installed,
        mark: plugin::PLUGIN_MARK,
    }),
    servers: ServerFile {
        path: "opencode.json",
        key: "mcp",
        format: ServerFormat::Json(|program| {
            json_object([
                ("type", "local".into()),
                (
                    "command",
                    OrderedJson::List(vec![program.into(), "mcp".into()]),
                ),
                ("enabled", OrderedJson::Bool(true)),
            ])
        }),
    },
    commands: CommandFiles {
        folder: ".opencode/commands/",
        suffix: ".md",
        arguments: Some("$ARGUMENTS"),
        frame: |command, text| format!("---\ndescription: {}\n---\n\n{text}", command.description),
    },
    read_event: wire::read_event,
    render_answer: wire::render_answer,
    gate_event: "tool.execute.before",
    read_tool: ("read", "filePath"),
    render_sample: wire::render_sample,
    quirks: HostQuirks {
        plugin_probe: Some(plugin::PROBE_SCRIPT),
        parse_server_tool: |name| name.split_once('_').map(|(_, tool)| tool),
        ..HostQuirks::NONE
    },
};
