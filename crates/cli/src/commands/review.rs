//! `tl review`: quality reviews with checks, verdicts and a bounded number of iterations.

use application::reviews::accept::accept;
use application::reviews::add::{CheckRequest, add};
use application::reviews::conclude::conclude;
use application::reviews::judge::{VerdictRequest, judge};
use application::reviews::status::{escalated, status};
use application::reviews::{ItemOutcome, ReviewView};
use application::{Failure, FailureKind};
use clap::{Args, Subcommand};
use domain::ids::Principal;
use domain::review::{Concluded, Item, ItemStatus, ResolutionKind, Severity, Verdict};

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
    what: What,
}

#[derive(Debug, Args)]
struct Of {
    /// Subject of the review [default: the phase of the current workflow step]
    #[arg(long, value_name = "SUBJECT")]
    of: Option<String>,
}

#[derive(Debug, Subcommand)]
enum What {
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
        of: Of,
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
        of: Of,
    },
    /// Show the checks, their verdicts, and what blocks
    Status {
        #[command(flatten)]
        of: Of,
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
        of: Of,
    },
    /// Conclude an iteration of a review outside of a workflow
    Conclude {
        #[command(flatten)]
        of: Of,
    },
}

impl ReviewArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        match &self.what {
            What::Add {
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
                    severity: read_severity(severity)?,
                    // Authors are given, because a review of plan text has no commits to read them
                    // from; an author must not judge their own work.
                    authors: authors
                        .iter()
                        .map(|author| Principal::from(author.as_str()))
                        .collect(),
                };
                let outcome = app.run(|ctx| add(ctx, &request))?;
                done(app, &outcome, &outcome.item.id)
            }
            What::Verdict {
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
                    verdict: read_verdict(verdict, finding)?,
                    version: *version,
                    cost: *cost,
                };
                let outcome = app.run(|ctx| judge(ctx, &request))?;
                // Only the check's own status: whether the review blocks is decided when it is
                // concluded.
                let line = format!("{} is {}", outcome.item.id, outcome.item.status.word());
                done(app, &outcome, &line)
            }
            What::Status { of } => {
                let view = app.run(|ctx| status(ctx, of.of.as_deref()))?;
                if app.ui.json {
                    app.ui.value(&view);
                } else {
                    show(app, &view);
                }
                Ok(ExitCode::Done)
            }
            What::Escalated => waiting(app),
            What::Accept { item, reason, of } => {
                let outcome = app.run(|ctx| accept(ctx, of.of.as_deref(), item, reason, None))?;
                let line = format!("{} is accepted as it is", outcome.item.id);
                done(app, &outcome, &line)
            }
            What::Conclude { of } => {
                let outcome = app.run(|ctx| conclude(ctx, of.of.as_deref(), None))?;
                let code = match &outcome.concluded {
                    Concluded::Complete { .. } => ExitCode::Done,
                    // Exit code 3 for both: a script that drives the review has to stop, and reads
                    // the cause in the output.
                    Concluded::Retry { .. } | Concluded::NeedsPerson { .. } => ExitCode::Findings,
                };
                if app.ui.json {
                    app.ui.value(&outcome);
                } else {
                    app.ui.line(in_words(&outcome.concluded));
                }
                Ok(code)
            }
        }
    }
}

fn done(app: &App, outcome: &ItemOutcome, line: &str) -> Result<ExitCode, Failure> {
    if app.ui.json {
        app.ui.value(outcome);
    } else {
        app.ui.line(line);
        app.ui.say(styled(
            DIM,
            format!("  of {}, version {}", outcome.subject, outcome.item.version),
        ));
    }
    Ok(ExitCode::Done)
}

