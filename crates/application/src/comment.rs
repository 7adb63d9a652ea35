//! Comments on plans: add one, and list them.
//!
//! A comment is open until its plan changes or is decided. Nothing is deleted; the history keeps
//! every comment.

use domain::comment::{self, Comment, LONGEST_COMMENT};
use domain::ids::{NodeId, OperationId, Principal};
use domain::memory::kept_text;
use domain::operation::Verb;
use domain::ports::{Snapshot, StoreFault};
use domain::record;
use domain::text::clean_line;
use domain::time::Timestamp;
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::locate::{get, nothing_left, path_of};
use crate::observe::{observed_node, with_node};
use crate::survey::Scope;

/// A comment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CommentView {
    pub path: String,
    pub by: Principal,
    pub at: Timestamp,
    pub text: String,
    /// Whether the plan has not changed since.
    pub open: bool,
    pub operation: OperationId,
}

/// Adds a comment to a node.
///
/// # Errors
/// When there is no such node, the text is empty or too long, or the state cannot be written.
pub fn comment(ctx: &Context<'_>, words: &[String], text: &str) -> Result<CommentView, Failure> {
    let text = kept_text(text, LONGEST_COMMENT)?;
    with_node(ctx, words, |tx, id, rest| {
        nothing_left(rest)?;
        let node = get(&*tx, id)?;
        let path = path_of(&*tx, &node)?;
        // The number of the operation is part of the record's key, so it is needed before the
        // operation is recorded. Under the write lock it cannot change.
        let operation = tx.next_operation()?;
        let said = Comment {
            node: id,
            operation,
            by: ctx.actor.clone(),
            at: ctx.clock.now(),
            text,
        };
        // The summary is one line of the log; the whole text is in the record.
        let start: String = clean_line(&said.text).chars().take(120).collect();
        let mut new = ctx.operation(Verb::Comment, format!("comment on {path}: {start}"));
        new.facts
            .extend(record::changed(&said.key(), None, Some(&said)));
        tx.record(new)?;
        Ok(CommentView {
            path,
            by: said.by,
            at: said.at,
            text: said.text,
            open: true,
            operation,
        })
    })
}

/// Returns the comments on a node, latest first.
///
/// # Errors
/// When there is no such node, or the state cannot be read.
pub fn list_comments(ctx: &Context<'_>, words: &[String]) -> Result<Vec<CommentView>, Failure> {
    let seen = observed_node(ctx, words, Scope::Lineage)?;
    nothing_left(seen.rest)?;
    Ok(comments_of(&*seen.state, Some(seen.id))?)
}

/// Returns the comments on one node or on all, latest first.
pub(crate) fn comments_of(
    state: &dyn Snapshot,
    node: Option<NodeId>,
) -> Result<Vec<CommentView>, StoreFault> {
    let mut found = Vec::new();
    for (_, said) in
        record::read_all::<Comment>(state, &node.map(comment::prefix).unwrap_or_default())?
    {
        // The node may have been removed; its comments remain in the log only.
        let Some(node) = state.node(said.node)? else {
            continue;
        };
        // Not stored: any later change of the node counts as the answer, so there is no flag to
        // forget.
        let (path, open) = (path_of(state, &node)?, said.is_open(&node));
        found.push(CommentView {
            path,
            by: said.by,
            at: said.at,
            text: said.text,
            open,
            operation: said.operation,
        });
    }
    found.sort_by_key(|said| std::cmp::Reverse(said.operation));
    Ok(found)
}

/// Returns the open comments, latest first.
///
/// # Errors
/// When the state cannot be read.
pub fn open_comments(ctx: &Context<'_>) -> Result<Vec<CommentView>, Failure> {
    let mut found = comments_of(&*ctx.store.read()?, None)?;
    found.retain(|said| said.open);
    Ok(found)
}
