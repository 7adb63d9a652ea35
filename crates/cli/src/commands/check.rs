//! `tl check`

use application::Failure;
use application::check_state::{CheckOutcome, check_state};
use clap::Args;
use domain::planning_prompt::{clean_line, count};

use crate::exit_code::ExitCode;
use crate::ui::{BAD, DIM, GOOD, Ui, WARN, styled};
use crate::wiring::App;

/// Check that the state is sound and agrees with the plan files
///
/// Changes nothing. Exits with 3 when something was found.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl check\n  tl check --json")]
pub(crate) struct CheckArgs {}

impl CheckArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let outcome = app.run(check_state)?;
        if app.ui.json {
            app.ui.value(&outcome);
        } else {
            print(app.ui, &outcome);
        }
        Ok(if outcome.ok { ExitCode::Done } else { ExitCode::Findings })
    }
}

/// Prints what a check found.
pub(super) fn print(ui: Ui, outcome: &CheckOutcome) {
    if outcome.ok {
        ui.line(format!("{} {} and their files agree", styled(GOOD, "✓"), count(outcome.nodes, "node", "nodes")));
    }
    // Where all agree, what is left is worth knowing, but no problem of the state.
    let mark = if outcome.ok { styled(WARN, "!") } else { styled(BAD, "✗") };
    for finding in &outcome.findings {
        ui.line(format!("{mark} {}: {}", finding.kind, clean_line(&finding.message)));
        for step in &finding.next_steps {
            ui.line(format!("    {}", styled(DIM, &clean_line(step))));
        }
    }
    if outcome.ok {
        return;
    }
    ui.line(format!("{} found", count(outcome.findings.len(), "problem", "problems")));
}
