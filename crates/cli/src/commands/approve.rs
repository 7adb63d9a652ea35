//! `tl approve`: approves a plan at its current version, after confirmation where only people may.

use application::Failure;
use application::approve::{ApproveRequest, approve_node};
use application::show_node::show_node;
use application::views::{NodeView, TransitionView};
use application::working_copy::{CopyDifference, DifferenceKind};
use clap::Args;
use domain::approval::Force;
use domain::expected_version::ExpectedVersions;
use domain::settings::Storage;

use super::{NodeArgs, ShownArgs, show};
use crate::exit_code::ExitCode;
use crate::settings;
use crate::ui::{Ui, WARN, render_node_status, styled};
use crate::wiring::{App, is_called_by_person};

/// Approve a plan exactly as it is now
///
/// The approval is bound to the content: as soon as the file changes, in whatever way, the plan is
/// a draft again. The parent must be approved first.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl approve act 1\n  tl approve act-1/chapter-02 --force")]
pub(crate) struct ApproveArgs {
    #[command(flatten)]
    node: NodeArgs,

    /// Approve despite warnings or an earlier invalidation
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    shown: ShownArgs,
}

impl ApproveArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let project = app.find_project()?.tighten_by_pins();
        // The policy of a shared state is only known with an open store. Agents skip this read:
        // they are refused by the use case anyway.
        let shared = matches!(
            project.settings.storage,
            Storage::Postgres | Storage::Remote
        );
        let only_people = project.settings.policy.approval.requires_person()
            || (shared
                && is_called_by_person()
                && project.run(app.ui, &|ctx| Ok(ctx.policy.approval.requires_person()))?);
        let shown = if only_people && is_called_by_person() {
            let (view, differences) = project.run(app.ui, &|ctx| {
                Ok((show_node(ctx, &self.node.node)?, ctx.copy_differences()))
            })?;
            confirm_approval(&view, &differences)?;
            self.shown
                .shown_versions()
                // Binds the approval to the version that was shown: a change between the question
                // and the answer makes it fail instead of approving unseen text.
                .or_else(|| view.version_hash.map(ExpectedVersions::from))
        } else {
            self.shown.shown_versions()
        };
        let force = if self.force { Force::Yes } else { Force::No };
        let request = ApproveRequest {
            node: self.node.node.clone(),
            force,
            shown,
        };
        let outcome = project.run(app.ui, &|ctx| approve_node(ctx, &request))?;
        if app.ui.try_print_json(&outcome) {
            return Ok(ExitCode::Done);
        }
        app.ui.print_success(outcome.message);
        for warning in &outcome.warnings {
            app.ui.print_warning(warning);
        }
        print_transitions(app.ui, &outcome.changed_entities);
        Ok(ExitCode::Done)
    }
}

/// Shows the plan and asks for confirmation of just this version.
fn confirm_approval(view: &NodeView, differences: &[CopyDifference]) -> Result<(), Failure> {
    // Also with `--json`: the question is for the person at the terminal, the JSON for the caller.
    let ui = Ui::default();
    show::print_node(ui, view);
    for difference in differences.iter().filter(|one| one.node == view.path) {
        ui.print_message(format_args!(
            "{}: your file is {}; {}",
            styled(WARN, "differs from the team's text"),
            difference.kind.as_str(),
            match difference.kind {
                DifferenceKind::New | DifferenceKind::Changed => "approving it submits it",
                _ => "the team's text is approved, not yours",
            }
        ));
    }
    let version = view
        .version_hash
        .map(domain::ids::VersionHash::short_hex)
        .unwrap_or_default();
    ui.print_message(format_args!("Approve {} at {version}? [y/N]", view.path));
    if settings::read_yes_or_no() {
        Ok(())
    } else {
        Err(Failure::refused("not approved"))
    }
}

/// Prints status transitions, at most twenty.
pub(super) fn print_transitions(ui: Ui, changes: &[TransitionView]) {
    const MAX_PRINTED_TRANSITIONS: usize = 20;
    for change in changes.iter().take(MAX_PRINTED_TRANSITIONS) {
        ui.print_line(format_args!(
            "  {}  {} → {}",
            change.path,
            change.previous_status,
            render_node_status(change.new_status)
        ));
    }
    if changes.len() > MAX_PRINTED_TRANSITIONS {
        ui.print_line(format_args!(
            "  … and {} more",
            changes.len() - MAX_PRINTED_TRANSITIONS
        ));
    }
}
