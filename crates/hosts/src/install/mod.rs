//! Getting into the hosts' settings, and out of them again.
//!
//! Pure: the text of a file comes in, the text it should have goes out. Reading, writing and keeping copies is
//! the business of whoever calls. For every host there is a list of [`Piece`]s: the settings file that is edited
//! and the whole files that are ours.

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

/// How our entries are to look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The program the host starts: an absolute path, or a name that is looked up on `PATH`.
    pub program: String,
    /// Stop the agent when the program cannot run, also where the host itself would let it go on.
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
    /// A settings file of the host; others have entries in it too.
    Settings,
    /// The host's list of MCP servers.
    Servers,
    /// A file that is ours as a whole, and the words by which it is known to be.
    Whole { text: String, mark: String },
}

/// What a file should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum After {
    Text(String),
    /// Nothing but ours was in it.
    Gone,
    /// Somebody else's file has that name; it stays as it is.
    NotOurs,
}

/// A settings file that cannot be edited.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Problem {
    /// The line, where it is known.
    pub line: Option<usize>,
    pub what: String,
}

/// Our entries, as they were found in a host's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// How they look.
    pub setup: Setup,
    /// The command line of each entry, in the order of the file.
    pub entries: Vec<Entry>,
}

/// One entry of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The host's name of the event; empty for the OpenCode plugin, which knows them all.
    pub event: String,
    pub call: Call,
}

/// How a host starts a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// `sh -c` with this line.
    Shell(String),
    /// A program with arguments, no shell.
    Program(String, Vec<String>),
}

/// Returns the files of a host: the one with the hooks first, then its list of MCP servers where that is another one,
/// then the agent's commands.
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

/// Returns the file of a host that holds our hooks.
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

/// Returns our entries in a host's hooks file; `None` when there are none, or when it cannot be read.
#[must_use]
pub fn found(host: Host, text: &str) -> Option<Found> {
    match host {
        Host::OpenCode => opencode::found(text),
        Host::ClaudeCode | Host::Cursor | Host::Codex | Host::Gemini | Host::Copilot => {
            settings::found(host, text)
        }
    }
}

/// Says whether a command line is a hook of ours for this host.
#[must_use]
pub fn is_our_command(host: Host, line: &str) -> bool {
    command_line::program_of(host, &Call::Shell(line.to_owned())).is_some()
}

/// Says whether settings of Claude Code turn on our plugin, which has the same hooks.
#[must_use]
pub fn has_claude_plugin(text: &str) -> bool {
    settings::enabled_plugins(text)
        .iter()
        .any(|name| name.starts_with(plugin::NAME_AND_AT))
}

impl Piece {
    /// Says whether the file is the host's list of MCP servers.
    #[must_use]
    pub fn is_servers(&self) -> bool {
        matches!(self.make, Make::Servers)
    }

    /// Says whether the file is the one with our hooks, in which others have entries too.
    #[must_use]
    pub fn is_settings(&self) -> bool {
        matches!(self.make, Make::Settings)
    }

    /// Returns the file with our entries.
    ///
    /// # Errors
    /// [`Problem`] when the host's file cannot be read as what it should be.
    pub fn install(&self, existing: Option<&str>, setup: &Setup) -> Result<After, Problem> {
        match &self.make {
            Make::Settings => settings::install(existing, self.host, setup).map(After::Text),
            Make::Servers => servers::install(existing, self.host, setup).map(After::Text),
            Make::Whole { mark, .. } if existing.is_some_and(|text| !text.contains(mark)) => {
                Ok(After::NotOurs)
            }
            Make::Whole { text, .. } => Ok(After::Text(text.clone())),
        }
    }

    /// Returns the file without our entries.
    ///
    /// # Errors
    /// [`Problem`] when the host's file cannot be read as what it should be.
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
