//! `tl ticket`: creates, lists, splits and archives tickets, sets their phase and level.

use std::path::{Path, PathBuf};

use application::Failure;
use application::archive_tickets::{ArchiveRequest, archive_tickets};
use application::list_tickets::{TicketFilter, TicketLine, list_tickets};
use application::set_priority::set_priority;
use application::split_ticket::split_ticket;
use application::ticket_sources::{accept_offered_ticket, create_from_branch};
use application::tickets::{
    NewTicket, TicketView, create_ticket, set_phase, set_work_level, show_phase,
};
use clap::{Args, Subcommand};
use domain::node::Progress;
use domain::text::count_with_noun;
use domain::work::issue_file::{ImportedIssue, find_json_problem, parse_issue};
use domain::work::triage::Priority;
use domain::work::work_level::WorkLevel;

use super::scenario::ScenarioArgs;
use crate::completion::{node_completer, node_option_completer, nodes_completer};
use crate::exit_code::ExitCode;
use crate::ui::{BOLD, DIM, styled, title_suffix};
use crate::wiring::App;

/// Tickets: create, list, split, archive, set the phase or the work level
///
/// The files are yours: in an existing one only the changed key is written, every other byte is
/// kept.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl ticket new \"Continuous quality monitoring\"
  tl ticket new \"LOC tracking\" --parent 017 --priority high
  tl ticket new --from issue.md
  tl ticket from-branch
  tl ticket list
  tl ticket split 017 \"LOC tracking\" \"Phase gates\"
  tl ticket phase 017a
  tl ticket phase 017a implement
  tl ticket level 017a feature --reason \"touches the whole engine\"")]
pub(crate) struct TicketArgs {
    #[command(subcommand)]
    what: TicketCommand,
}

#[derive(Debug, Subcommand)]
enum TicketCommand {
    /// Create a ticket with its directory and file
    ///
    /// Without a title: the one that was offered for the first prompt of this session.
    New {
        /// Title
        title: Option<String>,
        /// Take title, text, labels and links from an issue file (Markdown or JSON)
        #[arg(long, value_name = "FILE")]
        from: Option<PathBuf>,
        /// `priority` in the front matter: urgent, high, normal or low
        #[arg(long)]
        priority: Option<String>,
        /// `due` in the front matter, as 2026-12-01
        #[arg(long, value_name = "DAY")]
        due: Option<String>,
        /// A label; can be repeated
        #[arg(long = "label", value_name = "LABEL")]
        labels: Vec<String>,
        /// Id [default: the next free one]
        #[arg(long)]
        id: Option<String>,
        /// Parent ticket
        #[arg(long, value_name = "TICKET", add = node_option_completer())]
        parent: Option<String>,
        /// `type` in the front matter
        #[arg(long = "type", default_value = "task")]
        kind: String,
    },
    /// Create the ticket that the checked-out branch describes
    FromBranch,
    /// List the open tickets with phase, cycle, holder and priority
    List {
        /// Also complete and cancelled ones
        #[arg(long)]
        all: bool,
        /// Only those with this label
        #[arg(long)]
        label: Option<String>,
        /// Only those in this phase
        #[arg(long)]
        phase: Option<String>,
    },
    /// Move finished tickets to the archive folder; their history is kept
    Archive {
        /// The tickets, each with those below it
        #[arg(value_name = "TICKET", add = nodes_completer(usize::MAX), required_unless_present = "done")]
        tickets: Vec<String>,
        /// Every ticket that is finished with everything below it
        #[arg(long, conflicts_with = "tickets")]
        done: bool,
    },
    /// Split a ticket into child tickets
    Split {
        /// The ticket to split
        #[arg(add = node_completer())]
        ticket: String,
        /// Titles of the child tickets
        #[arg(required = true, value_name = "TITLE")]
        titles: Vec<String>,
    },
    /// Set the work phase; without a phase, print the guide of the present one
    Phase {
        /// The ticket
        #[arg(add = node_completer())]
        ticket: String,
        /// The phase: intake, define-behavior, scenario-gate, decomposition, implement or done
        phase: Option<String>,
        /// Why phases before it are skipped, by a person
        #[arg(long, value_name = "TEXT", requires = "phase")]
        reason: Option<String>,
    },
    /// Set the priority of a ticket: urgent, high, normal or low
    Priority {
        /// The ticket
        #[arg(add = node_completer())]
        ticket: String,
        /// The priority; P0 to P3 work as well
        priority: String,
    },
    /// Set the work level of a ticket; without a level, assess it again
    Level {
        /// The ticket
        #[arg(add = node_completer())]
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
                title: None,
                from: None,
                ..
            } => {
                print_ticket(app, &app.run(accept_offered_ticket)?);
            }
            TicketCommand::New {
                title,
                from,
                id,
                parent,
                kind,
                priority,
                due,
                labels,
            } => {
                let issue = from
                    .as_deref()
                    .map(|file| read_issue(file, title.is_some()))
                    .transpose()?
                    .unwrap_or_default();
                let request = NewTicket {
                    id: id.clone(),
                    // A node is named by one or two words elsewhere; ticket ids are always one.
                    parent: parent.clone().map(|parent| vec![parent]),
                    kind: kind.clone(),
                    body: Some(issue.body).filter(|body| !body.is_empty()),
                    priority: priority.clone().or(issue.priority),
                    due: due.clone().or(issue.due),
                    labels: issue.labels.into_iter().chain(labels.clone()).collect(),
                    links: issue.links,
                    ..NewTicket::with_title(title.as_deref().unwrap_or(&issue.title))
                };
                print_ticket(app, &app.run(|ctx| create_ticket(ctx, &request))?);
            }
            TicketCommand::FromBranch => create_of_branch(app)?,
            TicketCommand::List { all, label, phase } => {
                let filter = TicketFilter {
                    all: *all,
                    label: label.clone(),
                    phase: phase.clone(),
                };
                print_list(app, &app.run(|ctx| list_tickets(ctx, &filter))?);
            }
            TicketCommand::Archive { tickets, done } => {
                let request = match done {
                    true => ArchiveRequest::AllFinished,
                    false => ArchiveRequest::Named(tickets.clone()),
                };
                archive(app, &request)?;
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
                    &app.run(|ctx| match phase {
                        Some(phase) => set_phase(ctx, ticket, phase, reason.as_deref()),
                        None => show_phase(ctx, ticket),
                    })?,
                );
            }
            TicketCommand::Priority { ticket, priority } => {
                let ticket = std::slice::from_ref(ticket);
                print_ticket(app, &app.run(|ctx| set_priority(ctx, ticket, priority))?);
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

/// Reads an issue file, which needs a title unless there is another one. It may lie anywhere: only
/// its text is taken.
fn read_issue(file: &Path, has_title: bool) -> Result<ImportedIssue, Failure> {
    let name = file.display();
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::invalid(format!("`{name}` cannot be read: {error}")))?;
    if let Some(problem) = find_json_problem(&text) {
        return Err(Failure::invalid(format!(
            "`{name}` is not valid JSON: {problem}"
        )));
    }
    let issue = parse_issue(&text);
    if issue.title.is_empty() && !has_title {
        return Err(Failure::invalid(format!("`{name}` has no title"))
            .with_step(format!("tl ticket new \"what is wanted\" --from {name}")));
    }
    Ok(issue)
}

