//! Completion that only a line in a plan file states: whether it counts, and what became of it here.
//!
//! A file that git brings was usually finished where it was written, and the commits and decisions of
//! that work may not be here; so it is believed. A claim that was made here is judged like any other,
//! by whatever git command it comes back.

use serde::{Deserialize, Serialize};

use super::completion::CompletionGap;
use super::evidence::{ProofCheck, ProofStatus};
use crate::record::Recorded;

/// What became of a completion that a file states. A record, keyed by its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StatedCompletion {
    /// Something was open, so it did not count.
    Refused,
    /// It came with git and counts, although nothing here shows that the work is done.
    Believed,
}

impl Recorded for StatedCompletion {
    const KIND: &'static str = "stated-completion";
}

/// Where the completion that a file states comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimOrigin {
    /// Whether git wrote the file, by another command than a commit.
    pub came_with_git: bool,
    /// Whether a commit made in this working copy since the last scan changed the file.
    pub was_committed_here: bool,
    /// Whether it was refused here before.
    pub was_refused: bool,
    /// Whether a decision calls the node complete.
    pub is_decided: bool,
    /// A check that was declared for the node, of which no decision says that it passed.
    pub unpassed: Option<ProofCheck>,
}

impl ClaimOrigin {
    /// Whether the claim is judged like one that is made here now.
    #[must_use]
    pub fn is_own(&self) -> bool {
        !self.is_decided && (!self.came_with_git || self.was_committed_here || self.was_refused)
    }

    /// Returns those of the gaps that are known better here than where the file was written. The
    /// scenarios of a finished ticket are usually not among them: their commits may be elsewhere.
    #[must_use]
    pub fn list_contradictions(&self, gaps: &[CompletionGap]) -> Vec<CompletionGap> {
        if self.is_decided {
            return Vec::new();
        }
        let contradicts = |gap: &&CompletionGap| {
            matches!(
                gap,
                CompletionGap::OpenChild { .. }
                    | CompletionGap::RemovedChild { .. }
                    | CompletionGap::RemovedScenario { .. }
                    | CompletionGap::Proof {
                        status: ProofStatus::Failed | ProofStatus::NeverFailed,
                        ..
                    }
            )
        };
        let mut found: Vec<CompletionGap> = gaps.iter().filter(contradicts).cloned().collect();
        let is_proof = |gap: &CompletionGap| matches!(gap, CompletionGap::Proof { .. });
        // What failed here is said first, and once.
        if let Some(check) = &self.unpassed
            && !found.iter().any(is_proof)
        {
            found.push(CompletionGap::Proof {
                condition: check.describe_condition(),
                status: ProofStatus::Open,
            });
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::ClaimOrigin;
    use crate::node::Progress;
    use crate::work::completion::CompletionGap;
    use crate::work::evidence::{ProofCheck, ProofStatus};

    const BROUGHT: ClaimOrigin = ClaimOrigin {
        came_with_git: true,
        was_committed_here: false,
        was_refused: false,
        is_decided: false,
        unpassed: None,
    };

    #[test]
    fn a_claim_made_or_refused_here_is_judged_by_whatever_way_it_comes() {
        assert!(!BROUGHT.is_own());
        let edited = ClaimOrigin::default();
        let committed = ClaimOrigin {
            was_committed_here: true,
            ..BROUGHT
        };
        let refused = ClaimOrigin {
            was_refused: true,
            ..BROUGHT
        };
        let mine = [edited, committed, refused];
        assert!(mine.iter().all(ClaimOrigin::is_own));
        for claim in mine {
            let decided = ClaimOrigin {
                is_decided: true,
                ..claim
            };
            assert!(!decided.is_own());
        }
    }

    #[test]
    fn open_children_and_failed_evidence_contradict_a_claim_and_open_scenarios_do_not() {
        let child = CompletionGap::OpenChild {
            path: "001/001a".to_owned(),
            progress: Progress::Active,
        };
        let proof = |status| CompletionGap::Proof {
            condition: "`cargo test` passes".to_owned(),
            status,
        };
        let scenario = CompletionGap::OpenScenario {
            path: "001/one".to_owned(),
        };
        let failed = proof(ProofStatus::Failed);
        let gaps = [
            scenario,
            child.clone(),
            failed.clone(),
            proof(ProofStatus::Stale),
        ];
        assert_eq!(BROUGHT.list_contradictions(&gaps), [child, failed]);
        let decided = ClaimOrigin {
            is_decided: true,
            ..BROUGHT
        };
        assert_eq!(decided.list_contradictions(&gaps), []);
    }

    #[test]
    fn a_shared_check_that_nobody_saw_pass_contradicts_a_claim() {
        let claim = ClaimOrigin {
            unpassed: Some(ProofCheck::File {
                path: "report.md".to_owned(),
            }),
            ..BROUGHT
        };
        let found = claim.list_contradictions(&[]);
        assert!(
            matches!(
                &found[..],
                [CompletionGap::Proof {
                    status: ProofStatus::Open,
                    ..
                }]
            ),
            "{found:?}"
        );
    }
}
