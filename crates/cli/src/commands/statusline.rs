//! `tl statusline`: help text only. The line itself is dispatched before the parser, see
//! `status_line`.

use application::Failure;
use clap::Args;

use crate::exit_code::ExitCode;
use crate::wiring::App;

/// Print the position of a session for a host's status line (run by the host itself)
///
/// Reads Claude Code's description of the session as JSON from standard input (session_id, cwd or
/// workspace) and prints one line, as `tl where --short` does. Prints an empty line without a focus,
/// outside a project and on any error. `tl host install claude-code --statusline` installs it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl statusline < session.json
  tl host install claude-code --statusline")]
pub(crate) struct StatuslineArgs {}

impl StatuslineArgs {
    #[expect(
        clippy::unnecessary_wraps,
        reason = "every command returns a result, and this one never fails"
    )]
    pub(crate) fn run(&self, _app: &App) -> Result<ExitCode, Failure> {
        // Reached only if global options precede the name.
        crate::status_line::print_status_line();
        Ok(ExitCode::Done)
    }
}
