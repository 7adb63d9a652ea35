//! `tl release`

use application::Failure;
use application::claim_node::{ReleaseRequest, release_node};
use clap::Args;

use super::NodeArgs;
use crate::exit_code::ExitCode;
use crate::wiring::App;

/// Give a claimed node back
///
/// A session releases what it holds; a person at a terminal releases anything.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl release 017a")]
pub(crate) struct ReleaseArgs {
    #[command(flatten)]
    node: NodeArgs,
    /// Only the claim with this token
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
        if app.ui.json {
            app.ui.value(&claim);
        } else {
            app.ui.line(format!("{} is released", claim.node));
        }
        Ok(ExitCode::Done)
    }
}
