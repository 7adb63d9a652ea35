//! `tl team leave`: disconnects a clone from its team server.

use application::Failure;
use clap::Args;
use serde_json::json;

use crate::exit_code::ExitCode;
use crate::settings;
use crate::wiring::App;

/// Leave the team server of this clone
///
/// Deletes the stored address and token. The replica is kept in `.throughline/remote`, unused; the
/// local state from before joining is used again.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl team leave")]
pub(crate) struct LeaveArgs {}

impl LeaveArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        // Without loading the project: settings that cannot be used must not keep anybody from
        // leaving.
        let root = app.find_project_root()?;
        let Some(address) = settings::find_chosen_server(&root) else {
            return Err(Failure::not_found("this clone has not joined a server"));
        };
        settings::store_server_choice(&root, None)?;
        if app.ui.json {
            app.ui
                .print_json(&json!({ "success": true, "server": address.url() }));
            return Ok(ExitCode::Done);
        }
        app.ui.print_success(format_args!("left {address}"));
        // Only the server can revoke it, and this clone may not be the only place it was stored.
        app.ui.print_note(
            "the token stays valid until it is revoked with `tl team token revoke` on the server",
        );
        Ok(ExitCode::Done)
    }
}
