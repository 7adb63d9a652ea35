//! Approve a node: bind an approval to the node's text and to its parent's.
//!
//! The rules are in `domain::approval`; the consistency warnings are collected in `plan_warnings.rs`.

use domain::approval::{ApprovalRequest, Force, decide_approval};
use domain::expected_version::ExpectedVersions;
use domain::ids::{OperationId, VersionHash};
use domain::needs::{Needs, NeedsProblem};
use domain::node::{Node, Status};
use domain::operation::Verb;
use domain::ports::Snapshot;
use domain::revalidation::approval_facts;
use schemars::JsonSchema;
use serde::Serialize;

use crate::context::Context;
use crate::decisions::record_with_decisions;
use crate::duplicate_ids::refuse_duplicate;
use crate::failure::Failure;
use crate::locate::{load_node, load_node_path, load_parent, reject_extra_words};
use crate::observe::{observe_node, with_observed_node_files};
use crate::plan_documents::refuse_frozen_edit;
use crate::plan_warnings::collect_warnings;
use crate::precise_cascade::digest_relied_sections;
use crate::record_policy::resolve_deciding_policy;
use crate::scan::ScanScope;
use crate::status_cascade::cascade_statuses;
use crate::transitions::collect_transitions;
use crate::views::TransitionView;
use crate::working_copy::refuse_differing_copy;

/// Request of [`approve`].
#[derive(Clone, Debug)]
pub struct ApproveRequest {
    pub node: Vec<String>,
    pub force: Force,
    /// The versions shown to the person before the decision, if any were.
    pub shown: Option<ExpectedVersions>,
}

/// Outcome of [`approve`], in MCP `approve_entity`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ApproveOutcome {
    pub success: bool,
    pub message: String,
    pub warnings: Vec<String>,
    pub entity_id: String,
    pub path: String,
    pub version_hash: Option<VersionHash>,
    /// Descendants whose status changed with it.
    pub changed_entities: Vec<TransitionView>,
    pub operation: Option<OperationId>,
}

/// Approves a node.
///
/// # Errors
/// Every refusal of `domain::approval`, and errors of the store.
pub fn approve_node(
    ctx: &Context<'_>,
    request: &ApproveRequest,
) -> Result<ApproveOutcome, Failure> {
    with_observed_node_files(ctx, &request.node, None, |planned, tx, id, rest| {
        reject_extra_words(rest)?;
        let node = load_node(&*tx, id)?;
        let parent = load_parent(&*tx, &node)?;
        let path = load_node_path(&*tx, &node)?;
        refuse_undecidable(ctx, &*tx, &node, &path, request)?;
        let policy = resolve_deciding_policy(ctx, &*tx)?;
        let warnings = collect_warnings(ctx, &*tx, &node, parent.as_ref())?;
        let outcome = |message: String, changed_entities, operation| ApproveOutcome {
            success: true,
            message,
            warnings: warnings.clone(),
            entity_id: node.alias.clone(),
            path: path.clone(),
            version_hash: node.content.version_hash(),
            changed_entities,
            operation,
        };
        let is_approved = node.status() == Status::Approved;
        let unchanged = || outcome(format!("`{path}` is approved already"), Vec::new(), None);
        // Nobody is asked about an approved plan, so there is no version that its answer could name.
        let may_approve = policy.approval.accepts_approval_by(&ctx.actor);
        if is_approved && may_approve && request.shown.is_none() {
            return Ok(unchanged());
        }
        let now = ctx.clock.now();
        // Decided inside the write transaction, `shown` included: compared outside it, an approval
        // could be given to a text that another writer stored in between.
        let approval = decide_approval(
            ApprovalRequest {
                node: &node,
                path: &path,
                parent: parent.as_ref(),
                by: &ctx.actor,
                now,
                force: request.force,
                shown: request.shown.as_ref(),
                warnings: warnings.clone(),
                relied_sections: digest_relied_sections(ctx, &*tx, &node, parent.as_ref())?,
            },
            &policy,
        )?;
        // Repeating an approval is not an error, but it records no operation: a second signature
        // would only move the date of the first.
        if is_approved {
            return Ok(unchanged());
        }
        let mut facts = approval_facts(&node, approval);
        // Before the transitions are collected: the statuses of the descendants belong to the same
        // operation, so that one undo reverts them together.
        cascade_statuses(ctx, tx, &mut facts, &[], now, None)?;
        let changed = collect_transitions(&*tx, &facts, Some(id))?;
        let mut operation = ctx.new_operation(Verb::Approve, format!("approve {path}"));
        operation.at = now;
        operation.facts = facts;
        let operation = record_with_decisions(ctx, planned, tx, operation)?;
        let changed = changed
            .reinstated
            .into_iter()
            .chain(changed.stale)
            .collect();
        Ok(outcome(
            format!("`{path}` is approved"),
            changed,
            Some(operation),
        ))
    })
}