fn in_words(concluded: &Concluded) -> StyledLine {
    let list = |ids: &[String]| ids.join(", ");
    match concluded {
        Concluded::Complete { accepted } if accepted.is_empty() => {
            styled_line!("{} the review is complete", styled(GOOD, "✓"))
        }
        Concluded::Complete { accepted } => {
            styled_line!(
                "{} the review is complete; accepted as they are: {}",
                styled(GOOD, "✓"),
                list(accepted)
            )
        }
        Concluded::Retry {
            iteration,
            blocking,
        } => {
            styled_line!(
                "{} {} go back, iteration {iteration}",
                styled(BAD, "✗"),
                list(blocking)
            )
        }
        Concluded::NeedsPerson { escalated } => {
            styled_line!(
                "{} a person has to decide about {}",
                styled(WARN, "waits:"),
                list(escalated)
            )
        }
    }
}

fn read_severity(word: &str) -> Result<Severity, Failure> {
    Severity::ALL
        .into_iter()
        // Case-insensitive, although stored in capitals: models write `must` as often as `MUST`.
        .find(|severity| severity.word().eq_ignore_ascii_case(word))
        .ok_or_else(|| {
            let what = format!("`{word}` is not a severity: expected one of MUST, SHOULD, COULD");
            Failure::new(FailureKind::Invalid, what)
        })
}

fn read_verdict(word: &str, finding: &str) -> Result<Verdict, Failure> {
    match word.to_lowercase().as_str() {
        "pass" => Ok(Verdict::Pass),
        "fail" => Ok(Verdict::Fail {
            finding: finding.to_owned(),
        }),
        _ => Err(Failure::new(
            FailureKind::Invalid,
            format!("`{word}` is not a verdict: expected `pass` or `fail`"),
        )),
    }
}

fn show(app: &App, view: &ReviewView) {
    let name = styled(BOLD, &view.subject);
    app.ui.line(format_args!(
        "{name}  {}, iteration {} of at most {}",
        view.state.word(),
        view.iteration,
        view.last_iteration
    ));
    view.items.iter().for_each(|item| line(app, item));
    if !view.blocking.is_empty() {
        app.ui
            .line(format_args!("blocking: {}", view.blocking.join(", ")));
    }
    if !view.escalated.is_empty() {
        app.ui.line(format_args!(
            "waits for a person: {}",
            view.escalated.join(", ")
        ));
    }
}

fn line(app: &App, item: &Item) {
    let mark = match item.status {
        ItemStatus::Todo => styled(DIM, "○ TODO"),
        ItemStatus::Pass => styled(GOOD, "✓ PASS"),
        ItemStatus::Fail => styled(BAD, "✗ FAIL"),
    };
    let words = format!("{} {}: {}", item.severity, item.scope, item.check);
    app.ui.line(format_args!("  {mark} {} {words}", item.id));
    if let Some(finding) = item
        .finding
        .as_ref()
        // The finding of an earlier iteration is kept with the item; once it passes, it is history.
        .filter(|_| item.status != ItemStatus::Pass)
    {
        app.ui.line(format_args!(
            "      {} (failed {} times)",
            finding, item.fail_count
        ));
    }
    if let Some(resolution) = &item.resolution {
        let word = match resolution.kind {
            ResolutionKind::Escalated => "waits for a person",
            ResolutionKind::Accepted => "accepted",
        };
        app.ui.line(format_args!(
            "      {} {}: {}",
            styled(WARN, word),
            resolution.by,
            resolution.reason
        ));
    }
}

fn waiting(app: &App) -> Result<ExitCode, Failure> {
    let items = app.run(escalated)?;
    if app.ui.json {
        app.ui.value(&items);
        return Ok(ExitCode::Done);
    }
    if items.is_empty() {
        app.ui.say("no escalated checks");
    }
    for one in &items {
        // The command is printed with its subject: escalated items come from all reviews, and their
        // ids are unique only within one.
        app.ui.line(styled(BOLD, &one.subject));
        line(app, &one.item);
        let (id, subject) = (&one.item.id, &one.subject);
        app.ui.line(styled(
            DIM,
            format!("      tl review accept {id} --of {subject} --reason \"…\""),
        ));
    }
    Ok(ExitCode::Done)
}
