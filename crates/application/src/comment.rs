//! Comments on plans: add one, and list them.
//!
//! A comment is open until its plan changes or is decided. Nothing is deleted; the history keeps
//! every comment.

use domain::comment::{self, Comment, MAX_COMMENT_CHARS};
use domain::ids::{NodeId, OperationId, Principal};
use domain::memory::validate_note_text;
use domain::operation::Verb;
use domain::ports::{Snapshot, StoreFault};
use domain::record;
use domain::text::clean_line;
use domain::time::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::context::Context;
use crate::decisions::record_with_decisions;
use crate::failure::Failure;
use crate::locate::{load_node, load_node_path, reject_extra_words};
use crate::observe::{observe_node, with_recorded_node_files};
use crate::scan::ScanScope;

/// A comment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CommentView {
    pub path: String,
    #[schemars(with = "String")]
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
pub fn add_comment(
    ctx: &Context<'_>,
    words: &[String],
    text: &str,
) -> Result<CommentView, Failure> {
    let text = validate_note_text(text, MAX_COMMENT_CHARS)?;
    with_recorded_node_files(ctx, words, None, |planned, tx, id, rest| {
        reject_extra_words(rest)?;
        let node = load_node(&*tx, id)?;
        let path = load_node_path(&*tx, &node)?;
        // The number of the operation is part of the record's key, so it is needed before the
        // operation is recorded. Under the write lock it cannot change.
        let operation = tx.next_operation_id()?;
        let said = Comment {
            node: id,
            operation,
            by: ctx.actor.clone(),
            at: ctx.clock.now(),
            text,
            decision: None,
            carried_at: None,
        };
        // The summary is one line of the log; the whole text is in the record.
        let start: String = clean_line(&said.text).chars().take(120).collect();
        let mut new = ctx.new_operation(Verb::Comment, format!("comment on {path}: {start}"));
        new.facts.extend(record::record_changed_fact(
            &said.record_key(),
            None,
            Some(&said),
        ));
        record_with_decisions(ctx, planned, tx, new)?;
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
    let seen = observe_node(ctx, words, ScanScope::Lineage)?;
    reject_extra_words(seen.rest)?;
    Ok(load_comments(&*seen.state, Some(seen.id))?)
}

/// Returns the comments on one node or on all, latest first.
pub(crate) fn load_comments(
    state: &dyn Snapshot,
    node: Option<NodeId>,
) -> Result<Vec<CommentView>, StoreFault> {
    let mut found = Vec::new();
    for (_, said) in record::read_records::<Comment>(
        state,
        &node.map(comment::comment_key_prefix).unwrap_or_default(),
    )? {
        // The node may have been removed; its comments remain in the log only.
        let Some(node) = state.load_node(said.node)? else {
            continue;
        };
        // Not stored: any later change of the node counts as the answer, so there is no flag to
        // forget.
        let (path, open) = (load_node_path(state, &node)?, said.is_open(&node));
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
pub fn list_open_comments(ctx: &Context<'_>) -> Result<Vec<CommentView>, Failure> {
    Ok(load_open_comments(&*ctx.store.begin_read()?)?)
}

/// Returns the open comments of a snapshot, latest first.
pub(crate) fn load_open_comments(state: &dyn Snapshot) -> Result<Vec<CommentView>, StoreFault> {
    let mut found = load_comments(state, None)?;
    found.retain(|said| said.open);
    Ok(found)
}
