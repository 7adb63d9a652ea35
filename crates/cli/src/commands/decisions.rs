//! `tl decisions`: lists the decisions that travel through git, restores lost files, prunes.

use application::Failure;
use application::decisions::{DecisionView, list_decisions, prune_decisions, restore_decisions};
use clap::{Args, Subcommand};
use domain::text::count_with_noun;

use crate::completion::node_completer;
use crate::exit_code::ExitCode;
use crate::ui::{BOLD, DIM, styled};
use crate::wiring::App;

/// List the decisions about a plan, or look after their files
///
/// Approvals, rejections, progress, comments, pinned notes, overrides and the verdicts of reviews
/// are files in .throughline/decisions: commit them with the plans, and every clone that has the
/// commit sees them. They merge without conflicts.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  tl decisions act-1
  tl decisions restore   # after `git clean` or a lost file
  tl decisions prune --dry-run"
)]
pub(crate) struct DecisionsArgs {
    /// The node; without one, every decision is listed
    #[arg(num_args = 0..=2, value_name = "NODE", add = node_completer())]
    node: Vec<String>,

    #[command(subcommand)]
    action: Option<DecisionsAction>,
}

#[derive(Debug, Subcommand)]
enum DecisionsAction {
    /// Write lost files of decisions made here again
    Restore,
    /// Remove files of decisions that newer ones replace
    Prune {
        /// Only list what would be removed
        #[arg(long)]
        dry_run: bool,
    },
}

impl DecisionsArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        match &self.action {
            None => self.print_list(app),
            Some(DecisionsAction::Restore) => {
                let count = app.run(restore_decisions)?;
                if app.ui.json {
                    app.ui.print_json(&serde_json::json!({ "restored": count }));
                } else {
                    let files = count_with_noun(count, "file", "files");
                    app.ui.print_success(format_args!("wrote {files}"));
                }
                Ok(ExitCode::Done)
            }
            Some(DecisionsAction::Prune { dry_run }) => {
                let outcome = app.run(|ctx| prune_decisions(ctx, *dry_run))?;
                if app.ui.try_print_json(&outcome) {
                    return Ok(ExitCode::Done);
                }
                outcome
                    .removed
                    .iter()
                    .for_each(|one| print_decision(app, one));
                let verb = if *dry_run { "would remove" } else { "removed" };
                let files = count_with_noun(outcome.removed.len(), "file", "files");
                let kept = match outcome.kept {
                    0 => String::new(),
                    kept => format!("; {kept} stay, because another branch has them in force"),
                };
                app.ui.print_success(format_args!("{verb} {files}{kept}"));
                Ok(ExitCode::Done)
            }
        }
    }

    fn print_list(&self, app: &App) -> Result<ExitCode, Failure> {
        let found = app.run(|ctx| list_decisions(ctx, &self.node))?;
        if app.ui.json {
            app.ui.print_json(&found);
        } else if found.is_empty() {
            app.ui.print_line("no decisions yet");
        } else {
            found.iter().for_each(|one| print_decision(app, one));
        }
        Ok(ExitCode::Done)
    }
}

fn print_decision(app: &App, one: &DecisionView) {
    let unsigned = one
        .signature_problem
        .as_ref()
        .map(|why| format!(" · not counted: {why}; tl approve {} again", one.path));
    // Only the first reason is named: the others do not matter before it is settled.
    let state = match (one.present, one.trusted, one.in_force) {
        (false, ..) => " · not on this branch",
        (_, false, _) => " · not counted: tl state adopt",
        _ if unsigned.is_some() => unsigned.as_deref().unwrap_or_default(),
        (.., false) => " · superseded",
        _ if one.signed => " · signed",
        _ => "",
    };
    let text = one
        .text
        .as_ref()
        .map(|text| format!(": {}", text.lines().next().unwrap_or_default()))
        .unwrap_or_default();
    app.ui.print_line(format_args!(
        "{} {} by {}{text} {}",
        styled(BOLD, &one.path),
        one.decision,
        one.by,
        styled(
            DIM,
            &format!(
                "{} {}{state}",
                one.at.format_local_minute(),
                &one.id.chars().take(10).collect::<String>()
            )
        )
    ));
}
