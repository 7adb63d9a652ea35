//! Where the whole project stands.

use domain::node::{Node, Status};
use domain::profile::ApprovalNeed;
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::observe::observed_plans;
use crate::views::{OperationView, StatusCounts, reason};

/// The project at a glance.
#[derive(Clone, Debug, Serialize)]
pub struct ProjectStatus {
    pub profiles: Vec<String>,
    pub nodes: usize,
    pub status_counts: StatusCounts,
    /// Counts per level, from the top down.
    pub levels: Vec<LevelCounts>,
    /// What needs someone: invalid and stale nodes, and drafts whose parent is approved.
    pub attention: Vec<Attention>,
    pub last_operation: Option<OperationView>,
}

/// How many nodes of a level have which status.
#[derive(Clone, Debug, Serialize)]
pub struct LevelCounts {
    pub level: String,
    pub status_counts: StatusCounts,
}

/// A node that needs someone, and what to do.
#[derive(Clone, Debug, Serialize)]
pub struct Attention {
    pub path: String,
    pub status: Status,
    pub reason: Option<String>,
    pub next_step: String,
}

/// Returns the project's state.
///
/// # Errors
/// When the state cannot be read.
pub fn project_status(ctx: &Context<'_>) -> Result<ProjectStatus, Failure> {
    let (state, tree) = observed_plans(ctx)?;
    let mut status_counts = StatusCounts::default();
    let mut levels: Vec<LevelCounts> = Vec::new();
    for profile in ctx.profiles {
        levels.extend(
            profile
                .levels
                .iter()
                .map(|level| LevelCounts { level: level.name.clone(), status_counts: StatusCounts::default() }),
        );
    }
    let mut attention = Vec::new();
    for node in tree.all_in_order() {
        status_counts.add(node.status());
        if let Some(counts) = levels.iter_mut().find(|counts| counts.level == node.level) {
            counts.status_counts.add(node.status());
        }
        let path = tree.path(node);
        let parent = tree.parent(node);
        let parent_ok = parent.is_none_or(|parent| parent.status() == Status::Approved);
        let next_step = match node.status() {
            Status::Invalid => format!("tl why {path}"),
            // Below a stale parent there is nothing to decide yet.
            Status::RequiresRevalidation if parent_ok => format!("tl revalidate {path}"),
            Status::Draft if parent_ok && waits_for_approval(ctx, node) => format!("tl approve {path}"),
            Status::RequiresRevalidation | Status::Draft | Status::Approved => continue,
        };
        attention.push(Attention { path, status: node.status(), reason: reason(&*state, node)?, next_step });
    }
    attention.sort_by_key(|attention| match attention.status {
        Status::Invalid => 0,
        Status::RequiresRevalidation => 1,
        Status::Draft => 2,
        Status::Approved => 3,
    });
    let newest = state.operation_heads(None, 1)?.pop();
    let last_operation = newest.map(|operation| OperationView::of(&*state, operation)).transpose()?;
    levels.retain(|counts| counts.status_counts != StatusCounts::default());
    Ok(ProjectStatus {
        profiles: ctx.profiles.iter().map(|profile| profile.name.clone()).collect(),
        nodes: tree.len(),
        status_counts,
        levels,
        attention,
        last_operation,
    })
}

/// Says whether work on a node waits for its approval.
fn waits_for_approval(ctx: &Context<'_>, node: &Node) -> bool {
    ctx.profile(&node.profile).is_none_or(|profile| profile.approval == ApprovalNeed::Required)
}
