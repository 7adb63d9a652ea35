//! Other sessions that are at work now: where they are, what they hold, which files they touched.

use domain::calling_session::{SHELL_SESSION, TERMINAL_SESSION_PREFIX};
use domain::ports::Snapshot;
use domain::time::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::claim_node::list_active_claims;
use crate::context::Context;
use crate::coordination::load_live_sessions;
use crate::failure::Failure;

/// A live session other than this one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LiveSessionView {
    pub session: String,
    /// Its worktree, if that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The node it works on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub focus: Option<String>,
    /// The nodes it has claimed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub holds: Vec<String>,
    /// The files it changed last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    pub last_heard: Timestamp,
}

/// Maximum number of files listed per session.
const MAX_LISTED_FILES: usize = 20;
/// Maximum number of sessions listed.
const MAX_LISTED_SESSIONS: usize = 50;

/// Returns the live sessions other than this one, the most recent first.
pub(crate) fn list_other_sessions(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> Result<Vec<LiveSessionView>, Failure> {
    Ok(list_live_sessions(ctx, state)?.others)
}

/// The live sessions, as one of them sees them.
pub(crate) struct LiveSessions {
    pub(crate) others: Vec<LiveSessionView>,
    /// The files that this session changed, newest first.
    pub(crate) own_files: Vec<String>,
}

/// Returns the live sessions, the most recent first.
pub(crate) fn list_live_sessions(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> Result<LiveSessions, Failure> {
    let (own, others): (Vec<_>, Vec<_>) = load_live_sessions(ctx, state)?
        .into_iter()
        .partition(|one| one.is_own(&ctx.session));
    let own_files = own.into_iter().flat_map(|one| one.touched).collect();
    let mut found: Vec<LiveSessionView> = others
        .into_iter()
        .map(|one| {
            let elsewhere = one.worktree.describe_place().is_some();
            let mut files = one.touched;
            files.truncate(MAX_LISTED_FILES);
            LiveSessionView {
                session: one.session,
                worktree: elsewhere.then_some(one.worktree.folder),
                branch: one.worktree.branch.filter(|_| elsewhere),
                focus: one.focus.map(|focus| focus.path),
                holds: Vec::new(),
                files,
                last_heard: one.heard,
            }
        })
        .collect();
    for held in list_active_claims(ctx, state)? {
        let session = &held.claim.session;
        if held.is_held_by(&ctx.session) {
            continue;
        }
        let elsewhere = held.worktree.describe_place().is_some();
        let worktree = elsewhere.then(|| held.worktree.folder.clone());
        // One row per session and worktree; a claim belongs to the worktree it was made in.
        let known = found
            .iter_mut()
            .find(|one| one.session == *session && one.worktree == worktree);
        match known {
            Some(one) => one.holds.push(held.node.path),
            // A session without hooks is known by its claims alone.
            None => found.push(LiveSessionView {
                session: session.clone(),
                worktree,
                branch: held.worktree.branch.filter(|_| elsewhere),
                focus: None,
                holds: vec![held.node.path],
                files: Vec::new(),
                last_heard: held.heard.unwrap_or(held.claim.since),
            }),
        }
    }
    found.truncate(MAX_LISTED_SESSIONS);
    Ok(LiveSessions {
        others: found,
        own_files,
    })
}

impl LiveSessionView {
    /// Whether it does nothing that another session could get in the way of: it is nowhere, holds
    /// nothing and has changed nothing. Of a person's terminal the place does not count.
    pub(crate) fn is_idle(&self) -> bool {
        let is_terminal =
            self.session == SHELL_SESSION || self.session.starts_with(TERMINAL_SESSION_PREFIX);
        let is_nowhere = is_terminal || self.focus.is_none();
        is_nowhere && self.holds.is_empty() && self.files.is_empty()
    }

    /// Renders the session in one line: where it is, what it works on, what it holds.
    #[must_use]
    pub fn render_line(&self) -> String {
        let mut parts = vec![self.session.clone()];
        if let Some(worktree) = &self.worktree {
            parts.push(match &self.branch {
                Some(branch) => format!("in {worktree} on {branch}"),
                None => format!("in {worktree}"),
            });
        }
        match (&self.focus, self.files.first()) {
            (Some(focus), _) => parts.push(format!("works on {focus}")),
            (None, Some(file)) => parts.push(format!("changed {file}")),
            (None, None) => {}
        }
        if !self.holds.is_empty() {
            parts.push(format!("holds {}", self.holds.join(", ")));
        }
        parts.join(" · ")
    }
}
