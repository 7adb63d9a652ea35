//! Generates the Claude Code plugin: the same hooks and commands as in a project's settings, for
//! all projects at once.
//!
//! `integrations/claude-code` is generated from this.

use domain::host_event::Host;

use crate::install::agent_commands::agent_commands;
use crate::install::ordered_json::OrderedJson;
use crate::install::settings::{parse_settings, strip_byte_order_mark};
use crate::install::{FileOutcome, HookSetup, host_files};

/// Prefix of the plugin's name in Claude Code's settings, before the marketplace.
const PLUGIN_NAME_PREFIX: &str = "throughline@";

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
      "source": "./throughline",
      "description": "Keeps an agent's long work on its plan: approvals bound to content, gates before every write"
    }
  ]
}
"#;

const README: &str = include_str!("../../assets/claude-code/README.md");

/// Returns the plugin's files, relative to `integrations/claude-code`.
#[must_use]
pub fn plugin_files() -> Vec<(String, String)> {
    // A plugin is shared between machines, so the program has to be found on `PATH`.
    let setup = HookSetup {
        program: "tl".to_owned(),
        strict: false,
    };
    let files = host_files(Host::ClaudeCode, &setup);
    let settings = files.first().map(|file| file.install(None, &setup));
    let Some(Ok(FileOutcome::Text(hooks))) = settings else {
        unreachable!("BUG: hooks can be written into an empty file");
    };
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
            "throughline/.claude-plugin/plugin.json".to_owned(),
            MANIFEST.to_owned(),
        ),
        ("throughline/hooks/hooks.json".to_owned(), hooks),
        (
            "throughline/README.md".to_owned(),
            README.replace("{{COMMANDS}}", listed.trim_end()),
        ),
    ];
    files.extend(agent_commands().iter().map(|command| {
        (
            format!("throughline/commands/{}.md", command.name),
            command.render(Host::ClaudeCode),
        )
    }));
    files
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
