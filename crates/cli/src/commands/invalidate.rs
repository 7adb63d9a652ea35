//! `tl invalidate`: marks a plan invalid and its descendants stale.

use application::Failure;
use application::invalidate::{InvalidateRequest, invalidate_node};
use clap::Args;
use domain::text::count_with_noun;

use super::{NodeArgs, ShownArgs, approve::print_transitions};
use crate::exit_code::ExitCode;
use crate::ui::{WARN, styled};
use crate::wiring::App;

/// Mark a plan as invalid; everything below it must be revalidated
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl invalidate chapter 2 --reason \"contradicts the ending\"")]
pub(crate) struct InvalidateArgs {
    #[command(flatten)]
    node: NodeArgs,

    /// Reason, shown for the plan and everything below it
    #[arg(long, value_name = "TEXT")]
    reason: String,

    #[command(flatten)]
    shown: ShownArgs,
}

impl InvalidateArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let request = InvalidateRequest {
            node: self.node.node.clone(),
            reason: self.reason.clone(),
            shown: self.shown.shown_versions(),
        };
        let outcome = app.run(|ctx| invalidate_node(ctx, &request))?;
        if app.ui.try_print_json(&outcome) {
            return Ok(ExitCode::Done);
        }
        let below = count_with_noun(
            outcome.invalidated_entities.len(),
            "plan below it",
            "plans below it",
        );
        let node = self.node.node.join(" ");
        app.ui.print_line(format_args!(
            "{} {} is invalid; {below} to revalidate",
            styled(WARN, "✗"),
            node
        ));
        // Everything below is stale from now on; the list shows how far that reaches.
        print_transitions(app.ui, &outcome.invalidated_entities);
        Ok(ExitCode::Done)
    }
}
