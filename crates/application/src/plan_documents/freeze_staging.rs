//! Stages the freeze of a document, for the command and for the last gate of a workflow.

use domain::approval::approve_content;
use domain::fact::Fact;
use domain::node::Node;
use domain::plan_document::{
    DocumentRecord, FreezeRecord, PlanProblem, ProblemGrade, check_plan, compute_waves,
    locate_problems,
};
use domain::policy::ApprovalPolicy;
use domain::ports::{GitHead, Transaction};
use domain::time::Timestamp;

use super::document_files::{
    OpenedDocument, StagedDocument, check_plan_diffs, stage_document, with_problems,
};
use crate::context::Context;
use crate::failure::Failure;
use crate::record_policy::resolve_deciding_policy;
use crate::status_cascade::cascade_statuses;

/// Returns the problems that prevent a freeze.
fn freeze_blockers(ctx: &Context<'_>, opened: &OpenedDocument) -> Vec<PlanProblem> {
    locate_problems(
        &opened.text,
        check_plan(&opened.plan)
            .into_iter()
            .chain(check_plan_diffs(ctx, &opened.plan))
            .filter(|problem| problem.grade != ProblemGrade::Hint)
            .collect(),
    )
}

/// Returns the facts that freeze a document: its final text, and the approval of everything in it.
///
/// # Errors
/// When something is unfinished, or only a person may approve here.
pub(crate) fn stage_freeze(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    opened: &OpenedDocument,
    record: &mut DocumentRecord,
    now: Timestamp,
) -> Result<StagedDocument, Failure> {
    let problems = freeze_blockers(ctx, opened);
    if !problems.is_empty() {
        let what = format!("`{}` cannot be frozen yet", opened.id);
        return Err(with_problems(Failure::refused(what), &problems)
            .with_step(format!("tl doc validate --doc {}", opened.id)));
    }
    let policy = resolve_deciding_policy(ctx, tx)?.approval;
    if !policy.accepts_approval_by(&ctx.actor) {
        let what = format!(
            "only a person may freeze `{}` (policy.approval is `human`)",
            opened.id
        );
        return Err(Failure::refused(what).with_step(format!(
            "ask a person to run `tl doc freeze --doc {}` in a terminal",
            opened.id
        )));
    }
    let mut plan = opened.plan.clone();
    plan.frozen_at = Some(now);
    // Executors work from the file alone, so the order of the milestones is written into it.
    if plan.milestone_dependencies.waves.is_empty() {
        plan.milestone_dependencies.waves = compute_waves(&plan).unwrap_or_default();
    }
    let mut staged = stage_document(tx, &opened.id, Some(&opened.plan), &plan, record, now)?;
    let (by, commit) = (ctx.actor.clone(), head_commit(ctx));
    record.frozen = Some(FreezeRecord {
        version: record.written,
        at: now,
        by,
        commit,
    });
    // Freezing is the approval: every milestone has to be ready to be worked on.
    let nodes = tx.load_subtree(record.node)?;
    approve_all(ctx, policy, &nodes, &mut staged.facts, now);
    cascade_statuses(ctx, tx, &mut staged.facts, &staged.texts, now, None)?;
    Ok(staged)
}

/// Approves the content the nodes have after these facts, if an approval by the actor counts.
pub(super) fn approve_all(
    ctx: &Context<'_>,
    policy: ApprovalPolicy,
    nodes: &[Node],
    facts: &mut Vec<Fact>,
    now: Timestamp,
) {
    let approvals: Vec<Fact> = nodes
        .iter()
        .filter_map(|node| approval_fact(ctx, policy, node, facts, now))
        .collect();
    facts.extend(approvals);
}

fn approval_fact(
    ctx: &Context<'_>,
    policy: ApprovalPolicy,
    node: &Node,
    facts: &[Fact],
    now: Timestamp,
) -> Option<Fact> {
    // The last change wins: the staged text is not in the store yet, and approving the old one
    // would leave the node stale at once.
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

/// Returns the HEAD commit, if there is a repository. `reconcile` compares with it.
fn head_commit(ctx: &Context<'_>) -> Option<String> {
    match ctx.git.read_head() {
        Ok(GitHead::At(commit)) => Some(commit),
        Ok(GitHead::NoRepository | GitHead::Unborn) | Err(_) => None,
    }
}
