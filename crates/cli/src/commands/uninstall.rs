//! `tl host uninstall`: removes our entries from the settings of agent hosts.

use application::Failure;
use clap::Args;
use serde::Serialize;
use store::DiskFiles;

use crate::commands::host_choice::{HostChoice, list_host_names, parse_host_choice};
use crate::commands::host_files::{HostChange, apply_changes, plan_uninstall, print_changes};
use crate::exit_code::ExitCode;
use crate::wiring::App;

/// Remove Throughline from the settings of agent hosts
///
/// The reverse of `tl init --host`: removes our hooks and commands, and nothing else. The project,
/// its plans and its state are not changed.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tl host uninstall claude-code\n  tl host uninstall codex,gemini\n  tl host uninstall all"
)]
pub(crate) struct UninstallArgs {
    #[arg(
        value_name = "HOSTS",
        value_delimiter = ',',
        required_unless_present = "host",
        help = format!("The hosts: {}, or all", list_host_names())
    )]
    hosts: Vec<String>,

    /// The same as an option, as in `tl init --host`
    #[arg(
        long,
        value_name = "HOSTS",
        value_delimiter = ',',
        conflicts_with = "hosts"
    )]
    host: Vec<String>,
}

/// Outcome of `tl host uninstall`.
#[derive(Debug, Serialize)]
struct UninstallOutcome {
    success: bool,
    project: String,
    hosts: Vec<HostChange>,
}

impl UninstallArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let named = [self.hosts.as_slice(), &self.host].concat();
        // No `auto` here: removing from a host that happens to be detected should be said
        // explicitly.
        let HostChoice::Named(hosts) = parse_host_choice(&named, false)? else {
            return Err(Failure::invalid("which hosts?").with_step("tl host uninstall all"));
        };
        let root = app.find_project()?.root;
        let disk = DiskFiles::open(&root).map_err(|error| {
            Failure::unavailable(format!("cannot open `{}`: {error}", root.display()))
        })?;
        let mut changes = plan_uninstall(&disk, &hosts)?;
        apply_changes(&disk, &mut changes)?;
        let outcome = UninstallOutcome {
            success: true,
            project: root.display().to_string(),
            hosts: changes,
        };
        if !app.ui.try_print_json(&outcome) {
            print_changes(app.ui, &outcome.hosts);
        }
        Ok(ExitCode::Done)
    }
}
