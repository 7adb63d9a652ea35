//! `tl revalidate`: reviews stale plans and keeps them.

use application::Failure;
use application::revalidate::{
    KeepOutcome, KeepRequest, ShownVersions, StaleView, keep_all, keep_one, review_all, review_one,
};
use application::views::DiffView;
use clap::Args;
use domain::approval::Force;
use domain::expected_version::ExpectedVersions;
use domain::text::count_with_noun;

use super::approve::{print_transitions, requires_person};
use super::{ShownArgs, diff};
use crate::completion::node_completer;
use crate::exit_code::ExitCode;
use crate::ui::{BAD, BOLD, DIM, Ui, WARN, styled, title_suffix};
use crate::wiring::{App, is_called_by_person};

/// Show what changed above a stale plan, and keep it as it is
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tl revalidate chapter 2           what changed in its act, section by section\n  tl revalidate chapter 2 --keep    it is still valid\n  tl revalidate chapter 2 --keep --version 3f2a9c41   only if it is this version\n  tl revalidate --all               all stale plans, most urgent first\n  tl revalidate --below act 1 --keep   those of an act, as one operation"
)]
pub(crate) struct RevalidateArgs {
    /// The node; with `--all`, limits it to this subtree
    #[arg(num_args = 0..=2, value_name = "NODE", required_unless_present_any = ["all", "below"], add = node_completer())]
    node: Vec<String>,

    /// All stale plans of this node and below it
    #[arg(long, num_args = 1..=2, value_name = "NODE", conflicts_with_all = ["all", "node"], add = node_completer())]
    below: Vec<String>,

    /// All stale plans, most urgent first
    #[arg(long)]
    all: bool,

    /// Keep the plan as it is: it is still valid under its changed parent
    #[arg(long)]
    keep: bool,

    /// Keep despite warnings
    #[arg(long, requires = "keep")]
    force: bool,

    #[command(flatten)]
    shown: ShownArgs,
}

impl RevalidateArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let force = if self.force { Force::Yes } else { Force::No };
        let node = if self.below.is_empty() {
            &self.node
        } else {
            &self.below
        };
        match (self.all || !self.below.is_empty(), self.keep) {
            (false, false) => {
                let view = app.run(|ctx| review_one(ctx, &self.node))?;
                if !app.ui.try_print_json(&view) {
                    print_stale(app.ui, &view);
                }
            }
            (true, false) => {
                let views = app.run(|ctx| review_all(ctx, node))?;
                if !app.ui.try_print_json(&views) {
                    print_by_cause(app.ui, &views);
                    app.ui.print_message(format_args!(
                        "{} to revalidate",
                        count_with_noun(views.len(), "plan", "plans")
                    ));
                }
            }
            (true, true) => {
                // Bound to what was shown: a plan that changed or became stale during the
                // question is not kept.
                let shown = match needs_confirmation(app)? {
                    true => Some(confirm_keeping_all(app, node)?),
                    false => None,
                };
                let outcome = app.run(|ctx| keep_all(ctx, node, force, shown.as_ref()))?;
                return print_kept(app.ui, &outcome);
            }
            (false, true) => {
                let shown = match self.shown.shown_versions() {
                    // `--version` replaces the question: its caller has shown the text elsewhere.
                    None if needs_confirmation(app)? => Some(confirm_keeping(app, &self.node)?),
                    shown => shown,
                };
                let request = KeepRequest {
                    node: self.node.clone(),
                    force,
                    shown,
                };
                let outcome = app.run(|ctx| keep_one(ctx, &request))?;
                return print_kept(app.ui, &outcome);
            }
        }
        Ok(ExitCode::Done)
    }
}

/// Whether keeping needs a person's confirmation: keeping an approved plan renews its approval.
fn needs_confirmation(app: &App) -> Result<bool, Failure> {
    let project = app.find_project()?.tighten_by_pins();
    Ok(is_called_by_person() && requires_person(app, &project)?)
}

/// Shows the stale plan with its parent's changes and asks for confirmation; returns the versions
/// that were shown.
fn confirm_keeping(app: &App, node: &[String]) -> Result<ExpectedVersions, Failure> {
    let view = app.run(|ctx| review_one(ctx, node))?;
    // Also with `--json`: the question is for the person at the terminal.
    let ui = Ui::default();
    print_stale(ui, &view);
    let Some(shown) = shown_versions(&view) else {
        return Err(Failure::refused(format!(
            "`{}` has no text to keep",
            view.path
        )));
    };
    confirm(ui, &format!("Keep {} at {}?", view.path, shown.version))?;
    Ok(shown)
}

