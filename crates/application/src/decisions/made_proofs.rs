//! Evidence as decisions: written when a proof is declared or its result changes, and taken over from
//! git.

use domain::decision::{
    Aspect, Decision, KnownDecision, ProofVerdict, Verdict, decisions_in_force, merge_proofs,
    superseded_by,
};
use domain::fact::Fact;
use domain::ids::NodeId;
use domain::ports::{NewOperation, Snapshot, Transaction};
use domain::record::{Recorded, read_record, record_changed_fact};
use domain::work::evidence::{Evidence, ProofCheck};

use super::attach::{NewDecision, decision_of};
use super::carry::Carried;
use super::{load_node_decisions, named_plan_file};
use crate::context::Context;
use crate::evidence::{evidence_key, node_of_evidence};
use crate::failure::Failure;

/// Returns the decisions for the proofs that an operation declares, runs or takes away.
pub(super) fn decide_proofs(
    ctx: &Context<'_>,
    state: &dyn Transaction,
    operation: &NewOperation,
    carried: &Carried,
) -> Result<Vec<NewDecision>, Failure> {
    let mut made = Vec::new();
    for fact in &operation.facts {
        let Fact::RecordChanged {
            record,
            before,
            after,
        } = fact
        else {
            continue;
        };
        if record.kind != Evidence::KIND {
            continue;
        }
        let node = node_of_evidence(&record.key);
        let Some(node) = node.map(|id| state.load_node(id)).transpose()?.flatten() else {
            continue;
        };
        let parse = |body: &Option<serde_json::Value>| -> Evidence {
            let parsed = body
                .clone()
                .and_then(|body| serde_json::from_value(body).ok());
            parsed.unwrap_or_default()
        };
        let (before, after) = (parse(before), parse(after));
        let known = load_node_decisions(state, &node)?;
        // A change of shape: the others have to find the decision at the new place.
        let key = carried.key_after(state, &node)?;
        let plan_file = named_plan_file(ctx, state, &node)?;
        let decide = |what, supersedes| {
            NewDecision::from_decision(Decision {
                plan_file: plan_file.clone(),
                ..decision_of(operation, key.clone(), what, supersedes)
            })
        };
        for proof in &after.proofs {
            // Compared with what the others know and not with the record before: running a check
            // again with the same result writes no file (law 1).
            let shared = find_shared(&known, &proof.asks).and_then(verdict_of);
            if let Some(verdict) = ProofVerdict::from_change(proof, shared) {
                let what = Verdict::Proved(verdict);
                let supersedes = superseded_by(&known, &what);
                made.push(decide(what, supersedes));
            }
        }
        let is_gone = |check: &ProofCheck| after.proofs.iter().all(|proof| proof.asks != *check);
        for proof in before.proofs.iter().filter(|proof| is_gone(&proof.asks)) {
            let of_check = |one: &&KnownDecision| is_of_check(one, &proof.asks);
            let ids: Vec<_> = decisions_in_force(&known)
                .into_iter()
                .filter(of_check)
                .filter_map(|one| one.id.clone())
                .collect();
            if !ids.is_empty() {
                let aspect = Aspect::Evidence;
                made.push(decide(Verdict::Withdrawn { aspect }, ids));
            }
        }
    }
    Ok(made)
}

fn verdict_of(one: &KnownDecision) -> Option<&ProofVerdict> {
    match &one.decision.what {
        Verdict::Proved(verdict) => Some(verdict),
        _ => None,
    }
}

fn is_of_check(one: &KnownDecision, check: &ProofCheck) -> bool {
    verdict_of(one).is_some_and(|verdict| verdict.check == *check)
}

/// Returns the latest decision in force about a check.
fn find_shared<'k>(known: &'k [KnownDecision], check: &ProofCheck) -> Option<&'k KnownDecision> {
    decisions_in_force(known)
        .into_iter()
        .filter(|one| is_of_check(one, check))
        // The id breaks ties, so that every clone chooses the same one (law 8).
        .max_by_key(|one| (one.decision.at, one.id.clone()))
}

/// Returns the fact that brings the evidence of a node to what its decisions say.
pub(super) fn proof_fact(
    state: &dyn Snapshot,
    node: NodeId,
    known: &[KnownDecision],
) -> Result<Option<Fact>, Failure> {
    // Without a shared proof there is nothing to merge: the local evidence stays as it is.
    if known.iter().all(|one| verdict_of(one).is_none()) {
        return Ok(None);
    }
    let key = evidence_key(node);
    let before = read_record::<Evidence>(state, &key)?;
    let recorded = before.clone().unwrap_or_default();
    let after = Evidence {
        proofs: merge_proofs(&recorded.proofs, known),
    };
    if after == recorded {
        return Ok(None);
    }
    let after = (!after.proofs.is_empty()).then_some(after);
    Ok(record_changed_fact(&key, before.as_ref(), after.as_ref()))
}
