//! `tl wait`: blocks until a person decides about a plan.

use std::time::{Duration, Instant};

use application::open_waits::{end_open_wait, poll_open_wait};
use application::poll_decision::{WaitCondition, WaitRequest, WaitView};
use application::{Context, Failure};
use clap::Args;
use domain::ids::OperationId;

use super::NodeArgs;
use crate::exit_code::ExitCode;
use crate::ui::{BOLD, render_node_status, styled};
use crate::wiring::App;

/// Polling interval. Store notifications are not enough: an edit of a plan file is no operation
/// until a process observes it.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Wait until a person decides about a plan or comments on it
///
/// Returns with every decision: approved, changes requested, rejected, a declined question, a comment,
/// or a person's verdict in a review of it. Exits with 0 for these, with 1 on a timeout; `decision` in
/// the JSON output says which it was.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl wait chapter 2
  tl wait act-1/chapter-02 --changed --timeout 600")]
pub(crate) struct WaitArgs {
    #[command(flatten)]
    node: NodeArgs,

    /// Wait for any change of its status
    #[arg(long)]
    changed: bool,

    /// Also return for what happened since this operation, such as a question the person declined
    #[arg(long, value_name = "OPERATION")]
    since: Option<u64>,

    /// Timeout in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
    timeout: u64,
}

impl WaitArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let view = app.run(|ctx| self.wait_for_decision(ctx))?;
        if !app.ui.try_print_json(&view) {
            app.ui.print_line(format_args!(
                "{}  {}",
                styled(BOLD, &view.path),
                render_node_status(view.status)
            ));
            if let Some(made) = &view.decision {
                app.ui
                    .print_line(format!("  {} by {}", made.kind.describe_outcome(), made.by));
                for line in made.text.iter().flat_map(|text| text.lines()) {
                    app.ui.print_line(format!("    {line}"));
                }
            }
            for said in &view.comments {
                if let Some(quote) = &said.quote {
                    app.ui.print_line(format!("  > {quote}"));
                }
                // A list in Markdown is a list on the screen too.
                let mut lines = said.text.lines();
                let first = lines.next().unwrap_or_default();
                app.ui.print_line(format!("  {}: {first}", said.by));
                for line in lines {
                    app.ui.print_line(format!("    {line}"));
                }
            }
            for decided in &view.reviews {
                app.ui
                    .print_line(format!("  {}: {}", decided.by, decided.summary));
            }
        }
        Ok(if view.done {
            ExitCode::Done
        } else {
            ExitCode::Failed
        })
    }
}

impl WaitArgs {
    /// Polls until the decision or the timeout.
    fn wait_for_decision(&self, ctx: &Context<'_>) -> Result<WaitView, Failure> {
        // Read before the first check: an operation between the two would be missed otherwise.
        let mut known = ctx.store.begin_read()?.last_operation_id()?;
        let until = if self.changed {
            WaitCondition::Changed
        } else {
            WaitCondition::Approved
        };
        let node = self.node.node.clone();
        let mut request = WaitRequest {
            node,
            until,
            status: None,
            since: Some(self.since.map_or(known, OperationId)),
        };
        let mut view = poll_open_wait(ctx, &request)?;
        if self.changed {
            request.status = Some(view.status);
            // The first check only determines the status to compare with; it must not count as a
            // change.
            view.done = false;
        }
        let begun = Instant::now();
        loop {
            let left = Duration::from_secs(self.timeout).saturating_sub(begun.elapsed());
            if left.is_zero() {
                end_open_wait(ctx, &request);
            }
            if view.done || left.is_zero() {
                return Ok(view);
            }
            // Returns early on a new operation, so that an approval in the browser wakes the agent
            // at once.
            known = ctx.store.wait_for_change(known, left.min(POLL_INTERVAL))?;
            view = poll_open_wait(ctx, &request)?;
        }
    }
}
