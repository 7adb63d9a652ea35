//! Tells a session once what others did since its last event: decisions, comments and edits made on
//! the dashboard, in a terminal, in an editor or by another session.
//!
//! A cursor of operations per session. Only operations after it are read, and at most
//! [`MAX_READ_OPERATIONS`] of them, so that the cost does not grow with the history.

use std::collections::BTreeSet;

use domain::calling_session::UNKNOWN_SESSION;
use domain::host_event::{Happening, HostEvent};
use domain::ids::{NodeId, OperationId, Principal};
use domain::operation::{Channel, OperationHead, Verb};
use domain::operation_news::{
    PlanChange, PlanKnowledge, PlanNews, collect_plan_news, is_checkout, is_news_for_session,
    render_summary_line, stale_nodes,
};
use domain::ports::Snapshot;
use domain::record;
use domain::session_state::{Conversation, SessionState};
use domain::work::focus::Focus;

use crate::context::{Context, Notice};
use crate::failure::Failure;
use crate::locate::{load_ancestors, load_node_path};

/// Maximum number of operations read per event.
const MAX_READ_OPERATIONS: usize = 32;
/// Maximum number of lines in one message.
const MAX_NEWS_LINES: usize = 5;
/// Maximum number of facts of an operation that are read; a larger one is told by its summary.
const MAX_READ_FACTS: usize = 256;

/// The operations of an event that the session need not be told about.
#[derive(Clone, Copy, Debug)]
pub(super) enum OwnOperations<'o> {
    /// It made them, or is told about them by other messages of this event.
    Told(&'o [OperationId]),
    /// The event found them on disk. They are told by the next event: the session may have written
    /// these texts itself in a call that is still running.
    Deferred(&'o [Notice]),
}

/// Which news an event tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NewsScope {
    All,
    /// Only if something is urgent: telling is remembered, and a step that writes nothing else should
    /// not wait for the write lock because another session edits plans that this one never read.
    IfUrgent,
}

/// What is new for a session.
struct OperationNews {
    /// Lines with whether they are urgent: about a plan that the session works with, or by a person.
    lines: Vec<(bool, String)>,
    /// The operation that the session knows once it was told.
    until: OperationId,
    /// Whether the cursor is worth storing although there is nothing to tell.
    moves_cursor: bool,
    is_long_gap: bool,
}

impl OperationNews {
    fn is_urgent(&self) -> bool {
        self.lines.iter().any(|(is_urgent, _)| *is_urgent)
    }
}

/// Returns whether there is something urgent to tell.
pub(super) fn has_urgent_news(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    event: &HostEvent,
    session: &SessionState,
) -> Result<bool, Failure> {
    // Asked before the write lock is taken; a first contact has nothing to tell, it only sets its
    // cursor.
    if session.told_operation.is_none() || event.agent.is_some() {
        return Ok(false);
    }
    let own = OwnOperations::Told(&[]);
    Ok(collect_operation_news(ctx, state, event, session, own)?.is_urgent())
}

/// Returns the message about what others did since the session's last event, and moves its cursor.
///
/// The first contact sets the cursor: a new session gets a briefing. A subagent is told nothing,
/// because the main agent would then not be told.
pub(super) fn take_operation_news(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    event: &HostEvent,
    session: &mut SessionState,
    own: OwnOperations<'_>,
    scope: NewsScope,
) -> Result<Option<String>, Failure> {
    if session.told_operation.is_some() && event.agent.is_some() {
        return Ok(None);
    }
    let news = collect_operation_news(ctx, state, event, session, own)?;
    if scope == NewsScope::IfUrgent && !news.is_urgent() {
        return Ok(None);
    }
    if news.moves_cursor || !news.lines.is_empty() {
        session.told_operation = Some(news.until);
    }
    let message = compose_message(news);
    if message.is_some() {
        // What was said of a plan before is no longer the last word about it.
        session.conversation.told = None;
    }
    Ok(message)
}

