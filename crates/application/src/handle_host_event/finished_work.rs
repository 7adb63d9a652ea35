//! Records the work of a finished tool call: authorship, commits, uncommitted lines.

use domain::host_event::{ToolCall, ToolKind};
use domain::ids::NodeId;
use domain::ports::{HeadMove, HeadMoveKind, Transaction};
use domain::session_state::WorkState;

use crate::claim_node;
use crate::context::Context;
use crate::failure::Failure;
use crate::follow_commits::follow_commits;
use crate::session_position::head_commit;
use crate::ticket_files::remember_ticket_files;
use crate::uncommitted::{
    count_session_lines, load_authors, recount_after_call, save_authors, tell_of_limit,
};

/// What follows from the work of a finished call.
pub(super) struct FinishedWork {
    /// Messages for the agent.
    pub(super) messages: Vec<String>,
    /// Whether the call committed something.
    pub(super) has_committed: bool,
}

/// Updates the work state after a call of a session at `ticket` that changed `files`: authorship,
/// commits, uncommitted lines.
pub(super) fn record_finished_work(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    work: &mut WorkState,
    call: &ToolCall,
    (ticket, files): (Option<NodeId>, &[String]),
) -> Result<FinishedWork, Failure> {
    claim_node::record_heartbeat(ctx, tx)?;
    let head = head_commit(ctx);
    let known_authors = load_authors(ctx, &*tx);
    let mut authors = known_authors.clone();
    let lines_before = work
        .uncommitted
        .as_deref()
        .map(|changed| count_session_lines(ctx, &known_authors, changed).lines);
    authors.record_writes(&ctx.session, files);
    let moves = match (work.head.as_deref(), &head) {
        (Some(then), Some(now)) if then != now => ctx.git.head_moves_since(then)?,
        _ => None,
    }
    .unwrap_or_default();
    let mut has_committed = false;
    // Only a call that may have committed gets the credit: HEAD may have moved through another
    // session in the same working copy.
    if may_have_committed(call) {
        // Commits that a rebase makes have a subject; where it starts from has none.
        let is_rebased =
            |one: &&HeadMove| one.kind == HeadMoveKind::Rebase && !one.subject.is_empty();
        for one in moves
            .iter()
            .filter(|one| one.kind.commits_work() || is_rebased(one))
        {
            authors.record_commit(&ctx.session, &one.to);
            has_committed |= one.kind.commits_work();
        }
    }
    // Saved before the cycles are derived: whose commits they are decides whose cycle they belong to.
    if authors != known_authors {
        save_authors(ctx, tx, &authors)?;
    }
    // Not compared with `work.head`: the gates before this call may have read HEAD already.
    let mut messages = Vec::new();
    if work.followed != head {
        // A reset or a checkout commits nothing, so the uncommitted lines are no commit's.
        let ends_in_commit = moves.last().is_some_and(|last| last.kind.commits_work());
        let committed = lines_before.filter(|_| ends_in_commit).unwrap_or_default();
        messages = follow_commits(ctx, tx, committed)?;
        work.followed.clone_from(&head);
    }
    if let Some(ticket) = ticket {
        remember_ticket_files(ctx, tx, ticket, files)?;
    }
    if let Some(changed) = recount_after_call(ctx, work, head, call, files) {
        messages.extend(tell_of_limit(ctx, &*tx, work, ticket, &changed)?);
    }
    Ok(FinishedWork {
        messages,
        has_committed,
    })
}

/// Returns whether a call may have committed something itself.
fn may_have_committed(call: &ToolCall) -> bool {
    match call.shell_line() {
        Some(line) => line.may_commit(),
        None => matches!(call.kind, ToolKind::Mcp | ToolKind::Agent),
    }
}
