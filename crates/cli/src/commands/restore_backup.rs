//! `tl state restore`: replaces the state by a backup.

use std::path::PathBuf;

use application::Failure;
use clap::Args;
use domain::ports::{Clock, StoreFault};
use domain::settings::Storage;
use domain::text::count_with_noun;
use serde_json::json;
use store::{QuarantineReason, ReplacementCause, SystemClock};

use crate::exit_code::ExitCode;
use crate::settings::{is_at_terminal, read_yes_or_no};
use crate::ui::{WARN, styled};
use crate::wiring::{App, Project};

/// Restore the state from a backup
///
/// The backup is verified, and the new state built and verified, before anything changes; then they
/// are swapped atomically, even if the program is killed. The current state is quarantined, never
/// deleted (`tl state quarantine`). Plan files are not changed: differences from the
/// restored state are recorded as edits.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tl state restore novel.tlbackup\n  tl state restore novel.tlbackup --yes   # without asking"
)]
pub(crate) struct RestoreBackupArgs {
    /// File written by `tl state backup`
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

impl RestoreBackupArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let project = app.find_project()?;
        project.refuse_on_replica()?;
        project.refuse_non_persons(
            "restoring a state",
            &["ask the person to run `tl state restore FILE` in their own terminal"],
        )?;
        let (layout, storage) = (&project.layout, project.settings.storage);
        // Read and verified before the question: nobody should confirm a restore that cannot work.
        let cargo = store::read_backup_file(&self.file).map_err(|fault| match fault {
            // It is the backup file that is damaged, not the state: there is nothing to repair.
            StoreFault::Damaged { what } => {
                Failure::invalid(format!("not a complete backup: {what}"))
            }
            StoreFault::Newer { found, known } => Failure::invalid(format!("the backup was written by a newer version (format {found}, this program supports {known})"),
            )
            .with_step("install a newer version of tl"),
            other => other.into(),
        })?;
        // A swap that was killed is completed first; otherwise half of it would be compared
        // with the backup.
        let finished = store::finish_interrupted_swap(layout, storage, Some(&project.known))?;
        project.report_recoveries(app.ui, &finished);
        let present = match store::dump_store(layout, storage) {
            Ok(present) => Some(present),
            // Without a readable state there is nothing to compare with the backup, nor to lose.
            Err(StoreFault::Missing | StoreFault::Damaged { .. } | StoreFault::Moved) => None,
            Err(fault) => return Err(fault.into()),
        };
        // Others work on a shared state, so only a user who adopted it may replace it.
        if storage == Storage::Postgres
            && let Some(store) = present.as_ref().map(|present| present.store_id().clone())
            && !project.known.is_known(&store)
        {
            return Err(StoreFault::Foreign { store }.into());
        }
        // Only operations that the backup lacks are lost; restoring onto an older state loses none.
        let lost = present
            .as_ref()
            .filter(|present| !cargo.starts_with(present))
            .map(|present| present.head_operation());
        self.ask_for_confirmation(
            app,
            &project,
            cargo.head_operation().0,
            lost.map(|head| head.0),
        )?;
        let cause = ReplacementCause {
            command: "state restore",
            reason: QuarantineReason::Replaced,
            why: "replaced by `tl state restore`".to_owned(),
            now: SystemClock.now(),
        };
        let put_aside = project.replace_state(app.ui, &cargo, &cause)?;
        if app.ui.json {
            app.ui.print_json(
                &json!({ "success": true, "operations": cargo.head_operation(), "put_aside": put_aside }),
            );
            return Ok(ExitCode::Done);
        }
        app.ui.print_success(format_args!(
            "restored {}, verified",
            count_operations(cargo.head_operation().0)
        ));
        for aside in &put_aside {
            app.ui
                .print_note(format_args!("the previous state is kept as {aside}"));
        }
        Ok(ExitCode::Done)
    }

    fn ask_for_confirmation(
        &self,
        app: &App,
        project: &Project,
        head: u64,
        lost: Option<u64>,
    ) -> Result<(), Failure> {
        if self.yes {
            return Ok(());
        }
        if !is_at_terminal() {
            return Err(
                Failure::refused("restoring a state needs a person's decision")
                    .with_step("run `tl state restore` in a terminal")
                    .with_step("tl state restore FILE --yes   # if a person has decided it"),
            );
        }
        let present = match lost {
            Some(lost) => format!(
                "{}, not all of them in the backup, will be quarantined",
                count_operations(lost)
            ),
            None => "the backup contains everything that is there now".to_owned(),
        };
        let root = project.root.display();
        app.ui.print_message(format_args!(
            "{}: {} to {root}; {present}. Go on? [y/N]",
            styled(WARN, "restore"),
            count_operations(head)
        ));
        match read_yes_or_no() {
            true => Ok(()),
            false => Err(Failure::refused("not restored")),
        }
    }
}

pub(super) fn count_operations(number: u64) -> String {
    count_with_noun(
        usize::try_from(number).unwrap_or(usize::MAX),
        "operation",
        "operations",
    )
}
