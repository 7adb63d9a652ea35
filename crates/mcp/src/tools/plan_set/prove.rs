//! The tool `plan_prove`.

use std::time::Duration;

use application::evidence::{EvidenceView, add_evidence, run_evidence};
use application::{Context, Failure};
use domain::work::evidence::ProofCheck;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::node_words;

/// Maximum time of a command; a client has timed out by then.
const MAX_TIMEOUT_SECONDS: u64 = 1_800;
const DEFAULT_TIMEOUT_SECONDS: u64 = 300;

#[derive(Deserialize, JsonSchema)]
// Tagged by `action`, so that serde names the missing field of that very action.
#[serde(tag = "action", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Arguments {
    Add {
        /// alias or path
        node: String,
        // As a list: without a shell there is nothing to quote and nothing to inject.
        /// add: the program and its arguments; no shell reads them
        #[serde(default)]
        command: Vec<String>,
        /// add: a test that the command runs, which must have failed before and pass now
        #[serde(default)]
        test: Option<String>,
        /// add: the JUnit report that the command writes, or a folder of them
        #[serde(default)]
        report: Option<String>,
        /// add: files, folders or patterns whose change makes the result old
        #[serde(default)]
        inputs: Vec<String>,
        /// add: a file that must be there
        #[serde(default)]
        file: Option<String>,
        /// add: a review that must have passed
        #[serde(default)]
        review: Option<String>,
    },
    Run {
        node: String,
        #[serde(default)]
        #[schemars(range(min = 1, max = MAX_TIMEOUT_SECONDS))]
        timeout_seconds: Option<u64>,
    },
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<EvidenceView, Failure> {
    match arguments {
        Arguments::Add {
            node,
            command,
            test,
            report,
            inputs,
            file,
            review,
        } => {
            let asks = match choose_proof(&node, command, inputs, file, review)? {
                ProofCheck::Command { run, inputs } => match test {
                    Some(test) => ProofCheck::Test {
                        test,
                        run,
                        inputs,
                        report,
                    },
                    None if report.is_some() => return Err(refuse_without_test(&node)),
                    None => ProofCheck::Command { run, inputs },
                },
                _ if test.is_some() || report.is_some() => {
                    return Err(refuse_without_command(&node));
                }
                other => other,
            };
            add_evidence(ctx, &node_words(&node), asks)
        }
        Arguments::Run {
            node,
            timeout_seconds,
        } => {
            // Clamped, because a command without a limit would hold a slot forever.
            let seconds = timeout_seconds
                .unwrap_or(DEFAULT_TIMEOUT_SECONDS)
                .clamp(1, MAX_TIMEOUT_SECONDS);
            run_evidence(ctx, &node_words(&node), Duration::from_secs(seconds))
        }
    }
}

fn refuse_without_test(node: &str) -> Failure {
    Failure::invalid("a `report` is read for the result of one `test`: name it").with_step(format!(
        "tl evidence add {node} --test NAME --report FILE -- cargo test"
    ))
}

fn refuse_without_command(node: &str) -> Failure {
    Failure::invalid("a `test` needs the `command` that runs it")
        .with_step(format!("tl evidence add {node} --test NAME -- cargo test"))
}

fn choose_proof(
    node: &str,
    command: Vec<String>,
    inputs: Vec<String>,
    file: Option<String>,
    review: Option<String>,
) -> Result<ProofCheck, Failure> {
    // Exactly one kind: a proof of two kinds could be half fresh.
    match (command.is_empty(), file, review) {
        (false, None, None) => Ok(ProofCheck::Command {
            run: command,
            inputs,
        }),
        (true, Some(path), None) => Ok(ProofCheck::File { path }),
        (true, None, Some(review)) => Ok(ProofCheck::Review { review }),
        _ => Err(
            Failure::invalid("expected one of `command`, `file`, `review`").with_step(format!(
                "tl evidence add {node} -- cargo test   # or another command that proves it"
            )),
        ),
    }
}
