//! `tl host install`: installs our hooks and commands into the settings of agent hosts.

use application::Failure;
use clap::Args;

use super::host_choice::list_host_names;
use super::init::InitArgs;
use crate::exit_code::ExitCode;
use crate::wiring::App;

/// Install hooks and commands into the settings of agent hosts
///
/// The same as `tl init --host`, in a project that exists. Entries of other tools stay as they are,
/// and each changed file is backed up. Safe to run twice.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl host install                        the hosts that are found here
  tl host install claude-code,codex
  tl host install claude-code --statusline
  tl host install all --program tl       entries that work on every machine")]
pub(crate) struct InstallArgs {
    #[arg(
        value_name = "HOSTS",
        value_delimiter = ',',
        default_value = "auto",
        help = format!("The hosts: {}, all, or auto", list_host_names())
    )]
    hosts: Vec<String>,

    /// Block the agent if the hook cannot run, also in hosts without a setting for it
    #[arg(long)]
    strict: bool,

    /// Also show the position of the session in Claude Code's status line, unless you have one there
    #[arg(long)]
    statusline: bool,

    /// Program that the hooks run [default: this one, by its absolute path]
    #[arg(long, value_name = "PATH")]
    program: Option<String>,
}

impl InstallArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        // Without this, a typo in `--project` would create a project there.
        let root = app.find_project_root()?;
        let inside = App {
            start: root,
            explicit: true,
            ..app.clone()
        };
        InitArgs::for_hosts(
            self.hosts.clone(),
            self.strict,
            self.statusline,
            self.program.clone(),
        )
        .run(&inside)
    }
}
