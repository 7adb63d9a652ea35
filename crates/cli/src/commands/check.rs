//! `tl check`: integrity check of the state against its checksums, history and plan files.

use crate::exit_code::ExitCode;
use crate::settings;
use crate::ui::{BAD, DIM, Ui, WARN, styled};
use crate::wiring::{App, Project};
use application::Failure;
use application::check_state::{CheckOutcome, FindingView, check_state};
use application::record_event::record_event;
use clap::Args;
use domain::operation::Verb;
use domain::shell_line::quote_word;
use domain::text::count_with_noun;
use std::path::PathBuf;

/// Check the integrity of the state, and that it matches the plan files
///
/// With `--ci`: whether the plans of the branch are approved, judged by the files and decisions in
/// the working tree alone. Read-only, except with `--accept-history`. Exits with 3 if problems were
/// found.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tl check\n  tl check --json\n  tl check --accept-history   # in your own terminal\n  tl check --ci --since origin/main   # in a pull request"
)]
pub(crate) struct CheckArgs {
    /// Accept a history that differs from the last known one, after you replaced the state yourself
    #[arg(long)]
    accept_history: bool,

    /// Check that the plans are approved, as in continuous integration; nothing is written
    #[arg(long, conflicts_with = "accept_history")]
    ci: bool,

    /// Only plans that HEAD changed since it left this commit or branch, and those below them
    #[arg(long, value_name = "COMMIT", requires = "ci")]
    since: Option<String>,
}

impl CheckArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        if self.ci {
            return super::check_ci::run(app, self.since.as_deref());
        }
        if self.accept_history {
            accept_history(app)?;
        }
        let mut outcome = app.run(check_state)?;
        // Permissions are checked here and not in the use case, which knows no file modes.
        outcome.add_findings(find_exposed_directories(&app.find_project()?));
        if !app.ui.try_print_json(&outcome) {
            print_findings(app.ui, &outcome);
        }
        Ok(ExitCode::from_check(outcome.ok))
    }
}

/// Returns findings for our directories that other users can enter. Opening the state has already
/// tightened the permissions it could.
fn find_exposed_directories(project: &Project) -> Vec<FindingView> {
    let exposed =
        store::private_files::find_exposed(&[&project.layout.home, project.known.folder()]);
    let finding = |path: &PathBuf| FindingView {
        kind: "permissions".to_owned(),
        node: None,
        message: format!("other users may enter `{}`", path.display()),
        next_steps: vec![
            "tl state repair".to_owned(),
            format!("chmod 700 {}", quote_word(&path.display().to_string())),
        ],
    };
    exposed.iter().map(finding).collect()
}

/// Records the current history as the known one, after a person confirmed it.
fn accept_history(app: &App) -> Result<(), Failure> {
    let project = app.find_project()?;
    let refuse = |what: &str| Failure::refused(what.to_owned());
    // Under every policy: an agent that rolled the history back could accept its own forgery.
    if let Some(why) = project.reason_against_person() {
        return Err(refuse(&format!(
            "only a person at a terminal may accept a changed history, and {why}"
        ))
        .with_step("ask the person to run `tl check --accept-history` in their own terminal"));
    }
    let store = project.open_store(app.ui, None)?;
    let Some(problem) = store.history_state().describe_problem() else {
        app.ui
            .print_message("the history matches the last known one; there is nothing to accept");
        return Ok(());
    };
    app.ui
        .print_message(format_args!("{}: {problem}", styled(WARN, "history")));
    app.ui.print_message("Accept the current history? [y/N]");
    if !settings::read_yes_or_no() {
        return Err(refuse("not accepted").with_step("tl log"));
    }
    store::accept_current_head(&*store, &project.store_engine_settings())?;
    // The next use case opens its own store, which has to see the accepted head.
    drop(store);
    project.run(app.ui, &|ctx| {
        // The acceptance itself is an operation, so that it can be seen in `tl log` who did it and
        // when.
        record_event(
            ctx,
            Verb::Adopt,
            &format!("accept the history as it is ({problem})"),
        )
    })?;
    Ok(())
}

/// Prints the findings.
pub(super) fn print_findings(ui: Ui, outcome: &CheckOutcome) {
    if outcome.ok {
        ui.print_success(format_args!(
            "{}: state and plan files agree",
            count_with_noun(outcome.nodes, "node", "nodes")
        ));
    }
    // If the state is sound, the remaining findings are warnings.
    let mark = if outcome.ok {
        styled(WARN, "!")
    } else {
        styled(BAD, "✗")
    };
    for finding in &outcome.findings {
        ui.print_line(format_args!("{mark} {}: {}", finding.kind, finding.message));
        for step in &finding.next_steps {
            ui.print_line(format_args!("    {}", styled(DIM, step)));
        }
    }
    if outcome.ok {
        return;
    }
    ui.print_line(format_args!(
        "{} found",
        count_with_noun(outcome.findings.len(), "problem", "problems")
    ));
}
