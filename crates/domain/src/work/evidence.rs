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

/// Programs that succeed whatever the files contain.
const CERTAIN_PROGRAMS: [&str; 7] = ["true", ":", "echo", "printf", "sleep", "pwd", "date"];

impl ProofCheck {
    /// Whether the check is a command that succeeds whatever was done: `true`, `sh -c "exit 0"`,
    /// `sh -c "cargo test || true"`.
    #[must_use]
    pub fn cannot_fail(&self) -> bool {
        let (Self::Command { run, .. } | Self::Test { run, .. }) = self else {
            return false;
        };
        match run.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [shell, option, script, ..]
                if shell.ends_with("sh") && option.starts_with('-') && option.ends_with('c') =>
            {
                // The exit code is that of the last command; after `&&` it need not run.
                let mut parts = script.rsplit(['\n', ';', '|']).map(str::trim);
                let last = parts.find(|part| !part.is_empty()).unwrap_or_default();
                !script.contains("&&") && (last == "exit 0" || is_certain(last))
            }
            [program, ..] => is_certain(program),
            [] => false,
        }
    }
}

fn is_certain(command: &str) -> bool {
    let program = command.split_whitespace().next().unwrap_or_default();
    CERTAIN_PROGRAMS.contains(&program.rsplit('/').next().unwrap_or(program))
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
        Some(result)
            if matches!(proof.asks, ProofCheck::Test { .. })
                && !proof
                    .failed_before
                    .as_ref()
                    .is_some_and(|failed| failed.is_without_change(result)) =>
        {
            ProofStatus::NeverFailed
        }
        Some(_) => ProofStatus::Fresh,
    }
}

impl FailedRun {
    /// Whether the test failed without the change with which it passes.
    fn is_without_change(&self, passed: &ProofResult) -> bool {
        // Without a repository and declared inputs nothing is hashed: equal digests mean nothing then.
        self.inputs != passed.inputs || self.inputs == Digest32::of_bytes(b"")
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
        let mut failed_with = |inputs| {
            proof.failed_before = Some(FailedRun {
                at: Timestamp::from_millis(1),
                inputs,
            });
            proof.result.as_mut().unwrap().inputs = inputs;
            judge_proof(&proof, inputs)
        };
        assert_eq!(
            failed_with(now),
            ProofStatus::NeverFailed,
            "it failed and passed with the same files: nothing was done in between"
        );
        assert_eq!(failed_with(Digest32::of_bytes(b"")), ProofStatus::Fresh);
    }

    #[test]
    fn commands_that_always_succeed_are_recognised() {
        let command = |run: &[&str]| ProofCheck::Command {
            run: run.iter().map(|word| (*word).to_owned()).collect(),
            inputs: Vec::new(),
        };
        for run in [
            &["true"][..],
            &["/bin/true"],
            &["echo", "ok"],
            &["sh", "-c", "exit 0"],
            &["bash", "-lc", "cargo test || true"],
            &["sh", "-c", "cargo test; echo done"],
        ] {
            assert!(command(run).cannot_fail(), "{run:?}");
            let test = ProofCheck::Test {
                test: "finds".to_owned(),
                run: run.iter().map(|word| (*word).to_owned()).collect(),
                inputs: Vec::new(),
                report: Some("report.xml".to_owned()),
            };
            assert!(test.cannot_fail(), "{run:?}");
        }
        for run in [
            &["cargo", "test"][..],
            &["grep", "-q", "true", "a"],
            &["sh", "-c", "cargo test && echo ok"],
            &["sh", "-c", "./check.sh"],
            &["sh", "check.sh"],
        ] {
            assert!(!command(run).cannot_fail(), "{run:?}");
        }
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
