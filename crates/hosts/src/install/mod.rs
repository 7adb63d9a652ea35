//! Installs into the hosts' settings, and uninstalls.
//!
//! Pure: the text of a file comes in, the text it should have goes out. Reading, writing and
//! backing up is left to the caller. Each host has a list of [`Piece`]s: settings files that are
//! edited, and files that are entirely ours.

mod agent_commands;
mod command_line;
mod hooks;
mod mcp_servers;
mod opencode;
mod ordered_json;
mod plugin;
mod settings;

pub use agent_commands::{AgentCommand, agent_commands};
pub use command_line::is_program_name;
pub use plugin::plugin_files;

use domain::host_event::Host;

/// Parameters of our entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookSetup {
    /// The program the host starts: an absolute path, or a name to look up on `PATH`.
    pub program: String,
    /// Fail closed: stop the agent if the program cannot run, even where the host fails open.
    pub strict: bool,
}

/// One file of a host in the project.
#[derive(Clone, Debug)]
pub struct HostFile {
    pub host: Host,
    /// Relative to the project.
    pub path: String,
    make: FileSource,
}

#[derive(Clone, Debug)]
enum FileSource {
    /// A settings file of the host, shared with other tools.
    Settings,
    /// The host's list of MCP servers.
    Servers,
    /// A file that is entirely ours, and the marker that identifies it.
    Whole { text: String, mark: String },
}

/// Desired state of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileOutcome {
    Text(String),
    /// It contained only our entries and can be deleted.
    Gone,
    /// A foreign file has this name; it stays as it is.
    NotOurs,
}

/// Why a settings file cannot be edited.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct HostSettingsProblem {
    /// Line in the file, if known.
    pub line: Option<usize>,
    pub what: String,
}

/// Our entries as found in a host's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledHooks {
    /// Their parameters.
    pub setup: HookSetup,
    /// The entries, in file order.
    pub entries: Vec<HookEntry>,
}

/// One of our entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookEntry {
    /// The host's event name; empty for the OpenCode plugin, which handles all of them.
    pub event: String,
    pub call: HookCall,
}

/// How a host starts a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookCall {
    /// Through `sh -c`.
    Shell(String),
    /// A program with arguments, without a shell.
    Program(String, Vec<String>),
}

/// Returns a host's files: the hooks first, then the list of MCP servers if it is a separate file,
/// then the agent commands.
#[must_use]
pub fn host_files(host: Host, setup: &HookSetup) -> Vec<HostFile> {
    let hooks = match host {
        Host::OpenCode => FileSource::Whole {
            text: opencode::render_plugin(&setup.program, setup.strict),
            mark: opencode::PLUGIN_MARK.to_owned(),
        },
        Host::ClaudeCode | Host::Cursor | Host::Codex | Host::Gemini | Host::Copilot => {
            FileSource::Settings
        }
    };
    let mut all = vec![HostFile {
        host,
        path: hooks_path(host).to_owned(),
        make: hooks,
    }];
    if mcp_servers::servers_path(host) != hooks_path(host) {
        all.push(HostFile {
            host,
            path: mcp_servers::servers_path(host).to_owned(),
            make: FileSource::Servers,
        });
    }
    all.extend(agent_commands().into_iter().map(|command| HostFile {
        host,
        path: command.path(host),
        make: FileSource::Whole {
            text: command.render(host),
            mark: command.file_mark(),
        },
    }));
    all
}

/// Returns the path of the host's file with our hooks.
#[must_use]
pub fn hooks_path(host: Host) -> &'static str {
    match host {
        Host::ClaudeCode => ".claude/settings.json",
        Host::Cursor => ".cursor/hooks.json",
        Host::OpenCode => ".opencode/plugins/throughline.js",
        Host::Codex => ".codex/hooks.json",
        Host::Gemini => ".gemini/settings.json",
        Host::Copilot => ".github/hooks/throughline.json",
    }
}

/// Finds our entries in a host's hooks file; `None` if there are none or it cannot be parsed.
#[must_use]
pub fn find_installed(host: Host, text: &str) -> Option<InstalledHooks> {
    match host {
        Host::OpenCode => opencode::find_installed(text),
        Host::ClaudeCode | Host::Cursor | Host::Codex | Host::Gemini | Host::Copilot => {
            settings::find_installed(host, text)
        }
    }
}

/// Whether a command line is our hook for this host.
#[must_use]
pub fn is_our_command(host: Host, line: &str) -> bool {
    command_line::hook_program(host, &HookCall::Shell(line.to_owned())).is_some()
}

/// Whether settings of Claude Code enable our plugin, which has the same hooks.
#[must_use]
pub fn has_claude_plugin(text: &str) -> bool {
    settings::enabled_plugins(text)
        .iter()
        .any(|name| name.starts_with(plugin::PLUGIN_NAME_PREFIX))
}

impl HostFile {
    /// Whether the file is the host's list of MCP servers.
    #[must_use]
    pub fn is_servers(&self) -> bool {
        matches!(self.make, FileSource::Servers)
    }

    /// Whether the file is the shared settings file with our hooks.
    #[must_use]
    pub fn is_settings(&self) -> bool {
        matches!(self.make, FileSource::Settings)
    }

    /// Returns the file with our entries.
    ///
    /// # Errors
    /// [`Problem`] when the host's file cannot be parsed or has an unexpected structure.
    pub fn install(
        &self,
        existing: Option<&str>,
        setup: &HookSetup,
    ) -> Result<FileOutcome, HostSettingsProblem> {
        match &self.make {
            FileSource::Settings => {
                settings::install_hooks(existing, self.host, setup).map(FileOutcome::Text)
            }
            FileSource::Servers => {
                mcp_servers::install_server(existing, self.host, setup).map(FileOutcome::Text)
            }
            // A command of the same name that the user wrote must not be overwritten.
            FileSource::Whole { mark, .. } if existing.is_some_and(|text| !text.contains(mark)) => {
                Ok(FileOutcome::NotOurs)
            }
            FileSource::Whole { text, .. } => Ok(FileOutcome::Text(text.clone())),
        }
    }

    /// Returns the file without our entries.
    ///
    /// # Errors
    /// [`Problem`] when the host's file cannot be parsed or has an unexpected structure.
    pub fn uninstall(&self, existing: &str) -> Result<FileOutcome, HostSettingsProblem> {
        match &self.make {
            FileSource::Settings => Ok(settings::uninstall_hooks(existing, self.host)?
                .map_or(FileOutcome::Gone, FileOutcome::Text)),
            FileSource::Servers => Ok(mcp_servers::uninstall_server(existing, self.host)?
                .map_or(FileOutcome::Gone, FileOutcome::Text)),
            FileSource::Whole { mark, .. } if !existing.contains(mark) => Ok(FileOutcome::NotOurs),
            FileSource::Whole { .. } => Ok(FileOutcome::Gone),
        }
    }
}
