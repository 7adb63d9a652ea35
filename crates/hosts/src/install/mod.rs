//! Installs into the hosts' settings, and uninstalls.
//!
//! Pure: the text of a file comes in, the text it should have goes out. Reading, writing and
//! backing up is left to the caller. Each host has a list of [`HostFile`]s: settings files that are
//! edited, and files that are entirely ours.

pub(crate) mod agent_commands;
pub(crate) mod command_line;
pub(crate) mod hooks;
pub(crate) mod mcp_servers;
pub(crate) mod ordered_json;
pub(crate) mod settings;

use agent_commands::CommandNeed;
pub use agent_commands::{AgentCommand, agent_commands};
pub use command_line::is_program_name;
use domain::host_event::Host;
use domain::profile::Profile;
use hooks::{HookFormat, SettingsHooks};

pub use crate::claude_code::plugin_files;
use crate::host_spec;

/// Parameters of our entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookSetup {
    /// The program the host starts: an absolute path, or a name to look up on `PATH`.
    pub program: String,
    /// Fail closed: stop the agent if the program cannot run, even where the host fails open.
    pub strict: bool,
    /// Also set the host's status line, where it has one and the user has none.
    pub status_line: bool,
}

/// One file of a host in the project.
pub struct HostFile {
    pub host: Host,
    /// Relative to the project.
    pub path: String,
    make: FileSource,
    need: CommandNeed,
}

enum FileSource {
    /// A settings file of the host, shared with other tools.
    Settings(&'static SettingsHooks),
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
    let spec = host_spec(host);
    let file = |path: &str, make| HostFile {
        host,
        path: path.to_owned(),
        make,
        need: CommandNeed::Nothing,
    };
    let hooks = match &spec.hooks {
        HookFormat::Settings(hooks) => FileSource::Settings(hooks),
        HookFormat::Plugin(plugin) => FileSource::Whole {
            text: (plugin.render)(setup),
            mark: plugin.mark.to_owned(),
        },
    };
    let mut all = vec![file(spec.hooks_path, hooks)];
    if spec.servers.path != spec.hooks_path {
        all.push(file(spec.servers.path, FileSource::Servers));
    }
    all.extend(agent_commands().into_iter().map(|command| {
        let text = command.render(host);
        let mark = command.file_mark();
        HostFile {
            need: command.need(),
            ..file(&command.path(host), FileSource::Whole { text, mark })
        }
    }));
    all
}

/// Finds our entries in a host's hooks file; `None` if there are none or it cannot be parsed.
#[must_use]
pub fn find_installed(host: Host, text: &str) -> Option<InstalledHooks> {
    match &host_spec(host).hooks {
        HookFormat::Settings(hooks) => settings::find_installed(host, hooks, text),
        HookFormat::Plugin(plugin) => (plugin.find_installed)(text),
    }
}

/// Whether a command line is our hook for this host.
#[must_use]
pub fn is_our_command(host: Host, line: &str) -> bool {
    command_line::hook_program(host, &HookCall::Shell(line.to_owned())).is_some()
}

impl HostFile {
    /// Whether the file makes sense in a project with these profiles: an agent that works on tickets
    /// needs no command for acts. Without profiles, every file does.
    #[must_use]
    pub fn is_wanted(&self, profiles: &[Profile]) -> bool {
        self.need.is_met(profiles)
    }

    /// Whether the file is the host's list of MCP servers.
    #[must_use]
    pub fn is_servers(&self) -> bool {
        matches!(self.make, FileSource::Servers)
    }

    /// Whether the file is the shared settings file with our hooks.
    #[must_use]
    pub fn is_settings(&self) -> bool {
        matches!(self.make, FileSource::Settings(_))
    }

    /// Returns the file with our entries.
    ///
    /// # Errors
    /// [`HostSettingsProblem`] when the host's file cannot be parsed or has an unexpected structure.
    pub fn install(
        &self,
        existing: Option<&str>,
        setup: &HookSetup,
    ) -> Result<FileOutcome, HostSettingsProblem> {
        let spec = host_spec(self.host);
        match &self.make {
            FileSource::Settings(hooks) => {
                settings::install_hooks(existing, spec, hooks, setup).map(FileOutcome::Text)
            }
            FileSource::Servers => {
                mcp_servers::install_server(existing, &spec.servers, setup).map(FileOutcome::Text)
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
    /// [`HostSettingsProblem`] when the host's file cannot be parsed or has an unexpected structure.
    pub fn uninstall(&self, existing: &str) -> Result<FileOutcome, HostSettingsProblem> {
        let spec = host_spec(self.host);
        match &self.make {
            FileSource::Settings(hooks) => Ok(settings::uninstall_hooks(existing, spec, hooks)?
                .map_or(FileOutcome::Gone, FileOutcome::Text)),
            FileSource::Servers => Ok(mcp_servers::uninstall_server(existing, &spec.servers)?
                .map_or(FileOutcome::Gone, FileOutcome::Text)),
            FileSource::Whole { mark, .. } if !existing.contains(mark) => Ok(FileOutcome::NotOurs),
            FileSource::Whole { .. } => Ok(FileOutcome::Gone),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{HookSetup, Host, host_files};

    /// Files that are written at installation count as settings: their lines are nobody's work.
    #[test]
    fn every_installed_file_is_a_settings_file_of_its_host() {
        let setup = HookSetup {
            program: "tl".to_owned(),
            strict: false,
            status_line: false,
        };
        for host in Host::ALL {
            for file in host_files(host, &setup) {
                assert!(host.has_settings_at(&file.path), "{}", file.path);
            }
        }
    }
}
