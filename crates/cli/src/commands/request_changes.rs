//! `tl request-changes`: sends a plan back to the agent, with what has to change.

use application::Failure;
use application::request_changes::{ChangesRequest, request_changes};
use clap::Args;

use super::approve::print_transitions;
use super::{NodeArgs, ShownArgs};
use crate::exit_code::ExitCode;
use crate::wiring::App;

/// Request changes of a plan: it goes back to the agent
///
/// The plan leaves the queue of what waits for a person. A waiting agent is woken with the text;
/// otherwise it is in every briefing until the plan changes. The next text of the plan answers the
/// request; approving the plan ends it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl request-changes chapter 2 -m \"The storm comes too early\"
  tl request-changes act-1/chapter-02 -m \"Name the thief\" --version 3f2a9c41")]
pub(crate) struct RequestChangesArgs {
    #[command(flatten)]
    node: NodeArgs,

    /// What has to change; the agent gets these words
    #[arg(long, short, value_name = "TEXT")]
    message: String,

    #[command(flatten)]
    shown: ShownArgs,
}

impl RequestChangesArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let request = ChangesRequest {
            node: self.node.node.clone(),
            text: self.message.clone(),
            shown: self.shown.shown_versions(),
        };
        let outcome = app.run(|ctx| request_changes(ctx, &request))?;
        if app.ui.try_print_json(&outcome) {
            return Ok(ExitCode::Done);
        }
        app.ui.print_success(&outcome.message);
        print_transitions(app.ui, &outcome.changed_entities);
        Ok(ExitCode::Done)
    }
}
