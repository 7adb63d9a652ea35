//! Evidence: checks that prove a node is complete, and whether their results are still fresh.
//!
//! Pure: commands are run by the edge, which passes in a digest of the inputs.

use serde::{Deserialize, Serialize};

use crate::ids::{Digest32, Principal};
use crate::record::Recorded;
use crate::time::Timestamp;

/// The proofs of a node. A record, keyed by node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    pub proofs: Vec<Proof>,
}

impl Recorded for Evidence {
    const KIND: &'static str = "evidence";
}

/// One proof: the check, and its last result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    // Flattened: a proof in the mirror is one flat object with `kind`, its fields and `result`.
    #[serde(flatten)]
    pub asks: ProofCheck,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ProofResult>,
    /// The last run in which a test failed: what tells a test of the change from one that passes
    /// anyway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_before: Option<FailedRun>,
}

/// A run in which a test failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedRun {
    pub at: Timestamp,
    /// Digest of the inputs at that time.
    pub inputs: Digest32,
}

/// What a proof checks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ProofCheck {
    /// A command that exits with 0.
    Command {
        /// The program and its arguments, run without a shell.
        run: Vec<String>,
        /// Files and glob patterns whose change makes the result stale; none means the files of the
        /// node, or else all files of the repository.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        inputs: Vec<String>,
    },
    /// A test that failed before and passes now, by the results that a command reports.
    Test {
        /// Its name, as far as it identifies the test.
        test: String,
        run: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        inputs: Vec<String>,
        /// A JUnit report that the command writes, or a folder of them; otherwise its output is read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        report: Option<String>,
    },
    /// A file that exists and is not empty.
    File { path: String },
    /// A review that passed.
    Review { review: String },
}

impl ProofCheck {
    /// Returns the condition as text.
    #[must_use]
    pub fn describe_condition(&self) -> String {
        match self {
            Self::Command { run, .. } => format!("`{}` exits with 0", run.join(" ")),
            Self::Test { test, run, .. } => {
                format!("test `{test}` passes in `{}`", run.join(" "))
            }
            Self::File { path } => format!("`{path}` exists"),
            Self::Review { review } => format!("review {review} passed"),
        }
    }
}

/// The result of a proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofResult {
    pub passed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    pub at: Timestamp,
    pub by: Principal,
    /// Digest of the inputs at that time.
    pub inputs: Digest32,
    /// The last part of its output.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
}

/// The current status of a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProofStatus {
    /// It passed, and its inputs are unchanged.
    Fresh,
    /// It passed, but its inputs changed since.
    Stale,
    Failed,
    /// The test passed, but was never seen to fail, so it may not test the change.
    NeverFailed,
    /// It has not run yet.
    Open,
}

impl ProofStatus {
    /// Returns its name in output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Stale => "stale",
            Self::Failed => "failed",
            Self::NeverFailed => "never failed",
            Self::Open => "not run",
        }
    }
}

/// Returns the status of a proof; `inputs` is the digest of its current inputs.
#[must_use]
pub fn judge_proof(proof: &Proof, inputs: Digest32) -> ProofStatus {
    match &proof.result {
        None => ProofStatus::Open,
        // A failure stays one when the inputs change: only another run can turn it into a pass.
        Some(result) if !result.passed => ProofStatus::Failed,
        // By digest, not by time: a checkout changes times without changing what was proved.
        Some(result) if result.inputs != inputs => ProofStatus::Stale,
        Some(_)
            if matches!(proof.asks, ProofCheck::Test { .. }) && proof.failed_before.is_none() =>
        {
            ProofStatus::NeverFailed
        }
        Some(_) => ProofStatus::Fresh,
    }
}

/// Maximum length of the output that is recorded with a result, from its end.
pub const MAX_RECORDED_OUTPUT_BYTES: usize = 4 * 1024;

/// Returns the end of a command's output that is recorded: whole lines where possible.
#[must_use]
pub fn shorten_output(output: &str) -> &str {
    let surplus = output.len().saturating_sub(MAX_RECORDED_OUTPUT_BYTES);
    if surplus == 0 {
        return output;
    }
    // The end is kept, because that is where runners print failures and totals.
    let from = (surplus..output.len())
        .find(|at| output.is_char_boundary(*at))
        .unwrap_or(output.len());
    let tail = output.get(from..).unwrap_or_default();
    match tail.split_once('\n') {
        Some((_, rest)) if !rest.is_empty() => rest,
        _ => tail,
    }
}

#[cfg(test)]
mod tests {
    use super::{
        FailedRun, MAX_RECORDED_OUTPUT_BYTES, Proof, ProofCheck, ProofResult, ProofStatus,
        judge_proof, shorten_output,
    };
    use crate::ids::{Digest32, Principal};
    use crate::time::Timestamp;

    #[test]
    fn a_proof_holds_for_the_inputs_it_was_made_with() {
        let (then, now) = (Digest32::of_bytes(b"then"), Digest32::of_bytes(b"now"));
        let result = |passed| ProofResult {
            passed,
            exit_code: Some(i32::from(!passed)),
            at: Timestamp::from_millis(1),
            by: Principal::System,
            inputs: then,
            output: String::new(),
        };
        let proof = |result| Proof {
            asks: ProofCheck::File {
                path: "a".to_owned(),
            },
            result,
            failed_before: None,
        };
        assert_eq!(judge_proof(&proof(None), then), ProofStatus::Open);
        assert_eq!(
            judge_proof(&proof(Some(result(true))), then),
            ProofStatus::Fresh
        );
        assert_eq!(
            judge_proof(&proof(Some(result(true))), now),
            ProofStatus::Stale
        );
        assert_eq!(
            judge_proof(&proof(Some(result(false))), then),
            ProofStatus::Failed
        );
    }

    #[test]
    fn a_test_proves_the_change_once_it_was_seen_to_fail() {
        let (then, now) = (Digest32::of_bytes(b"then"), Digest32::of_bytes(b"now"));
        let mut proof = Proof {
            asks: ProofCheck::Test {
                test: "finds".to_owned(),
                run: vec!["cargo".to_owned(), "test".to_owned()],
                inputs: Vec::new(),
                report: None,
            },
            result: Some(ProofResult {
                passed: true,
                exit_code: Some(0),
                at: Timestamp::from_millis(2),
                by: Principal::System,
                inputs: now,
                output: String::new(),
            }),
            failed_before: None,
        };
        assert_eq!(judge_proof(&proof, now), ProofStatus::NeverFailed);
        proof.failed_before = Some(FailedRun {
            at: Timestamp::from_millis(1),
            inputs: then,
        });
        assert_eq!(judge_proof(&proof, now), ProofStatus::Fresh);
        assert_eq!(judge_proof(&proof, then), ProofStatus::Stale);
    }

    #[test]
    fn recorded_output_is_bounded_and_ends_with_the_last_line() {
        assert_eq!(shorten_output("short"), "short");
        let long = "é line\n".repeat(2_000);
        let kept = shorten_output(&long);
        assert!(kept.len() <= MAX_RECORDED_OUTPUT_BYTES && kept.starts_with("é line"));
        assert!(long.ends_with(kept));
        let one_line = "é".repeat(5_000);
        assert!(shorten_output(&one_line).len() <= MAX_RECORDED_OUTPUT_BYTES);
    }
}
