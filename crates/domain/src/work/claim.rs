//! Claims: leases by which a session reserves a node, with fencing tokens.
//!
//! A claim expires unless its session is active, and the next claim gets a higher token. A session
//! that was away too long has lost its claim, whatever it believes: its old token is refused.

use serde::{Deserialize, Serialize};

use crate::ids::NodeId;
use crate::ports::{HeldClaim, NodeKey};
use crate::record::Recorded;
use crate::time::Timestamp;

/// A session's lease on a node and everything below it. A record, keyed by node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    pub session: String,
    /// Fencing token, increasing with every claim in the project: at least the number of the
    /// operation that made the claim.
    pub token: u64,
    pub since: Timestamp,
    /// When it expires, unless the session is active.
    pub until: Timestamp,
    /// Whether the coordination of the repository has this claim. The record is then the history's
    /// copy of it and does not decide: a session in another worktree may have ended it since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
}

impl Recorded for Claim {
    const KIND: &'static str = "claim";
}

/// A claim cannot be made, renewed or released.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClaimRefused {
    #[error("`{node}` is claimed by {holder} until {until}")]
    Held {
        node: String,
        holder: String,
        until: Timestamp,
    },
    #[error("`{node}` is not claimed")]
    NotClaimed { node: String },
    #[error("`{node}` is claimed by {holder}, not by this session")]
    NotYours { node: String, holder: String },
    #[error("the claim on `{node}` with token {given} has expired; the current token is {token}")]
    OldToken {
        node: String,
        given: u64,
        token: u64,
    },
}

impl Claim {
    /// Whether it is in force at `now`; `heard` is the last activity of its session, `lease_ms` the
    /// lease time from then on.
    #[must_use]
    pub fn is_active(&self, now: Timestamp, heard: Option<Timestamp>, lease_ms: i64) -> bool {
        // Activity is kept as a note, not in the claim: every tool call renews the lease, and that
        // must not cost an operation in the journal each time.
        let beat = heard
            // Activity before the claim belongs to an earlier lease of the same session.
            .filter(|heard| *heard >= self.since)
            .map_or(i64::MIN, |heard| heard.as_millis() + lease_ms);
        now.as_millis() < self.until.as_millis().max(beat)
    }
}

/// A session asks for a node.
#[derive(Clone, Copy, Debug)]
pub struct ClaimRequest<'a> {
    pub node: &'a NodeKey,
    pub session: &'a str,
    pub now: Timestamp,
    pub lease_ms: i64,
    /// The token of a new claim; higher than every one before.
    pub next_token: u64,
}

/// Decides whether a session gets a node; `held` are all claims, expired ones included.
///
/// # Errors
/// When another session holds the node, an ancestor or a descendant.
pub fn decide_claim(held: &[HeldClaim], request: &ClaimRequest<'_>) -> Result<Claim, ClaimRefused> {
    let active: Vec<&HeldClaim> = held
        .iter()
        .filter(|one| one.is_active(request.now, request.lease_ms))
        .collect();
    // Both directions conflict: a claim covers a subtree, so a lease inside it would have two
    // holders. The claim of the node itself or of an ancestor is reported first.
    let others = || active.iter().filter(|one| !one.is_held_by(request.session));
    let conflict = others()
        .find(|one| one.node.covers(request.node))
        .or_else(|| others().find(|one| request.node.covers(&one.node)));
    if let Some(conflict) = conflict {
        return Err(ClaimRefused::Held {
            node: conflict.node.path.clone(),
            holder: conflict.describe_holder(),
            until: conflict.claim.until,
        });
    }
    // Renewing keeps the token, so that the holder's own requests stay valid.
    let own = active.iter().find(|one| one.node == *request.node);
    Ok(Claim {
        session: request.session.to_owned(),
        token: own.map_or(request.next_token, |one| one.claim.token),
        since: own.map_or(request.now, |one| one.claim.since),
        until: Timestamp::from_millis(request.now.as_millis().saturating_add(request.lease_ms)),
        shared: false,
    })
}

/// A session gives a node back.
#[derive(Clone, Copy, Debug)]
pub struct ReleaseRequest<'a> {
    pub node: &'a NodeKey,
    pub session: &'a str,
    /// Whether a person asks, who may release any claim: a crashed session would otherwise block
    /// its node until the lease ends.
    pub by_person: bool,
    /// If given, only the claim with this token is released.
    pub token: Option<u64>,
}

