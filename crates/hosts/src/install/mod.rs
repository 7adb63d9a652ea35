//! Installs into the hosts' settings, and uninstalls.
//!
//! Pure: the text of a file comes in, the text it should have goes out. Reading, writing and
//! backing up is left to the caller. Each host has a list of [`Piece`]s: settings files that are
//! edited, and files that are entirely ours.

mod agent_commands;
mod command_line;
mod hooks;
mod json;
mod opencode;
mod plugin;
mod servers;
mod settings;

pub use agent_commands::{AgentCommand, agent_commands};
pub use command_line::is_program_name;
pub use plugin::plugin_files;

use domain::host_event::Host;

/// Parameters of our entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The program the host starts: an absolute path, or a name to look up on `PATH`.
    pub program: String,
    /// Fail closed: stop the agent if the program cannot run, even where the host fails open.
    pub strict: bool,
}

/// One file of a host in the project.
#[derive(Clone, Debug)]
pub struct Piece {
    pub host: Host,
    /// Relative to the project.
    pub path: String,
    make: Make,
}

#[derive(Clone, Debug)]
enum Make {
    /// A settings file of the host, shared with other tools.
    Settings,
    /// The host's list of MCP servers.
    Servers,
    /// A file that is entirely ours, and the marker that identifies it.
    Whole { text: String, mark: String },
}

/// Desired state of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum After {
    Text(String),
    /// It contained only our entries and can be deleted.
    Gone,
    /// A foreign file has this name; it stays as it is.
    NotOurs,
}

/// Why a settings file cannot be edited.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Problem {
    /// Line in the file, if known.
    pub line: Option<usize>,
    pub what: String,
}

/// Our entries as found in a host's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Their parameters.
    pub setup: Setup,
    /// The entries, in file order.
    pub entries: Vec<Entry>,
}

/// One of our entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The host's event name; empty for the OpenCode plugin, which handles all of them.
    pub event: String,
    pub call: Call,
}

/// How a host starts a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// Through `sh -c`.
    Shell(String),
    /// A program with arguments, without a shell.
    Program(String, Vec<String>),
}

/// Returns a host's files: the hooks first, then the list of MCP servers if it is a separate file,
/// then the agent commands.
#[must_use]
pub fn pieces(host: Host, setup: &Setup) -> Vec<Piece> {
    let hooks = match host {
        Host::OpenCode => Make::Whole {
            text: opencode::plugin(&setup.program, setup.strict),
            mark: opencode::MARK.to_owned(),
        },
        Host::ClaudeCode | Host::Cursor | Host::Codex | Host::Gemini | Host::Copilot => {
            Make::Settings
        }
    };
    let mut all = vec![Piece {
        host,
        path: hooks_path(host).to_owned(),
        make: hooks,
    }];
    if servers::path(host) != hooks_path(host) {
        all.push(Piece {
            host,
            path: servers::path(host).to_owned(),
            make: Make::Servers,
        });
    }
    all.extend(agent_commands().into_iter().map(|command| Piece {
        host,
        path: command.path(host),
        make: Make::Whole {
            text: command.render(host),
            mark: command.mark(),
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
pub fn found(host: Host, text: &str) -> Option<Found> {
    match host {
        Host::OpenCode => opencode::found(text),
        Host::ClaudeCode | Host::Cursor | Host::Codex | Host::Gemini | Host::Copilot => {
            settings::found(host, text)
        }
    }
}

/// Whether a command line is our hook for this host.
#[must_use]
pub fn is_our_command(host: Host, line: &str) -> bool {
    command_line::program_of(host, &Call::Shell(line.to_owned())).is_some()
}

/// Whether settings of Claude Code enable our plugin, which has the same hooks.
#[must_use]
pub fn has_claude_plugin(text: &str) -> bool {
    settings::enabled_plugins(text)
        .iter()
        .any(|name| name.starts_with(plugin::NAME_AND_AT))
}

impl Piece {
    /// Whether the file is the host's list of MCP servers.
    #[must_use]
    pub fn is_servers(&self) -> bool {
        matches!(self.make, Make::Servers)
    }

    /// Whether the file is the shared settings file with our hooks.
    #[must_use]
    pub fn is_settings(&self) -> bool {
        matches!(self.make, Make::Settings)
    }

    /// Returns the file with our entries.
    ///
    /// # Errors
    /// [`Problem`] when the host's file cannot be parsed or has an unexpected structure.
    pub fn install(&self, existing: Option<&str>, setup: &Setup) -> Result<After, Problem> {
        match &self.make {
            Make::Settings => settings::install(existing, self.host, setup).map(After::Text),
            Make::Servers => servers::install(existing, self.host, setup).map(After::Text),
            // A command of the same name that the user wrote must not be overwritten.
            Make::Whole { mark, .. } if existing.is_some_and(|text| !text.contains(mark)) => {
                Ok(After::NotOurs)
            }
            Make::Whole { text, .. } => Ok(After::Text(text.clone())),
        }
    }

    /// Returns the file without our entries.
    ///
    /// # Errors
    /// [`Problem`] when the host's file cannot be parsed or has an unexpected structure.
    pub fn uninstall(&self, existing: &str) -> Result<After, Problem> {
        match &self.make {
            Make::Settings => {
                Ok(settings::uninstall(existing, self.host)?.map_or(After::Gone, After::Text))
            }
            Make::Servers => {
                Ok(servers::uninstall(existing, self.host)?.map_or(After::Gone, After::Text))
            }
            Make::Whole { mark, .. } if !existing.contains(mark) => Ok(After::NotOurs),
            Make::Whole { .. } => Ok(After::Gone),
        }
    }
}
