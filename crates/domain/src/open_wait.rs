//! Sessions that wait for a decision now, as the waiting commands and tools report themselves.
//!
//! Kept as one note of the working copy and not as facts: who waits is no history. A wait is reported again
//! while it lasts, so that one whose process was killed expires.

use serde::{Deserialize, Serialize};

use crate::ids::NodeId;
use crate::time::Timestamp;

/// Key of the note with the open waits.
pub const OPEN_WAITS_KEY: &str = "waits/open";

/// Age after which a wait that goes on is reported again.
const REPORT_MS: i64 = 20_000;
/// Age of the last report after which a wait counts as over: its process was killed.
const EXPIRY_MS: i64 = 60_000;

/// A session that waits for the decision about a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenWait {
    pub session: String,
    pub host: String,
    pub node: NodeId,
    pub since: Timestamp,
    reported: Timestamp,
}

/// The open waits; stored as a note.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenWaits(Vec<OpenWait>);

impl OpenWaits {
    /// Reads the note; an unreadable one, of another version, counts as none.
    #[must_use]
    pub fn from_note(note: Option<&str>) -> Self {
        note.and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default()
    }

    /// Returns the body of the note; `None` without a wait.
    #[must_use]
    pub fn to_note(&self) -> Option<String> {
        let body = serde_json::to_string(self).ok();
        body.filter(|_| !self.0.is_empty())
    }

    /// Returns the waits that were reported lately, oldest first.
    pub fn list_live(&self, now: Timestamp) -> impl Iterator<Item = &OpenWait> {
        self.0.iter().filter(move |wait| wait.is_live(now))
    }

    /// Adds a wait or renews its report; `false` if the last report is recent enough.
    pub fn report_wait(&mut self, host: &str, session: &str, node: NodeId, now: Timestamp) -> bool {
        self.0.retain(|wait| wait.is_live(now));
        if let Some(known) = self.0.iter_mut().find(|wait| wait.is_of(session, node)) {
            let is_due = now.millis_since(known.reported) >= REPORT_MS;
            if is_due {
                known.reported = now;
            }
            return is_due;
        }
        self.0.push(OpenWait {
            session: session.to_owned(),
            host: host.to_owned(),
            node,
            since: now,
            reported: now,
        });
        true
    }

    /// Removes a wait; `false` if there was none.
    pub fn end_wait(&mut self, session: &str, node: NodeId) -> bool {
        let before = self.0.len();
        self.0.retain(|wait| !wait.is_of(session, node));
        self.0.len() != before
    }
}

impl OpenWait {
    fn is_live(&self, now: Timestamp) -> bool {
        now.millis_since(self.reported) < EXPIRY_MS
    }

    fn is_of(&self, session: &str, node: NodeId) -> bool {
        self.session == session && self.node == node
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_lasts_while_it_is_reported_and_expires_without_an_end() {
        let at = |seconds: i64| Timestamp::from_millis(seconds * 1000);
        let mut waits = OpenWaits::default();
        assert!(waits.report_wait("codex", "s1", NodeId(3), at(0)));
        assert!(!waits.report_wait("codex", "s1", NodeId(3), at(5)));
        assert!(waits.report_wait("codex", "s1", NodeId(3), at(30)));
        let read = OpenWaits::from_note(waits.to_note().as_deref());
        let live: Vec<Timestamp> = read.list_live(at(80)).map(|wait| wait.since).collect();
        assert_eq!(live, [at(0)]);
        assert_eq!(read.list_live(at(90)).count(), 0, "killed");
        assert!(!waits.end_wait("s1", NodeId(4)));
        assert!(waits.end_wait("s1", NodeId(3)));
        assert_eq!(waits.to_note(), None);
        assert_eq!(OpenWaits::from_note(Some("{")), OpenWaits::default());
    }
}
