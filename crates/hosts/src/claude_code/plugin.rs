//! Generates the Claude Code plugin: the same hooks and commands as in a project's settings, for
//! all projects at once.
//!
//! `integrations/claude-code` and `.claude-plugin` are generated from this.

use domain::host_event::Host;

use crate::install::agent_commands::agent_commands;
use crate::install::ordered_json::OrderedJson;
use crate::install::settings::{parse_settings, strip_byte_order_mark};
use crate::install::{FileOutcome, HookSetup, HostFile, host_files};

/// Prefix of the plugin's name in Claude Code's settings, before the marketplace.
const PLUGIN_NAME_PREFIX: &str = "throughline@";

/// Folder of the plugin in this repository.
const PLUGIN_FOLDER: &str = "integrations/claude-code/throughline";

const MANIFEST: &str = r#"{
  "name": "throughline",
  "version": "0.1.0",
  "description": "Keeps an agent's long work on its plan: approvals bound to content, gates before every write",
  "author": {
    "name": "Throughline"
  },
  "license": "MIT OR Apache-2.0",
  "keywords": ["planning", "hooks", "approval", "writing"]
}
"#;

const MARKETPLACE: &str = r#"{
  "name": "throughline",
  "owner": {
    "name": "Throughline"
  },
  "metadata": {
    "description": "Throughline for Claude Code"
  },
  "plugins": [
    {
      "name": "throughline",
      "source": "./integrations/claude-code/throughline",
      "description": "Keeps an agent's long work on its plan: approvals bound to content, gates before every write"
    }
  ]
}
"#;

const README: &str = include_str!("../../assets/claude-code/README.md");

/// Starts the program that the plugin fetched, where none is on `PATH`.
const LAUNCHER: &str = include_str!("../../assets/claude-code/launch.sh");

/// Claude Code replaces the variable by the folder of the installed plugin.
const SERVERS: &str = r#"{
  "mcpServers": {
    "throughline": {
      "command": "sh",
      "args": ["${CLAUDE_PLUGIN_ROOT}/launch.sh", "mcp"]
    }
  }
}
"#;

/// Returns the files of the plugin and of the marketplace that lists it, relative to the root of this
/// repository.
#[must_use]
pub fn plugin_files() -> Vec<(String, String)> {
    // A plugin is shared between machines, so the program has to be found on `PATH`.
    let setup = HookSetup {
        program: "tl".to_owned(),
        strict: false,
        status_line: false,
    };
    let files = host_files(Host::ClaudeCode, &setup);
    let install_into_nothing = |file: &HostFile| match file.install(None, &setup) {
        Ok(FileOutcome::Text(text)) => text,
        _ => unreachable!("BUG: our entries can be written into an empty file"),
    };
    let settings: String = files.first().map(install_into_nothing).unwrap_or_default();
    let listed: String = agent_commands()
        .iter()
        .map(|command| {
            let hint = if command.hint.is_empty() {
                String::new()
            } else {
                format!(" {}", command.hint)
            };
            format!("- `/{}{hint}`: {}\n", command.name, command.description)
        })
        .collect();
    let mut files = vec![
        (
            ".claude-plugin/marketplace.json".to_owned(),
            MARKETPLACE.to_owned(),
        ),
        (
            format!("{PLUGIN_FOLDER}/.claude-plugin/plugin.json"),
            MANIFEST.to_owned(),
        ),
        (
            format!("{PLUGIN_FOLDER}/hooks/hooks.json"),
            add_launcher(&settings),
        ),
        (format!("{PLUGIN_FOLDER}/.mcp.json"), SERVERS.to_owned()),
        (
            format!("{PLUGIN_FOLDER}/launch.sh"),
            LAUNCHER.replace("{{VERSION}}", env!("CARGO_PKG_VERSION")),
        ),
        (
            format!("{PLUGIN_FOLDER}/README.md"),
            README.replace("{{COMMANDS}}", listed.trim_end()),
        ),
    ];
    files.extend(agent_commands().iter().map(|command| {
        (
            format!("{PLUGIN_FOLDER}/commands/{}.md", command.name),
            command.render(Host::ClaudeCode),
        )
    }));
    files
}

/// Lets the launcher answer where the program is not on `PATH`, in place of the guard's warning.
fn add_launcher(hooks: &str) -> String {
    let mut event = "";
    let mut text = String::new();
    for line in hooks.lines() {
        let named = line.strip_prefix("    \"");
        if let Some(name) = named.and_then(|rest| rest.strip_suffix("\": [")) {
            event = name;
        }
        let guard = line
            .split_once("|| { ")
            .and_then(|(start, rest)| Some((start, rest.rsplit_once("exit 0; };")?.1)));
        match guard {
            Some((start, end)) => text.push_str(&format!(
                r#"{start}|| {{ sh \"${{CLAUDE_PLUGIN_ROOT}}/launch.sh\" hook claude-code {event}; exit 0; }};{end}"#
            )),
            None => text.push_str(line),
        }
        text.push('\n');
    }
    text
}

/// Whether settings enable our plugin.
pub(super) fn is_enabled(settings: &str) -> bool {
    let enabled = parse_settings(strip_byte_order_mark(settings).1)
        .ok()
        .and_then(|root| root.object_value()?.object_value("enabledPlugins"));
    enabled.is_some_and(|plugins| {
        plugins.properties().iter().any(|plugin| {
            let value = plugin.value().map(|value| OrderedJson::from_node(&value));
            let name = plugin.decoded_name().unwrap_or_default();
            value == Some(OrderedJson::Bool(true)) && name.starts_with(PLUGIN_NAME_PREFIX)
        })
    })
}