fn collect_operation_news(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    event: &HostEvent,
    session: &SessionState,
    own: OwnOperations<'_>,
) -> Result<OperationNews, Failure> {
    let (until, own) = match own {
        OwnOperations::Told(own) => (state.last_operation_id()?, own),
        OwnOperations::Deferred(notices) => (last_told_before(state, notices)?, &[][..]),
    };
    let mut news = OperationNews {
        lines: Vec::new(),
        until,
        moves_cursor: true,
        is_long_gap: false,
    };
    // A head below the cursor is a restored state.
    let Some((cursor, behind)) = session
        .told_operation
        .and_then(|cursor| Some((cursor, until.0.checked_sub(cursor.0)?)))
    else {
        return Ok(news);
    };
    let (own_heads, heads): (Vec<OperationHead>, Vec<OperationHead>) =
        load_news_heads(state, event, cursor, until)?
            .partition(|head| own.contains(&head.id) || is_by_own_command(event, head));
    news.is_long_gap = behind > MAX_READ_OPERATIONS as u64;
    // The cursor alone is not worth a write transaction, unless the next event would read as much.
    news.moves_cursor = !own_heads.is_empty() || news.is_long_gap;
    news.lines = render_news_lines(ctx, state, &heads, &session.conversation)?;
    for head in own_heads {
        if head.verb == Verb::Observe {
            news.lines.extend(render_received_words(state, &head)?);
        }
    }
    Ok(news)
}

/// Renders what others said, in decisions that came through git and that this event received. That
/// they came is told by another message, without their words.
fn render_received_words(
    state: &dyn Snapshot,
    head: &OperationHead,
) -> Result<Vec<(bool, String)>, Failure> {
    let operation = match head.facts <= MAX_READ_FACTS {
        true => state.load_operation(head.id)?,
        false => None,
    };
    let mut lines = Vec::new();
    let news = operation.iter().flat_map(collect_plan_news);
    for one in news.filter(|one| one.change.has_words()) {
        if let Some(node) = state.load_node(one.node)? {
            let path = load_node_path(state, &node)?;
            let known = PlanKnowledge::default();
            let line = one.render_line(&path, &node, channel_of_decision(head), known);
            lines.push((one.by.is_human(), line));
        }
    }
    Ok(lines)
}

/// Whether the call that just finished probably made an operation: it ran `tl`, in a shell that does
/// not tell its session.
fn is_by_own_command(event: &HostEvent, head: &OperationHead) -> bool {
    let Happening::ToolFinished { call, .. } = &event.happening else {
        return false;
    };
    let is_unnamed =
        matches!(&head.by, Principal::Agent { session, .. } if session == UNKNOWN_SESSION);
    is_unnamed
        && call
            .shell_line()
            .is_some_and(|line| line.runs_program("tl"))
}

/// Returns the last operation before those that the event itself recorded.
fn last_told_before(state: &dyn Snapshot, notices: &[Notice]) -> Result<OperationId, Failure> {
    let first = notices.iter().filter_map(noticed_operation).min();
    Ok(match first {
        Some(first) => OperationId(first.0.saturating_sub(1)),
        None => state.last_operation_id()?,
    })
}

/// Returns the operation that recorded what a notice is about.
pub(super) fn noticed_operation(notice: &Notice) -> Option<OperationId> {
    match notice {
        Notice::Changes { operation, .. } | Notice::Submitted { operation, .. } => Some(*operation),
        _ => None,
    }
}

/// Returns the operations in `(cursor, until]` that are news, newest first.
fn load_news_heads(
    state: &dyn Snapshot,
    event: &HostEvent,
    cursor: OperationId,
    until: OperationId,
) -> Result<impl Iterator<Item = OperationHead>, Failure> {
    let behind = usize::try_from(until.0.saturating_sub(cursor.0)).unwrap_or(usize::MAX);
    let heads = match behind.min(MAX_READ_OPERATIONS) {
        0 => Vec::new(),
        // Heads first: most operations are the session's own, and their facts need not be read.
        count => state.operation_heads(Some(until.next_id()), count)?,
    };
    Ok(heads
        .into_iter()
        .filter(move |head| head.id > cursor && is_news_for_session(head, &event.session)))
}

