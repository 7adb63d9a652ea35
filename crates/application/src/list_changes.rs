//! What happened since an operation: for who follows along.

use std::collections::BTreeSet;

use domain::fact::Fact;
use domain::ids::{OperationId, Principal};
use domain::operation::Verb;
use domain::record::Recorded;
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::locate::path_of;

/// An operation, by what it touched.
#[derive(Clone, Debug, Serialize)]
pub struct ChangeView {
    pub operation: OperationId,
    pub verb: Verb,
    pub by: Principal,
    pub summary: String,
    /// The nodes it touched, as far as they are few enough to be named.
    pub paths: Vec<String>,
    /// Whether there were more.
    pub more: bool,
}

/// So many nodes of one operation are named.
const MOST_PATHS: usize = 50;

/// Returns the operations after `since`, the oldest first; `None` when there are more than `most`, or the state is another
/// one than it was.
///
/// # Errors
/// When the state cannot be read.
pub fn list_changes(
    ctx: &Context<'_>,
    since: OperationId,
    most: usize,
) -> Result<Option<Vec<ChangeView>>, Failure> {
    let state = ctx.store.read()?;
    let new = state
        .head()?
        .0
        .checked_sub(since.0)
        .and_then(|new| usize::try_from(new).ok());
    let Some(new) = new.filter(|new| *new <= most) else {
        return Ok(None);
    };
    let mut changes = Vec::with_capacity(new);
    for operation in state
        .operations(None, new)?
        .into_iter()
        .rev()
        .filter(|operation| operation.id > since)
    {
        let mut touched: BTreeSet<_> = operation.facts.iter().flat_map(Fact::nodes).collect();
        touched.extend(operation.facts.iter().filter_map(commented));
        let mut paths = Vec::new();
        for id in touched.iter().take(MOST_PATHS) {
            if let Some(node) = state.node(*id)? {
                paths.push(path_of(&*state, &node)?);
            }
        }
        let more = touched.len() > MOST_PATHS;
        let domain::operation::OperationHead {
            id,
            by,
            verb,
            summary,
            ..
        } = operation.head();
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

/// Returns the node a comment is about.
fn commented(fact: &Fact) -> Option<domain::ids::NodeId> {
    let Fact::RecordChanged { record, .. } = fact else {
        return None;
    };
    let (node, _) = record
        .key
        .split_once('/')
        .filter(|_| record.kind == domain::comment::Comment::KIND)?;
    node.parse().ok().map(domain::ids::NodeId)
}
