//! `tl request-changes`: sends plans back to the agent, with what has to change.

use application::Failure;
use application::answer_question::Answer;
use application::decide_plans::{PlansDecided, answer_batch_question};
use application::plan_batch::{BatchPurpose, PlanSelection, select_plans};
use application::request_changes::{ChangesRequest, request_changes};
use clap::Args;

use super::ShownArgs;
use super::approve::{print_batch, print_transitions};
use super::plans_args::PlansArgs;
use crate::exit_code::ExitCode;
use crate::wiring::App;

/// Request changes of a plan: it goes back to the agent
///
/// The plan leaves the queue of what waits for a person. A waiting agent is woken with the text;
/// otherwise it is in every briefing until the plan changes. The next text of the plan answers the
/// request; approving the plan ends it.
///
/// Several plans, or with `--below` every one of a subtree that waits, are one operation.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl request-changes chapter 2 -m \"The storm comes too early\"
  tl request-changes act-1/chapter-02 -m \"Name the thief\" --version 3f2a9c41
  tl request-changes chapter-01 chapter-02 -m \"Both have the same ending\"")]
pub(crate) struct RequestChangesArgs {
    #[command(flatten)]
    plans: PlansArgs,

    /// What has to change; the agent gets these words
    #[arg(long, short, value_name = "TEXT")]
    message: String,

    #[command(flatten)]
    shown: ShownArgs,
}

impl RequestChangesArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let project = app.find_project()?;
        if let Some(selection) = self.plans.batch_selection(&project.profiles) {
            return self.request_batch(app, &selection);
        }
        let request = ChangesRequest {
            node: self.plans.node.clone(),
            text: self.message.clone(),
            shown: self.shown.shown_versions(),
        };
        let outcome = app.run(|ctx| request_changes(ctx, &request))?;
        if app.ui.try_print_json(&outcome) {
            return Ok(ExitCode::Done);
        }
        app.ui.print_success(&outcome.message);
        print_transitions(app.ui, &outcome.changed_entities);
        Ok(ExitCode::Done)
    }

    /// Requests changes of several plans in one operation.
    fn request_batch(&self, app: &App, selection: &PlanSelection) -> Result<ExitCode, Failure> {
        if self.shown.shown_versions().is_some() {
            return Err(Failure::invalid(
                "`--version` is the version of one plan, and these are several",
            )
            .with_step("tl request-changes NODE -m TEXT --version HASH   # each by itself"));
        }
        let answer = Answer::RequestChanges {
            text: self.message.clone(),
        };
        // Asked and answered in one use case, without showing the texts: a request for changes
        // approves nothing.
        let outcome = app.run(|ctx| {
            let selected = select_plans(ctx, selection, BatchPurpose::RequestChanges)?;
            match selected.plans.is_empty() {
                true => Ok(PlansDecided::nothing_waits()),
                false => answer_batch_question(ctx, &selected.asked_questions(), &answer),
            }
        })?;
        print_batch(app.ui, &outcome);
        Ok(ExitCode::Done)
    }
}
