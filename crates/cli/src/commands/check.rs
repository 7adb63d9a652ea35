//! `tl check`

use std::path::PathBuf;

use application::Failure;
use application::check_state::{CheckOutcome, FindingView, check_state};
use clap::Args;
use domain::text::count;

use crate::exit_code::ExitCode;
use crate::ui::{BAD, DIM, GOOD, Ui, styled};
use crate::wiring::{App, Project};

/// Check that the state is sound and agrees with the plan files
///
/// Changes nothing. Exits with 3 when something was found.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl check\n  tl check --json")]
pub(crate) struct CheckArgs {}

impl CheckArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let mut outcome = app.run(check_state)?;
        outcome.add(exposed_directories(&app.project()?));
        if app.ui.json {
            app.ui.value(&outcome);
        } else {
            print(app.ui, &outcome);
        }
        Ok(if outcome.ok { ExitCode::Done } else { ExitCode::Findings })
    }
}

/// Finds directories of ours that others may enter; opening the state has tightened what can be.
fn exposed_directories(project: &Project) -> Vec<FindingView> {
    let exposed = store::private::exposed(&[&project.layout.home, project.known.folder()]);
    let finding = |path: &PathBuf| FindingView {
        kind: "permissions".to_owned(),
        node: None,
        message: format!("other users may enter `{}`", path.display()),
        next_steps: vec!["tl repair".to_owned(), format!("chmod 700 {}", path.display())],
    };
    exposed.iter().map(finding).collect()
}

/// Prints what a check found.
pub(super) fn print(ui: Ui, outcome: &CheckOutcome) {
    if outcome.ok {
        ui.line(format_args!("{} {} and their files agree", styled(GOOD, "✓"), count(outcome.nodes, "node", "nodes")));
        return;
    }
    for finding in &outcome.findings {
        ui.line(format_args!("{} {}: {}", styled(BAD, "✗"), finding.kind, finding.message));
        for step in &finding.next_steps {
            ui.line(format_args!("    {}", styled(DIM, step)));
        }
    }
    ui.line(format_args!("{} found", count(outcome.findings.len(), "problem", "problems")));
}
