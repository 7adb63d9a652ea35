//! `tl release`: releases a claim.

use application::Failure;
use application::claim_node::{ReleaseRequest, release_node};
use clap::Args;

use super::NodeArgs;
use crate::exit_code::ExitCode;
use crate::wiring::App;

/// Release a claimed node
///
/// A session can release its own claims, a person at a terminal any claim.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl release 017a")]
pub(crate) struct ReleaseArgs {
    #[command(flatten)]
    node: NodeArgs,
    /// Release only the claim with this token
    #[arg(long)]
    token: Option<u64>,
}

impl ReleaseArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let request = ReleaseRequest {
            node: self.node.node.clone(),
            token: self.token,
        };
        let claim = app.run(|ctx| release_node(ctx, &request))?;
        if !app.ui.try_print_json(&claim) {
            app.ui.print_line(format!("{} is released", claim.node));
        }
        Ok(ExitCode::Done)
    }
}
