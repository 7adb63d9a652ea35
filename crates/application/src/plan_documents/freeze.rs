//! What freezing a document comes to; used by the command and by the workflow's last gate.

use domain::approval::approve_content;
use domain::fact::Fact;
use domain::node::Node;
use domain::plan_document::{DocumentRecord, Frozen, Grade, Problem, check, computed, located};
use domain::policy::ApprovalPolicy;
use domain::ports::{Head, Transaction};
use domain::time::Timestamp;

use super::desk::{Opened, Staged, stage, with_problems};
use crate::context::Context;
use crate::failure::{Failure, FailureKind};
use crate::record_policy::deciding_policy;
use crate::settle::settle;

/// Returns what keeps a plan from being frozen.
pub(crate) fn unfinished(opened: &Opened) -> Vec<Problem> {
    located(
        &opened.text,
        check(&opened.plan)
            .into_iter()
            .filter(|problem| problem.grade != Grade::Hint)
            .collect(),
    )
}

/// Returns the facts that freeze a document: its last text, and the approval of everything in it.
///
/// # Errors
/// When something is still to be written, or only a person may approve here.
pub(crate) fn staged_freeze(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    opened: &Opened,
    record: &mut DocumentRecord,
    now: Timestamp,
) -> Result<Staged, Failure> {
    let problems = unfinished(opened);
    if !problems.is_empty() {
        let what = format!("`{}` cannot be frozen yet", opened.id);
        return Err(
            with_problems(Failure::new(FailureKind::Refused, what), &problems)
                .step(format!("tl doc validate --doc {}", opened.id)),
        );
    }
    let policy = deciding_policy(ctx, tx)?.approval;
    if !policy.accepts(&ctx.actor) {
        let what = format!(
            "only a person may freeze `{}` (policy.approval is `human`)",
            opened.id
        );
        return Err(Failure::new(FailureKind::Refused, what).step(format!(
            "ask a person to run `tl doc freeze --doc {}` in a terminal",
            opened.id
        )));
    }
    let mut plan = opened.plan.clone();
    plan.frozen_at = Some(now);
    // Whoever carries the plan out needs the order, and nothing but the file.
    if plan.milestone_dependencies.waves.is_empty() {
        plan.milestone_dependencies.waves = computed(&plan).unwrap_or_default();
    }
    let mut staged = stage(tx, &opened.id, Some(&opened.plan), &plan, record, now)?;
    let (by, commit) = (ctx.actor.clone(), head_commit(ctx));
    record.frozen = Some(Frozen {
        version: record.written,
        at: now,
        by,
        commit,
    });
    let nodes = tx.subtree(record.node)?;
    approve_all(ctx, policy, &nodes, &mut staged.facts, now);
    settle(ctx, tx, &mut staged.facts, &staged.texts, now, None)?;
    Ok(staged)
}

/// Approves what the nodes of a document say after these facts, where an approval by the actor counts.
pub(super) fn approve_all(
    ctx: &Context<'_>,
    policy: ApprovalPolicy,
    nodes: &[Node],
    facts: &mut Vec<Fact>,
    now: Timestamp,
) {
    let approvals: Vec<Fact> = nodes
        .iter()
        .filter_map(|node| approved(ctx, policy, node, facts, now))
        .collect();
    facts.extend(approvals);
}

fn approved(
    ctx: &Context<'_>,
    policy: ApprovalPolicy,
    node: &Node,
    facts: &[Fact],
    now: Timestamp,
) -> Option<Fact> {
    let content = facts.iter().rev().find_map(|fact| match fact {
        Fact::ContentChanged {
            node: changed,
            after,
            ..
        } if *changed == node.id => Some(after),
        _ => None,
    });
    let approval = approve_content(content.unwrap_or(&node.content), &ctx.actor, now, policy)?;
    Some(Fact::ApprovalChanged {
        node: node.id,
        before: node.approval.clone(),
        after: Some(approval),
    })
}

/// Returns the commit the repository stands at, where there is one.
fn head_commit(ctx: &Context<'_>) -> Option<String> {
    match ctx.git.head() {
        Ok(Head::At(commit)) => Some(commit),
        Ok(Head::NoRepository | Head::Unborn) | Err(_) => None,
    }
}
