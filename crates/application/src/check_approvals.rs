//! Plans of a branch that must not be merged: those that are not approved, or no longer.

use std::collections::BTreeSet;

use domain::decision::DECISIONS_FOLDER;
use domain::duplicate_ids::is_duplicate;
use domain::node::{Node, Status};
use domain::ports::FileStatResult;
use domain::tree::Tree;
use schemars::JsonSchema;
use serde::Serialize;

use crate::approval_need::asks_for_approval;
use crate::context::Context;
use crate::failure::Failure;
use crate::observe::observe_plans;
use crate::project_status::Attention;

/// The plans that were looked at, and those that are not in order.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ApprovalCheck {
    pub ok: bool,
    pub plans: usize,
    pub findings: Vec<UnapprovedPlan>,
}

/// A plan that must not be merged.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct UnapprovedPlan {
    pub path: String,
    pub file_path: Option<String>,
    pub title: Option<String>,
    pub status: Status,
    /// Whether another plan has its id.
    pub is_duplicate: bool,
    pub reason: Option<String>,
    pub next_step: String,
}

/// Returns the plans that are not approved. With `base`, only those that HEAD changed since it left
/// that commit, and what is below them.
///
/// # Errors
/// When the state cannot be read, or there is no commit `base`.
pub fn check_approvals(ctx: &Context<'_>, base: Option<&str>) -> Result<ApprovalCheck, Failure> {
    let changed = base
        .map(|base| ctx.git.list_changed_since(base))
        .transpose()
        .map_err(|fault| {
            // The usual reason: a runner that fetched the last commit alone.
            Failure::from(fault).with_step(
                "git fetch --unshallow origin   # in a shallow clone; otherwise: git fetch origin",
            )
        })?;
    // A decision file that is gone is not traced to its plan: then every plan counts.
    let changed: Option<BTreeSet<String>> = changed
        .map(BTreeSet::from_iter)
        .filter(|changed| !has_lost_decision(ctx, changed));
    let (state, tree) = observe_plans(ctx)?;
    let mut check = ApprovalCheck {
        ok: true,
        plans: 0,
        findings: Vec::new(),
    };
    for node in tree.all_preorder() {
        if !is_affected(&tree, node, changed.as_ref()) {
            continue;
        }
        check.plans += 1;
        let is_duplicate = is_duplicate(&node.alias);
        // A duplicate counts although it is approved: after the merge nobody could say which plan
        // the approval is for.
        if !is_duplicate && !is_unapproved(ctx, node) {
            continue;
        }
        let Attention {
            path,
            status,
            reason,
            next_step,
            ..
        } = Attention::describe_node(ctx, &*state, &tree, node)?;
        check.findings.push(UnapprovedPlan {
            path,
            file_path: node.path.clone(),
            title: node.description.title.clone(),
            status,
            is_duplicate,
            reason,
            next_step,
        });
    }
    check.ok = check.findings.is_empty();
    Ok(check)
}

fn is_unapproved(ctx: &Context<'_>, node: &Node) -> bool {
    match node.status() {
        Status::Approved => false,
        // Also where nobody has to approve: a rejected or missing plan is never in order.
        Status::Invalid => true,
        Status::Draft | Status::RequiresRevalidation => asks_for_approval(ctx, node),
    }
}

fn has_lost_decision(ctx: &Context<'_>, changed: &BTreeSet<String>) -> bool {
    changed
        .iter()
        .filter(|path| path.starts_with(DECISIONS_FOLDER))
        .any(|path| matches!(ctx.files.stat_file(path), FileStatResult::Missing))
}

/// Whether the branch changed the plan or one above it.
fn is_affected(tree: &Tree, node: &Node, changed: Option<&BTreeSet<String>>) -> bool {
    let Some(changed) = changed else { return true };
    let is_changed = |node: &Node| {
        node.path
            .as_ref()
            .is_some_and(|path| changed.contains(path))
    };
    // A change above makes the plans below stale, although their files are the same.
    is_changed(node) || tree.ancestors(node).into_iter().any(is_changed)
}
