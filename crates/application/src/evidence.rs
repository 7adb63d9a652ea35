//! Evidence of a node: declare proofs, run them, and judge whether their results are still valid.
//!
//! A result is bound to a digest of its inputs: once an input changes, the proof is stale and the
//! node does not count as proved.

use std::time::Duration;

use domain::ids::{Digest32, NodeId, OperationId};
use domain::node::Node;
use domain::operation::Verb;
use domain::policy::GateMode;
use domain::ports::{FileReadResult, Snapshot};
use domain::profile::EvidenceNeed;
use domain::record;
use domain::review::{LoopState, Review};
use domain::work::completion::{CompletionGap, describe_gaps};
use domain::work::evidence::{
    Evidence, FailedRun, Proof, ProofCheck, ProofResult, ProofStatus, judge_proof, shorten_output,
};
use domain::work::test_report::{TestOutcome, find_test_outcome, parse_test_report};
use schemars::JsonSchema;
use serde::Serialize;

use crate::completion::{CompletionScope, find_gaps};
use crate::context::Context;
use crate::decisions::record_with_decisions;
use crate::evidence_inputs::{
    describe_changed_inputs, digest_inputs, digest_lines, find_unmatched_input, list_inputs,
};
use crate::failure::Failure;
use crate::later_milestones::is_held_by_later;
use crate::locate::{load_node, load_node_path, reject_extra_words};
use crate::observe::{observe_node, with_new_files, with_recorded_node_files};
use crate::scan::ScanScope;
use crate::test_reports::{ReportBefore, ReportedTest};

/// The evidence of a node.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EvidenceView {
    pub node: String,
    /// Whether the node may count as complete.
    pub proved: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    #[schemars(with = "Vec<crate::views::Object>")]
    pub proofs: Vec<ProofView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationId>,
}

/// One proof.
#[derive(Clone, Debug, Serialize)]
pub struct ProofView {
    #[serde(flatten)]
    pub proof: Proof,
    pub standing: ProofStatus,
    pub words: String,
}

/// Declares another proof.
///
/// # Errors
/// When there is no such node, the declaration is empty, or its path leaves the project.
pub fn add_evidence(
    ctx: &Context<'_>,
    node: &[String],
    asks: ProofCheck,
) -> Result<EvidenceView, Failure> {
    check_declaration(ctx, &asks)?;
    with_recorded_node_files(ctx, node, None, |planned, tx, id, rest| {
        reject_extra_words(rest)?;
        let path = load_node_path(&*tx, &load_node(&*tx, id)?)?;
        let before = record::read_record::<Evidence>(&*tx, &evidence_key(id))?;
        let mut after = before.clone().unwrap_or_default();
        // Idempotent: an agent that declares the same proof twice gets the same answer and no
        // second operation.
        if after.proofs.iter().any(|proof| proof.asks == asks) {
            return build_evidence_view(ctx, &*tx, id, None);
        }
        after.proofs.push(Proof {
            asks: asks.clone(),
            result: None,
            failed_before: None,
        });
        let mut operation = ctx.new_operation(
            Verb::Evidence,
            format!("{path} is proved when {}", asks.describe_condition()),
        );
        operation.facts.extend(record::record_changed_fact(
            &evidence_key(id),
            before.as_ref(),
            Some(&after),
        ));
        let operation = record_with_decisions(ctx, planned, tx, operation)?;
        build_evidence_view(ctx, &*tx, id, Some(operation))
    })
}

