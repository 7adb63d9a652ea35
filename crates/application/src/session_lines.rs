//! Uncommitted lines of the sessions that work on a ticket, with their limit: what `tl where` shows in
//! each of them.

use domain::node::Node;
use domain::ports::Snapshot;
use domain::record;
use domain::work::focus::Focus;

use crate::claim_node::{is_session_live, list_active_claims};
use crate::context::Context;
use crate::failure::Failure;
use crate::locate::{load_ancestors, load_node_path};
use crate::session_position::load_ticket;
use crate::uncommitted::{count_lines_of, list_changed_files, load_authors, load_line_limit};

/// The uncommitted lines of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionLines {
    pub session: String,
    pub lines: u64,
    pub limit: u64,
}

/// Counts the lines of the sessions at a ticket; none where lines are not counted.
pub(crate) fn count_lines_at(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    ticket: &Node,
) -> Result<Vec<SessionLines>, Failure> {
    let has_limit = ctx.find_profile(&ticket.profile);
    let has_limit = has_limit.is_some_and(|profile| profile.has_gate("loc"));
    let sessions = match has_limit {
        true => list_sessions_at(ctx, state, ticket)?,
        false => Vec::new(),
    };
    // Counting may need a `git` process (15 ms), so tickets that nobody works on do without.
    if sessions.is_empty() {
        return Ok(Vec::new());
    }
    let Ok(changed) = list_changed_files(ctx) else {
        return Ok(Vec::new());
    };
    let authors = load_authors(ctx, state);
    let found = load_ticket(ctx, state, ticket.clone(), None)?;
    let limit = load_line_limit(ctx, state, Some(&found))?;
    Ok(sessions
        .into_iter()
        .map(|session| SessionLines {
            lines: count_lines_of(ctx, &session, &authors, &changed).lines,
            session,
            limit,
        })
        .collect())
}

/// Returns the sessions of this working copy that hold a ticket, or are at it or at what is below it.
fn list_sessions_at(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    ticket: &Node,
) -> Result<Vec<String>, Failure> {
    let mut sessions: Vec<String> = Vec::new();
    let path = load_node_path(state, ticket)?;
    for held in list_active_claims(ctx, state)? {
        // Another worktree has other uncommitted lines.
        if held.node.path == path && held.worktree.describe_place().is_none() {
            sessions.push(held.claim.session);
        }
    }
    for (session, focus) in record::read_records::<Focus>(state, "")? {
        let Some(cursor) = focus.cursor() else {
            continue;
        };
        let is_at = match state.load_node(cursor)? {
            Some(node) if node.id == ticket.id => true,
            // A scenario is a part of its ticket; a ticket below it has a page of its own.
            Some(node) if node.parent == Some(ticket.id) => node.level != ticket.level,
            Some(node) => load_ancestors(state, &node)?
                .iter()
                .find(|above| above.level == ticket.level)
                .is_some_and(|above| above.id == ticket.id && node.level != ticket.level),
            None => false,
        };
        let is_live = session == ctx.session || is_session_live(ctx, state, &session);
        if is_at && is_live && !session.is_empty() && !sessions.contains(&session) {
            sessions.push(session);
        }
    }
    Ok(sessions)
}