fn create_of_branch(app: &App) -> Result<(), Failure> {
    let found = app.run(create_from_branch)?;
    if app.ui.try_print_json(&found) {
        return Ok(());
    }
    match &found.created {
        Some(ticket) => print_ticket(app, ticket),
        None => {
            app.ui
                .print_line(format_args!("{}  {}", styled(BOLD, &found.id), found.title));
            app.ui
                .print_message("there is an open ticket for this branch");
        }
    }
    app.ui
        .print_message(format!("next: tl focus enter {}", found.id));
    Ok(())
}

fn archive(app: &App, request: &ArchiveRequest) -> Result<(), Failure> {
    let outcome = app.run(|ctx| archive_tickets(ctx, request))?;
    if app.ui.try_print_json(&outcome) {
        return Ok(());
    }
    for path in &outcome.archived {
        app.ui
            .print_line(format_args!("{} is archived", styled(BOLD, path)));
    }
    match outcome.archived.len() {
        0 => app
            .ui
            .print_message("no ticket is finished; see tl ticket list"),
        _ => app.ui.print_message(format!(
            "{} moved; to be committed with the rest",
            count_with_noun(outcome.moved_files.len(), "file", "files")
        )),
    }
    Ok(())
}

fn print_list(app: &App, tickets: &[TicketLine]) {
    if app.ui.try_print_json(&tickets) {
        return;
    }
    for ticket in tickets {
        let title = title_suffix(ticket.title.as_deref());
        let phase = ticket.phase.as_deref().unwrap_or("no phase");
        let mut about = vec![match (ticket.disposition, ticket.progress) {
            (Some(disposition), _) => disposition.as_str().to_owned(),
            (None, Progress::Complete) => "complete".to_owned(),
            (None, _) => phase.to_owned(),
        }];
        if ticket.scenarios > 0 {
            let cycle = ticket
                .cycle
                .map(|cycle| format!("{cycle} "))
                .unwrap_or_default();
            about.push(format!(
                "{cycle}{}/{}",
                ticket.completed_scenarios, ticket.scenarios
            ));
        }
        // What is as usual is left out: the line is scanned for what is not.
        if ticket.priority != Priority::Normal {
            about.push(ticket.priority.as_str().to_owned());
        }
        about.extend(ticket.due.iter().map(|day| format!("due {day}")));
        about.extend(ticket.labels.iter().map(|label| format!("#{label}")));
        about.extend(
            ticket
                .holder
                .iter()
                .map(|holder| format!("held by {holder}")),
        );
        // The holder says more than who is at it.
        let is_held = ticket.holder.is_some();
        let sessions = ticket.sessions.iter().filter(|_| !is_held);
        about.extend(sessions.map(|session| format!("{session} is at it")));
        app.ui.print_line(format_args!(
            "{}{title}  {}",
            styled(BOLD, &ticket.path),
            styled(DIM, format!("[{}]", about.join(" · ")))
        ));
    }
    if tickets.is_empty() {
        app.ui
            .print_message("no open ticket; next: tl ticket new \"what is wanted\"");
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
        app.ui.print_blank_line();
        app.ui.print_lines(guide);
    }
}