/// Shows every stale plan and asks once; returns the versions that were shown.
fn confirm_keeping_all(app: &App, node: &[String]) -> Result<ShownVersions, Failure> {
    let views = app.run(|ctx| review_all(ctx, node))?;
    let ui = Ui::default();
    print_by_cause(ui, &views);
    if !views.is_empty() {
        let plans = count_with_noun(views.len(), "plan", "plans");
        confirm(ui, &format!("Keep {plans} as shown?"))?;
    }
    let shown = views.into_iter();
    Ok(shown
        .filter_map(|view| Some((view.path.clone(), shown_versions(&view)?)))
        .collect())
}

/// Returns the versions of a plan that was shown; `None` where it has no readable text, so that no
/// decision can be bound to it.
fn shown_versions(view: &StaleView) -> Option<ExpectedVersions> {
    Some(ExpectedVersions {
        version: view.version_hash?.into(),
        // The parent too: keeping says that this text fits that parent, so a change of either
        // between question and answer makes it fail.
        parent: view.current_parent_hash.map(Into::into),
    })
}

fn confirm(ui: Ui, question: &str) -> Result<(), Failure> {
    ui.print_message(format_args!("{question} [y/N]"));
    match crate::settings::read_yes_or_no() {
        true => Ok(()),
        false => Err(Failure::refused("not kept")),
    }
}

fn print_kept(ui: Ui, outcome: &KeepOutcome) -> Result<ExitCode, Failure> {
    if ui.json {
        ui.print_json(outcome);
    } else {
        for node in &outcome.kept {
            ui.print_success(format_args!("kept {}: {}", node.path, node.status));
        }
        print_transitions(ui, &outcome.reinstated_entities);
        for refused in &outcome.refused {
            ui.print_message(format_args!(
                "{} {}: {}",
                styled(BAD, "✗"),
                refused.path,
                refused.reason
            ));
        }
        if outcome.kept.is_empty() && outcome.refused.is_empty() {
            ui.print_message("no stale plans");
        }
    }
    match outcome.refused.len() {
        0 => Ok(ExitCode::Done),
        // The outcome is printed already; a second JSON document would break the caller's parser.
        _ if ui.json => Ok(ExitCode::Failed),
        number => Err(Failure::refused(format!(
            "{} cannot be kept",
            count_with_noun(number, "plan", "plans")
        ))),
    }
}

/// Prints stale plans grouped by cause: one change of a parent, then every plan that it touches.
fn print_by_cause(ui: Ui, views: &[StaleView]) {
    let cause = |view: &StaleView| {
        let changes = view.parent_changes.as_ref()?;
        Some((changes.older.clone(), changes.newer.clone()))
    };
    // A list and not a map, to keep the order of urgency.
    let mut printed: Vec<Option<(String, String)>> = Vec::new();
    for view in views {
        let own = cause(view);
        if printed.contains(&own) {
            continue;
        }
        let group: Vec<&StaleView> = views.iter().filter(|other| cause(other) == own).collect();
        if let Some(changes) = &view.parent_changes {
            ui.print_line(format_args!(
                "{} → {} touches {}:",
                styled(BOLD, &changes.older),
                styled(BOLD, &changes.newer),
                count_with_noun(group.len(), "plan", "plans")
            ));
            diff::print_changed_sections(ui, changes);
            diff::print_diff(ui, changes);
            ui.print_line("");
        }
        for view in group {
            print_plan(ui, view, None);
        }
        printed.push(own);
    }
}

fn print_stale(ui: Ui, view: &StaleView) {
    print_plan(ui, view, view.parent_changes.as_ref());
}

fn print_plan(ui: Ui, view: &StaleView, changes: Option<&DiffView>) {
    let title = title_suffix(view.title.as_deref());
    ui.print_line(format_args!("{}{title}", styled(BOLD, &view.path)));
    if let Some(reason) = &view.reason {
        ui.print_line(format_args!("  {}", styled(WARN, reason)));
    }
    if let Some(changes) = changes {
        diff::print_changed_sections(ui, changes);
        diff::print_diff(ui, changes);
    }
    for warning in &view.warnings {
        ui.print_line(format_args!("  {}: {}", styled(WARN, "warning"), warning));
    }
    // Commands to paste, including the ones for writing the plan again.
    for choice in &view.choices {
        ui.print_line(format_args!("    {}", styled(DIM, choice)));
    }
    ui.print_line("");
}
