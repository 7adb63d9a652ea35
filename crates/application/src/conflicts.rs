//! Conflicts of operations recorded offline: list, show, retry and drop them.

use domain::ids::OperationId;
use domain::ports::{OfflineConflict, OfflineConflicts};
use domain::time::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;

/// An operation recorded offline that the server's history has no place for.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ConflictView {
    pub id: String,
    pub summary: String,
    pub verb: String,
    pub by: String,
    pub at: Timestamp,
    /// What it conflicts with.
    pub why: String,
    pub file: String,
    /// The texts it would have recorded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<String>,
}

impl From<OfflineConflict> for ConflictView {
    fn from(conflict: OfflineConflict) -> Self {
        let OfflineConflict {
            id,
            why,
            file,
            operation,
            texts,
        } = conflict;
        Self {
            id,
            summary: operation.summary,
            verb: operation.verb.as_str().to_owned(),
            by: operation.by.to_string(),
            at: operation.at,
            why,
            file,
            texts,
        }
    }
}

/// Outcome of [`retry_conflict`].
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RetryOutcome {
    pub success: bool,
    pub conflict: ConflictView,
    pub operation: OperationId,
}

/// Returns every conflict, oldest first, without the texts.
///
/// # Errors
/// When they cannot be read.
pub fn list_conflicts(ctx: &Context<'_>) -> Result<Vec<ConflictView>, Failure> {
    // A contact with the server first: what waits is sent, and may become a conflict.
    drop(ctx.store.begin_read()?);
    let Some(conflicts) = ctx.store.offline_conflicts() else {
        return Ok(Vec::new());
    };
    let found = conflicts.list_conflicts()?.into_iter();
    Ok(found
        .map(|conflict| ConflictView {
            texts: Vec::new(),
            ..ConflictView::from(conflict)
        })
        .collect())
}

/// Returns one conflict with its texts; `id` may be the beginning of its id.
///
/// # Errors
/// When there is no such conflict.
pub fn show_conflict(ctx: &Context<'_>, id: &str) -> Result<ConflictView, Failure> {
    let conflicts = open_conflicts(ctx)?;
    let mut found = conflicts.list_conflicts()?;
    found.retain(|conflict| conflict.id.starts_with(id));
    // An empty id fits every conflict, and dropping one by mistake cannot be undone.
    match (found.pop(), found.is_empty() && !id.is_empty()) {
        (Some(conflict), true) => Ok(conflict.into()),
        (None, _) => Err(unknown_conflict(id)),
        (Some(_), false) => Err(Failure::invalid(format!(
            "`{id}` is the beginning of several conflicts"
        ))
        .with_step("tl conflicts list")),
    }
}

/// Records a conflict's operation on the present state.
///
/// # Errors
/// When it still conflicts; it stays saved then.
pub fn retry_conflict(ctx: &Context<'_>, id: &str) -> Result<RetryOutcome, Failure> {
    let conflict = show_conflict(ctx, id)?;
    let retried = open_conflicts(ctx)?.retry_conflict(&conflict.id, ctx.clock.now());
    let operation = retried.map_err(|fault| match fault {
        domain::ports::StoreFault::DoesNotFit { what } => {
            Failure::conflict(format!("`{}` still conflicts: {what}", conflict.summary))
                .with_step(format!("tl conflicts show {}", conflict.id))
                .with_step("tl submit   # for texts: your files are still there")
        }
        fault => fault.into(),
    })?;
    Ok(RetryOutcome {
        success: true,
        conflict,
        operation,
    })
}

/// Deletes a conflict, and returns what was deleted.
///
/// # Errors
/// When there is no such conflict.
pub fn drop_conflict(ctx: &Context<'_>, id: &str) -> Result<ConflictView, Failure> {
    let conflict = show_conflict(ctx, id)?;
    open_conflicts(ctx)?.drop_conflict(&conflict.id)?;
    Ok(conflict)
}

fn open_conflicts<'s>(ctx: &Context<'s>) -> Result<&'s dyn OfflineConflicts, Failure> {
    ctx.store.offline_conflicts().ok_or_else(|| {
        Failure::not_found("there are no conflicts: the state is not on a team server")
    })
}

fn unknown_conflict(id: &str) -> Failure {
    Failure::not_found(format!("there is no conflict `{id}`")).with_step("tl conflicts list")
}
