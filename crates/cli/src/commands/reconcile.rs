//! `tl doc reconcile`: compares a frozen plan with the repository.

use application::Failure;
use application::plan_documents::reconcile::reconcile_plan;
use clap::Args;

use crate::exit_code::ExitCode;
use crate::wiring::App;

/// Compare a frozen plan with what changed in the repository
///
/// Reports intents whose file did not change, changes without an intent, and acceptance criteria
/// without evidence. Exits with 3 if there are any.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tl doc reconcile\n  tl doc reconcile --doc add-search --since main\n  tl doc reconcile --json"
)]
pub(crate) struct ReconcileArgs {
    /// The document [default: the current one]
    #[arg(long, value_name = "ID")]
    doc: Option<String>,

    /// Commit to compare with [default: the one at the time of the freeze]
    #[arg(long, value_name = "COMMIT")]
    since: Option<String>,
}

impl ReconcileArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let report =
            app.run(|ctx| reconcile_plan(ctx, self.doc.as_deref(), self.since.as_deref()))?;
        if !app.ui.try_print_json(&report) {
            app.ui.print_lines(&report.markdown);
        }
        Ok(ExitCode::from_check(report.ok))
    }
}
