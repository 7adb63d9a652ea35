//! `tl policy`: shows the trust policy in force and accepts a looser one.

use application::Failure;
use clap::{Args, Subcommand};
use domain::settings::Storage;
use domain::trust_policy::PolicyChange;
use serde::Serialize;

use crate::exit_code::ExitCode;
use crate::settings;
use crate::trust::{PolicySource, ResolvedPolicy};
use crate::ui::{BOLD, DIM, WARN, styled};
use crate::wiring::App;

/// Show the policy in force, or accept a looser one
///
/// Who may approve and which gates apply is pinned per project in your own directory. A stricter
/// config.toml takes effect at once; a looser one waits for `tl policy accept`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tl policy\n  tl policy show --json\n  tl policy accept   # in your own terminal"
)]
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    what: Option<PolicyCommand>,
}

#[derive(Debug, Subcommand)]
enum PolicyCommand {
    /// Show the values in force with their sources
    Show,
    /// Accept the looser values of config.toml (people only)
    Accept,
}

#[derive(Debug, Serialize)]
struct PolicyView {
    values: Vec<PolicyValueView>,
    /// Looser values in config.toml that wait for acceptance.
    waiting: Vec<PolicyChange>,
}

#[derive(Debug, Serialize)]
struct PolicyValueView {
    key: String,
    value: String,
    from: &'static str,
}

/// Result of `tl policy accept`.
#[derive(Debug, Default, Serialize)]
struct AcceptedPolicy {
    /// The looser values that are in force now.
    accepted: Vec<PolicyChange>,
}

impl PolicyArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        match self.what {
            None | Some(PolicyCommand::Show) => print_policy(app),
            Some(PolicyCommand::Accept) => accept_pending_policy(app),
        }
    }
}

fn print_policy(app: &App) -> Result<ExitCode, Failure> {
    let project = app.find_project()?;
    let store = project.open_store(app.ui, None)?;
    let trusted = project.resolve_policy(&*store)?;
    let declared = project.declared_policy();
    let defaults =
        domain::trust_policy::TrustPolicy::from_policy(&domain::policy::Policy::default())
            .config_values();
    // The three lists have the same keys in the same order, because each comes from
    // `TrustPolicy::values`.
    let rows = trusted
        .in_force
        .config_values()
        .into_iter()
        .zip(declared.config_values())
        .zip(defaults);
    let values: Vec<PolicyValueView> = rows
        .map(|(((key, value), (_, declared)), (_, default))| {
            let from = match () {
                // A value that differs from the file can only be stricter: looser ones have no
                // effect.
                () if value != declared => source_note(trusted.authority),
                () if value == default => "default",
                () => "config.toml",
            };
            PolicyValueView { key, value, from }
        })
        .collect();
    let view = PolicyView {
        values,
        waiting: trusted.waiting.clone(),
    };
    if app.ui.try_print_json(&view) {
        return Ok(ExitCode::Done);
    }
    let width = view
        .values
        .iter()
        .map(|value| value.key.len())
        .max()
        .unwrap_or_default();
    for PolicyValueView { key, value, from } in &view.values {
        app.ui.print_line(format_args!(
            "{key:<width$}  {}  {}",
            value,
            styled(DIM, from)
        ));
    }
    print_waiting(app, &trusted);
    Ok(ExitCode::Done)
}

fn source_note(authority: PolicySource) -> &'static str {
    match authority {
        PolicySource::Pin => "pinned in your directory; config.toml is looser",
        PolicySource::Database => "recorded in the shared database; config.toml is looser",
        PolicySource::Server => "the team server; config.toml is looser",
    }
}

fn print_waiting(app: &App, trusted: &ResolvedPolicy) {
    if trusted.waiting.is_empty() {
        return;
    }
    app.ui.print_line(format_args!(
        "\n{}",
        styled(
            BOLD,
            "Waiting for a person: the project's files are looser than the policy in force"
        )
    ));
    for change in &trusted.waiting {
        app.ui.print_line(format_args!("  {change}"));
    }
    match trusted.authority {
        PolicySource::Server => app
            .ui
            .print_line("The server's policy applies; it can only be changed there."),
        PolicySource::Pin | PolicySource::Database => {
            app.ui
                .print_line("To accept it, run in your own terminal:  tl policy accept");
        }
    }
}

fn accept_pending_policy(app: &App) -> Result<ExitCode, Failure> {
    let project = app.find_project()?;
    if project.settings.storage == Storage::Remote {
        return Err(Failure::refused(
            "the team server's policy applies: it can only be changed there",
        ));
    }
    // Always, whatever the policy in force says: this command is the only way to loosen it, so it
    // must not be open to an agent under any policy.
    if let Some(why) = project.reason_against_person() {
        return Err(Failure::refused(format!(
            "only a person at a terminal may accept a looser policy, and {why}"
        ))
        .with_step("ask the person to run `tl policy accept` in their own terminal"));
    }
    let store = project.open_store(app.ui, None)?;
    let trusted = project.resolve_policy(&*store)?;
    if trusted.waiting.is_empty() {
        if !app.ui.try_print_json(&AcceptedPolicy::default()) {
            app.ui
                .print_success("config.toml is in force; there is nothing to accept");
        }
        return Ok(ExitCode::Done);
    }
    for change in &trusted.waiting {
        app.ui.print_message(format_args!("  {change}"));
    }
    app.ui.print_message(format_args!(
        "{}: accept this looser policy? [y/N]",
        styled(WARN, "policy")
    ));
    if !settings::read_yes_or_no() {
        return Err(
            Failure::refused("not accepted; the stricter values stay in force")
                .with_step("revert .throughline/config.toml to stop this warning"),
        );
    }
    project.accept_declared_policy(&*store)?;
    let accepted = AcceptedPolicy {
        accepted: trusted.waiting,
    };
    if !app.ui.try_print_json(&accepted) {
        app.ui.print_success("accepted and recorded in `tl log`");
    }
    Ok(ExitCode::Done)
}
