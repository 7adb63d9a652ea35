//! `tl evidence`: declares, runs and shows the evidence of a node.

use std::time::Duration;

use application::Failure;
use application::evidence::{EvidenceView, add_evidence, run_evidence, show_evidence};
use clap::{Args, Subcommand};
use domain::work::evidence::{ProofCheck, ProofStatus};

use super::NodeArgs;
use crate::exit_code::ExitCode;
use crate::ui::{BOLD, DIM, PLAIN, WARN, styled};
use crate::wiring::App;

/// Evidence that a node is done: declare it, run it, show whether it is fresh
///
/// A command that must exit with 0, a file that must exist, or a review that must have passed. A
/// result is valid for the inputs it was made with; when they change, it is stale.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl evidence add 017a -- cargo test --package gates
  tl evidence add 017a --input src --input Cargo.lock -- cargo test
  tl evidence add 017a --file docs/report.md
  tl evidence run 017a
  tl evidence show 017a")]
pub(crate) struct EvidenceArgs {
    #[command(subcommand)]
    what: EvidenceCommand,
}

#[derive(Debug, Subcommand)]
enum EvidenceCommand {
    /// Declare evidence for a node
    Add {
        #[command(flatten)]
        node: NodeArgs,
        /// File that must exist
        #[arg(long, conflicts_with_all = ["review", "command"])]
        file: Option<String>,
        /// Review that must have passed
        #[arg(long, conflicts_with = "command")]
        review: Option<String>,
        /// Input whose change makes the result stale: a file, directory or pattern [default: the
        /// whole repository]
        #[arg(long = "input", value_name = "PATH")]
        inputs: Vec<String>,
        /// Program and arguments, run without a shell
        #[arg(last = true, value_name = "COMMAND")]
        command: Vec<String>,
    },
    /// Run all declared evidence and record the results
    Run {
        #[command(flatten)]
        node: NodeArgs,
        /// Time limit for a command, in seconds
        #[arg(long, default_value_t = 1_800)]
        timeout: u64,
    },
    /// Show the declared evidence and whether it is fresh
    Show {
        #[command(flatten)]
        node: NodeArgs,
    },
}

impl EvidenceArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let view = match &self.what {
            EvidenceCommand::Add {
                node,
                file,
                review,
                inputs,
                command,
            } => {
                // clap excludes combinations; nothing at all is left, because a command may be
                // empty for it.
                let asks = match (file, review, command.as_slice()) {
                    (Some(path), None, []) => ProofCheck::File { path: path.clone() },
                    (None, Some(review), []) => ProofCheck::Review {
                        review: review.clone(),
                    },
                    (None, None, [_, ..]) => ProofCheck::Command {
                        run: command.clone(),
                        inputs: inputs.clone(),
                    },
                    _ => {
                        return Err(Failure::invalid("expected a command, --file or --review")
                            .with_step("tl evidence add NODE -- cargo test")
                            .with_step("tl evidence add NODE --file docs/report.md"));
                    }
                };
                app.run(|ctx| add_evidence(ctx, &node.node, asks.clone()))?
            }
            EvidenceCommand::Run { node, timeout } => {
                app.run(|ctx| run_evidence(ctx, &node.node, Duration::from_secs(*timeout)))?
            }
            EvidenceCommand::Show { node } => app.run(|ctx| show_evidence(ctx, &node.node))?,
        };
        if !app.ui.try_print_json(&view) {
            print_evidence(app, &view);
        }
        // A failed run is not an error of ours: it was recorded. The exit code still tells a
        // script.
        Ok(match (&self.what, view.proved) {
            (EvidenceCommand::Run { .. }, false) => ExitCode::Findings,
            _ => ExitCode::Done,
        })
    }
}

fn print_evidence(app: &App, view: &EvidenceView) {
    app.ui.print_line(styled(BOLD, &view.node));
    for one in &view.proofs {
        let word = one.standing.as_str();
        let word = styled(
            if one.standing == ProofStatus::Fresh {
                PLAIN
            } else {
                WARN
            },
            word,
        );
        app.ui.print_line(format_args!("  {word}: {}", one.words));
        if let Some(result) = &one.proof.result {
            let code = result
                .exit_code
                .map(|code| format!(", exit code {code}"))
                .unwrap_or_default();
            app.ui.print_line(styled(
                DIM,
                format!("    {} by {}{code}", result.at, result.by),
            ));
            if !result.passed {
                result
                    .output
                    .lines()
                    .rev()
                    .take(10)
                    // The last lines: test runners print their summary there.
                    .collect::<Vec<_>>()
                    .iter()
                    .rev()
                    .for_each(|line| {
                        app.ui.print_line(format!("    {line}"));
                    });
            }
        }
    }
    if let Some(why) = &view.missing {
        app.ui.print_line(why);
    }
}
