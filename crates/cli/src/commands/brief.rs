//! `tl brief`: prints the briefing of an agent.

use application::Failure;
use application::brief::{BriefRequest, compose_explained_briefing};
use clap::Args;
use domain::briefing::BriefingLine;

use crate::exit_code::ExitCode;
use crate::ui::{BOLD, DIM, styled};
use crate::wiring::App;

/// Print the briefing exactly as an agent gets it
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl brief
  tl brief --budget 800
  tl brief --explain   # why each line is there, and what was cut")]
pub(crate) struct BriefArgs {
    /// Maximum number of characters; 0 for no limit
    #[arg(long, value_name = "N")]
    budget: Option<usize>,
    /// Explain why each line is included, and list what was cut
    #[arg(long)]
    explain: bool,
}

impl BriefArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let outcome = app.run(|ctx| {
            compose_explained_briefing(
                ctx,
                BriefRequest {
                    faults: None,
                    budget: self.budget,
                },
            )
        })?;
        if app.ui.try_print_json(&outcome) {
            return Ok(ExitCode::Done);
        }
        // Exactly the bytes an agent gets, without decoration: it is used to debug briefings.
        if !self.explain {
            app.ui.print_lines(&outcome.text);
            return Ok(ExitCode::Done);
        }
        let list = |title: &str, lines: &[BriefingLine]| {
            app.ui.print_line(styled(BOLD, title));
            for line in lines {
                let severity = format!("{:?}", line.severity).to_lowercase();
                let why = format!("{}, {severity}: {}", line.section, line.why);
                let first = line.text.lines().next().unwrap_or_default();
                app.ui
                    .print_line(format_args!("  {first}  {}", styled(DIM, &why)));
            }
        };
        let size = format!(
            "{} characters, about {} tokens",
            outcome.characters, outcome.tokens
        );
        // The token count is an estimate by characters; no tokenizer fits the models of all hosts.
        list(&format!("included ({size})"), &outcome.kept);
        if !outcome.cut.is_empty() {
            list("cut to fit the budget", &outcome.cut);
        }
        Ok(ExitCode::Done)
    }
}
