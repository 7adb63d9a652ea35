//! Evidence: checks that prove a node is complete, and whether their results are still fresh.
//!
//! Pure: commands are run by the edge, which passes in a digest of the inputs.

use serde::{Deserialize, Serialize};

use crate::ids::{Digest32, Principal};
use crate::profile::EvidenceNeed;
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
}

/// What a proof checks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ProofCheck {
    /// A command that exits with 0.
    Command {
        /// The program and its arguments, run without a shell.
        run: Vec<String>,
        /// Files and glob patterns whose change makes the result stale; none means the whole
        /// repository.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        inputs: Vec<String>,
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
        Some(_) => ProofStatus::Fresh,
    }
}

/// Returns why a node does not count as complete; `None` if it does.
#[must_use]
pub fn find_completion_objection(
    node: &str,
    need: EvidenceNeed,
    proofs: &[(ProofCheck, ProofStatus)],
) -> Option<String> {
    // Only the first open proof is named: it is the next thing to do, and the others may follow
    // from it.
    if let Some((asks, standing)) = proofs
        .iter()
        .find(|(_, standing)| *standing != ProofStatus::Fresh)
    {
        let why = match standing {
            ProofStatus::Open => "it has not run yet",
            ProofStatus::Failed => "it failed",
            ProofStatus::Stale | ProofStatus::Fresh => "its inputs changed since",
        };
        return Some(format!(
            "`{node}` is not proved: {}: {why}",
            asks.describe_condition()
        ));
    }
    // Declared evidence always has to be fresh; `Required` adds that there has to be some.
    (need == EvidenceNeed::Required && proofs.is_empty()).then(|| {
        format!("`{node}` is not proved: its profile requires evidence and none is declared")
    })
}

#[cfg(test)]
mod tests {
    use super::{
        Proof, ProofCheck, ProofResult, ProofStatus, find_completion_objection, judge_proof,
    };
    use crate::ids::{Digest32, Principal};
    use crate::profile::EvidenceNeed;
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
    fn done_needs_what_was_declared() {
        let asks = || ProofCheck::Command {
            run: vec!["true".to_owned()],
            inputs: Vec::new(),
        };
        let declared = EvidenceNeed::Declared;
        assert_eq!(find_completion_objection("n", declared, &[]), None);
        assert!(find_completion_objection("n", EvidenceNeed::Required, &[]).is_some());
        assert_eq!(
            find_completion_objection("n", EvidenceNeed::Required, &[(asks(), ProofStatus::Fresh)]),
            None
        );
        for standing in [ProofStatus::Open, ProofStatus::Failed, ProofStatus::Stale] {
            let why = find_completion_objection(
                "n",
                declared,
                &[(asks(), ProofStatus::Fresh), (asks(), standing)],
            );
            assert!(why.is_some_and(|why| why.contains("`true` exits with 0")));
        }
    }
}
