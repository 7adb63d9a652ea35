//! Loads a session's position on the trail: the path to the cursor and the nodes next to it.
//!
//! Never the whole tree: a trail grows with every session, and this runs in hooks.

use domain::detection::{SessionCounters, Signal, SignalContext, detect_session_signals};
use domain::ids::NodeId;
use domain::node::{Node, Progress};
use domain::ports::{FileStatResult, Snapshot};
use domain::record;
use domain::session::{CurrentSession, LogEntry, Session, host_of_principal};
use domain::stamp::Stamp;
use domain::trail::{self, BranchSummaries, BranchSummary, HierarchyTree};
use domain::tree::Tree;

use super::ticket_trail::ticket_intent;
use crate::context::Context;
use crate::failure::Failure;
use crate::session_position::find_session_ticket;

/// The part of a trail that matters for a session: the path to the cursor, and the children of each
/// node on it.
#[derive(Clone, Debug)]
pub(crate) struct Trail {
    pub(crate) session: Session,
    /// Whether it is the acting session's own.
    pub(crate) own: bool,
    /// From the trajectory to the cursor.
    pub(crate) path: Vec<Node>,
    /// The children of each node of the path, in order.
    pub(crate) below: Vec<Vec<Node>>,
}

impl Trail {
    /// Returns the trajectory.
    pub(crate) fn root(&self) -> &Node {
        &self.path[0]
    }

    /// Returns the node at the cursor.
    pub(crate) fn cursor(&self) -> &Node {
        &self.path[self.path.len() - 1]
    }

    /// Returns the children of the cursor.
    pub(crate) fn below_cursor(&self) -> &[Node] {
        self.below.last().map_or(&[], Vec::as_slice)
    }

    /// Returns whether the current action is declared.
    pub(crate) fn has_declared_action(&self) -> bool {
        self.path.len() > 2 && self.cursor().progress != Progress::Complete
    }

    /// Counts the complete branches next to the path.
    pub(crate) fn complete_branches(&self) -> usize {
        let on_the_way: Vec<NodeId> = self.path.iter().map(|node| node.id).collect();
        trail::count_complete_branches(
            self.below
                .iter()
                .flatten()
                .filter(|node| !on_the_way.contains(&node.id)),
        )
    }

    /// Returns the loaded part of the tree.
    pub(crate) fn excerpt(&self, state: &dyn Snapshot) -> Result<HierarchyTree, Failure> {
        let mut summaries = BranchSummaries::new();
        for node in &self.path {
            if let Some(summary) = record::read_record::<BranchSummary>(state, &node.alias)? {
                summaries.insert(node.alias.clone(), summary);
            }
        }
        let nodes = self.path.iter().chain(self.below.iter().flatten()).cloned();
        Ok(HierarchyTree::from_tree(
            &Tree::new(nodes),
            self.root().id,
            Some(self.cursor().id),
            &summaries,
        ))
    }
}

/// Refuses in a project that keeps no trail.
pub(crate) fn require_trail(ctx: &Context<'_>) -> Result<(), Failure> {
    if trail::has_trail_profile(ctx.profiles) {
        return Ok(());
    }
    let known: Vec<String> = ctx
        .profiles
        .iter()
        .map(|profile| format!("\"{}\"", profile.name))
        .collect();
    Err(
        Failure::refused("this project keeps no trail: the profile `trail` is not enabled")
            .with_step(format!(
                "set `profiles = [{}, \"trail\"]` in .throughline/config.toml",
                known.join(", ")
            )),
    )
}

fn load_session_at(state: &dyn Snapshot, key: &str) -> Result<Option<Session>, Failure> {
    let Some(current) = record::read_record::<CurrentSession>(state, key)? else {
        return Ok(None);
    };
    Ok(record::read_record::<Session>(
        state,
        &current.stamp.to_string(),
    )?)
}

