//! `tl evidence`

use std::time::Duration;

use application::evidence::{EvidenceView, add_evidence, run_evidence, show_evidence};
use application::{Failure, FailureKind};
use clap::{Args, Subcommand};
use domain::work::evidence::{Asks, ProofStanding};

use super::NodeArgs;
use crate::exit_code::ExitCode;
use crate::ui::{BOLD, DIM, PLAIN, WARN, styled};
use crate::wiring::App;

/// What proves that a node is done: declare it, run it, see whether it still holds
///
/// A command that must end with 0, a file that must be there, a review that must pass. A result is worth something
/// for the inputs it was made with; when they change it is stale.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl evidence add 017a -- cargo test --package gates
  tl evidence add 017a --input src --input Cargo.lock -- cargo test
  tl evidence add 017a --file docs/report.md
  tl evidence run 017a
  tl evidence show 017a")]
pub(crate) struct EvidenceArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Declare another proof
    Add {
        #[command(flatten)]
        node: NodeArgs,
        /// A file that must be there
        #[arg(long, conflicts_with_all = ["review", "command"])]
        file: Option<String>,
        /// A review that must have passed
        #[arg(long, conflicts_with = "command")]
        review: Option<String>,
        /// Files, folders or patterns whose change makes the result old; none means whatever the repository holds
        #[arg(long = "input", value_name = "PATH")]
        inputs: Vec<String>,
        /// The program and its arguments; no shell reads them
        #[arg(last = true, value_name = "COMMAND")]
        command: Vec<String>,
    },
    /// Run everything that is declared, and record how it went
    Run {
        #[command(flatten)]
        node: NodeArgs,
        /// Seconds a command may take
        #[arg(long, default_value_t = 1_800)]
        timeout: u64,
    },
    /// Show what is declared and whether it holds
    Show {
        #[command(flatten)]
        node: NodeArgs,
    },
}

impl EvidenceArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let view = match &self.what {
            What::Add {
                node,
                file,
                review,
                inputs,
                command,
            } => {
                let asks = match (file, review, command.as_slice()) {
                    (Some(path), None, []) => Asks::File { path: path.clone() },
                    (None, Some(review), []) => Asks::Review {
                        review: review.clone(),
                    },
                    (None, None, [_, ..]) => Asks::Command {
                        run: command.clone(),
                        inputs: inputs.clone(),
                    },
                    _ => {
                        return Err(Failure::new(
                            FailureKind::Invalid,
                            "what proves it is missing",
                        )
                        .step("tl evidence add NODE -- cargo test")
                        .step("tl evidence add NODE --file docs/report.md"));
                    }
                };
                app.run(|ctx| add_evidence(ctx, &node.node, asks.clone()))?
            }
            What::Run { node, timeout } => {
                app.run(|ctx| run_evidence(ctx, &node.node, Duration::from_secs(*timeout)))?
            }
            What::Show { node } => app.run(|ctx| show_evidence(ctx, &node.node))?,
        };
        if app.ui.json {
            app.ui.value(&view);
        } else {
            show(app, &view);
        }
        // A run that does not prove what it should is an answer of its own.
        Ok(match (&self.what, view.proved) {
            (What::Run { .. }, false) => ExitCode::Findings,
            _ => ExitCode::Done,
        })
    }
}

fn show(app: &App, view: &EvidenceView) {
    app.ui.line(styled(BOLD, &view.node));
    for one in &view.proofs {
        let word = one.standing.word();
        let word = styled(
            if one.standing == ProofStanding::Fresh {
                PLAIN
            } else {
                WARN
            },
            word,
        );
        app.ui.line(format_args!("  {word}: {}", one.words));
        if let Some(result) = &one.proof.result {
            let code = result
                .exit_code
                .map(|code| format!(", exit code {code}"))
                .unwrap_or_default();
            app.ui.line(styled(
                DIM,
                format!("    {} by {}{code}", result.at, result.by),
            ));
            if !result.passed {
                result
                    .output
                    .lines()
                    .rev()
                    .take(10)
                    .collect::<Vec<_>>()
                    .iter()
                    .rev()
                    .for_each(|line| {
                        app.ui.line(format!("    {line}"));
                    });
            }
        }
    }
    if let Some(why) = &view.missing {
        app.ui.line(why);
    }
}
