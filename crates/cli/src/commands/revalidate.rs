//! `tl revalidate`: reviews stale plans and keeps them.

use application::Failure;
use application::revalidate::{
    KeepOutcome, KeepRequest, ShownVersions, StaleView, keep_all, keep_one, review_all, review_one,
};
use clap::Args;
use domain::approval::Force;
use domain::expected_version::ExpectedVersions;
use domain::policy::ApprovalPolicy;
use domain::text::count_with_noun;

use super::approve::print_transitions;
use super::{ShownArgs, diff};
use crate::completion::node_completer;
use crate::exit_code::ExitCode;
use crate::ui::{BAD, BOLD, DIM, Ui, WARN, styled, title_suffix};
use crate::wiring::{App, is_called_by_person};

/// Show what changed above a stale plan, and keep it as it is
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tl revalidate chapter 2           what changed in its act, section by section\n  tl revalidate chapter 2 --keep    it is still valid\n  tl revalidate chapter 2 --keep --version 3f2a9c41   only if it is this version\n  tl revalidate --all               all stale plans, most urgent first\n  tl revalidate --all act 1 --keep"
)]
pub(crate) struct RevalidateArgs {
    /// The node; with `--all`, limits it to this subtree
    #[arg(num_args = 0..=2, value_name = "NODE", required_unless_present = "all", add = node_completer())]
    node: Vec<String>,

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
        match (self.all, self.keep) {
            (false, false) => {
                let view = app.run(|ctx| review_one(ctx, &self.node))?;
                if !app.ui.try_print_json(&view) {
                    print_stale(app.ui, &view);
                }
            }
            (true, false) => {
                let views = app.run(|ctx| review_all(ctx, &self.node))?;
                if !app.ui.try_print_json(&views) {
                    views.iter().for_each(|view| print_stale(app.ui, view));
                    app.ui.print_message(format_args!(
                        "{} to revalidate",
                        count_with_noun(views.len(), "plan", "plans")
                    ));
                }
            }
            (true, true) => {
                let shown = match needs_confirmation(app)? {
                    true => Some(confirm_keeping_all(app, &self.node)?),
                    false => None,
                };
                let outcome = app.run(|ctx| keep_all(ctx, &self.node, force, shown.as_ref()))?;
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
    Ok(app
        .find_project()?
        .tighten_by_pins()
        .settings
        .policy
        .approval
        == ApprovalPolicy::Human
        && is_called_by_person())
}

/// Shows the stale plan with its parent's changes and asks for confirmation; returns the versions
/// that were shown.
fn confirm_keeping(app: &App, node: &[String]) -> Result<ExpectedVersions, Failure> {
    let view = app.run(|ctx| review_one(ctx, node))?;
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
    views.iter().for_each(|view| print_stale(ui, view));
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

fn print_stale(ui: Ui, view: &StaleView) {
    let title = title_suffix(view.title.as_deref());
    ui.print_line(format_args!("{}{title}", styled(BOLD, &view.path)));
    if let Some(reason) = &view.reason {
        ui.print_line(format_args!("  {}", styled(WARN, reason)));
    }
    if let Some(changes) = &view.parent_changes {
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
