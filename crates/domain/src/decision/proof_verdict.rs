//! Evidence as a decision: what proves a node, and the result that counts for exactly these inputs.
//!
//! A result is about content, so it holds wherever that content is: in another worktree, after a merge,
//! in a colleague's clone. The output of the command is not part of it and stays in the store it was
//! recorded in.

use serde::{Deserialize, Serialize};

use super::{Decision, KnownDecision, Verdict, decisions_in_force};
use crate::ids::Digest32;
use crate::secrets::mask_secrets;
use crate::work::evidence::{FailedRun, Proof, ProofCheck, ProofResult};

/// What proves a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofVerdict {
    pub check: ProofCheck,
    /// `None` while it is only declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<SharedResult>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_before: Option<FailedRun>,
}

/// The result of a proof, without its output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedResult {
    pub passed: bool,
    /// Digest of the inputs at that time.
    pub inputs: Digest32,
}

impl ProofVerdict {
    /// Returns what has to be shared of a proof; `before` is what is shared of it already. `None` if
    /// nothing has to.
    ///
    /// A failure is shared only where a pass was: the runs on the way to green concern nobody else, and
    /// would each leave a file.
    #[must_use]
    pub fn from_change(proof: &Proof, before: Option<&Self>) -> Option<Self> {
        let result = proof.result.as_ref().map(|result| SharedResult {
            passed: result.passed,
            inputs: result.inputs,
        });
        let Some(before) = before else {
            return Some(Self {
                check: proof.asks.clone(),
                // The first file only declares the check: whether it failed here concerns nobody
                // else yet.
                result: result.filter(|result| result.passed),
                failed_before: proof.failed_before.clone(),
            });
        };
        let was_passed = before.result.as_ref().is_some_and(|result| result.passed);
        let passed = result.as_ref().is_some_and(|result| result.passed);
        // A repeated pass for the same inputs would be one more file that says the same.
        let is_same = before.result == result && before.failed_before == proof.failed_before;
        ((passed || was_passed) && !is_same).then(|| Self {
            check: proof.asks.clone(),
            result,
            failed_before: proof.failed_before.clone(),
        })
    }

    /// Describes the check and its result.
    #[must_use]
    pub fn describe_result(&self) -> String {
        let result = match &self.result {
            None => "declared",
            Some(SharedResult { passed: true, .. }) => "passed",
            Some(SharedResult { passed: false, .. }) => "failed",
        };
        format!("{}: {result}", self.check.describe_condition())
    }

    fn to_proof(&self, decision: &Decision) -> Proof {
        Proof {
            asks: self.check.clone(),
            result: self.result.as_ref().map(|result| ProofResult {
                passed: result.passed,
                exit_code: None,
                at: decision.at,
                by: decision.by.clone(),
                inputs: result.inputs,
                output: String::new(),
            }),
            failed_before: self.failed_before.clone(),
        }
    }

    /// Masks secrets in the command.
    pub(super) fn mask_texts(&mut self) {
        if let ProofCheck::Command { run, .. } | ProofCheck::Test { run, .. } = &mut self.check {
            for word in run {
                *word = mask_secrets(word).into_owned();
            }
        }
    }
}

