//! `tl story model`: checks the configured model.

use application::Failure;
use clap::{Args, Subcommand};
use domain::documentation::guide_address;
use serde_json::json;

use crate::exit_code::ExitCode;
use crate::model::Planner;
use crate::ui::{BAD, DIM, GOOD, styled};
use crate::wiring::App;

/// Show the configured model, and check that it works
///
/// Without a configuration no model is called: plans are made by built-in rules. You configure it,
/// not the project: by the environment (`THROUGHLINE_LLM_PROVIDER`, `_MODEL`, `_BASE_URL`,
/// `_API_KEY`) or `llm.toml` in your configuration directory.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl story model check
  THROUGHLINE_LLM_PROVIDER=anthropic tl story model check
  THROUGHLINE_LLM_PROVIDER=command THROUGHLINE_LLM_COMMAND='my-model --fast' tl story model check")]
pub(crate) struct ModelArgs {
    #[command(subcommand)]
    what: ModelCommand,
}

#[derive(Debug, Subcommand)]
enum ModelCommand {
    /// Test the model with two small calls
    Check,
}

impl ModelArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let ModelCommand::Check = self.what;
        let mind = Planner::from_configuration(app)?;
        let trials = mind.run_trials();
        if app.ui.json {
            app.ui
                .print_json(&json!({ "model": mind.name(), "trials": trials }));
        } else if trials.is_empty() {
            app.ui.print_line(
                "no model is configured: plans are made by rules, scenes from their blueprints",
            );
            app.ui.print_message(format_args!(
                "set THROUGHLINE_LLM_PROVIDER, or write llm.toml; see {}",
                guide_address("models")
            ));
        } else {
            app.ui.print_line(format!("model {}", mind.name()));
        }
        for trial in trials.iter().filter(|_| !app.ui.json) {
            let mark = if trial.works {
                styled(GOOD, "✓")
            } else {
                styled(BAD, "✗")
            };
            app.ui
                .print_line(format_args!("{mark} {}: {}", trial.name, trial.detail));
            trial
                .next
                .iter()
                .for_each(|step| app.ui.print_line(styled(DIM, format!("  {step}"))));
        }
        if !app.ui.json {
            match crate::embedding::configured_embedder()? {
                Some(embedder) => app
                    .ui
                    .print_line(format!("embeddings by {}", embedder.model_name())),
                None => app
                    .ui
                    .print_line("no embedding model is configured: memory search is by words only"),
            }
        }
        // Only the first trial decides: a model without structured output still works, by another
        // prompt.
        match trials.first() {
            Some(first) if !first.works => Err(Failure::unavailable(format!(
                "{} does not answer",
                mind.name()
            ))),
            _ => Ok(ExitCode::Done),
        }
    }
}
