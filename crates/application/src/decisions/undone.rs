//! Takes back the decisions of undone operations that no other fact of the undo speaks of: verdicts
//! of reviews and overrides.

use std::collections::{BTreeMap, BTreeSet};

use domain::decision::{Aspect, Decision, DecisionId, KnownDecision, Verdict, decisions_in_force};
use domain::fact::Fact;
use domain::ids::OperationId;
use domain::operation::Operation;
use domain::ports::{NewOperation, Snapshot};
use domain::record::Recorded as _;

use super::attach::{NewDecision, decision_of};
use super::load_decisions;
use crate::failure::Failure;

/// Returns the decisions that an undo makes: what the undone operations had replaced is decided
/// again, or they are withdrawn. What an undone undo had taken back is decided again.
pub(super) fn decide_undone(
    state: &dyn Snapshot,
    undo: &NewOperation,
) -> Result<Vec<NewDecision>, Failure> {
    // The last change of an operation holds: going back over an undo inverts it, and then what it
    // had undone.
    let mut changed: BTreeMap<OperationId, bool> = BTreeMap::new();
    for fact in &undo.facts {
        if let Fact::UndoneChanged {
            operation, after, ..
        } = fact
        {
            changed.insert(*operation, after.is_some());
        }
    }
    let (mut taken_back, mut restored) = (Vec::new(), Vec::new());
    for (id, is_undone) in changed {
        let made = state.load_operation(id)?.map(|one| decisions_made_by(&one));
        match is_undone {
            true => taken_back.extend(made.unwrap_or_default()),
            false => restored.extend(made.unwrap_or_default()),
        }
    }
    let taken_ids: BTreeSet<DecisionId> =
        taken_back.iter().filter_map(|one| one.id.clone()).collect();
    let mut made: Vec<Decision> = Vec::new();
    for one in taken_back {
        // A decision that another one replaced meanwhile stays replaced: an undo takes back what
        // the operation said, not what was said after it.
        let known = load_decisions(state, &one.decision.node)?;
        let is_in_force = decisions_in_force(&known).iter().any(|it| it.id == one.id);
        let Some(id) = one.id.as_ref().filter(|_| is_in_force) else {
            continue;
        };
        let former = find_replaced(&known, &one, &taken_ids);
        if former.is_empty() {
            let what = Verdict::Withdrawn {
                aspect: one.decision.what.aspect(),
            };
            let node = one.decision.node.clone();
            made.push(decision_of(undo, node, what, vec![id.clone()]));
        }
        // Decided again under another id, because it supersedes the one that is taken back: the
        // former file is superseded for good, in every clone.
        made.extend(former.into_iter().map(|old| Decision {
            supersedes: vec![id.clone()],
            ..old.decision.clone()
        }));
    }
    for one in restored {
        let known = load_decisions(state, &one.decision.node)?;
        let replaces = |it: &&KnownDecision| {
            let ids = &it.decision.supersedes;
            one.id.as_ref().is_some_and(|id| ids.contains(id))
        };
        let supersedes: Vec<DecisionId> = decisions_in_force(&known)
            .into_iter()
            .filter(replaces)
            .filter_map(|it| it.id.clone())
            .collect();
        let again = Decision {
            supersedes,
            ..one.decision
        };
        // An undone undo may have decided it again itself.
        if !again.supersedes.is_empty() && !made.contains(&again) {
            made.push(again);
        }
    }
    Ok(made.into_iter().map(NewDecision::from_decision).collect())
}

/// Returns the verdicts of reviews and the overrides that an operation made here.
fn decisions_made_by(operation: &Operation) -> Vec<KnownDecision> {
    let made = operation.facts.iter().filter_map(|fact| match fact {
        Fact::RecordChanged {
            record,
            before: None,
            after: Some(body),
        } if record.kind == KnownDecision::KIND => {
            let known: KnownDecision = serde_json::from_value(body.clone()).ok()?;
            Some(known.with_id_of_key(&record.key))
        }
        _ => None,
    });
    made.filter(|one| {
        matches!(
            one.decision.what,
            Verdict::Reviewed(_) | Verdict::Overridden { .. }
        )
    })
    .collect()
}

/// Returns the decisions that one replaced, past those that are taken back with it.
fn find_replaced<'k>(
    known: &'k [KnownDecision],
    one: &KnownDecision,
    taken_back: &BTreeSet<DecisionId>,
) -> Vec<&'k KnownDecision> {
    let mut found = Vec::new();
    let mut left = one.decision.supersedes.clone();
    while let Some(id) = left.pop() {
        let Some(old) = known.iter().find(|old| old.id.as_ref() == Some(&id)) else {
            continue;
        };
        // Past the whole chain: undoing three conclusions at once must restore the verdict before
        // the first, not the second.
        if taken_back.contains(&id) {
            left.extend(old.decision.supersedes.iter().cloned());
        } else if old.decision.what.aspect() == Aspect::Review
            && !matches!(old.decision.what, Verdict::Withdrawn { .. })
        {
            found.push(old);
        }
    }
    found
}
