//! Takes back the progress of plans that a change of shape removes, and decides it again when that is undone.
//!
//! An approval names its text. Progress names its plan by path alone, and another plan may get that
//! path: in a clone made later it would be that plan's progress.

use std::collections::HashSet;

use domain::decision::{
    Aspect, Decision, DecisionId, KnownDecision, Verdict, decisions_in_force, superseded_by,
};
use domain::fact::Fact;
use domain::ids::NodeId;
use domain::node::{Node, Progress};
use domain::operation::Verb;
use domain::ports::{NewOperation, Transaction};
use domain::presence::AbsentNode;
use domain::record::Recorded as _;
use domain::tree::Tree;

use super::attach::{NewDecision, decision_of};
use super::carry::{self, apply_names, key_of};
use super::{load_decision_key, load_decisions, load_node_decisions, named_plan_file};
use crate::context::Context;
use crate::failure::Failure;
use crate::observe::load_plan_tree;

/// Returns the decisions about the progress of plans that an operation removes or brings back.
pub(super) fn decide_removed_progress(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    operation: &NewOperation,
) -> Result<Vec<NewDecision>, Failure> {
    // A scan decides nothing: a file that is gone may come back with its branch.
    if !matches!(operation.verb, Verb::Reshape | Verb::Undo) {
        return Ok(Vec::new());
    }
    let absent = list_absent(&operation.facts);
    let mut made = Vec::new();
    let mut added: Vec<&Node> = Vec::new();
    for fact in &operation.facts {
        match fact {
            Fact::NodeRemoved { node } if !absent.contains(&node.id) => {
                let withdrawal = withdraw_progress(ctx, tx, operation, node)?;
                made.extend(withdrawal.map(NewDecision::from_decision));
            }
            Fact::NodeAdded { node }
                if node.progress != Progress::Pending && !absent.contains(&node.id) =>
            {
                added.push(node.as_ref());
            }
            _ => {}
        }
    }
    let withdrawn = match added.is_empty() {
        true => HashSet::new(),
        false => find_withdrawn(tx, operation)?,
    };
    if !withdrawn.is_empty() {
        let after = apply_names(&load_plan_tree(tx)?, &operation.facts);
        let restored = added.iter().filter_map(|node| after.get(node.id));
        for node in restored.filter(|node| withdrawn.contains(&key_of(&after, node))) {
            made.push(restore_progress(ctx, tx, operation, &after, node)?);
        }
    }
    Ok(made)
}

/// Returns the nodes that go or come with a branch: their decisions do, too.
fn list_absent(facts: &[Fact]) -> HashSet<NodeId> {
    let of_body = |body: &serde_json::Value| {
        let absent: AbsentNode = serde_json::from_value(body.clone()).ok()?;
        Some(absent.node.id)
    };
    let bodies = facts.iter().filter_map(|fact| match fact {
        Fact::RecordChanged {
            record,
            before,
            after,
        } if record.kind == AbsentNode::KIND => before.as_ref().or(after.as_ref()),
        _ => None,
    });
    bodies.filter_map(of_body).collect()
}

fn withdraw_progress(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    operation: &NewOperation,
    node: &Node,
) -> Result<Option<Decision>, Failure> {
    let known = load_node_decisions(tx, node)?;
    let supersedes: Vec<DecisionId> = decisions_in_force(&known)
        .into_iter()
        .filter(|one| matches!(one.decision.what, Verdict::Progress { .. }))
        .filter_map(|one| one.id.clone())
        .collect();
    if supersedes.is_empty() {
        return Ok(None);
    }
    let what = Verdict::Withdrawn {
        aspect: Aspect::Progress,
    };
    let key = load_decision_key(tx, node)?;
    Ok(Some(Decision {
        plan_file: named_plan_file(ctx, tx, node)?,
        ..decision_of(operation, key, what, supersedes)
    }))
}

/// Returns the keys of the plans whose progress the undone operations took back. What nobody had decided follows
/// from files and commits, in every clone.
fn find_withdrawn(tx: &dyn Transaction, undo: &NewOperation) -> Result<HashSet<String>, Failure> {
    let mut withdrawn = HashSet::new();
    for fact in &undo.facts {
        let Fact::UndoneChanged {
            operation,
            after: Some(_),
            ..
        } = fact
        else {
            continue;
        };
        let undone = tx.load_operation(*operation)?.into_iter();
        for fact in undone.flat_map(|undone| undone.facts) {
            if let Fact::RecordChanged {
                record,
                before: None,
                after: Some(body),
            } = fact
                && record.kind == KnownDecision::KIND
                && let Ok(known) = serde_json::from_value::<KnownDecision>(body)
                && matches!(
                    known.decision.what,
                    Verdict::Withdrawn {
                        aspect: Aspect::Progress
                    }
                )
            {
                withdrawn.insert(known.decision.node);
            }
        }
    }
    Ok(withdrawn)
}

fn restore_progress(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    operation: &NewOperation,
    after: &Tree,
    node: &Node,
) -> Result<NewDecision, Failure> {
    let key = key_of(after, node);
    let what = Verdict::Progress {
        progress: node.progress,
    };
    let supersedes = superseded_by(&load_decisions(tx, &key)?, &what);
    Ok(NewDecision::from_decision(Decision {
        plan_file: carry::named_plan_file(ctx, after, node),
        ..decision_of(operation, key, what, supersedes)
    }))
}
