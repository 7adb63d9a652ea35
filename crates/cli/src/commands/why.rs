//! `tl why`: explains the status of a node.

use application::Failure;
use application::explain::{Explanation, explain_status};
use clap::Args;

use super::{NodeArgs, diff};
use crate::exit_code::ExitCode;
use crate::ui::{BOLD, DIM, Ui, render_node_status, styled};
use crate::wiring::App;

/// Explain the status of a node
///
/// Names the operation, the edit and the sections that caused it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl why scene 0204\n  tl why act-1/chapter-02 --json")]
pub(crate) struct WhyArgs {
    #[command(flatten)]
    node: NodeArgs,
}

impl WhyArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let view = app.run(|ctx| explain_status(ctx, &self.node.node))?;
        if !app.ui.try_print_json(&view) {
            print_explanation(app.ui, &view);
        }
        Ok(ExitCode::Done)
    }
}

fn print_explanation(ui: Ui, view: &Explanation) {
    ui.print_line(format_args!(
        "{}  {}",
        styled(BOLD, &view.path),
        render_node_status(view.status)
    ));
    ui.print_line(format!("  {}", view.summary));
    for (depth, link) in view.chain.iter().enumerate() {
        // The chain goes up: each line is the cause of the one above it.
        let indent = "  ".repeat(depth);
        ui.print_line(format!(
            "  {indent}└ {} is {}: {}",
            link.path, link.status, link.because
        ));
    }
    if let Some(operation) = &view.operation {
        ui.print_line(format!(
            "  in operation {} ({}, {}): {}",
            operation.operation,
            operation.by,
            operation.at.format_local_minute(),
            operation.summary
        ));
    }
    if let Some(changes) = &view.diff {
        diff::print_changed_sections(ui, changes);
        // Sections first, then the lines: a cascade is decided by sections, a person reads the
        // lines.
        diff::print_diff(ui, changes);
    }
    for step in &view.next_steps {
        ui.print_line(format_args!("    {}", styled(DIM, step)));
    }
}
