//! `tl completions`: prints shell completion scripts.

use application::Failure;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::Cli;
use crate::exit_code::ExitCode;
use crate::wiring::App;

/// Print the completion script for a shell
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
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "tl", &mut script);
        let script = String::from_utf8_lossy(&script);
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