/// Checks a declaration: not empty, and all paths inside the project.
fn check_declaration(ctx: &Context<'_>, asks: &ProofCheck) -> Result<(), Failure> {
    let invalid = |what: String| Err(Failure::invalid(what));
    let paths: Vec<&String> = match asks {
        ProofCheck::Command { run, inputs } | ProofCheck::Test { run, inputs, .. } => {
            if run.first().is_none_or(|program| program.trim().is_empty()) {
                return invalid(
                    "a command is missing: tl evidence add NODE -- cargo test".to_owned(),
                );
            }
            let report = match asks {
                ProofCheck::Test { test, report, .. } => {
                    if test.trim().is_empty() {
                        return invalid("the test has no name".to_owned());
                    }
                    report.as_ref()
                }
                _ => None,
            };
            inputs.iter().chain(report).collect()
        }
        ProofCheck::File { path } => vec![path],
        ProofCheck::Review { review } => {
            if review.trim().is_empty() {
                return invalid("the review has no name".to_owned());
            }
            Vec::new()
        }
    };
    // Inputs are read to compute the digest, so all of them have to be inside the project.
    match paths
        .into_iter()
        // Absolute paths are refused even inside the project: the declaration is shared, and
        // another clone is elsewhere.
        .find(|path| path.starts_with('/') || ctx.files.resolve_path(None, path).is_none())
    {
        Some(path) => invalid(format!(
            "`{path}` is outside the project: expected a path below it"
        )),
        None => Ok(()),
    }
}

/// Runs every declared proof and records the results; each command may take `most`.
///
/// # Errors
/// When there is no such node, nothing is declared, or a command cannot be run.
pub fn run_evidence(
    ctx: &Context<'_>,
    node: &[String],
    most: Duration,
) -> Result<EvidenceView, Failure> {
    // Commands run between two transactions. A test suite may take minutes, and holding the write
    // lock that long would block every other writer.
    let (node, path, declared) = {
        let found = observe_node(ctx, node, ScanScope::Lineage)?;
        reject_extra_words(found.rest)?;
        let node = load_node(&*found.state, found.id)?;
        let path = load_node_path(&*found.state, &node)?;
        let key = evidence_key(found.id);
        let declared = record::read_record::<Evidence>(&*found.state, &key)?;
        (node, path, declared.unwrap_or_default())
    };
    let id = node.id;
    if declared.proofs.is_empty() {
        return Err(
            Failure::not_found(format!("nothing is declared that would prove `{path}`"))
                .with_step(format!(
                    "tl evidence propose {path}   # the project's own test command"
                ))
                .with_step(format!("tl evidence add {path} --file docs/report.md")),
        );
    }
    let mut results = Vec::new();
    for proof in &declared.proofs {
        // The digest is taken before the command runs: an input changed meanwhile makes the result
        // stale instead of proving a text that was never tested.
        let list_inputs_now = || list_inputs(ctx, &*ctx.store.begin_read()?, &node, &proof.asks);
        let before = list_inputs_now()?;
        let mut ran = run_proof(ctx, &path, &proof.asks, digest_lines(&before), most)?;
        if ran.result.passed
            && let Some(note) = describe_changed_inputs(&before, &list_inputs_now()?)
        {
            ran.result.output = shorten_output(&(ran.result.output + &note)).to_owned();
        }
        results.push((proof.asks.clone(), ran));
    }
    with_new_files(ctx, None, |planned, tx| {
        // Read again under the lock: proofs may have been declared or removed while the commands ran.
        // Results are matched by declaration, not by position.
        let before = record::read_record::<Evidence>(&*tx, &evidence_key(id))?;
        let mut after = before.clone().unwrap_or_default();
        for (asks, ran) in results {
            if let Some(proof) = after.proofs.iter_mut().find(|proof| proof.asks == asks) {
                // Kept beside the result, which the passing run replaces: that the test failed once
                // is what proves that it tests something.
                if ran.failed_test {
                    proof.failed_before = Some(FailedRun {
                        at: ran.result.at,
                        inputs: ran.result.inputs,
                    });
                }
                proof.result = Some(ran.result);
            }
        }
        let passed = after
            .proofs
            .iter()
            .filter(|proof| proof.result.as_ref().is_some_and(|result| result.passed))
            .count();
        let summary = format!(
            "evidence of {path}: {passed} of {} hold",
            after.proofs.len()
        );
        let mut operation = ctx.new_operation(Verb::Evidence, summary);
        operation.facts.extend(record::record_changed_fact(
            &evidence_key(id),
            before.as_ref(),
            Some(&after),
        ));
        let operation = record_with_decisions(ctx, planned, tx, operation)?;
        build_evidence_view(ctx, &*tx, id, Some(operation))
    })
}

