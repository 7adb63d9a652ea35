//! `tl restore-backup`

use std::path::PathBuf;

use application::{Failure, FailureKind};
use clap::Args;
use domain::ports::StoreFault;
use domain::settings::Storage;
use domain::text::count;
use serde_json::json;

use crate::exit_code::ExitCode;
use crate::settings::{answered_yes, at_terminal};
use crate::ui::{GOOD, INFO, WARN, styled};
use crate::wiring::{App, Project};

/// Put the state of a backup in the place of the present one
///
/// The backup is checked whole before anything happens. The present state is put aside, never deleted. Plan files stay as
/// they are: what differs from the restored state is noticed as a change.
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
            other => other.into(),
        })?;
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
        let lost = present.as_ref().filter(|present| !cargo.holds(present)).map(|present| present.head());
        self.ask(app, &project, cargo.head().0, lost.map(|head| head.0))?;
        let put_aside = store::put_state_aside(layout, storage)?;
        if !store::unload(layout, storage, &cargo)? {
            return Err(Failure::new(FailureKind::Conflict, "somebody made a state here meanwhile").step("try again"));
        }
        store::check_unloaded(layout, storage, &cargo)?;
        store::take_over(layout, &project.known, &cargo)?;
        let restored = project.open(app.ui, None)?;
        // A person replaced the state: its history is the known one from here on, under the policy that is in force.
        store::record_head(&*restored, &project.engine_settings())?;
        project.trusted(&*restored)?;
        restored.sync_mirror()?;
        if app.ui.json {
            app.ui.value(&json!({ "success": true, "operations": cargo.head(), "put_aside": put_aside }));
            return Ok(ExitCode::Done);
        }
        app.ui.line(format_args!("{} restored {}, checked whole", styled(GOOD, "✓"), operations(cargo.head().0)));
        for aside in &put_aside {
            app.ui.say(format_args!("{}: what was there is put aside as {}", styled(INFO, "note"), aside));
        }
        Ok(ExitCode::Done)
    }

    fn ask(&self, app: &App, project: &Project, head: u64, lost: Option<u64>) -> Result<(), Failure> {
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
            Some(lost) => format!("{}, which the backup does not all have, will be put aside", operations(lost)),
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
    count(usize::try_from(number).unwrap_or(usize::MAX), "operation", "operations")
}
