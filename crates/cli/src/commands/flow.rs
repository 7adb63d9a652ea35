//! `tl flow`: starts workflows and moves them from step to step.

use application::Failure;
use application::workflows::abort::abort_run;
use application::workflows::advance::{AdvanceOutcome, advance_run};
use application::workflows::apply::apply_changes;
use application::workflows::next::show_next_step;
use application::workflows::start::{start_run, start_run_on_new_document};
use application::workflows::status::list_runs;
use application::workflows::take::take_milestone;
use application::workflows::{self, FlowView};
use clap::{Args, Subcommand};
use domain::review::IterationOutcome;
use domain::workflow::{FlowMove, FlowState};

use crate::exit_code::ExitCode;
use crate::ui::{BAD, BOLD, DIM, GOOD, WARN, styled};
use crate::wiring::App;

/// Workflows: the current step, its role, and what comes next
///
/// Built in are `planner` (from an idea to a frozen plan), `executor` (from a frozen plan to code
/// that matches it) and `story-planning`. Your own are in `.throughline/workflows/NAME.toml`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl flow start planner --new \"Add search\"
  tl flow next                 the prompt of the current step
  tl flow take                 a milestone of the current wave, for this session
  tl flow apply M-001          its diffs, checked, all or none
  tl flow done                 complete the step
  tl flow pass                 pass a gate
  tl flow fail                 fail a gate, the findings go back
  tl flow start story-planning --for \"chapter 2\"")]
pub(crate) struct FlowArgs {
    #[command(subcommand)]
    what: FlowCommand,
}

#[derive(Debug, Args)]
struct FlowOptions {
    /// Document, node or name the workflow is on [default: the current document]
    #[arg(long = "for", value_name = "SUBJECT")]
    subject: Option<String>,

    /// The workflow, if the subject has several
    #[arg(long, value_name = "NAME")]
    flow: Option<String>,
}

impl FlowOptions {
    fn to_selection(&self) -> workflows::RunSelector {
        workflows::RunSelector {
            subject: self.subject.clone(),
            workflow: self.flow.clone(),
        }
    }
}

#[derive(Debug, Subcommand)]
enum FlowCommand {
    /// List the available workflows
    List,
    /// Start a workflow
    Start {
        /// Name of the workflow
        workflow: String,
        /// Document, node or name the workflow is on [default: the current document]
        #[arg(long = "for", value_name = "SUBJECT", conflicts_with = "new")]
        subject: Option<String>,
        /// Create a new plan document with this title first
        #[arg(long, value_name = "TITLE")]
        new: Option<String>,
    },
    /// Print the prompt of the current step with the context its role needs
    Next {
        #[command(flatten)]
        which: FlowOptions,
    },
    /// Claim the first free milestone of the current wave for this session
    Take {
        #[command(flatten)]
        which: FlowOptions,
    },
    /// Apply the diffs of a milestone of the current wave, all or none
    ///
    /// Every diff is checked against the files as they are first; if one does not apply, nothing is
    /// written. The milestone becomes active and is claimed for this session.
    Apply {
        /// The milestone
        #[arg(value_name = "MILESTONE")]
        milestone: String,
        #[command(flatten)]
        which: FlowOptions,
    },
    /// Complete the current step
    Done {
        #[command(flatten)]
        which: FlowOptions,
    },
    /// Pass a gate
    Pass {
        #[command(flatten)]
        which: FlowOptions,
    },
    /// Fail a gate: the findings go back to the role that can fix them
    Fail {
        #[command(flatten)]
        which: FlowOptions,
    },
    /// Show the current step of every workflow
    Status {
        /// Only workflows of this subject, including finished ones
        #[arg(long = "for", value_name = "SUBJECT")]
        subject: Option<String>,
    },
    /// Abort a workflow; what it created is kept
    Abort {
        #[command(flatten)]
        which: FlowOptions,
    },
}

impl FlowArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        match &self.what {
            FlowCommand::List => print_workflows(app),
            FlowCommand::Start {
                workflow,
                subject,
                new,
            } => {
                // With `--new`, document and workflow start in one operation, and one undo removes
                // both.
                let view = app.run(|ctx| match new {
                    Some(title) => start_run_on_new_document(ctx, workflow, title),
                    None => start_run(ctx, workflow, subject.as_deref()),
                })?;
                print_position(app, &view)
            }
            FlowCommand::Next { which } => {
                let step = app.run(|ctx| show_next_step(ctx, &which.to_selection()))?;
                if !app.ui.try_print_json(&step) {
                    app.ui.print_text(&step.prompt);
                }
                Ok(ExitCode::Done)
            }
            FlowCommand::Take { which } => {
                let taken = app.run(|ctx| take_milestone(ctx, &which.to_selection()))?;
                if !app.ui.try_print_json(&taken) {
                    // The milestone alone on stdout, for `tl focus enter $(tl flow take)`.
                    app.ui.print_line(&taken.claim.node);
                    app.ui.print_message(styled(
                        DIM,
                        format!(
                            "  claimed until {}",
                            taken.claim.until.format_local_minute()
                        ),
                    ));
                }
                Ok(ExitCode::Done)
            }
            FlowCommand::Apply { milestone, which } => {
                let applied =
                    app.run(|ctx| apply_changes(ctx, &which.to_selection(), milestone))?;
                if !app.ui.try_print_json(&applied) {
                    applied
                        .files
                        .iter()
                        .for_each(|file| app.ui.print_line(file));
                    if applied.files.is_empty() {
                        app.ui.print_message("the files have these changes already");
                    }
                    app.ui.print_message(styled(
                        DIM,
                        format!("next: tl evidence run {}", applied.node),
                    ));
                }
                Ok(ExitCode::Done)
            }
            FlowCommand::Done { which } => move_flow(app, which, FlowMove::Done),
            FlowCommand::Pass { which } => move_flow(app, which, FlowMove::Pass),
            FlowCommand::Fail { which } => move_flow(app, which, FlowMove::Fail),
            FlowCommand::Status { subject } => print_status(app, subject.as_deref()),
            FlowCommand::Abort { which } => {
                let view = app.run(|ctx| abort_run(ctx, &which.to_selection()))?;
                print_position(app, &view)
            }
        }
    }
}