/// Returns the acting session, if it has declared an intent and is active.
pub(crate) fn own_session(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> Result<Option<Session>, Failure> {
    Ok(
        load_session_at(state, &CurrentSession::session_key(&ctx.session))?
            .filter(Session::is_active),
    )
}

/// Returns the session whose trail would be resumed: the host's latest, or the project's.
pub(crate) fn session_before(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> Result<Option<Session>, Failure> {
    let host = CurrentSession::host_key(host_of_principal(&ctx.actor));
    match load_session_at(state, &host)? {
        Some(session) => Ok(Some(session)),
        None => load_session_at(state, CurrentSession::LATEST_KEY),
    }
}

/// Returns the acting session's trail: its own, or the unfinished one of the last session.
pub(crate) fn load_current_trail(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> Result<Option<Trail>, Failure> {
    if let Some(session) = own_session(ctx, state)? {
        return load_trail(state, session, true);
    }
    // At a ticket only a trail of the same ticket is the current one: the ticket says what the session
    // is for.
    let intent = load_ticket_intent(ctx, state)?;
    let is_current = |trail: &Trail| {
        let about = intent.as_deref();
        trail.root().progress != Progress::Complete
            && about.is_none_or(|about| about == trail::node_text(trail.root()))
    };
    // The host's last session comes first; the project's may belong to another agent that works in
    // parallel.
    let mut candidates = vec![
        session_before(ctx, state)?,
        // Once more, for a host whose own last trajectory is finished.
        load_session_at(state, CurrentSession::LATEST_KEY)?,
    ];
    for session in candidates.drain(..).flatten() {
        let trail = load_trail(state, session, false)?;
        // A finished trajectory is never offered again: a new session would resume work that is
        // done.
        if let Some(trail) = trail.filter(is_current) {
            return Ok(Some(trail));
        }
    }
    Ok(None)
}

/// Loads a session's trail; `None` if its trajectory is gone.
pub(crate) fn load_trail(
    state: &dyn Snapshot,
    session: Session,
    own: bool,
) -> Result<Option<Trail>, Failure> {
    let mut path = Vec::new();
    // A pruned or undone node leaves a dangling cursor; it falls back to the trajectory.
    let cursor = match state.load_node(session.cursor)? {
        Some(node) => Some(node),
        None => state.load_node(session.trajectory)?,
    };
    let mut next = cursor;
    while let Some(node) = next {
        next = match node.parent {
            // The bound ends the walk in a damaged store, where parents may form a cycle.
            Some(parent) if path.len() < trail::TrailLevel::ALL.len() => state.load_node(parent)?,
            _ => None,
        };
        path.push(node);
    }
    path.reverse();
    if path.is_empty() {
        return Ok(None);
    }
    let mut below = Vec::with_capacity(path.len());
    for node in &path {
        let mut children = state.load_children(node.id)?;
        children.sort_by(domain::tree::sibling_order);
        below.push(children);
    }
    Ok(Some(Trail {
        session,
        own,
        path,
        below,
    }))
}

/// Loads the whole tree of a trajectory.
pub(crate) fn load_whole_tree(
    state: &dyn Snapshot,
    session: &Session,
) -> Result<HierarchyTree, Failure> {
    let tree = Tree::new(state.load_subtree(session.trajectory)?);
    let mut summaries = BranchSummaries::new();
    // All summaries in one query instead of one per node.
    for (alias, summary) in record::read_records::<BranchSummary>(state, "")? {
        summaries.insert(alias, summary);
    }
    let cursor = tree
        .get(session.cursor)
        .map_or(session.trajectory, |node| node.id);
    Ok(HierarchyTree::from_tree(
        &tree,
        session.trajectory,
        Some(cursor),
        &summaries,
    ))
}

/// Returns a session's log, oldest first.
pub(crate) fn load_log(state: &dyn Snapshot, session: &Session) -> Result<Vec<LogEntry>, Failure> {
    let entries =
        record::read_records::<LogEntry>(state, &LogEntry::session_key_prefix(&session.stamp))?;
    Ok(entries.into_iter().map(|(_, entry)| entry).collect())
}

/// Returns the title of the ticket that a session is at, as the line of a trail: in a project with
/// tickets and a trail the ticket is the intent and its scenario the action, so that nothing has to be
/// declared twice.
pub(crate) fn load_ticket_intent(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> Result<Option<String>, Failure> {
    let ticket = find_session_ticket(ctx, state)?;
    Ok(ticket.map(|node| ticket_intent(&node)))
}

/// Detects the signals of a session; `intent` is the title of the ticket it is at.
pub(crate) fn detect_signals(
    ctx: &Context<'_>,
    trail: Option<&Trail>,
    intent: Option<&str>,
    counters: &SessionCounters,
) -> Vec<Signal> {
    let has_trail = trail::has_trail_profile(ctx.profiles);
    let around = SignalContext {
        has_trail,
        section: trail
            .map(|trail| trail::node_text(trail.cursor()))
            .or(intent),
        gap_ms: trail.map(|trail| ctx.clock.now().millis_since(trail.session.updated)),
        completed_branches: trail.map_or(0, Trail::complete_branches),
        // Only then, because it needs up to three `stat` calls.
        older_trail: has_trail && trail.is_none() && has_older_trail(ctx),
    };
    detect_session_signals(counters, &around, &ctx.policy.signals)
}

/// Paths of trails in older formats.
pub(crate) const OLDER_TRAIL_PATHS: [&str; 3] = [
    ".hivemind/hierarchy.json",
    ".hivemind/brain.json",
    "brain.json",
];

fn has_older_trail(ctx: &Context<'_>) -> bool {
    OLDER_TRAIL_PATHS
        .iter()
        .any(|path| matches!(ctx.files.stat_file(path), FileStatResult::Present(_)))
}

/// Returns a stamp that no session has.
pub(crate) fn free_session_stamp(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> Result<Stamp, Failure> {
    free_stamp(ctx, |digits| {
        Ok(state
            .records_by_prefix("session", digits)?
            .into_iter()
            .map(|(key, _)| key)
            .collect())
    })
}

/// Returns a stamp of the current minute that is not among the given names.
pub(crate) fn free_stamp(
    ctx: &Context<'_>,
    names: impl FnOnce(&str) -> Result<Vec<String>, Failure>,
) -> Result<Stamp, Failure> {
    let now = ctx.clock.now();
    // Only names of this minute are read; the stamp's digits are a prefix of them.
    let taken = names(&Stamp::from_timestamp(now).minute_digits())?;
    Ok(Stamp::first_free_from(now, |stamp| {
        taken.contains(&stamp.to_string())
    }))
}
