//! `tl restore-backup`: replaces the state by a backup.

use std::path::PathBuf;

use application::{Failure, FailureKind};
use clap::Args;
use domain::ports::{Clock, StoreFault};
use domain::settings::Storage;
use domain::text::count;
use serde_json::json;
use store::{QuarantineReason, ReplacementCause, SystemClock};

use crate::exit_code::ExitCode;
use crate::settings::{answered_yes, at_terminal};
use crate::ui::{GOOD, INFO, WARN, styled};
use crate::wiring::{App, Project};

/// Restore the state from a backup
///
/// The backup is verified, and the new state built and verified, before anything changes; then they
/// are swapped atomically, even if the program is killed. The current state is quarantined, never
/// deleted (`tl repair --list-quarantine`). Plan files are not changed: differences from the
/// restored state are recorded as edits.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tl restore-backup novel.tlbackup\n  tl restore-backup novel.tlbackup --yes   # without asking"
)]
pub(crate) struct RestoreBackupArgs {
    /// File written by `tl backup`
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

impl RestoreBackupArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let project = app.project()?;
        project.refuse_on_replica()?;
        project.refuse_agents(
            "restoring a state",
            &["ask the person to run `tl restore-backup FILE` in their own terminal"],
        )?;
        let (layout, storage) = (&project.layout, project.settings.storage);
        let cargo = store::read_backup(&self.file).map_err(|fault| match fault {
            // It is the backup file that is damaged, not the state: there is nothing to repair.
            StoreFault::Damaged { what } => {
                Failure::new(FailureKind::Invalid, format!("not a complete backup: {what}"))
            }
            StoreFault::Newer { found, known } => Failure::new(
                FailureKind::Invalid,
                format!("the backup was written by a newer version (format {found}, this program supports {known})"),
            )
            .step("install a newer version of tl"),
            other => other.into(),
        })?;
        let finished = store::finish_interrupted(layout, storage, Some(&project.known))?;
        project.tell(app.ui, &finished);
        let present = match store::load(layout, storage) {
            Ok(present) => Some(present),
            // Without a readable state there is nothing to compare with the backup, nor to lose.
            Err(StoreFault::Missing | StoreFault::Damaged { .. } | StoreFault::Moved) => None,
            Err(fault) => return Err(fault.into()),
        };
        if storage == Storage::Postgres
            && let Some(store) = present.as_ref().map(|present| present.store().clone())
            && !project.known.knows(&store)
        {
            return Err(StoreFault::Foreign { store }.into());
        }
        // Only operations that the backup lacks are lost; restoring onto an older state loses none.
        let lost = present
            .as_ref()
            .filter(|present| !cargo.holds(present))
            .map(|present| present.head());
        self.ask(app, &project, cargo.head().0, lost.map(|head| head.0))?;
        let cause = ReplacementCause {
            command: "restore-backup",
            reason: QuarantineReason::Replaced,
            why: "replaced by `tl restore-backup`".to_owned(),
            now: SystemClock.now(),
        };
        let put_aside = project.replace_state(app.ui, &cargo, &cause)?;
        if app.ui.json {
            app.ui.value(
                &json!({ "success": true, "operations": cargo.head(), "put_aside": put_aside }),
            );
            return Ok(ExitCode::Done);
        }
        app.ui.line(format_args!(
            "{} restored {}, verified",
            styled(GOOD, "✓"),
            operations(cargo.head().0)
        ));
        for aside in &put_aside {
            app.ui.say(format_args!(
                "{}: the previous state is kept as {}",
                styled(INFO, "note"),
                aside
            ));
        }
        Ok(ExitCode::Done)
    }

    fn ask(
        &self,
        app: &App,
        project: &Project,
        head: u64,
        lost: Option<u64>,
    ) -> Result<(), Failure> {
        if self.yes {
            return Ok(());
        }
        let refuse = |what: &str| Failure::new(FailureKind::Refused, what.to_owned());
        if !at_terminal() {
            return Err(refuse("restoring a state needs a person's decision")
                .step("run `tl restore-backup` in a terminal")
                .step("tl restore-backup FILE --yes   # if a person has decided it"));
        }
        let present = match lost {
            Some(lost) => format!(
                "{}, not all of them in the backup, will be quarantined",
                operations(lost)
            ),
            None => "the backup contains everything that is there now".to_owned(),
        };
        let root = project.root.display();
        app.ui.say(format_args!(
            "{}: {} to {root}; {present}. Go on? [y/N]",
            styled(WARN, "restore"),
            operations(head)
        ));
        match answered_yes() {
            true => Ok(()),
            false => Err(refuse("not restored")),
        }
    }
}

fn operations(number: u64) -> String {
    count(
        usize::try_from(number).unwrap_or(usize::MAX),
        "operation",
        "operations",
    )
}
