//! `tl review`: quality reviews with checks, verdicts and a bounded number of iterations.

use application::Failure;
use application::reviews::accept::accept_finding;
use application::reviews::add::{CheckRequest, add_check};
use application::reviews::conclude::conclude_iteration;
use application::reviews::judge::{VerdictRequest, record_verdict};
use application::reviews::status::{list_escalated, show_review};
use application::reviews::{ItemOutcome, ReviewVerdictView, ReviewView};
use clap::{Args, Subcommand};
use domain::decision::ReviewOutcome;
use domain::ids::Principal;
use domain::review::{
    CheckSeverity, CheckVerdict, ItemStatus, IterationOutcome, ResolutionKind, ReviewItem,
};

use crate::exit_code::ExitCode;
use crate::ui::{BAD, BOLD, DIM, GOOD, StyledLine, WARN, styled, styled_line};
use crate::wiring::App;

/// Quality reviews with a bounded number of iterations
///
/// A review is a list of checks with severities, judged in iterations. At first every failed check
/// blocks, from the third iteration on MUST and SHOULD, from the fifth only MUST. A check that
/// keeps failing is escalated to a person (MUST) or accepted for that reason. In a workflow the
/// subject is the phase of its step; `--of` names another one.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl review add --check \"every intent has a test\" --severity MUST
  tl review verdict qa-001 fail --finding \"CI-003 has none\"
  tl review verdict qa-001 pass
  tl review status
  tl review add --of act-1/chapter-02 --check \"POV holds\" --severity SHOULD
  tl review conclude --of act-1/chapter-02
  tl review accept qa-002 --reason \"ships next week\"")]
pub(crate) struct ReviewArgs {
    #[command(subcommand)]
    what: ReviewCommand,
}

#[derive(Debug, Args)]
struct SubjectOption {
    /// Subject of the review [default: the phase of the current workflow step]
    #[arg(long, value_name = "SUBJECT")]
    of: Option<String>,
}

#[derive(Debug, Subcommand)]
enum ReviewCommand {
    /// Add a check
    Add {
        #[arg(long, value_name = "TEXT")]
        check: String,
        /// MUST, SHOULD or COULD
        #[arg(long)]
        severity: String,
        /// Scope of the check: a milestone, a file; `*` for everything
        #[arg(long, default_value = "*")]
        scope: String,
        /// Author of the reviewed work, such as `agent:codex/s1`; may be repeated
        #[arg(long = "author", value_name = "WHO")]
        authors: Vec<String>,
        #[command(flatten)]
        of: SubjectOption,
    },
    /// Record a verdict on a check
    Verdict {
        #[arg(value_name = "ID")]
        item: String,
        /// The verdict: pass or fail
        verdict: String,
        /// What is wrong and where
        #[arg(long, value_name = "TEXT", default_value = "")]
        finding: String,
        /// Version of the check you judged
        #[arg(long, value_name = "N")]
        version: Option<u64>,
        /// Cost of the judgement, in the unit of `policy.review.budget`
        #[arg(long, value_name = "N", default_value_t = 0)]
        cost: u64,
        #[command(flatten)]
        of: SubjectOption,
    },
    /// Show the checks, their verdicts, and what blocks
    Status {
        #[command(flatten)]
        of: SubjectOption,
    },
    /// List escalated checks of all reviews
    Escalated,
    /// Accept a finding as it is (people only)
    Accept {
        #[arg(value_name = "ID")]
        item: String,
        #[arg(long, value_name = "TEXT")]
        reason: String,
        #[command(flatten)]
        of: SubjectOption,
    },
    /// Conclude an iteration of a review outside of a workflow
    Conclude {
        #[command(flatten)]
        of: SubjectOption,
    },
}

