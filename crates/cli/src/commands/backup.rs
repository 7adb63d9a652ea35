//! `tl backup`

use std::path::PathBuf;

use application::Failure;
use clap::Args;
use domain::text::count;
use serde_json::json;

use crate::exit_code::ExitCode;
use crate::ui::{GOOD, styled};
use crate::wiring::App;

/// Write the whole state to one file: history, approvals, texts
///
/// The file is the same whatever engine keeps the state, is read back and compared, and can be restored by any of them. Plan
/// files are not in it beyond the texts that were observed: they belong into git.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl backup novel.tlbackup\n  tl restore-backup novel.tlbackup")]
pub(crate) struct BackupArgs {
    /// The file to write; one that is there is replaced when the new one is whole
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl BackupArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let project = app.project()?;
        // Whether it is ours, and whole.
        let store = project.open(app.ui, None)?;
        // A replica takes over what is new first.
        drop(store.read()?);
        drop(store);
        let cargo = store::load(&project.layout, project.settings.storage)?;
        let bytes = store::write_backup(&self.file, &cargo)?;
        let head = cargo.head();
        if app.ui.json {
            let file = self.file.display().to_string();
            app.ui.value(
                &json!({ "success": true, "file": file, "operations": head, "bytes": bytes, "store": cargo.store() }),
            );
        } else {
            let operations = count(
                usize::try_from(head.0).unwrap_or(usize::MAX),
                "operation",
                "operations",
            );
            let file = self.file.display().to_string();
            app.ui.line(format_args!(
                "{} {operations} in {file} ({bytes} bytes), read back and compared",
                styled(GOOD, "✓")
            ));
        }
        Ok(ExitCode::Done)
    }
}
