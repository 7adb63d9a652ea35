//! `tl claim`: leases a node to this session.

use application::Failure;
use application::claim_node::{ClaimView, claim_node, list_claims};
use clap::Args;

use crate::completion::node_completer;
use crate::exit_code::ExitCode;
use crate::ui::{BOLD, DIM, StyledLine, WARN, styled, styled_line};
use crate::wiring::App;

/// Claim a node for this session
///
/// Other sessions, in every worktree of the repository, do not get it from `tl next`, and their
/// writes to it are blocked. A claim expires when its session is no longer active; the next claim of
/// the node gets a higher token.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl claim 017a\n  tl claim --list\n  tl release 017a")]
pub(crate) struct ClaimArgs {
    /// The node to claim
    #[arg(num_args = 0..=2, value_name = "NODE", add = node_completer())]
    node: Vec<String>,
    /// List all claims
    #[arg(long, conflicts_with = "node")]
    list: bool,
}

impl ClaimArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        if self.list {
            let claims = app.run(list_claims)?;
            if !app.ui.try_print_json(&claims) {
                claims
                    .iter()
                    .for_each(|claim| app.ui.print_line(render_claim(claim)));
                if claims.is_empty() {
                    app.ui.print_message("no claims");
                }
            }
            return Ok(ExitCode::Done);
        }
        // The node is optional for clap because of `--list`.
        if self.node.is_empty() {
            return Err(Failure::invalid("a node is missing")
                .with_step("tl claim NODE")
                .with_step("tl claim --list"));
        }
        let claim = app.run(|ctx| claim_node(ctx, &self.node))?;
        if !app.ui.try_print_json(&claim) {
            app.ui.print_line(render_claim(&claim));
            for overlap in &claim.overlaps {
                app.ui
                    .print_message(format_args!("{}: {overlap}", styled(WARN, "overlap")));
            }
        }
        Ok(ExitCode::Done)
    }
}

/// Renders a claim as one line.
pub(super) fn render_claim(claim: &ClaimView) -> StyledLine {
    let by = format!(
        "by {} until {} (token {})",
        claim.session, claim.until, claim.token
    );
    let by = match (&claim.worktree, &claim.branch) {
        (Some(worktree), Some(branch)) => format!("{by} in {worktree} on {branch}"),
        (Some(worktree), None) => format!("{by} in {worktree}"),
        (None, _) => by,
    };
    styled_line!("{}  {}", styled(BOLD, &claim.node), styled(DIM, &by))
}
