//! `HostSpec`: everything the program knows about one agent host, as data and functions.
//!
//! Installer, doctor, hook entry and caller detection read it and never match on the host, so adding
//! a host does not touch them.

use domain::host_event::{Host, HostEvent};
use serde_json::Value;

pub(crate) use crate::install::HookSetup;
pub(crate) use crate::install::agent_commands::CommandFiles;
pub(crate) use crate::install::command_line::hook_command_line;
pub(crate) use crate::install::hooks::*;
pub(crate) use crate::install::mcp_servers::{ServerFile, ServerFormat};
pub(crate) use crate::install::ordered_json::{OrderedJson, json_object};
use crate::wire::answer::HostAnswer;
use crate::wire::fields::Fields;

/// An agent host. Each folder of this crate exports one.
pub struct HostSpec {
    pub host: Host,
    /// Common names of the same program, too far from ours for the edit distance.
    pub aliases: &'static [&'static str],
    /// Files of a project that suggest the host is used there.
    pub project_files: &'static [&'static str],
    /// Its programs, to look for on `PATH`.
    pub programs: &'static [&'static str],
    /// Environment variables it sets for every command it runs.
    pub mark_variables: &'static [&'static str],
    /// Those that hold the session's name, the best one first.
    pub session_variables: &'static [&'static str],
    /// The file with our hooks, relative to the project.
    pub hooks_path: &'static str,
    pub(crate) hooks: HookFormat,
    pub(crate) servers: ServerFile,
    pub(crate) commands: CommandFiles,
    /// Parses an event of this name; `None` if it is not handled.
    pub(crate) read_event: fn(&str, &Fields<'_>) -> Option<HostEvent>,
    /// Renders an answer; `None` if there is nothing to say.
    pub(crate) render_answer: fn(&HostEvent, &HostAnswer) -> Option<Value>,
    /// The event before a tool call, on which blocking depends.
    pub gate_event: &'static str,
    /// The host's tool that reads a file, and the field of its input with the path.
    pub read_tool: (&'static str, &'static str),
    /// Renders the payload of the gate event, to test an installation.
    pub render_sample: fn(&ToolCallSample<'_>) -> Value,
    pub quirks: HostQuirks,
}

/// Peculiarities that few hosts have.
pub struct HostQuirks {
    /// The host also runs hooks in the settings of another one.
    pub foreign_hooks: Option<ForeignHooks>,
    /// Further settings files that may hold our hooks, which then run twice.
    pub other_settings: &'static [SettingsPlace],
    pub plugin_switch: Option<PluginSwitch>,
    /// What the user has to do after the hooks were changed.
    pub install_note: Option<&'static str>,
    /// The host skips hooks that it was not told to trust; see `doctor::codex_trust`.
    pub needs_hook_trust: bool,
    /// Returns the MCP tool in a tool's name, if the host's names tell; built-in tools are known
    /// before.
    pub(crate) parse_server_tool: fn(&str) -> Option<&str>,
    /// JavaScript module that reads our plugin from stdin and calls its gate, for `node`.
    pub plugin_probe: Option<&'static str>,
}

impl HostQuirks {
    pub(crate) const NONE: Self = Self {
        foreign_hooks: None,
        other_settings: &[],
        plugin_switch: None,
        install_note: None,
        needs_hook_trust: false,
        parse_server_tool: |_| None,
        plugin_probe: None,
    };
}

/// Another host whose hooks a host runs as well.
pub struct ForeignHooks {
    pub host: Host,
    /// What happens if both are installed.
    pub duplicate: &'static str,
}

/// Location of a settings file.
pub enum SettingsPlace {
    /// Relative to the project.
    Project(&'static str),
    /// `file` in the folder that the variable names, or in `folder` of the home directory. Read,
    /// never written.
    User {
        variable: &'static str,
        folder: &'static str,
        file: &'static str,
    },
}

/// Our plugin for a host, which has the same hooks as its settings.
pub struct PluginSwitch {
    /// Whether settings with this text enable it.
    pub is_enabled: fn(&str) -> bool,
    /// The command that disables it.
    pub disable: &'static str,
}

/// A tool call to render as a payload.
pub struct ToolCallSample<'a> {
    /// Name of the session, and id of the call.
    pub session: &'a str,
    pub directory: &'a str,
    pub tool: &'a str,
    pub input: &'a Value,
}

impl HostSpec {
    /// Whether the host uses a file of the project that we install.
    #[must_use]
    pub fn uses_file(&self, path: &str) -> bool {
        path == self.hooks_path
            || path == self.servers.path
            || path.starts_with(self.commands.folder)
    }

    /// Whether the host also runs the hooks of `other`.
    #[must_use]
    pub fn runs_hooks_of(&self, other: Host) -> bool {
        matches!(&self.quirks.foreign_hooks, Some(foreign) if foreign.host == other)
    }
}
