//! `tl children`: lists the children of a node with their status.

use application::Failure;
use application::children_status::children_status;
use clap::Args;

use super::NodeArgs;
use crate::exit_code::ExitCode;
use crate::ui::{BOLD, render_node_status, styled, title_suffix};
use crate::wiring::App;

/// List the children of a node with their status
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl children act 1\n  tl children chapter-02 --json")]
pub(crate) struct ChildrenArgs {
    #[command(flatten)]
    node: NodeArgs,
}

impl ChildrenArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let view = app.run(|ctx| children_status(ctx, &self.node.node))?;
        if app.ui.try_print_json(&view) {
            return Ok(ExitCode::Done);
        }
        for child in &view.children {
            let title = title_suffix(child.title.as_deref());
            app.ui.print_line(format_args!(
                "{}  {}{title}",
                styled(BOLD, &child.entity_id),
                render_node_status(child.status)
            ));
        }
        // On stderr: an empty stdout is the right answer for a script.
        if view.children.is_empty() {
            app.ui.print_message("no children");
        }
        Ok(ExitCode::Done)
    }
}
