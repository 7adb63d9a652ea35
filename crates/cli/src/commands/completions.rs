//! `tl completions`: prints shell completion scripts.

use application::Failure;
use clap::Args;
use clap_complete::Shell;

use crate::completion::render_script;
use crate::exit_code::ExitCode;
use crate::wiring::App;

/// Print the completion script for a shell
///
/// Completes commands and options, and from the project's state the names and ids of nodes,
/// versions, operations and setting keys. The script calls `tl` by that name.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tl completions bash > ~/.local/share/bash-completion/completions/tl\n  tl completions fish > ~/.config/fish/completions/tl.fish"
)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl CompletionsArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let script = render_script(&self.shell.to_string()).unwrap_or_default();
        if app.ui.json {
            app.ui.print_json(
                &serde_json::json!({ "shell": self.shell.to_string(), "script": script }),
            );
        } else {
            app.ui.print_text(&script);
        }
        Ok(ExitCode::Done)
    }
}
