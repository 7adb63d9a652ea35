//! `tl status`: prints a summary of the project.

use application::Failure;
use application::live_sessions::LiveSessionView;
use application::project_status::{
    DuplicateView, LevelCounts, ProjectStatus, ReturnedPlan, load_brief_status, load_project_status,
};
use clap::Args;
use domain::duplicate_ids::DUPLICATE_MARK;
use domain::node::Status;
use domain::text::{clean_line, count_with_noun};

use super::submit;
use crate::exit_code::ExitCode;
use crate::ui::{BOLD, DIM, Ui, WARN, render_node_status, styled, styled_line};
use crate::wiring::App;

/// Show the status of the project and what needs attention
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl status\n  tl status --json")]
pub(crate) struct StatusArgs {}

impl StatusArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let project = app.find_project()?;
        // After an edit near the root thousands of plans are stale; `--json` has all of them.
        let view = match app.ui.json {
            true => project.run(app.ui, &load_project_status)?,
            false => project.run(app.ui, &load_brief_status)?,
        };
        if !app.ui.try_print_json(&view) {
            print_status(app.ui, &view);
            submit::print_differences_hint(app.ui, &view.copy_differences);
            if let Some(server) = &project.settings.server.address {
                app.ui
                    .print_line(styled(DIM, format!("The state is remote: {server}")));
            }
        }
        Ok(ExitCode::Done)
    }
}

/// Prints the sessions at work elsewhere, so that nobody takes their work a second time.
fn print_other_sessions(ui: Ui, sessions: &[LiveSessionView]) {
    if sessions.is_empty() {
        return;
    }
    const MAX_PRINTED_SESSIONS: usize = 10;
    ui.print_blank_line();
    ui.print_line(styled(BOLD, "Other sessions"));
    for one in sessions.iter().take(MAX_PRINTED_SESSIONS) {
        ui.print_line(format_args!("  {}", one.render_line()));
    }
    if sessions.len() > MAX_PRINTED_SESSIONS {
        ui.print_line(format!(
            "  … and {} more (tl overlap)",
            sessions.len() - MAX_PRINTED_SESSIONS
        ));
    }
}

/// Returns what a project without plans says.
pub(super) fn first_step_hint(has_tickets: bool) -> &'static str {
    match has_tickets {
        true => {
            "No tickets yet. Start with:  tl ticket new \"what is wanted\", or on a branch for it:  tl ticket from-branch"
        }
        false => "No plans yet. Start with:  tl plan",
    }
}

fn has_tickets(view: &ProjectStatus) -> bool {
    view.profiles.iter().any(|name| name == "tickets")
}

/// Prints the nodes that are complete by a file that came with git alone.
fn print_unproved(ui: Ui, unproved: &[String]) {
    const MAX_PRINTED_NODES: usize = 5;
    if unproved.is_empty() {
        return;
    }
    ui.print_line(styled(
        BOLD,
        "Complete without proof (came finished with git)",
    ));
    for path in unproved.iter().take(MAX_PRINTED_NODES) {
        ui.print_line(format_args!("  {}", clean_line(path)));
    }
    if unproved.len() > MAX_PRINTED_NODES {
        let more = unproved.len() - MAX_PRINTED_NODES;
        ui.print_line(format_args!("  … and {more} more (tl check)"));
    }
    ui.print_blank_line();
}

/// Prints a line per level: statuses where approval matters, progress elsewhere.
pub(super) fn print_level_counts(ui: Ui, levels: &[LevelCounts]) {
    for level in levels {
        let total: usize = Status::ALL
            .iter()
            .map(|status| level.status_counts.get(*status))
            .sum();
        let nodes = count_with_noun(total, &level.level, &format!("{}s", level.level));
        let mut line = styled_line!("{}: ", styled(BOLD, nodes));
        // Where nobody is asked for approval, progress says more than a column of drafts.
        if !level.asks_approval {
            line.push_display(format_args!("{} complete", level.completed));
            ui.print_line(line);
            continue;
        }
        // Statuses without nodes are left out: four counts per level would hide the one that
        // matters.
        let present = Status::ALL
            .into_iter()
            .filter(|one| level.status_counts.get(*one) > 0);
        for (index, one) in present.enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            line.push_display(format_args!(
                "{comma}{} {}",
                level.status_counts.get(one),
                render_node_status(one)
            ));
        }
        ui.print_line(line);
    }
}

