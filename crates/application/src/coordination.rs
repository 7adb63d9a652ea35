//! Access to what the worktrees of a repository share: claims, model leases, live sessions, reserved ids.
//!
//! Every use case goes through here. Where there is no repository, on PostgreSQL and on a team
//! server, the records of the store are what all sessions share. They are also the fallback in a
//! repository that cannot be written to: claims then hold in this worktree, with a notice.

use domain::node::Node;
use domain::ports::{
    Coordination, HeldClaim, LiveSession, NodeKey, SessionActivity, Snapshot, StoreFault,
};
use domain::record;
use domain::time::Timestamp;
use domain::work::claim::{Claim, activity_key};
use domain::work::focus::Focus;
use domain::work::overlap::{LIVE_SESSION_MS, Overlap, find_overlaps};

use crate::context::{Context, Notice};
use crate::failure::Failure;
use crate::locate::load_node_path;
use crate::session_position::SHARED_FOCUS;

/// Returns the name of a node in every worktree.
pub(crate) fn load_node_key(state: &dyn Snapshot, node: &Node) -> Result<NodeKey, StoreFault> {
    Ok(NodeKey {
        profile: node.profile.clone(),
        path: load_node_path(state, node)?,
    })
}

/// Runs a change of the coordination; `None` if the store has to keep it instead.
pub(crate) fn change_coordination<T>(
    ctx: &Context<'_>,
    change: impl FnOnce(&dyn Coordination) -> Result<T, StoreFault>,
) -> Result<Option<T>, Failure> {
    if !ctx.coordination.is_shared() {
        return Ok(None);
    }
    match change(ctx.coordination) {
        Ok(value) => Ok(Some(value)),
        Err(fault) if is_unusable(&fault) => {
            let why = Failure::from(fault).message;
            ctx.push_notice(Notice::NotShared { why });
            Ok(None)
        }
        Err(fault) => Err(coordination_failure(fault)),
    }
}

/// Whether the coordination cannot be used here at all: then this worktree works on alone.
///
/// Not so for a lock, a newer format, a full disk or a failed write: the database is in use, and
/// working without it would hand out a node twice.
fn is_unusable(fault: &StoreFault) -> bool {
    matches!(fault, StoreFault::ReadOnly { .. })
}

/// Builds the failure of the coordination. Never an interruption: the runner would repair or retry
/// on the state, which is sound.
fn coordination_failure(fault: StoreFault) -> Failure {
    let Failure {
        message,
        next_steps,
        ..
    } = Failure::from(fault);
    let message = format!("the coordination of the worktrees: {message}");
    next_steps
        .into_iter()
        .filter(|step| step != "tl state repair")
        .fold(Failure::unavailable(message), Failure::with_step)
}

/// Reads from the coordination; `None` if the store has to answer instead.
fn read_coordination<T>(
    ctx: &Context<'_>,
    read: impl FnOnce(&dyn Coordination) -> Result<T, StoreFault>,
) -> Result<Option<T>, Failure> {
    if !ctx.coordination.is_shared() {
        return Ok(None);
    }
    match read(ctx.coordination) {
        Ok(value) => Ok(Some(value)),
        // Without a notice: a command that only looks would repeat it every time.
        Err(fault) if is_unusable(&fault) => Ok(None),
        Err(fault) => Err(coordination_failure(fault)),
    }
}

