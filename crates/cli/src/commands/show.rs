//! `tl show`: prints one node.

use application::Failure;
use application::show_node::show_node;
use application::views::NodeView;
use clap::Args;

use super::NodeArgs;
use crate::exit_code::ExitCode;
use crate::ui::{BOLD, DIM, Ui, WARN, render_node_status, styled, title_suffix};
use crate::wiring::App;

/// Show a node: status, version, approval, parent, children
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl show chapter 2\n  tl show act-1/chapter-02 --json")]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    node: NodeArgs,
}

impl ShowArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let view = app.run(|ctx| show_node(ctx, &self.node.node))?;
        if !app.ui.try_print_json(&view) {
            print_node(app.ui, &view);
        }
        Ok(ExitCode::Done)
    }
}

/// Prints the details of a node.
pub(super) fn print_node(ui: Ui, view: &NodeView) {
    let title = title_suffix(view.title.as_deref());
    ui.print_line(format_args!(
        "{}  {}{title}",
        styled(BOLD, &view.path),
        render_node_status(view.status)
    ));
    let field = |name: &str, value: &str| {
        ui.print_line(format_args!(
            "  {} {}",
            styled(DIM, format!("{name:<9}")),
            value
        ))
    };
    field("level", &format!("{} ({})", view.entity_type, view.profile));
    if let Some(reason) = &view.invalidation_reason {
        ui.print_line(format_args!(
            "  {} {}",
            styled(DIM, "because  "),
            styled(WARN, reason)
        ));
    }
    if let Some(file) = &view.file_path {
        field("file", file);
    }
    if let Some(version) = view.version_hash {
        field("version", &version.short_hex());
    }
    if let Some(requested) = &view.changes_requested {
        let at = requested.at.format_local_minute();
        field("changes", &format!("requested by {}, {at}:", requested.by));
        for line in requested.text.lines() {
            ui.print_line(format_args!("    {}", styled(WARN, line)));
        }
    }
    if let Some(approval) = &view.approval {
        // The approval of another text stays visible: it says what was approved last, and by whom.
        let holds = if approval.holds {
            ""
        } else {
            " (for another text)"
        };
        field(
            "approved",
            &format!(
                "by {}, {}, {}{holds}",
                approval.by,
                approval.at.format_local_minute(),
                approval.version_hash.short_hex()
            ),
        );
        for warning in &approval.warnings {
            // Recorded with the approval, so that it can be seen later what was accepted knowingly.
            field("", &format!("despite: {warning}"));
        }
    }
    field("progress", view.progress.as_str());
    if let Some(parent) = &view.parent_id {
        field("parent", parent);
    }
    if !view.children.is_empty() {
        field("children", &view.children.join(" "));
    }
    if !view.needs.is_empty() {
        field("needs", &view.needs.join(", "));
    }
}
