//! `tl revalidate`: reviews stale plans and keeps them.

use application::Failure;
use application::answer_question::AskedQuestion;
use application::approval_question::build_question;
use application::plan_batch::{BatchPurpose, PlanSelection, WaitingPlans, build_batch_question};
use application::revalidate::{
    KeepOutcome, KeepRequest, StaleView, keep_all, keep_one, review_all, review_one,
};
use application::views::DiffView;
use clap::Args;
use domain::approval::Force;
use domain::text::count_with_noun;

use super::approve::{
    QuestionVerb, confirm_batch, confirm_question, print_left_out, print_transitions,
    record_batch_refusal, record_refusal, requires_person,
};
use super::{ShownArgs, diff};
use crate::completion::{node_completer, node_option_completer};
use crate::exit_code::ExitCode;
use crate::ui::{BAD, BOLD, DIM, Ui, WARN, styled, title_suffix};
use crate::wiring::{App, Project, is_called_by_person};

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
    #[arg(long, num_args = 1..=2, value_name = "NODE", conflicts_with_all = ["all", "node"], add = node_option_completer())]
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
                let asked = ask_about_all(app, node)?;
                let outcome = app.run(|ctx| keep_all(ctx, node, force, asked.as_deref()))?;
                return print_kept(app.ui, &outcome);
            }
            (false, true) => {
                // `--version` replaces the question: its caller has shown the text elsewhere.
                let shown = self.shown.shown_versions();
                let asked = match shown {
                    None => ask_about_one(app, &self.node)?,
                    Some(_) => None,
                };
                let request = KeepRequest {
                    node: self.node.clone(),
                    force: asked
                        .as_ref()
                        .map_or(force, |asked| asked.overrides.max(force)),
                    shown: shown.or_else(|| asked.as_ref().map(AskedQuestion::expected_versions)),
                };
                let outcome = app.run(|ctx| keep_one(ctx, &request))?;
                return print_kept(app.ui, &outcome);
            }
        }
        Ok(ExitCode::Done)
    }
}

/// Returns the project if keeping needs a person's answer, as an approval does: keeping an approved plan
/// renews its approval.
fn find_asking_project(app: &App) -> Result<Option<Project>, Failure> {
    let project = app.find_project()?.tighten_by_pins();
    let asks = is_called_by_person() && requires_person(app, &project)?;
    Ok(asks.then_some(project))
}

/// Asks about a stale plan, and returns what the person said yes to; `None` if nobody is asked.
fn ask_about_one(app: &App, node: &[String]) -> Result<Option<AskedQuestion>, Failure> {
    let Some(project) = find_asking_project(app)? else {
        return Ok(None);
    };
    let (question, differences) = project.run(app.ui, &|ctx| {
        // Refused before the question: what is not stale, and what has no approval to renew.
        review_one(ctx, node)?;
        Ok((build_question(ctx, node)?, ctx.copy_differences()))
    })?;
    let Some(question) = question else {
        return Ok(None);
    };
    let verb = QuestionVerb::Keep;
    match confirm_question(verb, &question, &differences) {
        true => Ok(Some(AskedQuestion::from(&question))),
        false => Err(record_refusal(&project, app.ui, verb, &question)),
    }
}

/// Asks once about every stale plan, and returns what the person said yes to; `None` if nobody is asked.
fn ask_about_all(app: &App, node: &[String]) -> Result<Option<Vec<AskedQuestion>>, Failure> {
    let Some(project) = find_asking_project(app)? else {
        return Ok(None);
    };
    let selection = PlanSelection::Below {
        node: node.to_owned(),
        waiting: WaitingPlans::Stale,
        except: Vec::new(),
    };
    let question = project.run(app.ui, &|ctx| {
        build_batch_question(ctx, &selection, BatchPurpose::Keep)
    })?;
    print_left_out(app.ui, &question.left_out);
    let asked = question.asked_questions();
    let verb = QuestionVerb::Keep;
    match asked.is_empty() || confirm_batch(verb, &question) {
        true => Ok(Some(asked)),
        false => Err(record_batch_refusal(&project, app.ui, verb, &asked)),
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
        number => {
            let failure = Failure::refused(format!(
                "{} cannot be kept",
                count_with_noun(number, "plan", "plans")
            ));
            let steps = outcome.next_steps.iter().cloned();
            Err(steps.fold(failure, Failure::with_step))
        }
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