/// Returns every claim, expired ones included.
pub(crate) fn load_claims(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> Result<Vec<HeldClaim>, Failure> {
    let mut claims = load_recorded_claims(state)?;
    if let Some(shared) = read_coordination(ctx, |coordination| coordination.list_claims())? {
        keep_unshared(&mut claims);
        claims.extend(shared);
    }
    Ok(claims)
}

/// Removes the history's copies of shared claims. What is left was claimed while the coordination
/// could not be written, or by a version of this program without one.
pub(crate) fn keep_unshared(claims: &mut Vec<HeldClaim>) {
    claims.retain(|held| !held.claim.shared);
}

/// Returns the claims in the records of the store.
pub(crate) fn load_recorded_claims(state: &dyn Snapshot) -> Result<Vec<HeldClaim>, Failure> {
    let mut found = Vec::new();
    for (key, claim) in record::read_records::<Claim>(state, "")? {
        // A key that is not a number was written by another version; it cannot block a node here.
        let Some(id) = key.parse().ok().map(domain::ids::NodeId) else {
            continue;
        };
        // Removed, or absent with its branch: a claim on it cannot be in anybody's way here.
        let Some(node) = state.load_node(id)? else {
            continue;
        };
        found.push(HeldClaim {
            node: load_node_key(state, &node)?,
            heard: load_heartbeat(state, &claim.session),
            claim,
            worktree: domain::ports::Worktree::default(),
        });
    }
    Ok(found)
}

/// Returns the last heartbeat of a session in the store. A missing or unreadable one counts as
/// none; a lease itself still applies.
fn load_heartbeat(state: &dyn Snapshot, session: &str) -> Option<Timestamp> {
    let text = state.load_note(&activity_key(session)).ok().flatten()?;
    text.parse().ok().map(Timestamp::from_millis)
}

/// Reserves an id in all worktrees; `false` if another one has it. `request` identifies what it is
/// for: the same request gets its id again after it was interrupted.
pub(crate) fn reserve_id(
    ctx: &Context<'_>,
    scope: &str,
    candidate: &str,
    request: &str,
) -> Result<bool, Failure> {
    let now = ctx.clock.now();
    let reserved = change_coordination(ctx, |coordination| {
        coordination.reserve_id(scope, candidate, request, now)
    })?;
    // Without a repository the write lock of the store is enough.
    Ok(reserved.unwrap_or(true))
}

/// Returns the node this session works on, as every worktree names it.
pub(crate) fn load_focus_key(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> Result<Option<NodeKey>, Failure> {
    // Without a repository nobody asks for it.
    if !ctx.coordination.is_shared() {
        return Ok(None);
    }
    // Its own focus only: a session that was never told where to work does not hold the place that
    // was last entered at a terminal.
    let own = record::read_record::<Focus>(state, &ctx.session)?;
    let cursor = own.and_then(|focus| focus.cursor());
    let node = cursor.map(|id| state.load_node(id)).transpose()?.flatten();
    Ok(node.map(|node| load_node_key(state, &node)).transpose()?)
}

/// Records that this session is active, and the files it touched.
///
/// Errors are ignored: a missed record shows a session a little later, and must not stop a tool.
pub(crate) fn record_activity(ctx: &Context<'_>, focus: Option<&NodeKey>, touched: &[String]) {
    if ctx.session.is_empty() || !ctx.coordination.is_shared() {
        return;
    }
    let _ = ctx.coordination.record_activity(&SessionActivity {
        session: &ctx.session,
        focus,
        touched,
        at: ctx.clock.now(),
    });
}

/// Returns the live sessions, this one included.
pub(crate) fn load_live_sessions(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> Result<Vec<LiveSession>, Failure> {
    match load_shared_sessions(ctx)? {
        Some(sessions) => Ok(sessions),
        None => list_focused_sessions(state, live_since(ctx)),
    }
}

/// Returns the live sessions of all worktrees; `None` if the store has to answer instead.
pub(crate) fn load_shared_sessions(ctx: &Context<'_>) -> Result<Option<Vec<LiveSession>>, Failure> {
    let since = live_since(ctx);
    read_coordination(ctx, |coordination| coordination.list_sessions(since))
}

/// Returns the moment since which a session has to be heard of to count as live.
fn live_since(ctx: &Context<'_>) -> Timestamp {
    Timestamp::from_millis(ctx.clock.now().as_millis().saturating_sub(LIVE_SESSION_MS))
}

/// Returns the sessions with a focus that the store heard of lately.
fn list_focused_sessions(
    state: &dyn Snapshot,
    since: Timestamp,
) -> Result<Vec<LiveSession>, Failure> {
    let mut found = Vec::new();
    for (session, focus) in record::read_records::<Focus>(state, "")? {
        let heard = load_heartbeat(state, &session).filter(|heard| *heard >= since);
        let (Some(heard), true) = (heard, session != SHARED_FOCUS) else {
            continue;
        };
        let node = focus.cursor().map(|id| state.load_node(id)).transpose()?;
        found.push(LiveSession {
            session,
            worktree: domain::ports::Worktree::default(),
            focus: node
                .flatten()
                .map(|node| load_node_key(state, &node))
                .transpose()?,
            touched: Vec::new(),
            heard,
        });
    }
    Ok(found)
}

/// Returns what other live sessions have in common with this work.
pub(crate) fn load_overlaps(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    files: &[String],
    node: Option<&NodeKey>,
) -> Result<Vec<Overlap>, Failure> {
    let sessions = load_live_sessions(ctx, state)?;
    Ok(find_overlaps(&sessions, &ctx.session, files, node))
}