fn print_status(ui: Ui, view: &ProjectStatus) {
    match view.trail.as_deref() {
        // A ticket is the intent of the session that enters it.
        Some([]) if has_tickets(view) => {}
        // An empty trail is not the same as none: the profile is enabled, so the next step is an
        // intent.
        Some([]) => ui.print_line(
            "The trail is empty. Start with:  tl trail intent \"what this session is for\"",
        ),
        Some(path) => {
            let names: Vec<&str> = path.iter().map(|place| &*place.content).collect();
            let state = path
                .last()
                .map(|cursor| format!(" ({})", cursor.status))
                .unwrap_or_default();
            ui.print_line(format_args!(
                "{}: {}{state}",
                styled(BOLD, "trail"),
                names.join(" › ")
            ));
        }
        None => {}
    }
    if view.nodes == 0 {
        // A project with a trail alone has no plan files to create.
        if view.trail.is_none() || view.profiles.len() > 1 {
            ui.print_line(first_step_hint(has_tickets(view)));
        }
        return;
    }
    print_level_counts(ui, &view.levels);
    ui.print_blank_line();
    print_duplicates(ui, &view.duplicates);
    print_change_requests(ui, &view.changes_requested);
    print_unproved(ui, &view.unproved);
    if view.attention.is_empty() && !view.duplicates.is_empty() {
        ui.print_line("What is ready:  tl next");
    } else if view.attention.is_empty() {
        ui.print_line("Nothing needs attention. What is ready:  tl next");
    } else {
        ui.print_line(styled(BOLD, "Needs attention"));
        for attention in &view.attention {
            let reason = attention
                .reason
                .as_deref()
                .map(|reason| format!(": {reason}"))
                .unwrap_or_default();
            ui.print_line(format_args!(
                "  {} {}{reason}",
                render_node_status(attention.status),
                attention.path
            ));
            ui.print_line(format_args!("      {}", styled(DIM, &attention.next_step)));
        }
        let more = view.attention_total - view.attention.len();
        if more > 0 {
            ui.print_line(format!(
                "  … and {} more (tl status --json)",
                count_with_noun(more, "plan", "plans")
            ));
        }
    }
    print_other_sessions(ui, &view.other_sessions);
    if let Some(last) = &view.last_operation {
        let text = format!(
            "Last: {} {} by {}, {}",
            last.operation,
            last.summary,
            last.by,
            last.at.format_local_minute()
        );
        ui.print_blank_line();
        ui.print_line(styled(DIM, text));
    }
}

/// Prints the plans with the id of another one.
fn print_duplicates(ui: Ui, duplicates: &[DuplicateView]) {
    for duplicate in duplicates {
        ui.print_line(format_args!(
            "{} {}: the id `{}` is used twice ({})",
            styled(WARN, DUPLICATE_MARK),
            duplicate.path,
            duplicate.id,
            duplicate.file_path.as_deref().unwrap_or_default()
        ));
        ui.print_line(format_args!("      {}", styled(DIM, &duplicate.next_step)));
    }
}

/// Prints the plans that went back to the agent.
fn print_change_requests(ui: Ui, returned: &[ReturnedPlan]) {
    const MAX_PRINTED_REQUESTS: usize = 10;
    if returned.is_empty() {
        return;
    }
    ui.print_line(styled(BOLD, "Changes requested (the agent's turn)"));
    for one in returned.iter().take(MAX_PRINTED_REQUESTS) {
        let said = clean_line(&one.request.text);
        ui.print_line(format_args!("  {}  {}: {said}", one.path, one.request.by));
    }
    if returned.len() > MAX_PRINTED_REQUESTS {
        let left = returned.len() - MAX_PRINTED_REQUESTS;
        ui.print_line(format_args!("  … and {left} more"));
    }
    ui.print_blank_line();
}
