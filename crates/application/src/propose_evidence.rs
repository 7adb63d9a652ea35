//! Propose evidence for a node: the project's own test runner, with the command for this node's test.
//!
//! Reads the names and settings of the project's root; runs nothing.

use domain::ports::{FileReadResult, PlanFiles};
use domain::shell_line::quote_word;
use domain::work::test_runner::{ProjectRoot, TestRunner, detect_test_runners};
use schemars::JsonSchema;
use serde::Serialize;

use crate::context::Context;
use crate::evidence_inputs::list_default_inputs;
use crate::failure::Failure;
use crate::locate::{load_node, load_node_path, reject_extra_words};
use crate::observe::observe_node;
use crate::scan::ScanScope;

/// Evidence that could be declared for a node.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EvidenceProposal {
    pub node: String,
    /// The name of the node's test, for a scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    pub runners: Vec<ProposedRunner>,
    /// The files whose change makes a result stale; empty for all files of the repository.
    pub inputs: Vec<String>,
}

/// A test runner of the project.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProposedRunner {
    pub name: String,
    pub run: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
    /// The command that declares it.
    pub command: String,
}

/// Proposes evidence for a node.
///
/// # Errors
/// When there is no such node.
pub fn propose_evidence(ctx: &Context<'_>, node: &[String]) -> Result<EvidenceProposal, Failure> {
    let found = observe_node(ctx, node, ScanScope::Lineage)?;
    reject_extra_words(found.rest)?;
    let node = load_node(&*found.state, found.id)?;
    let path = load_node_path(&*found.state, &node)?;
    let level = ctx
        .find_profile(&node.profile)
        .and_then(|profile| profile.find_level(&node.level));
    // A scenario is one test; other nodes are proved by the whole suite.
    let test = level
        .is_some_and(|level| level.items.is_some())
        .then(|| node.alias.clone());
    let runners = find_runners(ctx.files)
        .iter()
        .map(|runner| propose_runner(runner, &path, test.as_deref()))
        .collect();
    Ok(EvidenceProposal {
        inputs: list_default_inputs(&*found.state, &node)?,
        node: path,
        test,
        runners,
    })
}

/// Returns the command and the report of the project's first test runner for one test.
///
/// # Errors
/// When no runner is recognised.
pub fn propose_test_command(
    ctx: &Context<'_>,
    test: &str,
) -> Result<(Vec<String>, Option<String>), Failure> {
    let runners = find_runners(ctx.files);
    let Some(runner) = runners.first() else {
        return Err(
            Failure::not_found("no test runner is recognised here").with_step(format!(
                "tl evidence add NODE --test \"{test}\" -- PROGRAM ARGUMENTS"
            )),
        );
    };
    let report = runner.report.map(str::to_owned);
    Ok((runner.command_for_test(Some(test)), report))
}

/// Maximum size of a settings file that is read to recognise a runner.
const MAX_SETTINGS_BYTES: u64 = 1024 * 1024;

fn find_runners(files: &dyn PlanFiles) -> Vec<TestRunner> {
    let names: Vec<String> = files
        .list_folder("")
        .into_iter()
        .map(|entry| entry.name)
        .collect();
    let read_file = |path: &str| match files.read_file(path, MAX_SETTINGS_BYTES) {
        FileReadResult::Text { text, .. } => Some(text),
        FileReadResult::Missing | FileReadResult::Unreadable { .. } => None,
    };
    detect_test_runners(&ProjectRoot {
        names: &names,
        read_file: &read_file,
    })
}

fn propose_runner(runner: &TestRunner, path: &str, test: Option<&str>) -> ProposedRunner {
    let run = runner.command_for_test(test);
    let words: Vec<String> = run.iter().map(|word| quote_word(word)).collect();
    // Of a runner whose output names no tests the exit code is all there is: with `--test` its result could
    // never be found.
    let test = test.filter(|_| runner.names_tests);
    let option = test
        .map(|test| format!("--test {test} "))
        .unwrap_or_default();
    let report = match (test, runner.report) {
        // A report is needed only to find one test in it; of a whole suite the exit code is enough.
        (Some(_), Some(report)) => format!("--report {report} "),
        _ => String::new(),
    };
    ProposedRunner {
        name: runner.name.to_owned(),
        command: format!(
            "tl evidence add {path} {option}{report}-- {}",
            words.join(" ")
        ),
        run,
        report: runner.report.map(str::to_owned),
    }
}
