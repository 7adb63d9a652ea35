//! `tl uninstall`: removes our entries from the settings of agent hosts.

use application::{Failure, FailureKind};
use clap::Args;
use serde::Serialize;
use store::DiskFiles;

use crate::commands::host_choice::{HostChoice, parse_host_choice};
use crate::commands::host_files::{HostChange, apply_changes, plan_uninstall, print_changes};
use crate::exit_code::ExitCode;
use crate::wiring::App;

/// Remove Throughline from the settings of agent hosts
///
/// The reverse of `tl init --host`: removes our hooks and commands, and nothing else. The project,
/// its plans and its state are not changed.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tl uninstall --host claude-code\n  tl uninstall --host codex,gemini\n  tl uninstall --host all"
)]
pub(crate) struct UninstallArgs {
    /// The hosts: claude-code, cursor, opencode, codex, gemini, copilot, or all
    #[arg(long, value_name = "HOSTS", value_delimiter = ',', required = true)]
    host: Vec<String>,
}

/// Outcome of `tl uninstall`.
#[derive(Debug, Serialize)]
struct UninstallOutcome {
    success: bool,
    project: String,
    hosts: Vec<HostChange>,
}

impl UninstallArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        // No `auto` here: removing from a host that happens to be detected should be said
        // explicitly.
        let HostChoice::Named(hosts) = parse_host_choice(&self.host, false)? else {
            return Err(Failure::new(FailureKind::Invalid, "which hosts?")
                .with_step("tl uninstall --host all"));
        };
        let root = app.find_project()?.root;
        let disk = DiskFiles::open(&root).map_err(|error| {
            Failure::new(
                FailureKind::Unavailable,
                format!("cannot open `{}`: {error}", root.display()),
            )
        })?;
        let mut changes = plan_uninstall(&disk, &hosts)?;
        apply_changes(&disk, &mut changes)?;
        if app.ui.json {
            app.ui.print_json(&UninstallOutcome {
                success: true,
                project: root.display().to_string(),
                hosts: changes,
            });
        } else {
            print_changes(app.ui, &changes);
        }
        Ok(ExitCode::Done)
    }
}
