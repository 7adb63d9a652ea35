//! `tl trail rate`: records a self-rating of the session.

use application::Failure;
use application::sessions::self_rate::{RateRequest, self_rate};
use clap::Args;

use crate::exit_code::ExitCode;
use crate::wiring::App;

/// Rate the work of this session, 1 to 10
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tl trail rate 7\n  tl trail rate 3 --note \"the tests are still red\""
)]
pub(crate) struct RateArgs {
    /// Score from 1 (lost) to 10 (as planned)
    #[arg(value_name = "SCORE")]
    score: u8,
    /// Reason
    #[arg(long)]
    note: Option<String>,
}

impl RateArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let request = RateRequest {
            score: self.score,
            note: self.note.clone(),
        };
        let outcome = app.run(|ctx| self_rate(ctx, &request))?;
        if !app.ui.try_print_json(&outcome) {
            // The average is of this session: a trend matters more than a single score.
            let (score, all) = (outcome.score, outcome.ratings);
            app.ui.print_line(format!(
                "rated {score}; {:.1} on average of {all}",
                outcome.average
            ));
        }
        Ok(ExitCode::Done)
    }
}
