//! `tl mcp`: MCP server on standard input and output.

use std::sync::Arc;

use application::Failure;
use clap::{Args, ValueEnum};
use mcp::protocol::serve_stdio;
use mcp::surface::{Surface, ToolNames, ToolSelection};

use crate::exit_code::ExitCode;
use crate::store_pool::StorePool;
use crate::ui::Ui;
use crate::wiring::App;

/// Run the MCP server for the client that starts it
///
/// Uses standard input and output, which carry the protocol and nothing else. Exits when the client
/// closes its end.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl mcp
  tl mcp --read-only
  tl mcp --toolsets plan,ticket
  tl mcp --names seed
  claude mcp add throughline -- tl mcp")]
pub(crate) struct McpArgs {
    #[command(flatten)]
    offered: ToolArgs,
}

/// Options for the offered tools.
#[derive(Debug, Args)]
pub(crate) struct ToolArgs {
    /// Offer all tools of these toolsets, and only these [default: the most important of the
    /// project's profiles, and `more_tools` for the rest]
    #[arg(long, value_name = "SETS", value_delimiter = ',')]
    toolsets: Option<Vec<String>>,

    /// Offer only tools that change nothing
    #[arg(long)]
    pub(crate) read_only: bool,

    /// Names in the list of tools; all of them can be called
    #[arg(long, value_enum, default_value_t, value_name = "WHICH")]
    names: ListedNames,
}

/// Names in the list of tools.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum ListedNames {
    /// Each begins with the noun of its tool set
    #[default]
    Own,
    /// Those of the earlier interface, such as `get_entity_state`
    Seed,
}

impl From<ListedNames> for ToolNames {
    fn from(names: ListedNames) -> Self {
        match names {
            ListedNames::Own => Self::Own,
            ListedNames::Seed => Self::Seed,
        }
    }
}

impl ToolArgs {
    /// Opens the project and selects its tools. Evidence commands are not allowed: `tl serve` has
    /// clients on other machines.
    pub(crate) fn open_surface(&self, app: &App) -> Result<Surface, Failure> {
        self.surface_on(StorePool::open(app)?)
    }

    fn surface_on(&self, workplace: StorePool) -> Result<Surface, Failure> {
        Surface::new(
            Arc::new(workplace),
            ToolSelection {
                toolsets: self.toolsets.clone(),
                read_only: self.read_only,
                names: self.names.into(),
            },
        )
    }
}

impl McpArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        // The client started this process, so it can run commands anyway; here evidence may run.
        let surface = StorePool::open_or_last_good(app)
            .and_then(|place| self.offered.surface_on(place.allow_commands()));
        let served = surface.and_then(|surface| serve_stdio(surface).map_err(Failure::unavailable));
        match served {
            Ok(()) => Ok(ExitCode::Done),
            Err(failure) => {
                // As text on stderr, also with `--json`: standard output belongs to the protocol.
                Ui {
                    json: false,
                    ..app.ui
                }
                .report_failure(&failure);
                Ok(ExitCode::Failed)
            }
        }
    }
}
