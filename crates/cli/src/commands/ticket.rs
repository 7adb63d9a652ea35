//! `tl ticket`: creates and splits tickets, sets their phase and level.

use application::Failure;
use application::tickets::{
    NewTicket, TicketView, create_ticket, set_phase, set_work_level, split_ticket,
};
use clap::{Args, Subcommand};
use domain::work::work_level::WorkLevel;

use super::scenario::ScenarioArgs;
use crate::exit_code::ExitCode;
use crate::ui::{BOLD, DIM, styled, title_suffix};
use crate::wiring::App;

/// Tickets: create, split, set the phase or the work level
///
/// The files are yours: in an existing one only the changed key is written, every other byte is
/// kept.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl ticket new \"Continuous quality monitoring\"
  tl ticket new \"LOC tracking\" --parent 017
  tl ticket split 017 \"LOC tracking\" \"Phase gates\"
  tl ticket phase 017a implement
  tl ticket level 017a feature --reason \"touches the whole engine\"")]
pub(crate) struct TicketArgs {
    #[command(subcommand)]
    what: TicketCommand,
}

#[derive(Debug, Subcommand)]
enum TicketCommand {
    /// Create a ticket with its directory and file
    New {
        /// Title
        title: String,
        /// Id [default: the next free one]
        #[arg(long)]
        id: Option<String>,
        /// Parent ticket
        #[arg(long, value_name = "TICKET")]
        parent: Option<String>,
        /// `type` in the front matter
        #[arg(long = "type", default_value = "task")]
        kind: String,
    },
    /// Split a ticket into child tickets
    Split {
        /// The ticket to split
        ticket: String,
        /// Titles of the child tickets
        #[arg(required = true, value_name = "TITLE")]
        titles: Vec<String>,
    },
    /// Set the work phase
    Phase {
        /// The ticket
        ticket: String,
        /// The phase: intake, define-behavior, scenario-gate, decomposition, implement or done
        phase: String,
        /// Why phases before it are skipped, by a person
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Set the work level of a ticket; without a level, assess it again
    Level {
        /// The ticket
        ticket: String,
        /// The level: patch, task or feature
        level: Option<String>,
        /// Reason
        #[arg(long)]
        reason: Option<String>,
    },
    Scenario(ScenarioArgs),
}

impl TicketArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        match &self.what {
            TicketCommand::Scenario(scenario) => return scenario.run(app),
            TicketCommand::New {
                title,
                id,
                parent,
                kind,
            } => {
                let request = NewTicket {
                    title: title.clone(),
                    id: id.clone(),
                    // A node is named by one or two words elsewhere; ticket ids are always one.
                    parent: parent.clone().map(|parent| vec![parent]),
                    kind: kind.clone(),
                };
                print_ticket(app, &app.run(|ctx| create_ticket(ctx, &request))?);
            }
            TicketCommand::Split { ticket, titles } => {
                let outcome =
                    app.run(|ctx| split_ticket(ctx, std::slice::from_ref(ticket), titles))?;
                if app.ui.try_print_json(&outcome) {
                    return Ok(ExitCode::Done);
                }
                outcome
                    .children
                    .iter()
                    .for_each(|child| print_ticket(app, child));
                // Splitting is followed by work on the first part, so that command is offered.
                let first = outcome
                    .children
                    .first()
                    .map_or("", |child| child.id.as_str());
                app.ui
                    .print_message(format!("next: tl focus enter {first}"));
            }
            TicketCommand::Phase {
                ticket,
                phase,
                reason,
            } => {
                let ticket = std::slice::from_ref(ticket);
                print_ticket(
                    app,
                    &app.run(|ctx| set_phase(ctx, ticket, phase, reason.as_deref()))?,
                );
            }
            TicketCommand::Level {
                ticket,
                level,
                reason,
            } => {
                // Without a level the size is assessed again by the rules, and the reasons are
                // printed below.
                let level = level.as_deref().map(parse_level).transpose()?;
                let ticket = std::slice::from_ref(ticket);
                print_ticket(
                    app,
                    &app.run(|ctx| set_work_level(ctx, ticket, level, reason.as_deref()))?,
                );
            }
        }
        Ok(ExitCode::Done)
    }
}

fn parse_level(word: &str) -> Result<WorkLevel, Failure> {
    WorkLevel::from_word(word).ok_or_else(|| {
        let known = WorkLevel::ALL.map(WorkLevel::as_str).join(", ");
        Failure::invalid(format!(
            "`{word}` is not a work level: expected one of {known}"
        ))
    })
}

fn print_ticket(app: &App, ticket: &TicketView) {
    if app.ui.try_print_json(ticket) {
        return;
    }
    let title = title_suffix(ticket.title.as_deref());
    let phase = ticket.phase.as_deref().unwrap_or("no phase");
    app.ui.print_line(format_args!(
        "{}{title} [{phase}]",
        styled(BOLD, &ticket.path)
    ));
    let reasons = ticket.reasons.join(", ");
    let file = &ticket.file_path;
    app.ui.print_line(styled(
        DIM,
        format!("  {file} · {} ({reasons})", ticket.work_level),
    ));
    if let Some(guide) = &ticket.guide {
        app.ui.print_line(format_args!("\n{guide}"));
    }
}
