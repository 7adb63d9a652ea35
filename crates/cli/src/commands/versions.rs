//! `tl versions`: lists the versions of a plan.

use application::Failure;
use application::list_versions::list_versions;
use clap::Args;

use super::NodeArgs;
use crate::exit_code::ExitCode;
use crate::ui::{BOLD, DIM, GOOD, styled};
use crate::wiring::App;

/// List all versions of a plan, newest first
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tl versions act 1\n  tl diff act 1 -1      what changed since the version before\n  tl restore act 1 -1   go back to it"
)]
pub(crate) struct VersionsArgs {
    #[command(flatten)]
    node: NodeArgs,
}

impl VersionsArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let view = app.run(|ctx| list_versions(ctx, &self.node.node))?;
        if app.ui.try_print_json(&view) {
            return Ok(ExitCode::Done);
        }
        for version in &view.versions {
            // `-1`, `-2`: the names that `tl diff` and `tl restore` accept.
            let name = version.back.as_deref().unwrap_or("now");
            let approved = styled(
                GOOD,
                if version.approved {
                    "  ✓ approved"
                } else {
                    ""
                },
            );
            // The recorded size is that of the original text; only the masked one is stored.
            let size = match (version.masked, version.size) {
                (true, _) => format!("{:>13}", "masked"),
                (false, size) => format!("{:>7} bytes", size.unwrap_or(0)),
            };
            app.ui.print_line(format_args!(
                "{}  {}  {}  {size}{approved}  {}",
                styled(BOLD, format!("{name:>4}")),
                version.version_hash.short_hex(),
                version.timestamp,
                styled(DIM, &version.operation)
            ));
            for backup in &version.backups {
                app.ui.print_line(styled(DIM, format!("        {backup}")));
            }
        }
        Ok(ExitCode::Done)
    }
}
