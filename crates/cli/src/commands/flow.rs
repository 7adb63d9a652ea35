//! `tl flow`: starts workflows and moves them from step to step.

use application::Failure;
use application::workflows::abort::abort;
use application::workflows::advance::{Advanced, advance};
use application::workflows::next::next;
use application::workflows::start::{start, start_new};
use application::workflows::status::status;
use application::workflows::take::take;
use application::workflows::{self, FlowView};
use clap::{Args, Subcommand};
use domain::review::Concluded;
use domain::workflow::{FlowState, Move};

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
  tl flow done                 complete the step
  tl flow pass                 pass a gate
  tl flow fail                 fail a gate, the findings go back
  tl flow start story-planning --for \"chapter 2\"")]
pub(crate) struct FlowArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Args)]
struct Which {
    /// Document, node or name the workflow is on [default: the current document]
    #[arg(long = "for", value_name = "SUBJECT")]
    subject: Option<String>,

    /// The workflow, if the subject has several
    #[arg(long, value_name = "NAME")]
    flow: Option<String>,
}

impl Which {
    fn which(&self) -> workflows::Which {
        workflows::Which {
            subject: self.subject.clone(),
            workflow: self.flow.clone(),
        }
    }
}

#[derive(Debug, Subcommand)]
enum What {
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
        which: Which,
    },
    /// Claim the first free milestone of the current wave for this session
    Take {
        #[command(flatten)]
        which: Which,
    },
    /// Complete the current step
    Done {
        #[command(flatten)]
        which: Which,
    },
    /// Pass a gate
    Pass {
        #[command(flatten)]
        which: Which,
    },
    /// Fail a gate: the findings go back to the role that can fix them
    Fail {
        #[command(flatten)]
        which: Which,
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
        which: Which,
    },
}

impl FlowArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        match &self.what {
            What::List => list(app),
            What::Start {
                workflow,
                subject,
                new,
            } => {
                // With `--new`, document and workflow start in one operation, and one undo removes
                // both.
                let view = app.run(|ctx| match new {
                    Some(title) => start_new(ctx, workflow, title),
                    None => start(ctx, workflow, subject.as_deref()),
                })?;
                said(app, &view)
            }
            What::Next { which } => {
                let step = app.run(|ctx| next(ctx, &which.which()))?;
                if app.ui.json {
                    app.ui.value(&step);
                } else {
                    app.ui.text(&step.prompt);
                }
                Ok(ExitCode::Done)
            }
            What::Take { which } => {
                let taken = app.run(|ctx| take(ctx, &which.which()))?;
                if app.ui.json {
                    app.ui.value(&taken);
                } else {
                    // The milestone alone on stdout, for `tl focus enter $(tl flow take)`.
                    app.ui.line(&taken.claim.node);
                    app.ui.say(styled(
                        DIM,
                        format!("  claimed until {}", taken.claim.until.for_people()),
                    ));
                }
                Ok(ExitCode::Done)
            }
            What::Done { which } => moved(app, which, Move::Done),
            What::Pass { which } => moved(app, which, Move::Pass),
            What::Fail { which } => moved(app, which, Move::Fail),
            What::Status { subject } => show(app, subject.as_deref()),
            What::Abort { which } => {
                let view = app.run(|ctx| abort(ctx, &which.which()))?;
                said(app, &view)
            }
        }
    }
}

fn list(app: &App) -> Result<ExitCode, Failure> {
    let workflows = app.run(|ctx| Ok(workflows::list(ctx)))?;
    if app.ui.json {
        app.ui.value(&workflows);
        return Ok(ExitCode::Done);
    }
    for one in &workflows {
        let place = one.file_path.as_deref().unwrap_or("built in");
        let name = styled(BOLD, &one.name);
        app.ui.line(format_args!(
            "{name}  {}, {} steps  {}",
            one.title,
            one.steps,
            styled(DIM, place)
        ));
        if let Some(problem) = &one.problem {
            app.ui
                .line(format_args!("  {} {}", styled(BAD, "✗"), problem));
        }
    }
    Ok(ExitCode::Done)
}

/// Renders the position of a workflow: step, role and wave.
fn place(flow: &FlowView) -> String {
    let wave = flow
        .wave
        .map(|wave| format!(", wave {wave}"))
        .unwrap_or_default();
    match flow.state {
        FlowState::Active => format!(
            "step {} of {}: {} ({}{wave})",
            flow.number, flow.steps, flow.title, flow.role
        ),
        FlowState::Finished | FlowState::Aborted => flow.state.word().to_owned(),
    }
}

/// Prints the position of a workflow.
fn said(app: &App, flow: &FlowView) -> Result<ExitCode, Failure> {
    if app.ui.json {
        app.ui.value(flow);
    } else {
        app.ui.line(format_args!(
            "{} on {}: {}",
            flow.workflow,
            flow.subject,
            place(flow)
        ));
        if flow.state == FlowState::Active {
            app.ui.say(styled(DIM, "next: tl flow next"));
        }
    }
    Ok(ExitCode::Done)
}

/// Moves a workflow on and prints the outcome.
fn moved(app: &App, which: &Which, how: Move) -> Result<ExitCode, Failure> {
    let outcome: Advanced = app.run(|ctx| advance(ctx, &which.which(), how))?;
    // Waiting for a person is exit code 3, so that a loop in a script stops there instead of trying
    // again.
    let code = if outcome.success {
        ExitCode::Done
    } else {
        ExitCode::Findings
    };
    if app.ui.json {
        app.ui.value(&outcome);
        return Ok(code);
    }
    // Messages on stderr: what failed and was sent back explains the new position, which is the
    // output.
    match &outcome.review {
        Some(Concluded::Retry {
            blocking,
            iteration,
        }) => {
            app.ui.say(format_args!(
                "{} go back, iteration {iteration}",
                blocking.join(", ")
            ));
        }
        Some(Concluded::Complete { accepted }) if !accepted.is_empty() => {
            let accepted = accepted.join(", ");
            app.ui.say(format_args!(
                "{}: accepted as they are: {accepted} (tl review status)",
                styled(WARN, "note")
            ));
        }
        _ => {}
    }
    if !outcome.success {
        let waiting = outcome.waits_for_person.join(", ");
        app.ui.line(format_args!(
            "{} a person has to decide about {waiting}",
            styled(WARN, "waits:")
        ));
        // The agent cannot continue here, so the steps are for the person it has to ask.
        app.ui.say("next: tl review escalated");
        app.ui.say(
            "next: tl review accept ID --reason \"…\"   # by that person; or tl review verdict ID fail to send it back",
        );
        return Ok(code);
    }
    said(app, &outcome.flow)
}

fn show(app: &App, subject: Option<&str>) -> Result<ExitCode, Failure> {
    let flows = app.run(|ctx| status(ctx, subject))?;
    if app.ui.json {
        app.ui.value(&flows);
        return Ok(ExitCode::Done);
    }
    if flows.is_empty() {
        app.ui.say("no active workflow; next: tl flow list");
    }
    for line in &flows {
        let flow = &line.flow;
        let name = styled(BOLD, &flow.subject);
        app.ui
            .line(format_args!("{name}  {}  {}", flow.workflow, place(flow)));
        for step in &line.way {
            let mark = if step.how == Move::Fail {
                styled(BAD, "✗")
            } else {
                styled(GOOD, "✓")
            };
            let by = step.by.to_string();
            app.ui
                .line(format_args!("  {mark} {} {}", step.step, styled(DIM, &by)));
        }
    }
    Ok(ExitCode::Done)
}
