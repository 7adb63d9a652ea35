//! `tl state rebuild`: rebuilds the state from the plan files.

use application::Failure;
use application::rebuild_state::{RebuildOutcome, rebuild_state};
use clap::Args;
use domain::node::Status;
use domain::ports::{Clock, StoreFault};
use domain::settings::Storage;
use domain::text::count_with_noun;
use store::{QuarantineReason, ReplacementCause, StoreDump, SystemClock};

use crate::exit_code::ExitCode;
use crate::ui::{WARN, render_node_status, styled};
use crate::wiring::{App, Project};

/// Rebuild the state from the plan files
///
/// An approval is kept if the text is exactly the approved one; everything else becomes a draft.
/// Works also if the state is missing or not adopted: then only the files are used.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl state rebuild")]
pub(crate) struct RebuildArgs {}

impl RebuildArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let project = app.find_project()?;
        project.refuse_on_replica()?;
        project.refuse_non_persons(
            "rebuilding the state",
            &["ask the person to run `tl state rebuild` in their own terminal"],
        )?;
        let opened = project.open_existing_store(app.ui, None);
        if let Err(StoreFault::Foreign { .. }) = &opened
            && project.settings.storage == Storage::Postgres
        {
            // Other people work on it. A foreign local state may be replaced, because it is only a
            // file that came with the clone; replacing this one would destroy theirs.
            return Err(Failure::refused(
                "the state is shared with others, and was not adopted here",
            )
            .with_step("tl state adopt")
            .with_step(
                "set `database_project` in .throughline/config.toml to another name, then tl init",
            ));
        }
        let outcome = match opened {
            Err(StoreFault::Missing | StoreFault::Foreign { .. } | StoreFault::Damaged { .. }) => {
                rebuild_from_scratch(app, &project)?
            }
            // The marker of `tl state move` is still there, but the settings name this engine again: the
            // state is not here and will not come back by itself.
            Err(StoreFault::Moved) if project.settings.storage != Storage::Postgres => {
                rebuild_from_scratch(app, &project)?
            }
            opened => {
                drop(opened?);
                project.run(app.ui, &rebuild_state)?
            }
        };
        if app.ui.try_print_json(&outcome) {
            return Ok(ExitCode::Done);
        }
        let levels: Vec<String> = outcome
            .levels
            .iter()
            .map(|(level, number)| count_with_noun(*number, level, &format!("{level}s")))
            .collect();
        app.ui.print_success(format_args!(
            "rebuilt {}",
            if levels.is_empty() {
                "nothing: no plan files found".to_owned()
            } else {
                levels.join(", ")
            }
        ));
        for one in Status::ALL
            .into_iter()
            .filter(|one| outcome.status_counts.get(*one) > 0)
        {
            app.ui.print_line(format_args!(
                "  {} {}",
                outcome.status_counts.get(one),
                render_node_status(one)
            ));
        }
        for path in &outcome.forgotten {
            app.ui
                .print_line(format_args!("  removed, its file is missing: {path}"));
        }
        Ok(ExitCode::Done)
    }
}

/// Builds the new state in memory, then replaces the old one atomically.
fn rebuild_from_scratch(app: &App, project: &Project) -> Result<RebuildOutcome, Failure> {
    let storage = project.settings.storage;
    // In memory: a rebuild that fails half-way must leave the present state as it is.
    let memory = store::empty_successor_state(&project.layout, storage, &project.known)?;
    let outcome = project.run_on_store(app.ui, &memory, &rebuild_state)?;
    let cause = ReplacementCause {
        command: "state rebuild",
        reason: QuarantineReason::Replaced,
        why: "replaced by `tl state rebuild`".to_owned(),
        now: SystemClock.now(),
    };
    for kept in project.replace_state(app.ui, &StoreDump::from_store(&memory)?, &cause)? {
        app.ui.print_message(format_args!(
            "{}: the previous state is kept as {}",
            styled(WARN, "note"),
            kept
        ));
    }
    Ok(outcome)
}
