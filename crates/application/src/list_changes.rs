//! List the operations since a given one, for clients that follow the project live.

use std::collections::BTreeSet;

use domain::fact::Fact;
use domain::ids::{OperationId, Principal};
use domain::operation::Verb;
use domain::record::Recorded;
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::locate::load_node_path;

/// An operation and the nodes it touched.
#[derive(Clone, Debug, Serialize)]
pub struct ChangeView {
    pub operation: OperationId,
    pub verb: Verb,
    pub by: Principal,
    pub summary: String,
    /// The nodes it touched, up to a limit.
    pub paths: Vec<String>,
    /// Whether there are more.
    pub more: bool,
}

/// Maximum number of nodes listed per operation.
const MAX_PATHS: usize = 50;

/// Returns the operations after `since`, oldest first; `None` if there are more than `most`, or the
/// state was replaced by an earlier one. The client then loads everything again.
///
/// # Errors
/// When the state cannot be read.
pub fn list_changes(
    ctx: &Context<'_>,
    since: OperationId,
    most: usize,
) -> Result<Option<Vec<ChangeView>>, Failure> {
    let state = ctx.store.begin_read()?;
    // Operation numbers have no gaps, so the difference is the count. A head below `since` is a
    // restored state.
    let new = state
        .last_operation_id()?
        .0
        .checked_sub(since.0)
        .and_then(|new| usize::try_from(new).ok());
    let Some(new) = new.filter(|new| *new <= most) else {
        return Ok(None);
    };
    let mut changes = Vec::with_capacity(new);
    for operation in state
        .load_operations(None, new)?
        .into_iter()
        .rev()
        .filter(|operation| operation.id > since)
    {
        let mut touched: BTreeSet<_> = operation
            .facts
            .iter()
            .flat_map(Fact::changed_nodes)
            .collect();
        // A comment is a record, not a fact about the node, but the page of that node has to
        // refresh.
        touched.extend(operation.facts.iter().filter_map(commented_node));
        let mut paths = Vec::new();
        // Each path costs a walk up the tree, and a cascade may touch thousands of nodes.
        for id in touched.iter().take(MAX_PATHS) {
            if let Some(node) = state.load_node(*id)? {
                paths.push(load_node_path(&*state, &node)?);
            }
        }
        let more = touched.len() > MAX_PATHS;
        let domain::operation::OperationHead {
            id,
            by,
            verb,
            summary,
            ..
        } = operation.to_head();
        changes.push(ChangeView {
            operation: id,
            verb,
            by,
            summary,
            paths,
            more,
        });
    }
    Ok(Some(changes))
}

/// Returns the node of a comment.
fn commented_node(fact: &Fact) -> Option<domain::ids::NodeId> {
    let Fact::RecordChanged { record, .. } = fact else {
        return None;
    };
    let (node, _) = record
        .key
        .split_once('/')
        .filter(|_| record.kind == domain::comment::Comment::KIND)?;
    node.parse().ok().map(domain::ids::NodeId)
}
