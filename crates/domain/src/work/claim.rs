//! Claims: a session takes a node for itself, for as long as it is heard of.
//!
//! A claim is a lease: it ends by itself, and whoever takes the node then gets a higher token. Who was away holds
//! nothing when they come back, however they see it.

use serde::{Deserialize, Serialize};

use crate::ids::NodeId;
use crate::record::Recorded;
use crate::time::Timestamp;

/// Who holds a node, with all below it. A record, by node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    pub session: String,
    /// Higher with every claim of this project: the operation that made it.
    pub token: u64,
    pub since: Timestamp,
    /// When it ends, unless the session is heard of.
    pub until: Timestamp,
}

impl Recorded for Claim {
    const KIND: &'static str = "claim";
}

/// A claim cannot be made, kept or given back.
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
    #[error("the claim on `{node}` with token {given} is over; the token is {token} now")]
    OldToken {
        node: String,
        given: u64,
        token: u64,
    },
}

impl Claim {
    /// Says whether it holds at `now`; `heard` is when its session was last heard of, `lease_ms` how long that counts.
    #[must_use]
    pub fn holds(&self, now: Timestamp, heard: Option<Timestamp>, lease_ms: i64) -> bool {
        let beat = heard
            .filter(|heard| *heard >= self.since)
            .map_or(i64::MIN, |heard| heard.as_millis() + lease_ms);
        now.as_millis() < self.until.as_millis().max(beat)
    }
}

/// Returns under which key a node's claim is kept.
#[must_use]
pub fn key(node: NodeId) -> String {
    node.0.to_string()
}

/// Under which note it is kept when a session was last heard of.
#[must_use]
pub fn heard_key(session: &str) -> String {
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
            // It was heard of before it made the claim: that says nothing.
            (2_000, Some(999), false),
        ] {
            assert_eq!(
                claim.holds(at(now), heard.map(at), 1_000),
                holds,
                "{now} {heard:?}"
            );
        }
    }
}
