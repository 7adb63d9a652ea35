//! `tl progress`: sets the progress of a node.

use application::Failure;
use application::set_progress::{ProgressRequest, record_progress};
use clap::Args;
use domain::node::Progress;

use crate::completion::node_completer;
use crate::exit_code::ExitCode;
use crate::wiring::App;

/// Set the progress of a node: pending, active, blocked, complete
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tl progress scene 0204 active\n  tl progress scene-0204 complete\n  tl progress 017 blocked --reason \"waits for the key of the sandbox\""
)]
pub(crate) struct ProgressArgs {
    /// The node, then one of: pending, active, complete, blocked
    #[arg(required = true, num_args = 2..=3, value_names = ["NODE", "STATE"], add = node_completer())]
    words: Vec<String>,

    /// Why it is blocked; shown on its card and page
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

impl ProgressArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let (state, node) = self
            .words
            .split_last()
            .ok_or_else(|| Failure::invalid("a node is missing"))?;
        let progress = Progress::ALL
            .into_iter()
            // Parsed by hand: node and state are one list of words, because a node has one or two.
            .find(|progress| progress.as_str() == state.to_lowercase())
            .ok_or_else(|| {
                let words: Vec<&str> = Progress::ALL
                    .iter()
                    .map(|progress| progress.as_str())
                    .collect();
                Failure::invalid(format!(
                    "`{state}` is not a progress state: expected one of {}",
                    words.join(", ")
                ))
            })?;
        let request = ProgressRequest {
            node: node.to_vec(),
            progress,
        };
        let (view, _) = app.run(|ctx| record_progress(ctx, &request, self.reason.as_deref()))?;
        if !app.ui.try_print_json(&view) {
            app.ui
                .print_line(format!("{} is {}", view.path, view.progress));
        }
        Ok(ExitCode::Done)
    }
}