/// The result of one run of a proof.
struct ProofRun {
    result: ProofResult,
    /// Whether it was the failing run of a test.
    failed_test: bool,
}

/// Runs one proof and returns its result.
fn run_proof(
    ctx: &Context<'_>,
    node: &str,
    asks: &ProofCheck,
    inputs: Digest32,
    most: Duration,
) -> Result<ProofRun, Failure> {
    let run_command = |run: &[String]| {
        // No runner where a request comes from outside: a client of the server must not run
        // commands there.
        ctx.commands.run_command(run, most)?.ok_or_else(|| {
            Failure::refused("commands cannot be run through this connection")
                .with_step(format!("ask the person to run: tl evidence run {node}"))
        })
    };
    let mut failed_test = false;
    let (passed, exit_code, output) = match asks {
        ProofCheck::Command { run, .. } => {
            let ran = run_command(run)?;
            (ran.exit_code == Some(0), ran.exit_code, ran.output)
        }
        ProofCheck::Test {
            test, run, report, ..
        } => {
            let before = report
                .as_deref()
                .map(|path| ReportBefore::stat_before(ctx, path));
            let ran = run_command(run)?;
            let reported = match &before {
                Some(before) => before.find_outcome(ctx, test),
                None => find_test_outcome(&parse_test_report(&ran.output), test)
                    .map_or(ReportedTest::NotNamed, ReportedTest::Outcome),
            };
            let is_success = ran.exit_code == Some(0);
            let (passed, note) = match reported {
                ReportedTest::Outcome(TestOutcome::Passed) if is_success => (true, None),
                // Other tests failed, as they do while another scenario is red.
                ReportedTest::Outcome(TestOutcome::Passed) => {
                    (true, Some("passed, and the command failed"))
                }
                ReportedTest::Outcome(TestOutcome::Failed) => (false, None),
                // Not a pass, although the exit code is 0: a skipped or misspelt test proves
                // nothing.
                ReportedTest::Outcome(TestOutcome::Skipped) => (false, Some("was skipped")),
                ReportedTest::NotNamed => (false, Some("is not among the results")),
                ReportedTest::NoReport => (false, Some("was not run: no report was written")),
            };
            // A test that does not even compile fails, too; one that does not exist yet does not.
            failed_test = match reported {
                ReportedTest::Outcome(outcome) => outcome == TestOutcome::Failed,
                ReportedTest::NotNamed | ReportedTest::NoReport => !is_success,
            };
            let note = note.map(|note| format!("\n(test `{test}` {note})"));
            (
                passed,
                ran.exit_code,
                ran.output + &note.unwrap_or_default(),
            )
        }
        ProofCheck::File { path } => {
            let has_content = match ctx.files.read_file(path, MAX_PROOF_FILE_BYTES) {
                // An empty file proves nothing: it is what `touch` leaves.
                FileReadResult::Text { text, .. } => !text.trim().is_empty(),
                // A picture or another file without text; an empty one is text.
                FileReadResult::Unreadable { .. } => true,
                FileReadResult::Missing => false,
            };
            (has_content, None, String::new())
        }
        ProofCheck::Review { review } => (
            review_passed(&*ctx.store.begin_read()?, review)?,
            None,
            String::new(),
        ),
    };
    let (passed, output) = refuse_unmatched_input(ctx, asks, passed, output);
    Ok(ProofRun {
        result: ProofResult {
            passed,
            exit_code,
            at: ctx.clock.now(),
            by: ctx.actor.clone(),
            inputs,
            output: shorten_output(&output).to_owned(),
        },
        failed_test,
    })
}

