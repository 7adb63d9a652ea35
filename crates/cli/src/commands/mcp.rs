//! `tl mcp`

use std::sync::Arc;

use application::{Failure, FailureKind};
use clap::Args;
use mcp::protocol::serve_stdio;
use mcp::surface::Surface;

use crate::exit_code::ExitCode;
use crate::ui::Ui;
use crate::wiring::App;
use crate::workspace::Workplace;

/// Serve the plans to the MCP client that starts it
///
/// Speaks over standard input and output, which carries the protocol and nothing else. It ends when the client closes
/// its end.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl mcp
  tl mcp --read-only
  tl mcp --toolsets core,story,tickets
  claude mcp add throughline -- tl mcp")]
pub(crate) struct McpArgs {
    #[command(flatten)]
    offered: OfferedArgs,
}

/// Which tools are offered.
#[derive(Debug, Args)]
pub(crate) struct OfferedArgs {
    /// Only these sets of tools; without it those of the project's profiles
    #[arg(long, value_name = "SETS", value_delimiter = ',')]
    toolsets: Option<Vec<String>>,

    /// Only tools that change nothing
    #[arg(long)]
    pub(crate) read_only: bool,
}

impl OfferedArgs {
    /// Opens the project and chooses what is offered on it.
    pub(crate) fn surface(&self, app: &App) -> Result<Surface, Failure> {
        self.surface_of(Workplace::open(app)?)
    }

    fn surface_of(&self, workplace: Workplace) -> Result<Surface, Failure> {
        Surface::new(
            Arc::new(workplace),
            self.toolsets.as_deref(),
            self.read_only,
        )
    }
}

impl McpArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let surface = Workplace::open(app)
            .and_then(|place| self.offered.surface_of(place.running_commands()));
        let served = surface.and_then(|surface| {
            serve_stdio(surface).map_err(|message| Failure::new(FailureKind::Unavailable, message))
        });
        match served {
            Ok(()) => Ok(ExitCode::Done),
            Err(failure) => {
                // Also with `--json`: standard output belongs to the protocol.
                Ui {
                    json: false,
                    ..app.ui
                }
                .failure(&failure);
                Ok(ExitCode::Failed)
            }
        }
    }
}
