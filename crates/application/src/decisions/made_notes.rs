//! Pinned notes as decisions about the project: written when one is pinned, unpinned or removed,
//! and taken over from git. Notes that are not pinned stay in this store.

use std::collections::BTreeSet;

use domain::decision::{
    Aspect, Decision, DecisionId, KnownDecision, PROJECT_KEY, Verdict, decisions_in_force,
};
use domain::fact::Fact;
use domain::ids::Principal;
use domain::memory::Anchor;
use domain::ports::{Snapshot, Transaction};
use domain::record::{Recorded, read_records, record_changed_fact};
use domain::stamp::Stamp;
use domain::time::Timestamp;

use super::attach::{NewDecision, plan_decision_files};
use super::load_decisions;
use crate::context::Context;
use crate::failure::Failure;
use crate::file_writes::PlannedFiles;

/// Adds the decisions that pinned and unpinned notes are to the facts of an operation, and plans
/// their files.
pub(crate) fn attach_note_decisions(
    ctx: &Context<'_>,
    planned: &PlannedFiles<'_>,
    state: &dyn Snapshot,
    by: &Principal,
    at: Timestamp,
    facts: &mut Vec<Fact>,
) -> Result<(), Failure> {
    let Some(folder) = ctx.decisions else {
        return Ok(());
    };
    let made = decide_notes(state, by, at, facts)?;
    facts.extend(made.iter().filter_map(NewDecision::to_fact));
    plan_decision_files(ctx, folder, state, planned, &made)
}

/// Returns the decisions for the notes that these facts pin or unpin.
pub(super) fn decide_notes(
    state: &dyn Snapshot,
    by: &Principal,
    at: Timestamp,
    facts: &[Fact],
) -> Result<Vec<NewDecision>, Failure> {
    let mut made = Vec::new();
    for fact in facts {
        let Fact::RecordChanged {
            record,
            before,
            after,
        } = fact
        else {
            continue;
        };
        if record.kind != Anchor::KIND {
            continue;
        }
        let parse = |body: &Option<serde_json::Value>| -> Option<Anchor> {
            serde_json::from_value(body.clone()?).ok()
        };
        let decision = |what, at, supersedes| Decision {
            node: PROJECT_KEY.to_owned(),
            what,
            by: by.clone(),
            at,
            supersedes,
            signature: None,
            plan_file: None,
        };
        match (parse(before), parse(after)) {
            (None, Some(pinned)) => {
                let supersedes = find_withdrawals(&load_decisions(state, PROJECT_KEY)?, &pinned);
                let what = Verdict::Noted {
                    stamp: pinned.stamp,
                    text: pinned.text,
                };
                // The time of the note and not of the operation: `is_decision_of` finds the
                // decision of a note by its text and this time.
                made.push(NewDecision::from_decision(decision(
                    what, pinned.at, supersedes,
                )));
            }
            (Some(gone), None) => {
                let known = load_decisions(state, PROJECT_KEY)?;
                let supersedes: Vec<_> = decisions_in_force(&known)
                    .into_iter()
                    .filter(|one| is_decision_of(one, &gone))
                    .filter_map(|one| one.id.clone())
                    .collect();
                // A note pinned before decisions were files has none, and there is nothing to
                // withdraw.
                if !supersedes.is_empty() {
                    let what = Verdict::Withdrawn {
                        aspect: Aspect::Note,
                    };
                    made.push(NewDecision::from_decision(decision(what, at, supersedes)));
                }
            }
            _ => {}
        }
    }
    Ok(made)
}

/// Returns the withdrawals of a note that is pinned again, as by the undo of an unpin. Naming them
/// makes the new decision another one than the withdrawn one, which has the same words and time.
fn find_withdrawals(known: &[KnownDecision], pinned: &Anchor) -> Vec<DecisionId> {
    let is_of_note = |id: &DecisionId| {
        known
            .iter()
            .any(|one| one.id.as_ref() == Some(id) && is_decision_of(one, pinned))
    };
    known
        .iter()
        .filter(|one| matches!(one.decision.what, Verdict::Withdrawn { .. }))
        .filter(|one| one.decision.supersedes.iter().any(is_of_note))
        .filter_map(|one| one.id.clone())
        .collect()
}

/// Whether a decision pinned this note. Not by the stamp: a received note may have got another one.
fn is_decision_of(one: &KnownDecision, anchor: &Anchor) -> bool {
    matches!(&one.decision.what, Verdict::Noted { text, .. } if *text == anchor.text)
        && one.decision.at == anchor.at
}

/// Returns the fact that pins or unpins the note of a decision that came or went; `holds` says
/// whether the decision is in force.
pub(super) fn note_fact(
    tx: &dyn Transaction,
    one: &KnownDecision,
    holds: bool,
    facts: &[Fact],
) -> Result<Option<Fact>, Failure> {
    let Verdict::Noted { stamp, text } = &one.decision.what else {
        return Ok(None);
    };
    let at = one.decision.at;
    let mut recorded = read_records::<Anchor>(tx, "")?;
    recorded.retain(|(_, anchor)| is_decision_of(one, anchor));
    match (recorded.pop(), holds) {
        (None, true) => {
            let anchor = Anchor {
                stamp: free_anchor_stamp(tx, *stamp, at, facts)?,
                text: text.clone(),
                session_stamp: None,
                at,
            };
            Ok(record_changed_fact(
                &anchor.stamp.to_string(),
                None,
                Some(&anchor),
            ))
        }
        (Some((key, anchor)), false) => Ok(record_changed_fact(&key, Some(&anchor), None)),
        _ => Ok(None),
    }
}

/// Returns the stamp of a received note; another one of its minute if a note here has it.
fn free_anchor_stamp(
    tx: &dyn Transaction,
    stamp: Stamp,
    at: Timestamp,
    facts: &[Fact],
) -> Result<Stamp, Failure> {
    let mut taken: BTreeSet<String> = read_records::<Anchor>(tx, "")?
        .into_iter()
        .map(|(key, _)| key)
        .collect();
    // Facts of this operation as well: one pull may bring two notes of the same minute.
    taken.extend(facts.iter().filter_map(|fact| match fact {
        Fact::RecordChanged { record, .. } if record.kind == Anchor::KIND => {
            Some(record.key.clone())
        }
        _ => None,
    }));
    if !taken.contains(&stamp.to_string()) {
        return Ok(stamp);
    }
    Ok(Stamp::first_free_from(at, |stamp| {
        taken.contains(&stamp.to_string())
    }))
}