/// Returns the proofs of a node after its decisions changed; `recorded` are those known here.
///
/// A proof that no decision names stays: it was declared where decisions are not shared. Of several
/// results of one check, as a merge brings them together, the latest holds. A later failure here is
/// not overruled by an older pass. Deleting the file of a decision proves nothing: a failure counts
/// still, and what passed is asked again.
#[must_use]
pub fn merge_proofs(recorded: &[Proof], known: &[KnownDecision]) -> Vec<Proof> {
    let known = &keep_vanished(known)[..];
    let verdict_of = |known: &KnownDecision| match &known.decision.what {
        Verdict::Proved(verdict) => Some(verdict.clone()),
        _ => None,
    };
    let is_vanished = |check: &ProofCheck| {
        let mut vanished = known.iter().filter(|one| one.vanished);
        vanished.any(|one| verdict_of(one).is_some_and(|verdict| verdict.check == *check))
    };
    let named: Vec<ProofCheck> = known
        .iter()
        .filter_map(|one| verdict_of(one).map(|verdict| verdict.check))
        .collect();
    let mut shared: Vec<(ProofVerdict, &KnownDecision)> = decisions_in_force(known)
        .into_iter()
        .filter_map(|one| Some((verdict_of(one)?, one)))
        .collect();
    // The id decides between equal times, so that every clone merges alike.
    shared.sort_by_key(|(_, one)| (one.decision.at, one.id.clone()));
    let latest = |check: &ProofCheck| {
        let mut of_check = shared
            .iter()
            .rev()
            .filter(|(verdict, _)| verdict.check == *check);
        // A declaration says nothing about the outcome, so it does not replace an older result.
        let mut with_result = of_check.clone().filter(|(one, _)| one.result.is_some());
        with_result.next().or_else(|| of_check.next())
    };
    let mut merged: Vec<Proof> = Vec::new();
    for proof in recorded {
        match latest(&proof.asks) {
            Some((verdict, one)) => merged.push(choose_proof(proof, verdict, &one.decision)),
            None if is_vanished(&proof.asks) => merged.push(without_pass(proof)),
            // Every decision about it was withdrawn or went with its branch: the proof goes with
            // them.
            None if named.contains(&proof.asks) => {}
            None => merged.push(proof.clone()),
        }
    }
    for (verdict, _) in &shared {
        if merged.iter().all(|proof| proof.asks != verdict.check)
            && let Some((verdict, one)) = latest(&verdict.check)
        {
            merged.push(verdict.to_proof(&one.decision));
        }
    }
    merged
}

/// Returns the decisions with those present whose files were deleted, unless they are passes.
fn keep_vanished(known: &[KnownDecision]) -> Vec<KnownDecision> {
    let is_pass = |what: &Verdict| match what {
        Verdict::Proved(verdict) => verdict.result.as_ref().is_some_and(|result| result.passed),
        _ => false,
    };
    let kept = known.iter().map(|one| KnownDecision {
        present: one.present || one.vanished && !is_pass(&one.decision.what),
        ..one.clone()
    });
    kept.collect()
}

/// Returns a proof without a result that passed.
fn without_pass(proof: &Proof) -> Proof {
    Proof {
        result: proof.result.clone().filter(|result| !result.passed),
        ..proof.clone()
    }
}

/// Returns the proof that holds of a recorded and a shared one.
fn choose_proof(recorded: &Proof, shared: &ProofVerdict, decision: &Decision) -> Proof {
    let is_kept = match (&recorded.result, &shared.result) {
        // A pass that nothing shares was taken back.
        (here, None) => here.as_ref().is_none_or(|here| !here.passed),
        (None, Some(_)) => false,
        // The same run, with its output.
        (Some(here), Some(there)) if here.passed == there.passed && here.inputs == there.inputs => {
            true
        }
        // Only a failure is kept against a shared result: in doubt the stricter one holds.
        (Some(here), Some(_)) => !here.passed && here.at > decision.at,
    };
    match is_kept {
        true => Proof {
            failed_before: recorded
                .failed_before
                .clone()
                .or_else(|| shared.failed_before.clone()),
            ..recorded.clone()
        },
        false => shared.to_proof(decision),
    }
}

#[cfg(test)]
mod tests {
    use super::{ProofVerdict, SharedResult, merge_proofs};
    use crate::decision::{
        Aspect, Decision, DecisionId, KnownDecision, Verdict, render_decision_file,
    };
    use crate::ids::{Digest32, Principal};
    use crate::time::Timestamp;
    use crate::work::evidence::{FailedRun, Proof, ProofCheck, ProofResult};

    fn check(name: &str) -> ProofCheck {
        ProofCheck::Command {
            run: vec![name.to_owned()],
            inputs: Vec::new(),
        }
    }

    fn digest(content: u8) -> Digest32 {
        Digest32::of_bytes(&[content])
    }

    fn ran(name: &str, passed: bool, content: u8, at: i64) -> Proof {
        Proof {
            asks: check(name),
            result: Some(ProofResult {
                passed,
                exit_code: Some(0),
                at: Timestamp::from_millis(at),
                by: Principal::System,
                inputs: digest(content),
                output: "output".to_owned(),
            }),
            failed_before: None,
        }
    }

    fn decided(what: Verdict, at: i64, supersedes: Vec<DecisionId>) -> KnownDecision {
        let decision = Decision {
            node: "tickets:017".to_owned(),
            what,
            by: Principal::Human("ann".to_owned()),
            at: Timestamp::from_millis(at),
            supersedes,
            signature: None,
            plan_file: None,
        };
        KnownDecision {
            id: Some(render_decision_file(&decision).0),
            decision,
            present: true,
            trusted: true,
            vanished: false,
            signature_problem: None,
            original: None,
        }
    }

