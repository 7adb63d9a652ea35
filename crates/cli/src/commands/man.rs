//! `tl man`: writes manual pages.

use std::path::{Path, PathBuf};

use application::Failure;
use clap::Args;

use crate::exit_code::ExitCode;
use crate::help::full_parser;
use crate::ui::{GOOD, styled};
use crate::wiring::App;

/// Write the manual pages into a directory
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl man ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Output directory; created if missing
    directory: PathBuf,
}

impl ManArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let pages = std::fs::create_dir_all(&self.directory)
            .and_then(|()| clap_mangen::generate_to(full_parser(), &self.directory))
            .and_then(|()| list_pages(&self.directory))
            .map_err(|error| {
                Failure::unavailable(format!(
                    "cannot write in `{}`: {error}",
                    self.directory.display()
                ))
            })?;
        if app.ui.json {
            app.ui
                .print_json(&serde_json::json!({ "success": true, "pages": pages }));
            return Ok(ExitCode::Done);
        }
        app.ui.print_message(format_args!(
            "{} manual pages written to {}",
            styled(GOOD, "✓"),
            self.directory.display()
        ));
        Ok(ExitCode::Done)
    }
}

fn list_pages(directory: &Path) -> std::io::Result<Vec<String>> {
    let mut pages = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        // The directory is usually shared with other programs' pages.
        if name.starts_with("tl") {
            pages.push(name);
        }
    }
    pages.sort();
    Ok(pages)
}