impl ReviewArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        match &self.what {
            ReviewCommand::Add {
                check,
                severity,
                scope,
                authors,
                of,
            } => {
                let request = CheckRequest {
                    of: of.of.clone(),
                    scope: scope.clone(),
                    check: check.clone(),
                    severity: parse_severity(severity)?,
                    // Authors are given, because a review of plan text has no commits to read them
                    // from; an author must not judge their own work.
                    authors: authors
                        .iter()
                        .map(|author| Principal::from(author.as_str()))
                        .collect(),
                };
                let outcome = app.run(|ctx| add_check(ctx, &request))?;
                print_item_outcome(app, &outcome, &outcome.item.id)
            }
            ReviewCommand::Verdict {
                item,
                verdict,
                finding,
                version,
                cost,
                of,
            } => {
                let request = VerdictRequest {
                    of: of.of.clone(),
                    item: item.clone(),
                    verdict: parse_verdict(verdict, finding)?,
                    version: *version,
                    cost: *cost,
                };
                let outcome = app.run(|ctx| record_verdict(ctx, &request))?;
                // Only the check's own status: whether the review blocks is decided when it is
                // concluded.
                let line = format!("{} is {}", outcome.item.id, outcome.item.status.as_str());
                print_item_outcome(app, &outcome, &line)
            }
            ReviewCommand::Status { of } => {
                let view = app.run(|ctx| show_review(ctx, of.of.as_deref()))?;
                if !app.ui.try_print_json(&view) {
                    print_review(app, &view);
                }
                Ok(ExitCode::Done)
            }
            ReviewCommand::Escalated => print_escalated(app),
            ReviewCommand::Accept { item, reason, of } => {
                let outcome =
                    app.run(|ctx| accept_finding(ctx, of.of.as_deref(), item, reason, None))?;
                let line = format!("{} is accepted as it is", outcome.item.id);
                print_item_outcome(app, &outcome, &line)
            }
            ReviewCommand::Conclude { of } => {
                let outcome = app.run(|ctx| conclude_iteration(ctx, of.of.as_deref(), None))?;
                let code = match &outcome.concluded {
                    IterationOutcome::Complete { .. } => ExitCode::Done,
                    // Exit code 3 for both: a script that drives the review has to stop, and reads
                    // the cause in the output.
                    IterationOutcome::Retry { .. } | IterationOutcome::NeedsPerson { .. } => {
                        ExitCode::Findings
                    }
                };
                if !app.ui.try_print_json(&outcome) {
                    app.ui.print_line(render_conclusion(&outcome.concluded));
                }
                Ok(code)
            }
        }
    }
}

fn print_item_outcome(app: &App, outcome: &ItemOutcome, line: &str) -> Result<ExitCode, Failure> {
    if !app.ui.try_print_json(outcome) {
        app.ui.print_line(line);
        app.ui.print_message(styled(
            DIM,
            format!("  of {}, version {}", outcome.subject, outcome.item.version),
        ));
    }
    Ok(ExitCode::Done)
}

fn render_conclusion(concluded: &IterationOutcome) -> StyledLine {
    let list = |ids: &[String]| ids.join(", ");
    match concluded {
        IterationOutcome::Complete { accepted } if accepted.is_empty() => {
            styled_line!("{} the review is complete", styled(GOOD, "✓"))
        }
        IterationOutcome::Complete { accepted } => {
            styled_line!(
                "{} the review is complete; accepted as they are: {}",
                styled(GOOD, "✓"),
                list(accepted)
            )
        }
        IterationOutcome::Retry {
            iteration,
            blocking,
        } => {
            styled_line!(
                "{} {} go back, iteration {iteration}",
                styled(BAD, "✗"),
                list(blocking)
            )
        }
        IterationOutcome::NeedsPerson { escalated } => {
            styled_line!(
                "{} a person has to decide about {}",
                styled(WARN, "waits:"),
                list(escalated)
            )
        }
    }
}

fn parse_severity(word: &str) -> Result<CheckSeverity, Failure> {
    CheckSeverity::ALL
        .into_iter()
        // Case-insensitive, although stored in capitals: models write `must` as often as `MUST`.
        .find(|severity| severity.as_str().eq_ignore_ascii_case(word))
        .ok_or_else(|| {
            let what = format!("`{word}` is not a severity: expected one of MUST, SHOULD, COULD");
            Failure::invalid(what)
        })
}

