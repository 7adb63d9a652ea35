//! Claims: leases by which a session reserves a node, with fencing tokens.
//!
//! A claim expires unless its session is active, and the next claim gets a higher token. A session
//! that was away too long has lost its claim, whatever it believes: its old token is refused.

use serde::{Deserialize, Serialize};

use crate::ids::NodeId;
use crate::record::Recorded;
use crate::time::Timestamp;

/// A session's lease on a node and everything below it. A record, keyed by node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    pub session: String,
    /// Fencing token, increasing with every claim in the project: the number of the operation that
    /// made the claim.
    pub token: u64,
    pub since: Timestamp,
    /// When it expires, unless the session is active.
    pub until: Timestamp,
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
            .filter(|heard| *heard >= self.since)
            .map_or(i64::MIN, |heard| heard.as_millis() + lease_ms);
        now.as_millis() < self.until.as_millis().max(beat)
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
    use super::Claim;
    use crate::time::Timestamp;

    #[test]
    fn a_claim_lasts_as_long_as_its_session_is_heard_of() {
        let at = Timestamp::from_millis;
        let claim = Claim {
            session: "a".to_owned(),
            token: 7,
            since: at(1_000),
            until: at(2_000),
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
