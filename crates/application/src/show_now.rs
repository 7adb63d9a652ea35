//! What goes on now: where the agents are, what waits for a person, what was said.

use domain::ids::NodeId;
use domain::node::Node;
use domain::ports::Snapshot;
use domain::record;
use domain::time::Timestamp;
use domain::work::claim::Claim;
use domain::work::focus::Focus;
use serde::Serialize;

use crate::comment::{CommentView, comments_of};
use crate::context::Context;
use crate::failure::Failure;
use crate::known_tree::KnownTree;
use crate::locate::path_of;
use crate::next_work::{ReadyView, ready_in};
use crate::open_gates::{Blocked, OpenGate, open_gates};
use crate::project_status::{ProjectStatus, status_in};
use crate::reviews::status::{EscalatedItem, escalated};
use crate::sessions::list_sessions::{SessionView, list_sessions};
use crate::sessions::list_signals::{SessionSignal, list_signals};

/// Where a session stands.
#[derive(Clone, Debug, Serialize)]
pub struct PlaceView {
    pub session: String,
    pub path: String,
    /// What it holds, and until when.
    pub claims: Vec<ClaimPlace>,
}

/// A node a session holds.
#[derive(Clone, Debug, Serialize)]
pub struct ClaimPlace {
    pub path: String,
    pub until: Timestamp,
}

/// What goes on.
#[derive(Clone, Debug, Serialize)]
pub struct NowView {
    #[serde(flatten)]
    pub status: ProjectStatus,
    pub places: Vec<PlaceView>,
    pub sessions: Vec<SessionView>,
    /// How many plans wait for a person, where not all are listed.
    pub attention_total: usize,
    pub ready: Vec<ReadyView>,
    pub ready_total: usize,
    pub comments: Vec<CommentView>,
    /// What stands in a session's way.
    pub gates: Vec<OpenGate>,
    pub signals: Vec<SessionSignal>,
    /// Findings of reviews that a person has to decide about.
    pub escalated: Vec<EscalatedItem>,
}

/// So many of each kind are listed; how many there are is said beside it.
const MOST_LISTED: usize = 100;

/// Returns what goes on now, in a tree that is kept up to date.
///
/// # Errors
/// When the state cannot be read.
pub fn show_now(
    ctx: &Context<'_>,
    known: &KnownTree,
    blocked: &[Blocked],
) -> Result<NowView, Failure> {
    let has_trail = domain::trail::is_kept(ctx.profiles);
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
    let escalated = escalated(ctx)?;
    // After the others: a store gives one view at a time.
    let state = ctx.store.read()?;
    let is_plan = |node: &&Node| node.profile != domain::trail::PROFILE;
    let plans: Vec<&Node> = known
        .order
        .iter()
        .filter_map(|id| known.tree.get(*id))
        .filter(is_plan)
        .collect();
    let status = status_in(ctx, &*state, &known.tree, &plans, MOST_LISTED)?;
    let mut ready = ready_in(ctx, &*state, &known.tree)?.ready;
    let ready_total = ready.len();
    ready.truncate(MOST_LISTED);
    let mut comments = comments_of(&*state, None)?;
    comments.retain(|said| said.open);
    comments.truncate(MOST_LISTED);
    let places = places(&*state)?;
    let gates = open_gates(known, blocked, ctx.clock.now());
    let attention_total = status.attention_total;
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
    })
}

fn places(state: &dyn Snapshot) -> Result<Vec<PlaceView>, Failure> {
    let claims = record::read_all::<Claim>(state, "")?;
    let path = |id: NodeId| -> Result<Option<String>, Failure> {
        Ok(state
            .node(id)?
            .map(|node| path_of(state, &node))
            .transpose()?)
    };
    let mut places = Vec::new();
    for (session, focus) in record::read_all::<Focus>(state, "")? {
        let Some(here) = focus.cursor().map(path).transpose()?.flatten() else {
            continue;
        };
        let mut held = Vec::new();
        for (node, claim) in claims.iter().filter(|(_, claim)| claim.session == session) {
            if let Some(path) = node
                .parse()
                .ok()
                .map(|id| path(NodeId(id)))
                .transpose()?
                .flatten()
            {
                held.push(ClaimPlace {
                    path,
                    until: claim.until,
                });
            }
        }
        places.push(PlaceView {
            session,
            path: here,
            claims: held,
        });
    }
    Ok(places)
}
