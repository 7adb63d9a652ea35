//! `tl overlap`: lists open work in all worktrees and branches.

use application::Failure;
use application::list_overlap::{OverlapView, list_overlap};
use clap::Args;

use crate::exit_code::ExitCode;
use crate::ui::{BOLD, DIM, Ui, WARN, styled};
use crate::wiring::App;

/// Show open work in all worktrees and branches, and where it overlaps
///
/// Other live sessions with what they hold, files that several of them changed, branches that
/// changed plans, and the plans that would conflict in a merge.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl overlap\n  tl overlap --json")]
pub(crate) struct OverlapArgs {}

impl OverlapArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let view = app.run(list_overlap)?;
        if !app.ui.try_print_json(&view) {
            print_overlap(app.ui, &view);
        }
        Ok(ExitCode::Done)
    }
}

fn print_overlap(ui: Ui, view: &OverlapView) {
    if !view.sessions.is_empty() {
        ui.print_line(styled(BOLD, "Other sessions"));
        for one in &view.sessions {
            ui.print_line(format_args!("  {}", one.render_line()));
        }
    }
    for one in &view.shared_files {
        ui.print_line(format_args!(
            "{} {}: {}",
            styled(WARN, "changed by several"),
            one.file,
            one.sessions.join(", ")
        ));
    }
    // The branch that is checked out here, alone, is not worth a heading.
    if view.branches.iter().any(|one| !one.here) {
        ui.print_line(styled(BOLD, "Open branches"));
        for one in &view.branches {
            let place = match (&one.worktree, one.here) {
                (_, true) => "  here".to_owned(),
                (Some(worktree), false) => format!("  in {worktree}"),
                (None, false) => String::new(),
            };
            ui.print_line(format_args!("  {}{}", one.name, styled(DIM, place)));
            for plan in &one.plans {
                ui.print_line(format_args!("      {plan}"));
            }
        }
    }
    for one in &view.conflicts {
        ui.print_line(format_args!(
            "{} {} with {}: {}",
            styled(WARN, "conflict"),
            one.branch,
            one.with,
            one.plans.join(", ")
        ));
    }
    let is_alone = view.sessions.is_empty() && view.branches.iter().all(|one| one.here);
    if is_alone {
        ui.print_message("no other session, worktree or branch has open work");
    } else if view.conflicts.is_empty() && view.problems.is_empty() {
        ui.print_message("no conflicts between the plans of these branches");
    }
    for problem in &view.problems {
        ui.print_warning(problem);
    }
}