fn parse_verdict(word: &str, finding: &str) -> Result<CheckVerdict, Failure> {
    match word.to_lowercase().as_str() {
        "pass" => Ok(CheckVerdict::Pass),
        "fail" => Ok(CheckVerdict::Fail {
            finding: finding.to_owned(),
        }),
        _ => Err(Failure::invalid(format!(
            "`{word}` is not a verdict: expected `pass` or `fail`"
        ))),
    }
}

fn print_review(app: &App, view: &ReviewView) {
    let name = styled(BOLD, &view.subject);
    app.ui.print_line(format_args!(
        "{name}  {}, iteration {} of at most {}",
        view.state.as_str(),
        view.iteration,
        view.last_iteration
    ));
    view.items.iter().for_each(|item| print_item(app, item));
    if !view.blocking.is_empty() {
        app.ui
            .print_line(format_args!("blocking: {}", view.blocking.join(", ")));
    }
    if !view.escalated.is_empty() {
        app.ui.print_line(format_args!(
            "waits for a person: {}",
            view.escalated.join(", ")
        ));
    }
    view.verdicts
        .iter()
        .for_each(|verdict| print_verdict(app, verdict));
}

fn print_verdict(app: &App, verdict: &ReviewVerdictView) {
    let word = match verdict.outcome {
        ReviewOutcome::Passed => styled(GOOD, "passed"),
        ReviewOutcome::Failed => styled(BAD, "failed"),
        ReviewOutcome::NeedsPerson => styled(WARN, "waits for a person"),
        ReviewOutcome::Accepted => styled(WARN, "finding accepted"),
    };
    app.ui.print_line(format_args!(
        "decided: {word} in iteration {} by {} on {}",
        verdict.iteration,
        verdict.by,
        verdict.at.format_local_minute()
    ));
    for finding in &verdict.findings {
        app.ui.print_line(format_args!("      {finding}"));
    }
}

fn print_item(app: &App, item: &ReviewItem) {
    let mark = match item.status {
        ItemStatus::Todo => styled(DIM, "○ TODO"),
        ItemStatus::Pass => styled(GOOD, "✓ PASS"),
        ItemStatus::Fail => styled(BAD, "✗ FAIL"),
    };
    let words = format!("{} {}: {}", item.severity, item.scope, item.check);
    app.ui
        .print_line(format_args!("  {mark} {} {words}", item.id));
    if let Some(finding) = item
        .finding
        .as_ref()
        // The finding of an earlier iteration is kept with the item; once it passes, it is history.
        .filter(|_| item.status != ItemStatus::Pass)
    {
        app.ui.print_line(format_args!(
            "      {} (failed {} times)",
            finding, item.fail_count
        ));
    }
    if let Some(resolution) = &item.resolution {
        let word = match resolution.kind {
            ResolutionKind::Escalated => "waits for a person",
            ResolutionKind::Accepted => "accepted",
        };
        app.ui.print_line(format_args!(
            "      {} {}: {}",
            styled(WARN, word),
            resolution.by,
            resolution.reason
        ));
    }
}

fn print_escalated(app: &App) -> Result<ExitCode, Failure> {
    let items = app.run(list_escalated)?;
    if app.ui.try_print_json(&items) {
        return Ok(ExitCode::Done);
    }
    if items.is_empty() {
        app.ui.print_message("no escalated checks");
    }
    for one in &items {
        // The command is printed with its subject: escalated items come from all reviews, and their
        // ids are unique only within one.
        app.ui.print_line(styled(BOLD, &one.subject));
        print_item(app, &one.item);
        let (id, subject) = (&one.item.id, &one.subject);
        app.ui.print_line(styled(
            DIM,
            format!("      tl review accept {id} --of {subject} --reason \"…\""),
        ));
    }
    Ok(ExitCode::Done)
}
