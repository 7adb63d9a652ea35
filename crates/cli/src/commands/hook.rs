//! `tl hook`: help text only. The hook itself is dispatched before the parser, see `hook_entry`.

use application::Failure;
use clap::Args;

use crate::commands::host_choice::host_argument_help;
use crate::exit_code::ExitCode;
use crate::wiring::App;

/// Handle one event of an agent host (run by the host itself)
///
/// Reads the host's event as JSON from standard input and prints the reply in the host's format, or
/// nothing. `tl init --host HOST` installs it into the host's settings. `THROUGHLINE_HOOKS=off`
/// disables all hooks.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl hook claude-code < event.json
  tl hook copilot preToolUse < event.json")]
pub(crate) struct HookArgs {
    #[arg(help = host_argument_help())]
    host: String,
    /// The event, for hosts whose payload does not name it
    event: Option<String>,
}

impl HookArgs {
    pub(crate) fn run(&self, _app: &App) -> Result<ExitCode, Failure> {
        // Reached only if global options precede `hook`: `tl --project X hook claude-code`.
        let words: Vec<std::ffi::OsString> = [Some(&self.host), self.event.as_ref()]
            .into_iter()
            .flatten()
            .map(Into::into)
            .collect();
        crate::hook_entry::run(&words);
        Ok(ExitCode::Done)
    }
}
