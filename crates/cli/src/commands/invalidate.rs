//! `tl invalidate`: rejects a plan, which makes its descendants stale.

use application::Failure;
use application::invalidate::{InvalidateRequest, invalidate_node, preview_rejection};
use clap::Args;
use domain::text::count_with_noun;

use super::{NodeArgs, ShownArgs, approve::print_transitions};
use crate::exit_code::ExitCode;
use crate::settings;
use crate::ui::{Ui, WARN, styled};
use crate::wiring::{App, is_called_by_person};

/// Reject a plan: it must not be used, and everything below it must be revalidated
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl invalidate chapter 2 --reason \"contradicts the ending\"")]
pub(crate) struct InvalidateArgs {
    #[command(flatten)]
    node: NodeArgs,

    /// Reason, shown for the plan and everything below it
    #[arg(long, value_name = "TEXT")]
    reason: String,

    /// Do not ask before plans below become stale
    #[arg(long)]
    yes: bool,

    #[command(flatten)]
    shown: ShownArgs,
}

/// Shows what becomes stale with the plan, and asks.
fn confirm_rejection(app: &App, node: &[String]) -> Result<(), Failure> {
    const MAX_LISTED: usize = 20;
    let below = app.run(|ctx| preview_rejection(ctx, node))?;
    // Nothing else is affected, and `tl undo` restores the plan: no question is needed.
    if below.is_empty() {
        return Ok(());
    }
    let ui = Ui::default();
    let plans = count_with_noun(below.len(), "plan", "plans");
    ui.print_message(format_args!("{plans} below become stale with it:"));
    for path in below.iter().take(MAX_LISTED) {
        ui.print_message(format_args!("  {path}"));
    }
    if below.len() > MAX_LISTED {
        let left = below.len() - MAX_LISTED;
        ui.print_message(format_args!("  … and {left} more"));
    }
    ui.print_message(format_args!("Reject {}? [y/N]", node.join(" ")));
    match settings::read_yes_or_no() {
        true => Ok(()),
        false => Err(Failure::refused("not rejected").with_step(format!(
            "tl request-changes {} -m TEXT   # leaves what is below alone where it can",
            node.join(" ")
        ))),
    }
}

impl InvalidateArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let request = InvalidateRequest {
            node: self.node.node.clone(),
            reason: self.reason.clone(),
            shown: self.shown.shown_versions(),
        };
        // Scripts and agents name a reason and are not asked: nobody would answer.
        if !self.yes && is_called_by_person() && settings::is_at_terminal() {
            confirm_rejection(app, &self.node.node)?;
        }
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
