//! Coordination between the working trees of one repository: claims, model leases, live sessions, reserved ids.
//!
//! Shared by every worktree, because each of them has a store of its own. Everything here may be
//! lost without losing a plan or a decision: claims are leases, sessions report again with their
//! next event. Nodes are named by profile and alias path; a store's node numbers mean nothing in
//! another worktree.

use std::fmt;

use crate::model_lease::{HeldLease, LeaseChange, ModelWork};
use crate::ports::StoreFault;
use crate::time::Timestamp;
use crate::work::claim::Claim;

/// A node as every worktree and every clone names it: `story:act-1/chapter-03`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeKey {
    pub profile: String,
    /// The aliases from the root down, joined by `/`.
    pub path: String,
}

impl NodeKey {
    /// Whether `other` is this node or below it.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        self.profile == other.profile
            && other
                .path
                .strip_prefix(self.path.as_str())
                // At a `/` only: `chapter-1` does not cover `chapter-10`.
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Whether one of the two is the other, or below it.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.covers(other) || other.covers(self)
    }
}

impl fmt::Display for NodeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.profile, self.path)
    }
}

/// The working tree a claim or a session belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Worktree {
    /// Its top directory; empty where the store itself keeps the claims.
    pub folder: String,
    /// The branch that is checked out there now; `None` for a detached HEAD.
    pub branch: Option<String>,
    /// Whether it is the working tree of this process.
    pub is_here: bool,
}

impl Worktree {
    /// Whether it is the working tree of this process, or all sessions share one store.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.is_here || self.folder.is_empty()
    }

    /// Names the working tree and its branch; `None` if it is this one.
    #[must_use]
    pub fn describe_place(&self) -> Option<String> {
        if self.is_own() {
            return None;
        }
        Some(match &self.branch {
            Some(branch) => format!("{}, branch {branch}", self.folder),
            None => self.folder.clone(),
        })
    }
}

/// A claim, and where its session works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldClaim {
    pub node: NodeKey,
    pub claim: Claim,
    pub worktree: Worktree,
    /// The last activity of the session.
    pub heard: Option<Timestamp>,
}

impl LiveSession {
    /// Whether it is the session of this name in this working tree.
    #[must_use]
    pub fn is_own(&self, session: &str) -> bool {
        self.session == session && self.worktree.is_own()
    }
}

/// What becomes of the claims, decided inside the write transaction that read them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimChange {
    Keep,
    /// Replaces the claim of the same node.
    Put(NodeKey, Claim),
    Remove(NodeKey),
    /// The node has another name now: its claim is kept under the new one.
    Rename {
        from: NodeKey,
        to: NodeKey,
        claim: Claim,
    },
}

/// A session that was active lately.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveSession {
    pub session: String,
    pub worktree: Worktree,
    pub focus: Option<NodeKey>,
    /// The files it changed, relative to the project, newest first.
    pub touched: Vec<String>,
    pub heard: Timestamp,
}

/// What a session did, as its hook reports it.
#[derive(Clone, Debug)]
pub struct SessionActivity<'a> {
    pub session: &'a str,
    pub focus: Option<&'a NodeKey>,
    /// The files it just changed, relative to the project.
    pub touched: &'a [String],
    pub at: Timestamp,
}

/// State that all working trees of a repository share.
///
/// Methods that only read never create anything. Claims and sessions of removed worktrees are
/// neither listed nor passed to a decision.
pub trait Coordination {
    /// Whether this is shared between worktrees. If not, the store keeps the claims, and no other
    /// method may be called.
    fn is_shared(&self) -> bool;

    /// Returns every claim, expired ones included: whether one is in force depends on the lease
    /// time, which is a rule.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn list_claims(&self) -> Result<Vec<HeldClaim>, StoreFault>;

    /// Changes the claims in one write transaction. `decide` gets the present claims and the next
    /// fencing token; two calls of any two processes never overlap.
    ///
    /// # Errors
    /// [`StoreFault`]; then nothing was changed.
    fn change_claims(
        &self,
        decide: &mut dyn FnMut(&[HeldClaim], u64) -> ClaimChange,
    ) -> Result<(), StoreFault>;

    /// Changes the lease on a piece of model work in one write transaction. Leases of removed
    /// worktrees are not passed to the decision.
    ///
    /// # Errors
    /// [`StoreFault`]; then nothing was changed.
    fn change_lease(
        &self,
        work: &ModelWork,
        decide: &mut dyn FnMut(Option<&HeldLease>) -> LeaseChange,
    ) -> Result<(), StoreFault>;

    /// Returns the sessions heard of since `since`.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn list_sessions(&self, since: Timestamp) -> Result<Vec<LiveSession>, StoreFault>;

    /// Records that a session is active. Writes only if something is new or the last record is
    /// older than half a minute.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn record_activity(&self, activity: &SessionActivity<'_>) -> Result<(), StoreFault>;

    /// Removes a session that ended from the list of live ones. Its claims stay until they expire.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn end_session(&self, session: &str) -> Result<(), StoreFault>;

    /// Reserves an id in a scope, such as `tickets/ticket`; returns `false` if it is taken.
    ///
    /// The same `request` in the same worktree gets its id again: a command that was killed or
    /// retried does not use up a second one.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn reserve_id(
        &self,
        scope: &str,
        candidate: &str,
        request: &str,
        now: Timestamp,
    ) -> Result<bool, StoreFault>;
}

/// Null implementation: outside a repository, on PostgreSQL and on a team server the store itself
/// is what all sessions share.
#[derive(Clone, Copy, Debug)]
pub struct StoreCoordination;

impl Coordination for StoreCoordination {
    fn is_shared(&self) -> bool {
        false
    }

    fn list_claims(&self) -> Result<Vec<HeldClaim>, StoreFault> {
        Ok(Vec::new())
    }

    fn change_claims(
        &self,
        _decide: &mut dyn FnMut(&[HeldClaim], u64) -> ClaimChange,
    ) -> Result<(), StoreFault> {
        Ok(())
    }

    fn change_lease(
        &self,
        _work: &ModelWork,
        _decide: &mut dyn FnMut(Option<&HeldLease>) -> LeaseChange,
    ) -> Result<(), StoreFault> {
        Ok(())
    }

    fn list_sessions(&self, _since: Timestamp) -> Result<Vec<LiveSession>, StoreFault> {
        Ok(Vec::new())
    }

    fn record_activity(&self, _activity: &SessionActivity<'_>) -> Result<(), StoreFault> {
        Ok(())
    }

    fn end_session(&self, _session: &str) -> Result<(), StoreFault> {
        Ok(())
    }

    fn reserve_id(
        &self,
        _scope: &str,
        _candidate: &str,
        _request: &str,
        _now: Timestamp,
    ) -> Result<bool, StoreFault> {
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::NodeKey;

    #[test]
    fn a_node_covers_itself_and_what_is_below_it_in_the_same_profile() {
        let key = |profile: &str, path: &str| NodeKey {
            profile: profile.to_owned(),
            path: path.to_owned(),
        };
        let ticket = key("tickets", "017");
        for (other, covered) in [
            (key("tickets", "017"), true),
            (key("tickets", "017/017a"), true),
            (key("tickets", "0170"), false),
            (key("tickets", "01"), false),
            (key("story", "017"), false),
        ] {
            assert_eq!(ticket.covers(&other), covered, "{other:?}");
        }
        assert!(key("tickets", "017/017a").overlaps(&ticket));
        assert!(!key("tickets", "018").overlaps(&ticket));
    }
}
