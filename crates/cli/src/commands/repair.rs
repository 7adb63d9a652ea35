//! `tl state repair`: repairs the state, and lists and restores quarantined states.

use application::Failure;
use application::repair_state::{RepairRequest, repair_state};
use clap::Args;
use domain::ports::{Clock, StoreFault};
use domain::text::count_with_noun;
use serde_json::json;
use store::{QuarantineReason, ReplacementCause, SystemClock};

use super::check;
use super::restore_backup::count_operations;
use crate::exit_code::ExitCode;
use crate::wiring::{App, Project};

/// Repair what `tl check` found, as far as it needs no decision
///
/// A damaged database or journal is quarantined and rebuilt from the other one, and the mirror is
/// updated. The options do more.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl state repair
  tl state repair --fix-hashes --rebuild-orphans")]
pub(crate) struct RepairArgs {
    /// Record all plan files as they are now and compute all statuses again
    #[arg(long)]
    fix_hashes: bool,

    /// Restore missing plan files of nodes that have plans below them
    #[arg(long)]
    rebuild_orphans: bool,

    /// Remove nodes whose plan file is missing and that have nothing below them
    #[arg(long)]
    forget_missing: bool,

    /// The same as `tl state quarantine`
    #[arg(long, hide = true, conflicts_with_all = ["fix_hashes", "rebuild_orphans", "forget_missing"])]
    list_quarantine: bool,

    /// The same as `tl state quarantine --restore ID`
    #[arg(long, hide = true, value_name = "ID", conflicts_with_all = ["fix_hashes", "rebuild_orphans", "forget_missing", "list_quarantine"])]
    restore_quarantine: Option<String>,
}

/// List quarantined states (damaged, replaced or moved), or restore one
///
/// A state that is replaced is kept in `.throughline/damaged`. Restoring one quarantines the
/// current state in turn.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl state quarantine
  tl state quarantine --restore 2   # in your own terminal")]
pub(crate) struct QuarantineArgs {
    /// Restore this state
    #[arg(long, value_name = "ID")]
    restore: Option<String>,
}

impl QuarantineArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let project = app.find_project()?;
        match &self.restore {
            Some(id) => restore_quarantine(app, &project, id),
            None => print_quarantine(app, &project),
        }
    }
}

impl RepairArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let project = app.find_project()?;
        if self.list_quarantine {
            return print_quarantine(app, &project);
        }
        if let Some(id) = &self.restore_quarantine {
            return restore_quarantine(app, &project, id);
        }
        // Opening checks only what it reads; here every row and journal line is verified.
        let damage = {
            let store = project.open_store(app.ui, None)?;
            store
                .verify_integrity()?
                .into_iter()
                .find(|finding| finding.kind.is_damage())
                .map(|finding| finding.message)
        };
        if let Some(what) = damage {
            // With the reason, opening rebuilds the damaged copy from the sound one.
            drop(project.open_store(app.ui, Some(&format!("the state was damaged ({what})")))?);
        }
        let request = RepairRequest {
            fix_hashes: self.fix_hashes,
            rebuild_orphans: self.rebuild_orphans,
            forget_missing: self.forget_missing,
        };
        let mut outcome = project.run(app.ui, &|ctx| repair_state(ctx, request))?;
        // After the repair, so that files it has created are included.
        let restricted = store::private_files::restrict_all(&project.layout.home)
            + store::private_files::restrict_all(project.known.folder());
        if restricted > 0 {
            let files = count_with_noun(restricted, "file or directory", "files and directories");
            outcome
                .actions
                .push(format!("removed other users' permissions from {files}"));
        }
        if !app.ui.try_print_json(&outcome) {
            for action in &outcome.actions {
                app.ui.print_success(action);
            }
            check::print_findings(app.ui, &outcome.remaining);
        }
        Ok(ExitCode::from_check(outcome.success))
    }
}

fn print_quarantine(app: &App, project: &Project) -> Result<ExitCode, Failure> {
    let sets = store::list_quarantined_states(&project.layout)?;
    if app.ui.try_print_json(&json!({ "quarantine": sets })) {
        return Ok(ExitCode::Done);
    }
    if sets.is_empty() {
        app.ui.print_line("the quarantine is empty");
    }
    for set in &sets {
        let when = set
            .at
            .map_or_else(|| "unknown time".to_owned(), |at| at.to_string());
        let head = set.head.as_ref().map_or_else(
            || "no readable operations".to_owned(),
            |head| {
                let operations = count_with_noun(set.operations, "operation", "operations");
                format!(
                    "{operations}, head {}",
                    head.hash.to_string().chars().take(12).collect::<String>()
                )
            },
        );
        app.ui
            .print_line(format_args!("{}  {when}  {head}", set.id));
        app.ui
            .print_line(format_args!("   {}: {}", set.why, set.files.join(", ")));
    }
    Ok(ExitCode::Done)
}

fn restore_quarantine(app: &App, project: &Project, id: &str) -> Result<ExitCode, Failure> {
    project.refuse_non_persons(
        "restoring a quarantined state",
        &["ask the person to run `tl state quarantine --restore ID` in their own terminal"],
    )?;
    project.refuse_on_replica()?;
    // Not opened: the current state may be the damaged one that is to be replaced. An interrupted
    // replacement has to be finished all the same, or two would be in progress.
    let finished = store::finish_interrupted_swap(
        &project.layout,
        project.settings.storage,
        Some(&project.known),
    )?;
    project.report_recoveries(app.ui, &finished);
    let cargo =
        store::load_quarantined_state(&project.layout, id).map_err(|fault| match fault {
            StoreFault::Missing => Failure::not_found(format!("`{id}` is not in quarantine"))
                .with_step("tl state quarantine"),
            StoreFault::Damaged { what } => Failure::refused(format!(
                "the quarantined state {id} cannot be restored: {what}"
            ))
            .with_step("tl state quarantine"),
            other => other.into(),
        })?;
    // A foreign state can get into the quarantine directory with a clone; restoring it would adopt
    // it without asking.
    if !project.known.is_known(cargo.store_id()) {
        return Err(StoreFault::Foreign {
            store: cargo.store_id().clone(),
        }
        .into());
    }
    let cause = ReplacementCause {
        command: "state quarantine --restore",
        reason: QuarantineReason::Replaced,
        why: format!("replaced by `tl state quarantine --restore {id}`"),
        now: SystemClock.now(),
    };
    let kept = project.replace_state(app.ui, &cargo, &cause)?;
    if app.ui.json {
        app.ui.print_json(&json!({ "success": true, "restored": id, "operations": cargo.head_operation(), "quarantined": kept }));
        return Ok(ExitCode::Done);
    }
    let operations = count_operations(cargo.head_operation().0);
    app.ui.print_success(format_args!(
        "restored {operations} from quarantine {id}, verified"
    ));
    for kept in &kept {
        app.ui
            .print_note(format_args!("the previous state is kept as {kept}"));
    }
    Ok(ExitCode::Done)
}
