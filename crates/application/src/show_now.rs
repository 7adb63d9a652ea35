//! Live overview for the dashboard: positions of the sessions, pending decisions, open comments,
//! blocking gates.

use domain::ids::NodeId;
use domain::node::Node;
use domain::ports::Snapshot;
use domain::record;
use domain::time::Timestamp;
use domain::work::focus::Focus;
use serde::Serialize;

use crate::claim_node::list_active_claims;
use crate::comment::{CommentView, load_comments};
use crate::context::Context;
use crate::failure::Failure;
use crate::first_steps::list_first_steps;
use crate::locate::load_node_path;
use crate::next_work::{NextItem, list_ready};
use crate::open_gates::{BlockedStep, OpenGate, list_open_gates};
use crate::project_status::{ProjectStatus, summarise_status};
use crate::reviews::status::{EscalatedItem, list_escalated};
use crate::sessions::list_sessions::{SessionView, list_sessions};
use crate::sessions::list_signals::{SessionSignal, list_signals};
use crate::tree_cache::CachedTree;
use crate::working_copy::find_copy_differences;

/// Position of a session.
#[derive(Clone, Debug, Serialize)]
pub struct PlaceView {
    pub session: String,
    pub path: String,
    /// The nodes it holds.
    pub claims: Vec<ClaimPlace>,
}

/// A node held by a session, and the end of the lease.
#[derive(Clone, Debug, Serialize)]
pub struct ClaimPlace {
    pub path: String,
    pub until: Timestamp,
}

/// The live overview.
#[derive(Clone, Debug, Serialize)]
pub struct NowView {
    #[serde(flatten)]
    pub status: ProjectStatus,
    pub places: Vec<PlaceView>,
    pub sessions: Vec<SessionView>,
    /// Number of plans that need a decision, where the list is limited.
    pub attention_total: usize,
    pub ready: Vec<NextItem>,
    pub ready_total: usize,
    pub comments: Vec<CommentView>,
    /// Gates that block a session.
    pub gates: Vec<OpenGate>,
    pub signals: Vec<SessionSignal>,
    /// Review findings that a person has to decide.
    pub escalated: Vec<EscalatedItem>,
    /// The commands that begin the work, while there is no plan.
    #[serde(skip)]
    pub first_steps: Vec<String>,
}

/// Maximum number of items per list; the totals are given beside them.
const MAX_LISTED: usize = 100;

/// Returns the overview, from a cached tree that is up to date.
///
/// # Errors
/// When the state cannot be read.
pub fn show_now(
    ctx: &Context<'_>,
    known: &CachedTree,
    blocked: &[BlockedStep],
) -> Result<NowView, Failure> {
    let has_trail = domain::trail::has_trail_profile(ctx.profiles);
    let sessions = if has_trail {
        list_sessions(ctx)?
    } else {
        Vec::new()
    };
    let signals = if has_trail {
        list_signals(ctx)?
    } else {
        Vec::new()
    };
    let escalated = list_escalated(ctx)?;
    // Opened last: a store gives one snapshot at a time, and the calls above open their own.
    let state = ctx.store.begin_read()?;
    // The trail is not planned work: thousands of its actions would dominate the counts.
    let is_plan = |node: &&Node| node.profile != domain::trail::PROFILE;
    let plans: Vec<&Node> = known
        .order
        .iter()
        .filter_map(|id| known.tree.get(*id))
        .filter(is_plan)
        .collect();
    let mut status = summarise_status(ctx, &*state, &known.tree, &plans, MAX_LISTED)?;
    status.copy_differences = find_copy_differences(ctx, &*state)?;
    let mut ready = list_ready(ctx, &*state, &known.tree)?;
    // Counted before the cut, so that a limited list still tells its size.
    let ready_total = ready.len();
    ready.truncate(MAX_LISTED);
    let mut comments = load_comments(ctx, &*state, None)?;
    comments.retain(|said| said.open);
    comments.truncate(MAX_LISTED);
    let places = list_places(ctx, &*state)?;
    let gates = list_open_gates(known, blocked, ctx.clock.now());
    let attention_total = status.attention_total;
    // The steps read the state themselves.
    drop(state);
    let first_steps = match plans.is_empty() {
        true => list_first_steps(ctx, &status)?,
        false => Vec::new(),
    };
    Ok(NowView {
        status,
        places,
        sessions,
        attention_total,
        ready,
        ready_total,
        comments,
        gates,
        signals,
        escalated,
        first_steps,
    })
}

/// Returns the position and the claims of every session with a focus.
fn list_places(ctx: &Context<'_>, state: &dyn Snapshot) -> Result<Vec<PlaceView>, Failure> {
    let claims = list_active_claims(ctx, state)?;
    let path = |id: NodeId| -> Result<Option<String>, Failure> {
        Ok(state
            .load_node(id)?
            .map(|node| load_node_path(state, &node))
            .transpose()?)
    };
    let mut places = Vec::new();
    for (session, focus) in record::read_records::<Focus>(state, "")? {
        // The focus of a terminal without a session is shared by all of them: it is in the other cards.
        if session.is_empty() {
            continue;
        }
        // A focus whose node was removed has no position to show.
        let Some(here) = focus.cursor().map(path).transpose()?.flatten() else {
            continue;
        };
        let held = claims
            .iter()
            .filter(|held| held.is_held_by(&session))
            .map(|held| ClaimPlace {
                path: held.node.path.clone(),
                until: held.claim.until,
            })
            .collect();
        places.push(PlaceView {
            session,
            path: here,
            claims: held,
        });
    }
    Ok(places)
}
