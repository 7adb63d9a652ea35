//! The tool `evidence`.

use std::time::Duration;

use application::evidence::{add_evidence, run_evidence, show_evidence};
use application::{Context, Failure, FailureKind};
use domain::work::evidence::ProofCheck;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::arguments::{read, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const EVIDENCE: Tool = Tool {
    name: "evidence",
    description: "Use before you call a node done: show what proves it and whether that still holds, run what is declared, add a proof (a command that must end with 0, a file, or a review).",
    set: Toolset::Tickets,
    // It can start programs, so clients should ask each time.
    hints: Hints::RUNS,
    input: |_| {
        schema::object(vec![
            ("action", schema::one_of(&["add", "run", "show"]), true),
            ("node", schema::node(), true),
            (
                "command",
                // As a list: without a shell there is nothing to quote and nothing to inject.
                schema::texts("add: the program and its arguments; no shell reads them"),
                false,
            ),
            (
                "inputs",
                schema::texts("add: files, folders or patterns whose change makes the result old"),
                false,
            ),
            (
                "file",
                schema::text("add: a file that must be there"),
                false,
            ),
            (
                "review",
                schema::text("add: a review that must have passed"),
                false,
            ),
            (
                "timeout_seconds",
                json!({ "type": "integer", "minimum": 1, "maximum": MAX_TIMEOUT_SECONDS }),
                false,
            ),
        ])
    },
    output: || {
        schema::result(&[
            ("node", "string"),
            ("proved", "boolean"),
            ("proofs", "list of object"),
        ])
    },
    run,
};

/// Maximum time of a command; a client has timed out by then.
const MAX_TIMEOUT_SECONDS: u64 = 1_800;
/// Default time limit of a command.
const SECONDS: u64 = 300;

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "lowercase", deny_unknown_fields)]
enum Arguments {
    Add {
        node: String,
        #[serde(default)]
        command: Vec<String>,
        #[serde(default)]
        inputs: Vec<String>,
        #[serde(default)]
        file: Option<String>,
        #[serde(default)]
        review: Option<String>,
    },
    Run {
        node: String,
        #[serde(default)]
        timeout_seconds: Option<u64>,
    },
    Show {
        node: String,
    },
}

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let view = match read(arguments)? {
        Arguments::Add {
            node,
            command,
            inputs,
            file,
            review,
        } => {
            // Exactly one kind: a proof of two kinds could be half fresh.
            let asks = match (command.is_empty(), file, review) {
                (false, None, None) => ProofCheck::Command {
                    run: command,
                    inputs,
                },
                (true, Some(path), None) => ProofCheck::File { path },
                (true, None, Some(review)) => ProofCheck::Review { review },
                _ => {
                    return Err(Failure::new(FailureKind::Invalid, "expected one of `command`, `file`, `review`")
                        .with_step("evidence with action add, node, and command, such as [\"cargo\", \"test\"]"));
                }
            };
            add_evidence(ctx, &[node], asks)?
        }
        Arguments::Run {
            node,
            timeout_seconds,
        } => {
            // Clamped, because a command without a limit would hold a slot forever.
            let most = timeout_seconds
                .unwrap_or(SECONDS)
                .clamp(1, MAX_TIMEOUT_SECONDS);
            run_evidence(ctx, &[node], Duration::from_secs(most))?
        }
        Arguments::Show { node } => show_evidence(ctx, &[node])?,
    };
    value(&view)
}