fn print_workflows(app: &App) -> Result<ExitCode, Failure> {
    let workflows = app.run(|ctx| Ok(workflows::list_workflows(ctx)))?;
    if app.ui.try_print_json(&workflows) {
        return Ok(ExitCode::Done);
    }
    for one in &workflows {
        let place = one.file_path.as_deref().unwrap_or("built in");
        let name = styled(BOLD, &one.name);
        app.ui.print_line(format_args!(
            "{name}  {}, {} steps  {}",
            one.title,
            one.steps,
            styled(DIM, place)
        ));
        if let Some(problem) = &one.problem {
            app.ui
                .print_line(format_args!("  {} {}", styled(BAD, "✗"), problem));
        }
    }
    Ok(ExitCode::Done)
}

/// Renders the position of a workflow: step, role and wave.
fn render_position(flow: &FlowView) -> String {
    let wave = flow
        .wave
        .map(|wave| format!(", wave {wave}"))
        .unwrap_or_default();
    match flow.state {
        FlowState::Active => format!(
            "step {} of {}: {} ({}{wave})",
            flow.number, flow.steps, flow.title, flow.role
        ),
        FlowState::Finished | FlowState::Aborted => flow.state.as_str().to_owned(),
    }
}

/// Prints the position of a workflow.
fn print_position(app: &App, flow: &FlowView) -> Result<ExitCode, Failure> {
    if !app.ui.try_print_json(flow) {
        app.ui.print_line(format_args!(
            "{} on {}: {}",
            flow.workflow,
            flow.subject,
            render_position(flow)
        ));
        if flow.state == FlowState::Active {
            app.ui.print_message(styled(DIM, "next: tl flow next"));
        }
    }
    Ok(ExitCode::Done)
}

/// Moves a workflow on and prints the outcome.
fn move_flow(app: &App, which: &FlowOptions, how: FlowMove) -> Result<ExitCode, Failure> {
    let outcome: AdvanceOutcome = app.run(|ctx| advance_run(ctx, &which.to_selection(), how))?;
    // Waiting for a person is exit code 3, so that a loop in a script stops there instead of trying
    // again.
    let code = ExitCode::from_check(outcome.success);
    if app.ui.try_print_json(&outcome) {
        return Ok(code);
    }
    // Messages on stderr: what failed and was sent back explains the new position, which is the
    // output.
    match &outcome.review {
        Some(IterationOutcome::Retry {
            blocking,
            iteration,
        }) => {
            app.ui.print_message(format_args!(
                "{} go back, iteration {iteration}",
                blocking.join(", ")
            ));
        }
        Some(IterationOutcome::Complete { accepted }) if !accepted.is_empty() => {
            let accepted = accepted.join(", ");
            app.ui.print_message(format_args!(
                "{}: accepted as they are: {accepted} (tl review status)",
                styled(WARN, "note")
            ));
        }
        _ => {}
    }
    if !outcome.success {
        let waiting = outcome.waits_for_person.join(", ");
        app.ui.print_line(format_args!(
            "{} a person has to decide about {waiting}",
            styled(WARN, "waits:")
        ));
        // The agent cannot continue here, so the steps are for the person it has to ask.
        app.ui.print_message("next: tl review escalated");
        app.ui.print_message(
            "next: tl review accept ID --reason \"…\"   # by that person; or tl review verdict ID fail to send it back",
        );
        return Ok(code);
    }
    print_position(app, &outcome.flow)
}

fn print_status(app: &App, subject: Option<&str>) -> Result<ExitCode, Failure> {
    let flows = app.run(|ctx| list_runs(ctx, subject))?;
    if app.ui.try_print_json(&flows) {
        return Ok(ExitCode::Done);
    }
    if flows.is_empty() {
        app.ui
            .print_message("no active workflow; next: tl flow list");
    }
    for line in &flows {
        let flow = &line.flow;
        let name = styled(BOLD, &flow.subject);
        app.ui.print_line(format_args!(
            "{name}  {}  {}",
            flow.workflow,
            render_position(flow)
        ));
        for step in &line.way {
            let mark = if step.how == FlowMove::Fail {
                styled(BAD, "✗")
            } else {
                styled(GOOD, "✓")
            };
            let by = step.by.to_string();
            app.ui
                .print_line(format_args!("  {mark} {} {}", step.step, styled(DIM, &by)));
        }
    }
    Ok(ExitCode::Done)
}
