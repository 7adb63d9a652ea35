//! `tl restore-backup`

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

/// Put the state of a backup in the place of the present one
///
/// The backup is checked whole and the new state built and verified before anything happens; then they are swapped, all or
/// nothing, also when the program is killed. The present state is quarantined, never deleted (`tl repair --list-quarantine`).
/// Plan files stay as they are: what differs from the restored state is noticed as a change.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tl restore-backup novel.tlbackup\n  tl restore-backup novel.tlbackup --yes   # without asking"
)]
pub(crate) struct RestoreBackupArgs {
    /// A file that `tl backup` wrote
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Do not ask
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
            // Not the state is damaged, and nothing is to be mended.
            StoreFault::Damaged { what } => {
                Failure::new(FailureKind::Invalid, format!("this is no whole backup: {what}"))
            }
            StoreFault::Newer { found, known } => Failure::new(
                FailureKind::Invalid,
                format!("the backup was written by a newer version (format {found}, this program knows {known})"),
            )
            .step("install a newer version of tl"),
            other => other.into(),
        })?;
        let finished = store::finish_interrupted(layout, storage, Some(&project.known))?;
        project.tell(app.ui, &finished);
        let present = match store::load(layout, storage) {
            Ok(present) => Some(present),
            // What is gone or damaged has nothing to lose.
            Err(StoreFault::Missing | StoreFault::Damaged { .. } | StoreFault::Moved) => None,
            Err(fault) => return Err(fault.into()),
        };
        if storage == Storage::Postgres
            && let Some(store) = present.as_ref().map(|present| present.store().clone())
            && !project.known.knows(&store)
        {
            return Err(StoreFault::Foreign { store }.into());
        }
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
            "{} restored {}, checked whole",
            styled(GOOD, "✓"),
            operations(cargo.head().0)
        ));
        for aside in &put_aside {
            app.ui.say(format_args!(
                "{}: the state before it is kept as {}",
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
            return Err(refuse("restoring a state is a person's decision")
                .step("run `tl restore-backup` in a terminal")
                .step("tl restore-backup FILE --yes   # if a person decided it already"));
        }
        let present = match lost {
            Some(lost) => format!(
                "{}, which the backup does not all have, will be put aside",
                operations(lost)
            ),
            None => "nothing is lost by it".to_owned(),
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
