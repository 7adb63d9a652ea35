//! `tl status`

use application::Failure;
use application::project_status::{ProjectStatus, project_status};
use clap::Args;
use domain::node::Status;
use domain::planning_prompt::{clean_line, count};

use crate::exit_code::ExitCode;
use crate::ui::{BOLD, DIM, Ui, status, styled};
use crate::wiring::App;

/// Show where the project stands and what needs someone
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl status\n  tl status --json")]
pub(crate) struct StatusArgs {}

impl StatusArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let project = app.project()?;
        let view = project.run(app.ui, &project_status)?;
        if app.ui.json {
            app.ui.value(&view);
        } else {
            print(app.ui, &view);
            if let Some(server) = &project.settings.server.address {
                app.ui.line(styled(DIM, &format!("The state is remote: {server}")));
            }
        }
        Ok(ExitCode::Done)
    }
}

fn print(ui: Ui, view: &ProjectStatus) {
    match view.trail.as_deref() {
        Some([]) => ui.line("Nothing is under way. Start with:  tl intent \"what this session is for\""),
        Some(path) => {
            let names: Vec<String> = path.iter().map(|place| clean_line(&place.content)).collect();
            let state = path.last().map(|cursor| format!(" ({})", cursor.status)).unwrap_or_default();
            ui.line(format!("{}: {}{state}", styled(BOLD, "trail"), names.join(" › ")));
        }
        None => {}
    }
    if view.nodes == 0 {
        if view.trail.is_none() || view.profiles.len() > 1 {
            ui.line("No plans yet. Start with:  tl plan");
        }
        return;
    }
    for level in &view.levels {
        let total: usize = Status::ALL.iter().map(|status| level.status_counts.of(*status)).sum();
        let parts: Vec<String> = Status::ALL
            .iter()
            .filter(|one| level.status_counts.of(**one) > 0)
            .map(|one| format!("{} {}", level.status_counts.of(*one), status(*one)))
            .collect();
        let levels = count(total, &level.level, &format!("{}s", level.level));
        ui.line(format!("{}: {}", styled(BOLD, &levels), parts.join(", ")));
    }
    if view.attention.is_empty() {
        ui.line("\nNothing needs you. What is ready:  tl next");
    } else {
        ui.line(format!("\n{}", styled(BOLD, "Needs someone")));
        const MOST: usize = 20;
        for attention in view.attention.iter().take(MOST) {
            let reason =
                attention.reason.as_deref().map(|reason| format!(": {}", clean_line(reason))).unwrap_or_default();
            ui.line(format!("  {} {}{reason}", status(attention.status), clean_line(&attention.path)));
            ui.line(format!("      {}", styled(DIM, &attention.next_step)));
        }
        if view.attention.len() > MOST {
            ui.line(format!("  … and {} more (tl status --json)", count(view.attention.len() - MOST, "plan", "plans")));
        }
    }
    if let Some(last) = &view.last_operation {
        let text = format!(
            "\nLast: {} {} by {}, {}",
            last.operation,
            clean_line(&last.summary),
            last.by,
            last.at.for_people()
        );
        ui.line(styled(DIM, &text));
    }
}
