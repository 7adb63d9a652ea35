//! What goes on now: where the agents are, what waits for a person, what was said.

use domain::ids::NodeId;
use domain::ports::Snapshot;
use domain::record;
use domain::time::Timestamp;
use domain::work::claim::Claim;
use domain::work::focus::Focus;
use serde::Serialize;

use crate::comment::{CommentView, open_comments};
use crate::context::Context;
use crate::failure::Failure;
use crate::locate::path_of;
use crate::next_work::{ReadyView, next_work};
use crate::project_status::{ProjectStatus, project_status};
use crate::sessions::list_sessions::{SessionView, list_sessions};

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
    pub ready: Vec<ReadyView>,
    pub comments: Vec<CommentView>,
}

/// Returns what goes on now.
///
/// # Errors
/// When the state cannot be read.
pub fn show_now(ctx: &Context<'_>) -> Result<NowView, Failure> {
    let status = project_status(ctx)?;
    let sessions = if domain::trail::is_kept(ctx.profiles) { list_sessions(ctx)? } else { Vec::new() };
    let ready = next_work(ctx)?.ready;
    let comments = open_comments(ctx)?;
    // After the others: a store gives one view at a time.
    let state = ctx.store.read()?;
    Ok(NowView { status, places: places(&*state)?, sessions, ready, comments })
}

fn places(state: &dyn Snapshot) -> Result<Vec<PlaceView>, Failure> {
    let claims = record::read_all::<Claim>(state, "")?;
    let path = |id: NodeId| -> Result<Option<String>, Failure> {
        Ok(state.node(id)?.map(|node| path_of(state, &node)).transpose()?)
    };
    let mut places = Vec::new();
    for (session, focus) in record::read_all::<Focus>(state, "")? {
        let Some(here) = focus.cursor().map(path).transpose()?.flatten() else { continue };
        let mut held = Vec::new();
        for (node, claim) in claims.iter().filter(|(_, claim)| claim.session == session) {
            if let Some(path) = node.parse().ok().map(|id| path(NodeId(id))).transpose()?.flatten() {
                held.push(ClaimPlace { path, until: claim.until });
            }
        }
        places.push(PlaceView { session, path: here, claims: held });
    }
    Ok(places)
}