/// Decides whether a claim is released, and returns it.
///
/// # Errors
/// When the node is not claimed, or not by this session, or the token is another one.
pub fn decide_release<'h>(
    held: &'h [HeldClaim],
    request: &ReleaseRequest<'_>,
) -> Result<&'h HeldClaim, ClaimRefused> {
    let node = || request.node.path.clone();
    let Some(found) = held.iter().find(|one| one.node == *request.node) else {
        return Err(ClaimRefused::NotClaimed { node: node() });
    };
    if !found.is_held_by(request.session) && !request.by_person {
        return Err(ClaimRefused::NotYours {
            node: node(),
            holder: found.describe_holder(),
        });
    }
    // Protects against a late release: the same session may have lost the lease and claimed the
    // node again.
    match request.token.filter(|given| *given != found.claim.token) {
        Some(given) => Err(ClaimRefused::OldToken {
            node: node(),
            given,
            token: found.claim.token,
        }),
        None => Ok(found),
    }
}

impl HeldClaim {
    /// Whether it is in force at `now`, with leases of `lease_ms`.
    #[must_use]
    pub fn is_active(&self, now: Timestamp, lease_ms: i64) -> bool {
        self.claim.is_active(now, self.heard, lease_ms)
    }

    /// Whether this session holds it, in this worktree.
    ///
    /// A session name alone is not enough: subagents that a host runs in worktrees of their own have
    /// the session id of their parent, and scripts are all called `shell`.
    #[must_use]
    pub fn is_held_by(&self, session: &str) -> bool {
        self.claim.session == session && self.worktree.is_own()
    }

    /// Names the holder, with its worktree and branch if that is not this one.
    #[must_use]
    pub fn describe_holder(&self) -> String {
        match self.worktree.describe_place() {
            Some(place) => format!("{} ({place})", self.claim.session),
            None => self.claim.session.clone(),
        }
    }
}

/// Returns the record key of a node's claim.
#[must_use]
pub fn claim_key(node: NodeId) -> String {
    node.0.to_string()
}

/// Returns the key of the note with a session's last activity.
#[must_use]
pub fn activity_key(session: &str) -> String {
    format!("heard/{session}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Claim, ClaimRequest, ReleaseRequest, decide_claim, decide_release};
    use crate::ports::{HeldClaim, NodeKey, Worktree};
    use crate::time::Timestamp;

    fn key(path: &str) -> NodeKey {
        NodeKey {
            profile: "tickets".to_owned(),
            path: path.to_owned(),
        }
    }

    /// Claims, releases and pauses of three sessions on nested nodes.
    fn steps() -> impl Strategy<Value = Vec<(u8, usize, bool, i64)>> {
        prop::collection::vec((0..3_u8, 0..5_usize, any::<bool>(), 0..40_i64), 1..60)
    }

    proptest! {
        #[test]
        fn no_two_sessions_ever_hold_overlapping_nodes(steps in steps()) {
            const NODES: [&str; 5] = ["1", "1/a", "1/a/x", "1/b", "2"];
            let (mut held, mut now, mut token): (Vec<HeldClaim>, i64, u64) = (Vec::new(), 0, 0);
            for (session, node, releases, pause) in steps {
                now += pause;
                let (session, node) = (session.to_string(), key(NODES[node]));
                if releases {
                    let request = ReleaseRequest {
                        node: &node,
                        session: &session,
                        by_person: false,
                        token: None,
                    };
                    if decide_release(&held, &request).is_ok() {
                        held.retain(|one| one.node != node);
                    }
                } else {
                    token += 1;
                    let request = ClaimRequest {
                        node: &node,
                        session: &session,
                        now: Timestamp::from_millis(now),
                        lease_ms: 50,
                        next_token: token,
                    };
                    if let Ok(claim) = decide_claim(&held, &request) {
                        held.retain(|one| one.node != node);
                        held.push(HeldClaim { node, claim, worktree: Worktree::default(), heard: None });
                    }
                }
                let active: Vec<_> = held
                    .iter()
                    .filter(|one| one.is_active(Timestamp::from_millis(now), 50))
                    .collect();
                for one in &active {
                    for other in &active {
                        prop_assert!(
                            one.claim.session == other.claim.session || !one.node.overlaps(&other.node),
                            "{one:?} {other:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_claim_lasts_as_long_as_its_session_is_heard_of() {
        let at = Timestamp::from_millis;
        let claim = Claim {
            session: "a".to_owned(),
            token: 7,
            since: at(1_000),
            until: at(2_000),
            shared: false,
        };
        for (now, heard, holds) in [
            (1_000, None, true),
            (1_999, None, true),
            (2_000, None, false),
            (2_500, Some(1_900), true),
            (2_900, Some(1_900), false),
            // Activity from before the claim does not renew it.
            (2_000, Some(999), false),
        ] {
            assert_eq!(
                claim.is_active(at(now), heard.map(at), 1_000),
                holds,
                "{now} {heard:?}"
            );
        }
    }
}
