//! `tl ticket scenario`: lists and completes the scenarios of a ticket.

use application::Failure;
use application::tickets::{ScenariosView, finish_scenario, list_scenarios};
use clap::{Args, Subcommand};
use domain::node::Progress;

use crate::completion::node_completer;
use crate::exit_code::ExitCode;
use crate::ui::{BOLD, DIM, styled, title_suffix};
use crate::wiring::App;

/// Scenarios of a ticket: list them, mark one as done
///
/// They are read from `test-definitions.md` beside the ticket: Gherkin, or headings.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tl ticket scenario list 017a\n  tl ticket scenario done threshold-gate"
)]
pub(crate) struct ScenarioArgs {
    #[command(subcommand)]
    what: ScenarioCommand,
}

#[derive(Debug, Subcommand)]
enum ScenarioCommand {
    /// List the scenarios of a ticket [default: the one this session works on]
    List {
        /// The ticket
        #[arg(add = node_completer())]
        ticket: Option<String>,
    },
    /// Mark a scenario as done [default: the one this session works on]
    Done {
        /// Name of the scenario
        #[arg(add = node_completer())]
        scenario: Option<String>,
    },
}

impl ScenarioArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        // Without a name the use case takes the position of the session.
        let words = |word: &Option<String>| word.iter().cloned().collect::<Vec<_>>();
        let view = match &self.what {
            ScenarioCommand::List { ticket } => {
                app.run(|ctx| list_scenarios(ctx, &words(ticket)))?
            }
            ScenarioCommand::Done { scenario } => {
                app.run(|ctx| finish_scenario(ctx, &words(scenario)))?
            }
        };
        if !app.ui.try_print_json(&view) {
            print_scenarios(app, &view);
        }
        Ok(ExitCode::Done)
    }
}

fn print_scenarios(app: &App, view: &ScenariosView) {
    let head = format!("{} {}/{}", view.ticket, view.completed, view.total);
    app.ui.print_line(styled(BOLD, &head));
    for one in &view.scenarios {
        // Marks as in Markdown task lists, so that the output can be pasted into one.
        let mark = match one.progress {
            Progress::Complete => "x",
            _ if one.current => ">",
            _ => " ",
        };
        let cycle = one
            .cycle
            .map(|cycle| format!(" {cycle}"))
            .unwrap_or_default();
        let title = title_suffix(one.title.as_deref());
        app.ui.print_line(format_args!(
            "[{mark}] {}{}{}",
            one.name,
            cycle,
            styled(DIM, &title)
        ));
    }
    if view.scenarios.is_empty() {
        app.ui
            .print_message("no scenarios: write them into test-definitions.md beside the ticket");
    }
}
