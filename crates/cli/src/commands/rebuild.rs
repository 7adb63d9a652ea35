//! `tl rebuild`

use application::rebuild_state::rebuild_state;
use application::{Context, Failure, FailureKind};
use clap::Args;
use domain::node::Status;
use domain::ports::StoreFault;
use domain::settings::Storage;
use domain::text::count;

use crate::exit_code::ExitCode;
use crate::ui::{GOOD, WARN, status, styled};
use crate::wiring::App;

/// Build the state anew from the plan files
///
/// An approval holds where the text is exactly the approved one; everything else is a draft. Works
/// also when the state is gone or was not adopted: then nothing but the files is used.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl rebuild")]
pub(crate) struct RebuildArgs {}

impl RebuildArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let project = app.project()?;
        project.refuse_on_replica()?;
        project.refuse_agents("rebuilding the state", &["ask the person to run `tl rebuild` in their own terminal"])?;
        let opened = project.open(app.ui, None);
        if let Err(StoreFault::Foreign { .. }) = &opened
            && project.settings.storage == Storage::Postgres
        {
            // Others work on it; on one machine alone it would only be somebody's old file.
            return Err(Failure::new(
                FailureKind::Refused,
                "the state is shared with others, and was not adopted here",
            )
            .step("tl adopt")
            .step("set `database_project` in .throughline/config.toml to another name, then tl init"));
        }
        if let Err(StoreFault::Missing | StoreFault::Foreign { .. } | StoreFault::Damaged { .. }) = opened {
            let put = store::start_afresh(&project.layout, project.settings.storage, &project.known)?;
            for file in put {
                app.ui.say(format_args!("{}: put aside as {}", styled(WARN, "note"), file));
            }
            let store = project.open(app.ui, None)?;
            store::record_head(&*store, &project.engine_settings())?;
        } else {
            drop(opened?);
        }
        let rebuild = |ctx: &Context<'_>| rebuild_state(ctx);
        let outcome = project.run(app.ui, &rebuild)?;
        if app.ui.json {
            app.ui.value(&outcome);
            return Ok(ExitCode::Done);
        }
        let levels: Vec<String> =
            outcome.levels.iter().map(|(level, number)| count(*number, level, &format!("{level}s"))).collect();
        app.ui.line(format_args!(
            "{} rebuilt {}",
            styled(GOOD, "✓"),
            if levels.is_empty() { "nothing: there are no plan files".to_owned() } else { levels.join(", ") }
        ));
        for one in Status::ALL.into_iter().filter(|one| outcome.status_counts.of(*one) > 0) {
            app.ui.line(format_args!("  {} {}", outcome.status_counts.of(one), status(one)));
        }
        for path in &outcome.forgotten {
            app.ui.line(format_args!("  forgotten, its file is gone: {path}"));
        }
        Ok(ExitCode::Done)
    }
}
