//! Evidence: what proves that a node is done, and whether it still does.

use serde::{Deserialize, Serialize};

use crate::ids::{Digest32, Principal};
use crate::profile::EvidenceNeed;
use crate::record::Recorded;
use crate::time::Timestamp;

/// What proves a node. A record, by node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    pub proofs: Vec<Proof>,
}

impl Recorded for Evidence {
    const KIND: &'static str = "evidence";
}

/// One proof: what is asked, and how it went last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    #[serde(flatten)]
    pub asks: Asks,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ProofResult>,
}

/// What a proof asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Asks {
    /// A command that ends with 0.
    Command {
        /// The program and its arguments; no shell reads them.
        run: Vec<String>,
        /// Files and patterns whose change makes the result old; none means whatever the repository holds.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        inputs: Vec<String>,
    },
    /// A file that is there and not empty.
    File { path: String },
    /// A review that came to a good end.
    Review { review: String },
}

impl Asks {
    /// Returns it in words.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Command { run, .. } => format!("`{}` ends with 0", run.join(" ")),
            Self::File { path } => format!("`{path}` is there"),
            Self::Review { review } => format!("review {review} passed"),
        }
    }
}

/// How a proof went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofResult {
    pub passed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    pub at: Timestamp,
    pub by: Principal,
    /// What the inputs were.
    pub inputs: Digest32,
    /// The end of what it said.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
}

/// What a proof is worth now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProofStanding {
    /// It holds.
    Fresh,
    /// It held, but what it was about is another one now.
    Stale,
    Failed,
    /// Nobody has looked yet.
    Open,
}

impl ProofStanding {
    /// Returns the word people see.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Stale => "stale",
            Self::Failed => "failed",
            Self::Open => "not run",
        }
    }
}

/// Says what a proof is worth; `inputs` is what its inputs are now.
#[must_use]
pub fn judge(proof: &Proof, inputs: Digest32) -> ProofStanding {
    match &proof.result {
        None => ProofStanding::Open,
        Some(result) if !result.passed => ProofStanding::Failed,
        Some(result) if result.inputs != inputs => ProofStanding::Stale,
        Some(_) => ProofStanding::Fresh,
    }
}

/// Returns why a node does not count as done; `None` when it does.
#[must_use]
pub fn objection(
    node: &str,
    need: EvidenceNeed,
    proofs: &[(Asks, ProofStanding)],
) -> Option<String> {
    if let Some((asks, standing)) = proofs
        .iter()
        .find(|(_, standing)| *standing != ProofStanding::Fresh)
    {
        let why = match standing {
            ProofStanding::Open => "nobody has looked yet",
            ProofStanding::Failed => "it failed",
            ProofStanding::Stale | ProofStanding::Fresh => "what it was about changed since",
        };
        return Some(format!("`{node}` is not proved: {}: {why}", asks.words()));
    }
    (need == EvidenceNeed::Required && proofs.is_empty()).then(|| {
        format!("`{node}` is not proved: its profile asks for evidence and none is declared")
    })
}

#[cfg(test)]
mod tests {
    use super::{Asks, Proof, ProofResult, ProofStanding, judge, objection};
    use crate::ids::{Digest32, Principal};
    use crate::profile::EvidenceNeed;
    use crate::time::Timestamp;

    #[test]
    fn a_proof_holds_for_the_inputs_it_was_made_with() {
        let (then, now) = (Digest32::of(b"then"), Digest32::of(b"now"));
        let result = |passed| ProofResult {
            passed,
            exit_code: Some(i32::from(!passed)),
            at: Timestamp::from_millis(1),
            by: Principal::System,
            inputs: then,
            output: String::new(),
        };
        let proof = |result| Proof {
            asks: Asks::File {
                path: "a".to_owned(),
            },
            result,
        };
        assert_eq!(judge(&proof(None), then), ProofStanding::Open);
        assert_eq!(
            judge(&proof(Some(result(true))), then),
            ProofStanding::Fresh
        );
        assert_eq!(judge(&proof(Some(result(true))), now), ProofStanding::Stale);
        assert_eq!(
            judge(&proof(Some(result(false))), then),
            ProofStanding::Failed
        );
    }

    #[test]
    fn done_needs_what_was_declared() {
        let asks = || Asks::Command {
            run: vec!["true".to_owned()],
            inputs: Vec::new(),
        };
        let declared = EvidenceNeed::Declared;
        assert_eq!(objection("n", declared, &[]), None);
        assert!(objection("n", EvidenceNeed::Required, &[]).is_some());
        assert_eq!(
            objection(
                "n",
                EvidenceNeed::Required,
                &[(asks(), ProofStanding::Fresh)]
            ),
            None
        );
        for standing in [
            ProofStanding::Open,
            ProofStanding::Failed,
            ProofStanding::Stale,
        ] {
            let why = objection(
                "n",
                declared,
                &[(asks(), ProofStanding::Fresh), (asks(), standing)],
            );
            assert!(why.is_some_and(|why| why.contains("`true` ends with 0")));
        }
    }
}
