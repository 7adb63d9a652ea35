//! `tl man`

use std::path::PathBuf;

use application::{Failure, FailureKind};
use clap::{Args, CommandFactory};

use crate::Cli;
use crate::exit_code::ExitCode;
use crate::ui::{GOOD, styled};
use crate::wiring::App;

/// Write the manual pages into a directory
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl man ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// The directory; it is made if it is not there
    directory: PathBuf,
}

impl ManArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        std::fs::create_dir_all(&self.directory)
            .and_then(|()| clap_mangen::generate_to(Cli::command(), &self.directory))
            .map_err(|error| {
                Failure::new(FailureKind::Unavailable, format!("cannot write in `{}`: {error}", self.directory.display()))
            })?;
        app.ui.say(format!("{} manual pages are in {}", styled(GOOD, "✓"), self.directory.display()));
        Ok(ExitCode::Done)
    }
}
