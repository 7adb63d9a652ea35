//! `tl log`: prints the operation log.

use application::Failure;
use application::history::{HistoryRequest, list_history};
use application::views::OperationView;
use clap::Args;
use domain::operation::Channel;

use crate::completion::node_completer;
use crate::exit_code::ExitCode;
use crate::ui::{BOLD, DIM, WARN, styled};
use crate::wiring::App;

/// Show the operation log, newest first
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl log\n  tl log chapter 2 --limit 5\n  tl undo 12")]
pub(crate) struct LogArgs {
    /// Only operations on this node
    #[arg(num_args = 0..=2, value_name = "NODE", add = node_completer())]
    node: Vec<String>,

    /// Maximum number of operations
    #[arg(long, default_value_t = 30, value_name = "N")]
    limit: usize,
}

impl LogArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let request = HistoryRequest {
            node: self.node.clone(),
            most: self.limit,
            before: None,
        };
        let operations = app.run(|ctx| list_history(ctx, &request))?;
        if app.ui.try_print_json(&operations) {
            return Ok(ExitCode::Done);
        }
        for operation in &operations {
            // Undone operations stay in the log, because the journal is append-only.
            let undone = operation
                .undone_by
                .map(|by| styled(WARN, format!("  (undone by {by})")))
                .unwrap_or_default();
            app.ui.print_line(format_args!(
                "{}  {}  {}{undone}  {}",
                styled(BOLD, format!("{:>5}", operation.operation.0)),
                styled(DIM, &operation.at.format_local_minute()),
                operation.summary,
                styled(
                    DIM,
                    format!(
                        "{}, {}{}",
                        operation.verb.as_str(),
                        operation.by,
                        channel_note(operation)
                    )
                )
            ));
        }
        Ok(ExitCode::Done)
    }
}

/// Returns the channel of a person's operation, unless it was a terminal: what was typed in an
/// agent's prompt can be told from a decision in the browser.
fn channel_note(operation: &OperationView) -> &'static str {
    match (operation.by.is_human(), operation.channel) {
        (true, Channel::Hook) => " (typed in a host)",
        (true, Channel::Mcp) => " (through MCP)",
        (true, Channel::Web) => " (in the dashboard)",
        _ => "",
    }
}
