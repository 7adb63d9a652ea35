//! `tl repair`

use application::Failure;
use application::repair_state::{RepairRequest, repair_state};
use clap::Args;
use domain::text::count;

use super::check;
use crate::exit_code::ExitCode;
use crate::ui::{GOOD, styled};
use crate::wiring::App;

/// Mend what `tl check` found, as far as that needs no judgement
///
/// A damaged database or journal is put aside and rebuilt from the other, the mirror is brought up
/// to date. The options do more.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl repair\n  tl repair --fix-hashes --rebuild-orphans")]
pub(crate) struct RepairArgs {
    /// Record every plan file as it is now and judge every status anew
    #[arg(long)]
    fix_hashes: bool,

    /// Put back missing plan files of nodes that have plans below them
    #[arg(long)]
    rebuild_orphans: bool,

    /// Forget nodes whose plan file is gone and that have nothing below them
    #[arg(long)]
    forget_missing: bool,
}

impl RepairArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let project = app.project()?;
        let damage = {
            let store = project.open(app.ui, None)?;
            store.verify()?.into_iter().find(|finding| finding.kind.is_damage()).map(|finding| finding.message)
        };
        if let Some(what) = damage {
            drop(project.open(app.ui, Some(&format!("the state was damaged ({what})")))?);
        }
        let request = RepairRequest {
            fix_hashes: self.fix_hashes,
            rebuild_orphans: self.rebuild_orphans,
            forget_missing: self.forget_missing,
        };
        let mut outcome = project.run(app.ui, &|ctx| repair_state(ctx, request))?;
        let restricted =
            store::private::restrict_all(&project.layout.home) + store::private::restrict_all(project.known.folder());
        if restricted > 0 {
            let files = count(restricted, "file or directory", "files and directories");
            outcome.actions.push(format!("took other users' permissions from {files}"));
        }
        if app.ui.json {
            app.ui.value(&outcome);
        } else {
            for action in &outcome.actions {
                app.ui.line(format_args!("{} {}", styled(GOOD, "✓"), action));
            }
            check::print(app.ui, &outcome.remaining);
        }
        Ok(if outcome.success { ExitCode::Done } else { ExitCode::Findings })
    }
}
