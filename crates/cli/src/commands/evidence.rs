//! `tl evidence`: declares, runs and shows the evidence of a node.

use std::time::Duration;

use application::Failure;
use application::evidence::{EvidenceView, add_evidence, run_evidence, show_evidence};
use application::propose_evidence::{propose_evidence, propose_test_command};
use clap::{Args, Subcommand};
use domain::work::evidence::{ProofCheck, ProofStatus};

use super::NodeArgs;
use crate::exit_code::ExitCode;
use crate::ui::{BOLD, DIM, PLAIN, WARN, styled};
use crate::wiring::App;

/// Evidence that a node is done: declare it, run it, show whether it is fresh
///
/// A command that must exit with 0, a test that failed before and passes now, a file that must exist,
/// or a review that must have passed. A result is valid for the content of its inputs; when that
/// changes, it is stale. A commit alone changes nothing.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl evidence propose 017a
  tl evidence add 017a -- cargo test --package gates
  tl evidence add 017a/an-unknown-code --test \"An unknown code\"
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
        /// Test that must have failed before and pass now; without a command, the project's test
        /// runner is used
        #[arg(long, value_name = "NAME", conflicts_with_all = ["file", "review"])]
        test: Option<String>,
        /// JUnit report that the command writes, or a directory of them [default: its output is read]
        #[arg(long, value_name = "PATH", requires = "test")]
        report: Option<String>,
        /// File that must exist
        #[arg(long, conflicts_with_all = ["review", "command"])]
        file: Option<String>,
        /// Review that must have passed
        #[arg(long, conflicts_with = "command")]
        review: Option<String>,
        /// Input whose change makes the result stale: a file, directory or pattern [default: the
        /// files of the node, or else all files of the repository]
        #[arg(long = "input", value_name = "PATH")]
        inputs: Vec<String>,
        /// Program and arguments, run without a shell
        #[arg(last = true, value_name = "COMMAND")]
        command: Vec<String>,
    },
    /// Print the command of the project's test runner that would prove a node
    Propose {
        #[command(flatten)]
        node: NodeArgs,
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
            EvidenceCommand::Add { .. } => self.what.declare(app)?,
            EvidenceCommand::Propose { node } => return print_proposal(app, node),
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

impl EvidenceCommand {
    /// Declares the evidence of `add`.
    fn declare(&self, app: &App) -> Result<EvidenceView, Failure> {
        let Self::Add {
            node,
            test,
            report,
            file,
            review,
            inputs,
            command,
        } = self
        else {
            return Err(Failure::invalid("nothing is declared"));
        };
        app.run(|ctx| {
            // clap excludes combinations; nothing at all is left, because a command may be empty for it.
            let asks = match (test, file, review, command.as_slice()) {
                (Some(test), None, None, command) => {
                    let (run, proposed) = match command {
                        [] => propose_test_command(ctx, test)?,
                        command => (command.to_vec(), None),
                    };
                    ProofCheck::Test {
                        test: test.clone(),
                        run,
                        inputs: inputs.clone(),
                        // What the caller names wins over the report that a recognised
                        // runner would write.
                        report: report.clone().or(proposed),
                    }
                }
                (None, Some(path), None, []) => ProofCheck::File { path: path.clone() },
                (None, None, Some(review), []) => ProofCheck::Review {
                    review: review.clone(),
                },
                (None, None, None, [_, ..]) => ProofCheck::Command {
                    run: command.clone(),
                    inputs: inputs.clone(),
                },
                _ => {
                    return Err(
                        Failure::invalid("expected a command, --test, --file or --review")
                            .with_step("tl evidence add NODE -- cargo test")
                            .with_step("tl evidence add NODE --file docs/report.md"),
                    );
                }
            };
            add_evidence(ctx, &node.node, asks)
        })
    }
}

fn print_proposal(app: &App, node: &NodeArgs) -> Result<ExitCode, Failure> {
    let proposal = app.run(|ctx| propose_evidence(ctx, &node.node))?;
    if app.ui.try_print_json(&proposal) {
        return Ok(ExitCode::Done);
    }
    for runner in &proposal.runners {
        app.ui.print_line(&runner.command);
    }
    if proposal.runners.is_empty() {
        app.ui.print_message(format_args!(
            "no test runner is recognised here; next: tl evidence add {} -- PROGRAM ARGUMENTS",
            proposal.node
        ));
    }
    let inputs = match proposal.inputs.as_slice() {
        [] => "all files of the repository".to_owned(),
        files => files.join(", "),
    };
    app.ui
        .print_message(styled(DIM, format!("a result is valid for: {inputs}")));
    Ok(ExitCode::Done)
}

/// Maximum number of lines shown of the output of a failed proof.
const MAX_SHOWN_LINES: usize = 10;

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
            let lines: Vec<&str> = result.output.lines().collect();
            let shown = match result.passed {
                // The last lines: test runners print their summary there.
                false => lines.len().min(MAX_SHOWN_LINES),
                // Of a pass only our own remark, which comes last.
                true => usize::from(lines.last().is_some_and(|line| line.starts_with('('))),
            };
            for line in lines.iter().skip(lines.len() - shown) {
                app.ui.print_line(format!("    {line}"));
            }
        }
    }
    if let Some(why) = &view.missing {
        app.ui.print_line(why);
    }
}
