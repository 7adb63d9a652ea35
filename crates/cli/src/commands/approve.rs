//! `tl approve`

use application::approve::{ApproveRequest, approve};
use application::show_node::show_node;
use application::views::TransitionView;
use application::{Failure, FailureKind};
use clap::Args;
use domain::approval::Force;
use domain::settings::Storage;
use domain::shown::Shown;

use super::{NodeArgs, ShownArgs, show};
use crate::exit_code::ExitCode;
use crate::settings;
use crate::ui::{GOOD, Ui, WARN, status, styled};
use crate::wiring::{App, is_person};

/// Approve exactly the text that is there now
///
/// The approval is bound to the content: whoever changes the file, in whatever way, it is a draft
/// again. The parent must be approved first.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl approve act 1\n  tl approve act-1/chapter-02 --force")]
pub(crate) struct ApproveArgs {
    #[command(flatten)]
    node: NodeArgs,

    /// Approve in spite of warnings or an earlier condemnation
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    shown: ShownArgs,
}

impl ApproveArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let project = app.project()?;
        // Where the state is shared, its policy is known only when it is open.
        let shared = matches!(
            project.settings.storage,
            Storage::Postgres | Storage::Remote
        );
        let only_people = project.settings.policy.approval.only_people()
            || (shared
                && is_person()
                && project.run(app.ui, &|ctx| Ok(ctx.policy.approval.only_people()))?);
        let shown = if only_people && is_person() {
            let view = project.run(app.ui, &|ctx| show_node(ctx, &self.node.node))?;
            confirm(&view)?;
            self.shown
                .shown()
                .or_else(|| view.version_hash.map(Shown::from))
        } else {
            self.shown.shown()
        };
        let force = if self.force { Force::Yes } else { Force::No };
        let request = ApproveRequest {
            node: self.node.node.clone(),
            force,
            shown,
        };
        let outcome = project.run(app.ui, &|ctx| approve(ctx, &request))?;
        if app.ui.json {
            app.ui.value(&outcome);
            return Ok(ExitCode::Done);
        }
        app.ui
            .line(format_args!("{} {}", styled(GOOD, "✓"), outcome.message));
        for warning in &outcome.warnings {
            app.ui
                .say(format_args!("{}: {}", styled(WARN, "warning"), warning));
        }
        print_transitions(app.ui, &outcome.changed_entities);
        Ok(ExitCode::Done)
    }
}

/// Where only a person may approve, they are shown what, and say yes to just that.
fn confirm(view: &application::views::NodeView) -> Result<(), Failure> {
    let ui = Ui {
        json: false,
        silent: false,
    };
    show::print(ui, view);
    let version = view
        .version_hash
        .map(domain::ids::VersionHash::short)
        .unwrap_or_default();
    ui.say(format_args!("Approve {} at {version}? [y/N]", view.path));
    if settings::answered_yes() {
        Ok(())
    } else {
        Err(Failure::new(FailureKind::Refused, "not approved"))
    }
}

/// Prints nodes that changed their status.
pub(super) fn print_transitions(ui: Ui, changes: &[TransitionView]) {
    const MOST: usize = 20;
    for change in changes.iter().take(MOST) {
        ui.line(format_args!(
            "  {}  {} → {}",
            change.path,
            change.previous_status,
            status(change.new_status)
        ));
    }
    if changes.len() > MOST {
        ui.line(format_args!("  … and {} more", changes.len() - MOST));
    }
}
