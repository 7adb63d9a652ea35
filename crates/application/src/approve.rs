//! Approve a node: bind the approval to its text and to its parent's.

use domain::approval::{Force, Request, decide};
use domain::consistency::{Plan, check};
use domain::fact::Fact;
use domain::ids::{OperationId, VersionHash};
use domain::node::{Node, Status};
use domain::operation::Verb;
use domain::policy::ConsistencyPolicy;
use domain::ports::Snapshot;
use domain::shown::Shown;
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, FailureKind};
use crate::locate::{get, nothing_left, parent, path_of};
use crate::observe::{observed_node, with_node};
use crate::record_policy::deciding_policy;
use crate::settle::settle;
use crate::survey::Scope;
use crate::transitions::transitions;
use crate::views::TransitionView;

/// What is asked.
#[derive(Clone, Debug)]
pub struct ApproveRequest {
    pub node: Vec<String>,
    pub force: Force,
    /// What was shown before it was asked, where something was.
    pub shown: Option<Shown>,
}

/// What was done: `approve_entity`.
#[derive(Clone, Debug, Serialize)]
pub struct ApproveOutcome {
    pub success: bool,
    pub message: String,
    pub warnings: Vec<String>,
    pub entity_id: String,
    pub path: String,
    pub version_hash: Option<VersionHash>,
    /// Descendants whose status follows from it.
    pub changed_entities: Vec<TransitionView>,
    pub operation: Option<OperationId>,
}

/// Approves a node.
///
/// # Errors
/// Every rule of `domain::approval`, and faults of the state.
pub fn approve(ctx: &Context<'_>, request: &ApproveRequest) -> Result<ApproveOutcome, Failure> {
    with_node(ctx, &request.node, |tx, id, rest| {
        nothing_left(rest)?;
        let node = get(&*tx, id)?;
        let parent = parent(&*tx, &node)?;
        let path = path_of(&*tx, &node)?;
        refuse_unavailable(ctx, &node)?;
        refuse_circles(ctx, &*tx, &node, &path)?;
        let warnings = warnings(ctx, &*tx, &node, parent.as_ref())?;
        let now = ctx.clock.now();
        let approval = decide(
            Request {
                node: &node,
                parent: parent.as_ref(),
                by: &ctx.actor,
                now,
                force: request.force,
                shown: request.shown.as_ref(),
                warnings: warnings.clone(),
            },
            &deciding_policy(ctx, &*tx)?,
        )?;
        let outcome = |message: String, changed_entities, operation| ApproveOutcome {
            success: true,
            message,
            warnings: warnings.clone(),
            entity_id: node.alias.clone(),
            path: path.clone(),
            version_hash: node.content.version(),
            changed_entities,
            operation,
        };
        if node.status() == Status::Approved {
            return Ok(outcome(
                format!("`{path}` is approved already"),
                Vec::new(),
                None,
            ));
        }
        let mut facts = vec![Fact::ApprovalChanged {
            node: id,
            before: node.approval.clone(),
            after: Some(approval),
        }];
        if node.condemnation.is_some() {
            facts.push(Fact::CondemnationChanged {
                node: id,
                before: node.condemnation.clone(),
                after: None,
            });
        }
        settle(ctx, tx, &mut facts, &[], now, None)?;
        let changed = transitions(&*tx, &facts, Some(id))?;
        let mut operation = ctx.operation(Verb::Approve, format!("approve {path}"));
        operation.at = now;
        operation.facts = facts;
        let operation = tx.record(operation)?;
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

/// Returns what the consistency checks say about a node, as an approval would record it.
///
/// # Errors
/// When there is no such node or the state cannot be read.
pub fn check_plan(ctx: &Context<'_>, words: &[String]) -> Result<Vec<String>, Failure> {
    let found = observed_node(ctx, words, Scope::Lineage)?;
    nothing_left(found.rest)?;
    let node = get(&*found.state, found.id)?;
    let above = parent(&*found.state, &node)?;
    warnings(ctx, &*found.state, &node, above.as_ref())
}

/// Returns what the consistency checks say about a node.
pub(crate) fn warnings(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    parent: Option<&Node>,
) -> Result<Vec<String>, Failure> {
    let (Some(parent), Some(profile)) = (parent, ctx.profile(&node.profile)) else {
        return Ok(Vec::new());
    };
    let (Some(version), Some(parent_version)) = (node.content.version(), parent.content.version())
    else {
        return Ok(Vec::new());
    };
    if ctx.policy.consistency == ConsistencyPolicy::Off {
        return Ok(Vec::new());
    }
    let (Some(text), Some(parent_text)) = (state.text(version)?, state.text(parent_version)?)
    else {
        return Ok(Vec::new());
    };
    let child = Plan {
        alias: &node.alias,
        level: &node.level,
        text: &text,
    };
    let parent = Plan {
        alias: &parent.alias,
        level: &parent.level,
        text: &parent_text,
    };
    let mut found: Vec<String> = check(profile, child, parent)
        .into_iter()
        .map(|warning| warning.message)
        .collect();
    if let Some(problem) = domain::front_matter::read(&text).problem {
        found.push(format!("front matter, {problem}"));
    }
    Ok(found)
}

/// Refuses to decide about a text that cannot be read now: what is recorded may not be what is there.
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
    Err(Failure::new(FailureKind::Unavailable, what)
        .step("try again")
        .step("tl check"))
}

/// A plan that needs itself, in the end, can never be ready.
fn refuse_circles(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    path: &str,
) -> Result<(), Failure> {
    if node.description.needs.is_empty() {
        return Ok(());
    }
    let tree = domain::tree::Tree::new(state.all_nodes()?);
    let needs = domain::needs::Needs::of(&tree, ctx.profiles);
    let circle = needs.problems.iter().find(|problem| {
        matches!(problem, domain::needs::NeedsProblem::Circle { .. }) && problem.node() == path
    });
    match circle {
        None => Ok(()),
        Some(problem) => Err(
            Failure::new(FailureKind::Refused, problem.to_string()).step(format!(
                "change `needs` in {}",
                node.path.as_deref().unwrap_or("the plan")
            )),
        ),
    }
}