/// Refuses a plan about which nobody can decide now.
fn refuse_undecidable(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    path: &str,
    request: &ApproveRequest,
) -> Result<(), Failure> {
    refuse_unavailable(ctx, node)?;
    refuse_differing_copy(ctx, request.shown.is_some())?;
    refuse_duplicate(ctx, state, node)?;
    refuse_frozen_edit(state, node)?;
    refuse_cyclic_needs(ctx, state, node, path)
}

/// Returns the consistency warnings of a node, as an approval would record them.
///
/// # Errors
/// When there is no such node or the state cannot be read.
pub fn collect_plan_warnings(ctx: &Context<'_>, words: &[String]) -> Result<Vec<String>, Failure> {
    let found = observe_node(ctx, words, ScanScope::Lineage)?;
    reject_extra_words(found.rest)?;
    let node = load_node(&*found.state, found.id)?;
    let above = load_parent(&*found.state, &node)?;
    collect_warnings(ctx, &*found.state, &node, above.as_ref())
}

/// Refuses a decision of an agent where only people decide; `what` is the verb with its preposition.
pub(crate) fn refuse_agents_decision(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    path: &str,
    what: &str,
) -> Result<(), Failure> {
    let policy = resolve_deciding_policy(ctx, state)?.approval;
    if policy.accepts_approval_by(&ctx.actor) {
        return Ok(());
    }
    Err(Failure::refused(format!(
        "cannot {what} `{path}`: only a person decides here (policy.approval is `human`), and this is {}",
        ctx.actor
    ))
    .with_step(format!("tl comment {path} -m TEXT   # say what you found; the person decides")))
}

/// Refuses a decision about a file that cannot be read at the moment: the recorded text may not be
/// the one on disk.
pub(crate) fn refuse_unavailable(ctx: &Context<'_>, node: &Node) -> Result<(), Failure> {
    let Some(path) = &node.path else {
        return Ok(());
    };
    let Some(why) = ctx.why_unavailable(path) else {
        return Ok(());
    };
    let what = format!(
        "`{path}` cannot be read now: {why}; nothing was decided about `{}`",
        node.alias
    );
    Err(Failure::unavailable(what)
        .with_step("try again")
        .with_step("tl check"))
}

/// Refuses a plan in a cycle of `needs`, which could never become ready.
fn refuse_cyclic_needs(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    path: &str,
) -> Result<(), Failure> {
    if node.description.needs.is_empty() {
        return Ok(());
    }
    // Needs may point anywhere, so the whole tree is read; most plans have none and returned above.
    let tree = domain::tree::Tree::new(state.all_nodes()?);
    refuse_needs_cycle(&Needs::from_tree(&tree, ctx.profiles), node, path)
}

/// Refuses a plan in one of the cycles of a tree's `needs`.
pub(crate) fn refuse_needs_cycle(needs: &Needs, node: &Node, path: &str) -> Result<(), Failure> {
    let circle = needs.problems.iter().find(|problem| {
        matches!(problem, NeedsProblem::Circle { .. }) && problem.node_path() == path
    });
    match circle {
        None => Ok(()),
        Some(problem) => Err(Failure::refused(problem.to_string()).with_step(format!(
            "change `needs` in {}",
            node.path.as_deref().unwrap_or("the plan")
        ))),
    }
}
