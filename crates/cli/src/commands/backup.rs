//! `tl state backup`: exports the state to one file, verified by reading it back.

use std::path::PathBuf;

use application::Failure;
use clap::Args;
use domain::text::count_with_noun;
use serde_json::json;

use crate::exit_code::ExitCode;
use crate::wiring::App;

/// Back up the whole state to one file: history, approvals, texts
///
/// The file does not depend on the storage engine, is verified after writing, and can be restored
/// into any of them. Plan files are included only as the versions that were recorded; keep them in
/// git.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tl state backup novel.tlbackup\n  tl state restore novel.tlbackup"
)]
pub(crate) struct BackupArgs {
    /// File to write; an existing one is replaced once the new one is complete
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl BackupArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let project = app.find_project()?;
        // Opening checks trust and integrity; a damaged or foreign state must not become a backup.
        let store = project.open_store(app.ui, None)?;
        // Reading makes a replica fetch new operations from its server first.
        drop(store.begin_read()?);
        drop(store);
        // Loaded without the store, in the portable form that every engine can be built from.
        let cargo = store::dump_store(&project.layout, project.settings.storage)?;
        let bytes = store::write_backup_file(&self.file, &cargo)?;
        let head = cargo.head_operation();
        if app.ui.json {
            let file = self.file.display().to_string();
            app.ui.print_json(
                &json!({ "success": true, "file": file, "operations": head, "bytes": bytes, "store": cargo.store_id() }),
            );
        } else {
            let operations = count_with_noun(
                usize::try_from(head.0).unwrap_or(usize::MAX),
                "operation",
                "operations",
            );
            let file = self.file.display().to_string();
            app.ui.print_success(format_args!(
                "{operations} in {file} ({bytes} bytes), verified"
            ));
        }
        Ok(ExitCode::Done)
    }
}
