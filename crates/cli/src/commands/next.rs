//! `tl next`: lists what to do next, and takes the first of it.

use application::Failure;
use application::next_work::{NextItem, list_next_work, take_next_work};
use clap::Args;
use domain::plan_document::MILESTONES_PROFILE;
use domain::profile::Profile;

use crate::exit_code::ExitCode;
use crate::ui::{BOLD, DIM, styled, title_suffix};
use crate::wiring::App;

/// List what to do next, the most important first
///
/// One list of ready tickets, milestones and plans, stale plans, open reviews, workflow steps, the
/// story's next turn, and decisions that wait for a person. Each has the reason for its rank. A node
/// is ready if it is approved or needs no approval, not complete, its dependencies are complete, and
/// no open work is below it. Cancelled and deferred tickets are left out.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl next
  tl next --claim     # take the first one: no other session gets it
  tl next --limit 50
  tl next --json")]
pub(crate) struct NextArgs {
    /// Maximum number of items; 0 lists all
    #[arg(long, value_name = "N", default_value_t = DEFAULT_LIMIT)]
    limit: usize,
    /// Claim the first ready node for this session, in all worktrees
    #[arg(long)]
    claim: bool,
}

const DEFAULT_LIMIT: usize = 20;

impl NextArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        if self.claim {
            // Chosen and claimed in one step: between two commands another session could take it.
            let taken = app.run(take_next_work)?;
            if !app.ui.try_print_json(&taken) {
                print_item(app, &taken.item);
                let claim = &taken.claim;
                app.ui.print_message(format!(
                    "claimed by {} until {} (token {})",
                    claim.session, claim.until, claim.token
                ));
                for overlap in &claim.overlaps {
                    app.ui.print_warning(overlap);
                }
            }
            return Ok(ExitCode::Done);
        }
        let limit = match self.limit {
            0 => usize::MAX,
            limit => limit,
        };
        let view = app.run(|ctx| list_next_work(ctx, limit))?;
        if app.ui.try_print_json(&view) {
            return Ok(ExitCode::Done);
        }
        view.ready.iter().for_each(|item| print_item(app, item));
        let hidden = view.total.saturating_sub(view.ready.len());
        if hidden > 0 {
            app.ui
                .print_message(format!("… and {hidden} more (tl next --limit 0)"));
        }
        if view.ready.is_empty() {
            let step = begin_work_command(&app.find_project()?.profiles);
            app.ui
                .print_message(format!("nothing is ready; next: {step}"));
        }
        // Circular or unknown dependencies hide nodes from this list, so they are reported with it.
        for problem in &view.problems {
            app.ui.print_warning(problem);
        }
        Ok(ExitCode::Done)
    }
}

/// Returns the command that begins new work.
fn begin_work_command(profiles: &[Profile]) -> &'static str {
    let has = |is_it: fn(&Profile) -> bool| profiles.iter().any(is_it);
    if has(|profile| !profile.work_phases.is_empty()) {
        "tl ticket new \"what is wanted\""
    } else if has(|profile| profile.name == MILESTONES_PROFILE) {
        "tl flow start planner --new \"TITLE\""
    } else if has(|profile| profile.levels.iter().any(|level| level.file.is_some())) {
        "tl plan   # what can be planned"
    } else {
        "tl trail intent \"what this session is for\""
    }
}

fn print_item(app: &App, item: &NextItem) {
    let title = title_suffix(item.title.as_deref());
    app.ui
        .print_line(format_args!("{}{title}", styled(BOLD, &item.path)));
    // With the reason as a comment: the line can be pasted as it is.
    app.ui.print_line(format_args!(
        "    {}   {}",
        item.action,
        styled(DIM, format!("# {}", item.reason))
    ));
}