/// Takes a pass back whose declared inputs match no file: it would hold whatever is changed.
fn refuse_unmatched_input(
    ctx: &Context<'_>,
    asks: &ProofCheck,
    passed: bool,
    output: String,
) -> (bool, String) {
    // After the run, which may have made the file.
    match find_unmatched_input(ctx, asks).filter(|_| passed) {
        Some(input) => {
            let note = format!("(no file matches the input `{input}`)");
            (false, format!("{output}\n{note}").trim_start().to_owned())
        }
        None => (passed, output),
    }
}

/// Maximum size of a file that is read to see that it is not empty; a larger one is not.
const MAX_PROOF_FILE_BYTES: u64 = 1024 * 1024;

/// Whether a review is complete.
fn review_passed(state: &dyn Snapshot, review: &str) -> Result<bool, Failure> {
    Ok(record::read_record::<Review>(state, review)?
        .is_some_and(|review| review.state == LoopState::Complete))
}

/// Shows a node's evidence.
///
/// # Errors
/// When there is no such node.
pub fn show_evidence(ctx: &Context<'_>, node: &[String]) -> Result<EvidenceView, Failure> {
    let found = observe_node(ctx, node, ScanScope::Lineage)?;
    reject_extra_words(found.rest)?;
    build_evidence_view(ctx, &*found.state, found.id, None)
}

/// Builds the view of a node's evidence.
pub(crate) fn build_evidence_view(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    id: NodeId,
    operation: Option<OperationId>,
) -> Result<EvidenceView, Failure> {
    let node = load_node(state, id)?;
    let proofs = judge_node(ctx, state, &node)?
        .into_iter()
        .map(|(proof, standing)| ProofView {
            words: proof.asks.describe_condition(),
            proof,
            standing,
        })
        .collect();
    // By the rule for done and not from the proofs alone, so that this view and a refusal never
    // disagree.
    let gaps: Vec<CompletionGap> = find_gaps(ctx, state, &node, CompletionScope::Whole)?
        .into_iter()
        .filter(|gap| matches!(gap, CompletionGap::Proof { .. } | CompletionGap::NoEvidence))
        .collect();
    let missing = (!gaps.is_empty()).then(|| describe_gaps(&node.alias, &gaps));
    Ok(EvidenceView {
        node: load_node_path(state, &node)?,
        proved: missing.is_none(),
        missing,
        proofs,
        operation,
    })
}

/// Judges every proof of a node against its present inputs.
pub(crate) fn judge_node(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
) -> Result<Vec<(Proof, ProofStatus)>, Failure> {
    let key = evidence_key(node.id);
    let evidence = record::read_record::<Evidence>(state, &key)?.unwrap_or_default();
    let mut found = Vec::new();
    for proof in evidence.proofs {
        let mut standing = judge_proof(&proof, digest_inputs(ctx, state, node, &proof.asks)?);
        if standing == ProofStatus::Stale && is_held_by_later(ctx, state, node, &proof.asks)? {
            standing = ProofStatus::Fresh;
        }
        found.push((proof, standing));
    }
    Ok(found)
}

/// Whether a node lacks evidence that it needs, in a mode of the gate that counts for the caller.
pub(crate) fn lacks_proof(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
) -> Result<bool, Failure> {
    let profile = ctx.find_profile(&node.profile);
    let has_gate = profile.is_none_or(|profile| profile.has_gate("done"));
    if ctx.policy.gates.done != GateMode::Block || !has_gate {
        return Ok(false);
    }
    let level = profile.and_then(|profile| profile.find_level(&node.level));
    let proofs = judge_node(ctx, state, node)?;
    let is_required = level.is_some_and(|level| level.evidence == EvidenceNeed::Required);
    Ok((is_required && proofs.is_empty())
        || proofs
            .iter()
            .any(|(_, status)| *status != ProofStatus::Fresh))
}

/// Returns the record key of a node's evidence.
pub(crate) fn evidence_key(node: NodeId) -> String {
    node.0.to_string()
}

/// Returns the node of such a record.
pub(crate) fn node_of_evidence(key: &str) -> Option<NodeId> {
    key.parse().ok().map(NodeId)
}