    fn shared(name: &str, passed: bool, content: u8, at: i64) -> KnownDecision {
        let verdict = ProofVerdict {
            check: check(name),
            result: Some(SharedResult {
                passed,
                inputs: digest(content),
            }),
            failed_before: None,
        };
        decided(Verdict::Proved(verdict), at, Vec::new())
    }

    fn holds(proofs: &[Proof]) -> Vec<(bool, Digest32)> {
        let results = proofs.iter().filter_map(|proof| proof.result.as_ref());
        results.map(|one| (one.passed, one.inputs)).collect()
    }

    #[test]
    fn only_what_concerns_others_is_shared() {
        let declared = Proof {
            result: None,
            ..ran("a", true, 1, 1)
        };
        let first = ProofVerdict::from_change(&declared, None).unwrap();
        assert_eq!(first.result, None);
        let red = ran("a", false, 1, 2);
        assert_eq!(ProofVerdict::from_change(&red, Some(&first)), None);
        let green = Proof {
            failed_before: Some(FailedRun {
                at: Timestamp::from_millis(2),
                inputs: digest(1),
            }),
            ..ran("a", true, 2, 3)
        };
        let second = ProofVerdict::from_change(&green, Some(&first)).unwrap();
        assert!(
            second.failed_before.is_some(),
            "that it was red is part of it"
        );
        assert_eq!(
            ProofVerdict::from_change(&green, Some(&second)),
            None,
            "another run with the same result"
        );
        let broken = ran("a", false, 3, 4);
        assert!(ProofVerdict::from_change(&broken, Some(&second)).is_some());
    }

    #[test]
    fn the_latest_result_holds_and_a_later_failure_here_is_not_overruled() {
        let known = [shared("a", true, 2, 20), shared("a", true, 1, 10)];
        assert_eq!(holds(&merge_proofs(&[], &known)), [(true, digest(2))]);
        let failed = [ran("a", false, 3, 30)];
        assert_eq!(holds(&merge_proofs(&failed, &known)), [(false, digest(3))]);
        let failed_before = [ran("a", false, 3, 15)];
        assert_eq!(
            holds(&merge_proofs(&failed_before, &known)),
            [(true, digest(2))]
        );
        let same = merge_proofs(&[ran("a", true, 2, 20)], &known);
        let output = |proof: &Proof| proof.result.as_ref().map(|one| one.output.clone());
        assert_eq!(output(&same[0]).as_deref(), Some("output"));
    }

    #[test]
    fn deleting_the_file_of_a_decision_proves_nothing() {
        let vanished = |known: KnownDecision| KnownDecision {
            present: false,
            vanished: true,
            ..known
        };
        let pass = shared("a", true, 1, 10);
        let mut fail = shared("a", false, 2, 20);
        fail.decision.supersedes = pass.id.clone().into_iter().collect();
        assert_eq!(
            holds(&merge_proofs(&[], &[pass.clone(), vanished(fail)])),
            [(false, digest(2))],
            "a failure counts still"
        );
        let asked = merge_proofs(&[ran("a", true, 1, 10)], &[vanished(pass)]);
        assert_eq!((asked.len(), holds(&asked)), (1, Vec::new()), "asked again");
        assert_eq!(asked[0].asks, check("a"));
        let declared = ProofVerdict {
            check: check("a"),
            result: None,
            failed_before: None,
        };
        let declared = vanished(decided(Verdict::Proved(declared), 5, Vec::new()));
        assert_eq!(
            holds(&merge_proofs(&[ran("a", false, 1, 10)], &[declared])),
            [(false, digest(1))]
        );
    }

    #[test]
    fn what_went_with_its_branch_or_was_withdrawn_proves_nothing() {
        let recorded = [ran("a", true, 1, 10), ran("local", true, 1, 10)];
        let mut gone = shared("a", true, 1, 10);
        gone.present = false;
        let left = merge_proofs(&recorded, &[gone]);
        assert_eq!(
            left,
            [ran("local", true, 1, 10)],
            "never shared, so it stays"
        );

        let proved = shared("a", true, 1, 10);
        let aspect = Aspect::Evidence;
        let ids = proved.id.clone().into_iter().collect();
        let withdrawn = decided(Verdict::Withdrawn { aspect }, 11, ids);
        assert_eq!(merge_proofs(&[], &[proved, withdrawn]), []);
    }
}
