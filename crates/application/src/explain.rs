//! Explain the status of a node: the chain of causes, with the operation and the diff that caused
//! it.
//!
//! Derived from the recorded causes; no status is computed here.

use domain::approval::{Condemnation, approval_next_step, ask_person_next_step};
use domain::node::{CauseKind, Node, Status};
use domain::ports::Snapshot;
use domain::revalidation::compared_parent_version;
use schemars::JsonSchema;
use serde::Serialize;

use crate::approval_need::{asks_for_approval, decision_next_step, find_undecided_above};
use crate::context::Context;
use crate::decisions::describe_unsigned_approval;
use crate::failure::Failure;
use crate::locate::{load_ancestors, load_node, load_node_path, reject_extra_words};
use crate::observe::observe_node;
use crate::revalidate::parent_changes;
use crate::scan::ScanScope;
use crate::views::{DiffView, OperationView, describe_cause};

/// Outcome of `tl why`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Explanation {
    pub path: String,
    pub status: Status,
    pub summary: String,
    /// From the node up to the origin of the change.
    pub chain: Vec<CauseLink>,
    /// The operation that caused it.
    pub operation: Option<OperationView>,
    /// The changed text: the parent's, or the node's own against the approved version.
    pub diff: Option<DiffView>,
    pub next_steps: Vec<String>,
}

/// One node of the chain.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CauseLink {
    pub path: String,
    pub status: Status,
    pub because: String,
}

/// Explains a node's status.
///
/// # Errors
/// When there is no such node, or the state cannot be read.
pub fn explain_status(ctx: &Context<'_>, words: &[String]) -> Result<Explanation, Failure> {
    let seen = observe_node(ctx, words, ScanScope::Lineage)?;
    reject_extra_words(seen.rest)?;
    let node = load_node(&*seen.state, seen.id)?;
    explain_node(ctx, &*seen.state, &node)
}

/// Explains the status of a loaded node.
pub(crate) fn explain_node(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
) -> Result<Explanation, Failure> {
    let path = load_node_path(state, node)?;
    match node.status() {
        Status::Approved => Ok(explain_approved(node, path)),
        Status::Draft => explain_draft(ctx, state, node, path),
        Status::RequiresRevalidation | Status::Invalid => explain_stale(ctx, state, node, path),
    }
}

/// Explains an approved node.
fn explain_approved(node: &Node, path: String) -> Explanation {
    let summary = match &node.approval {
        Some(approval) => format!(
            "approved by {} on {}, and neither its text nor its parent changed since",
            approval.by,
            approval.at.format_local_minute()
        ),
        None => "approved".to_owned(),
    };
    Explanation {
        path,
        status: Status::Approved,
        summary,
        chain: Vec::new(),
        operation: None,
        diff: None,
        next_steps: Vec::new(),
    }
}

/// Explains a draft: never approved, changed since, or approved by an agent where only people
/// count.
fn explain_draft(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    path: String,
) -> Result<Explanation, Failure> {
    let mut diff = None;
    let unsigned = describe_unsigned_approval(ctx, state, node)?;
    let requested = node.change_request();
    let summary = match (&node.approval, node.content.version_hash()) {
        // First, because a request for changes holds whatever the approval says.
        _ if requested.is_some() => describe_change_request(requested),
        _ if unsigned.is_some() => unsigned.unwrap_or_default(),
        // The approved text is the present one and still a draft: only the policy can be the
        // reason.
        (Some(approval), Some(version)) if approval.version == version => format!(
            "{} approved it on {}, but only a person's approval counts here (policy.approval is `human`)",
            approval.by,
            approval.at.format_local_minute()
        ),
        (Some(approval), Some(version)) => {
            // A text may be missing here: approved in another clone, and its version never read by
            // this one.
            if let (Some(older), Some(newer)) = (
                state.load_text(approval.version)?,
                state.load_text(version)?,
            ) {
                let name = |what: &str, hash: &str| format!("{} {hash} ({what})", node.alias);
                diff = Some(DiffView::from_texts(
                    name("approved", &approval.version.short_hex()),
                    &older,
                    name("now", &version.short_hex()),
                    &newer,
                ));
            }
            format!(
                "its text is not the one {} approved on {}",
                approval.by,
                approval.at.format_local_minute()
            )
        }
        _ if !asks_for_approval(ctx, node) => {
            "it was never approved, and nobody has to approve it".to_owned()
        }
        _ => "it was never approved".to_owned(),
    };
    let next_steps = match asks_for_approval(ctx, node) {
        _ if requested.is_some() => {
            vec![format!(
                "edit {}",
                node.path.as_deref().unwrap_or("the plan")
            )]
        }
        true => vec![approval_next_step(&path, ctx.policy.approval, &ctx.actor)],
        false => Vec::new(),
    };
    Ok(Explanation {
        path,
        status: Status::Draft,
        summary,
        chain: Vec::new(),
        operation: None,
        diff,
        next_steps,
    })
}

