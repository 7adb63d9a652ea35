//! `tl compact`

use std::path::PathBuf;

use application::sessions::compact_session::{CompactRequest, compact_session};
use application::{Failure, FailureKind};
use clap::Args;
use domain::planning_prompt::clean_line;

use crate::exit_code::ExitCode;
use crate::wiring::App;

/// End this session: distil what is worth keeping, archive its file and its tree
///
/// What is distilled is the report the next compaction keeps to: by rule from the log, or the file given with --report, which
/// an agent or a model wrote. An unfinished trajectory is offered to the next session; a finished one never again.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl compact\n  tl compact --report handover.md")]
pub(crate) struct CompactArgs {
    /// What the next compaction is to keep
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

impl CompactArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let read = |path: &PathBuf| {
            std::fs::read_to_string(path).map_err(|error| {
                Failure::new(FailureKind::Invalid, format!("cannot read `{}`: {error}", path.display()))
            })
        };
        let request = CompactRequest { report: self.report.as_ref().map(read).transpose()? };
        let outcome = app.run(|ctx| compact_session(ctx, &request))?;
        if app.ui.json {
            app.ui.value(&outcome);
            return Ok(ExitCode::Done);
        }
        for line in outcome.next_compaction_report.lines() {
            app.ui.line(clean_line(line));
        }
        app.ui.say(format!("session {} is archived: {}", outcome.session, clean_line(&outcome.archive)));
        Ok(ExitCode::Done)
    }
}