/// Renders the operations, one line per plan, newest first.
fn render_news_lines(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    heads: &[OperationHead],
    conversation: &Conversation,
) -> Result<Vec<(bool, String)>, Failure> {
    if heads.is_empty() {
        return Ok(Vec::new());
    }
    let focus = load_focus_lineage(ctx, state)?;
    let knowledge = |node: NodeId| PlanKnowledge {
        is_concerned: focus.contains(&node)
            || conversation.read.contains_key(&node)
            || conversation.given.contains_key(&node),
        version: conversation
            .read
            .get(&node)
            .or(conversation.given.get(&node))
            .copied(),
    };
    let (mut lines, mut told) = (Vec::new(), BTreeSet::new());
    for head in heads {
        let told_before = told.clone();
        let operation = match head.facts <= MAX_READ_FACTS {
            true => state.load_operation(head.id)?,
            false => None,
        };
        let is_decided = head.by.is_human();
        let Some(operation) = operation else {
            lines.push((is_decided, render_summary_line(head)));
            continue;
        };
        let mut news = collect_plan_news(&operation);
        if news.is_empty() || is_checkout(&operation) {
            lines.push((is_decided, render_summary_line(head)));
        }
        // Only those the session works with: a cascade may have thousands.
        news.extend(
            stale_nodes(&operation)
                .filter(|node| knowledge(*node).is_concerned)
                .map(|node| PlanNews {
                    node,
                    change: PlanChange::BecameStale,
                    by: Principal::System,
                }),
        );
        for one in news {
            let known = knowledge(one.node);
            // The newest change of a plan says how it is now; a comment adds to it.
            let is_comment = matches!(one.change, PlanChange::Commented { .. });
            let is_told = match one.change.has_words() {
                true => told_before.contains(&one.node),
                false => told.contains(&one.node),
            };
            if !is_comment {
                told.insert(one.node);
            }
            if (is_told && !is_comment) || one.is_known(known) {
                continue;
            }
            // Removed or absent since: there is no plan left to read again.
            let Some(node) = state.load_node(one.node)? else {
                continue;
            };
            let path = load_node_path(state, &node)?;
            let line = one.render_line(&path, &node, channel_of_decision(head), known);
            lines.push((is_decided || known.is_concerned, line));
        }
    }
    Ok(lines)
}

/// Returns where the changes of an operation were made. Of what a scan found the place is unknown: its
/// channel says only who looked.
fn channel_of_decision(head: &OperationHead) -> Channel {
    match head.verb {
        Verb::Observe => Channel::System,
        _ => head.channel,
    }
}

/// Returns the session's focus and the nodes above it.
fn load_focus_lineage(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> Result<BTreeSet<NodeId>, Failure> {
    let focus = record::read_record::<Focus>(state, &ctx.session)?;
    let cursor = focus.and_then(|focus| focus.cursor());
    let Some(node) = cursor.map(|id| state.load_node(id)).transpose()?.flatten() else {
        return Ok(BTreeSet::new());
    };
    let ancestors = load_ancestors(state, &node)?;
    Ok(ancestors
        .iter()
        .chain([&node])
        .map(|node| node.id)
        .collect())
}

fn compose_message(news: OperationNews) -> Option<String> {
    if news.lines.is_empty() {
        return None;
    }
    let left = news.lines.len().saturating_sub(MAX_NEWS_LINES);
    let lines = news.lines.into_iter().map(|(_, line)| line);
    let mut lines: Vec<String> = lines.take(MAX_NEWS_LINES).collect();
    match (left, news.is_long_gap) {
        (0, false) => {}
        (0, true) => lines.push("- and older changes: tl log".to_owned()),
        (left, _) => lines.push(format!("- and {left} more: tl log")),
    }
    Some(format!(
        "Throughline: changed by others since your last step:\n{}",
        lines.join("\n")
    ))
}