fn describe_change_request(requested: Option<&Condemnation>) -> String {
    requested.map_or_else(String::new, |request| {
        format!(
            "{} requested changes on {}: {}",
            request.by,
            request.at.format_local_minute(),
            request.reason
        )
    })
}

/// Explains a stale or invalid node.
fn explain_stale(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    path: String,
) -> Result<Explanation, Failure> {
    let summary =
        describe_cause(state, node)?.unwrap_or_else(|| "its parent is not settled".to_owned());
    let cause = node.standing.cause.as_ref();
    // The head of the operation is enough: who, when and why.
    let operation = match cause {
        Some(cause) => match state.operation_head(cause.operation)? {
            Some(operation) => Some(OperationView::from_head(state, operation)?),
            None => None,
        },
        None => None,
    };
    let lineage: Vec<Node> = std::iter::once(node.clone())
        .chain(load_ancestors(state, node)?)
        .collect();
    let origin = cause.map(|cause| cause.origin);
    // The chain ends at the origin. If the origin is not an ancestor any more (the node was moved),
    // the node alone is shown.
    let length = lineage
        .iter()
        .position(|one| Some(one.id) == origin)
        .map_or(1, |position| position + 1);
    let mut chain = Vec::new();
    let mut diff = None;
    for pair in 0..length {
        let one = &lineage[pair];
        let above = lineage.get(pair + 1).filter(|_| pair + 1 < length);
        chain.push(CauseLink {
            path: load_node_path(state, one)?,
            status: one.status(),
            because: describe_link(one, above),
        });
        if let Some(above) = above
            && let Some(found) = parent_changes(state, one, above)?
        {
            // Overwritten on the way up: the diff nearest the origin explains the others.
            diff = Some(found);
        }
    }
    let next_steps = next_steps_of_stale(ctx, state, (node, &path), &lineage[1..])?;
    Ok(Explanation {
        path,
        status: node.status(),
        summary,
        chain,
        operation,
        diff,
        next_steps,
    })
}

/// Returns the next steps. The first command must work: a node below an undecided parent cannot be
/// revalidated yet, so its parent comes first.
fn next_steps_of_stale(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    (node, path): (&Node, &str),
    ancestors: &[Node],
) -> Result<Vec<String>, Failure> {
    Ok(match node.status() {
        Status::Invalid => match node.standing.cause.as_ref().map(|cause| cause.kind) {
            Some(CauseKind::FileMissing) => vec![
                format!("tl versions {path}"),
                format!("tl restore {path} -1"),
            ],
            Some(CauseKind::Condemned) => {
                let approve = match ctx.policy.approval.accepts_approval_by(&ctx.actor) {
                    true => format!("tl approve {path} --force"),
                    false => ask_person_next_step(path),
                };
                vec![
                    format!("edit {}", node.path.as_deref().unwrap_or("the plan")),
                    approve,
                ]
            }
            _ => vec![format!(
                "look at {}",
                node.path.as_deref().unwrap_or("the plan")
            )],
        },
        _ => {
            let own = decision_next_step(ctx, path, Status::RequiresRevalidation);
            match find_undecided_above(ctx, ancestors) {
                Some(first) => {
                    let above = load_node_path(state, first)?;
                    vec![decision_next_step(ctx, &above, first.status()), own]
                }
                None => vec![own],
            }
        }
    })
}

/// Returns the reason of one node in the chain.
fn describe_link(node: &Node, above: Option<&Node>) -> String {
    match above {
        Some(above) => {
            match compared_parent_version(node, above).zip(above.content.as_parent_version()) {
                // By canonical hash, as the cascade judges: a reformatted parent is not a reason.
                Some((against, now)) if against.canonical != now.canonical => {
                    if node.has_approved_text() {
                        format!("`{}` is no longer the text this was based on", above.alias)
                    } else {
                        format!("`{}` was changed after its approval", above.alias)
                    }
                }
                _ => format!("`{}` is {}", above.alias, above.status()),
            }
        }
        None => match node
            .standing
            .cause
            .as_ref()
            .filter(|cause| cause.origin == node.id)
        {
            Some(cause) => match cause.kind {
                CauseKind::Condemned => "it was condemned".to_owned(),
                CauseKind::RevalidationRequired => {
                    "a person asked to compare it with its parent again".to_owned()
                }
                CauseKind::FileMissing => "its plan file is missing".to_owned(),
                CauseKind::FileUnreadable => "its plan file cannot be read".to_owned(),
                _ => "it changed".to_owned(),
            },
            None => "it started here".to_owned(),
        },
    }
}
