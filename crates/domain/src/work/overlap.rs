//! Overlap: work of another live session on the same file, or on the same part of the tree.
//!
//! A warning, not a gate: two sessions may well edit one file, but both should know. What must not
//! happen twice is prevented by claims.

use crate::ports::{LiveSession, NodeKey, Worktree};

/// How long after its last activity a session counts as live, in milliseconds.
pub const LIVE_SESSION_MS: i64 = 30 * 60 * 1000;

/// What another session has in common with the work at hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlap {
    pub session: String,
    pub worktree: Worktree,
    pub cause: OverlapCause,
}

/// Why two pieces of work overlap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OverlapCause {
    /// The other session changed this file.
    File(String),
    /// The other session works on this node: the same one, an ancestor or a descendant.
    Node(String),
}

/// Returns the overlaps of this work with other live sessions, in any worktree: at most one per
/// session and cause.
#[must_use]
pub fn find_overlaps(
    sessions: &[LiveSession],
    own: &str,
    files: &[String],
    node: Option<&NodeKey>,
) -> Vec<Overlap> {
    let mut found = Vec::new();
    for other in sessions.iter().filter(|other| !other.is_own(own)) {
        let shared_files = files.iter().filter(|file| other.touched.contains(file));
        let shared_node = other
            .focus
            .as_ref()
            .filter(|focus| node.is_some_and(|node| node.overlaps(focus)));
        let causes = shared_files
            .map(|file| OverlapCause::File(file.clone()))
            .chain(shared_node.map(|focus| OverlapCause::Node(focus.path.clone())));
        found.extend(causes.map(|cause| Overlap {
            session: other.session.clone(),
            worktree: other.worktree.clone(),
            cause,
        }));
    }
    found
}

impl Overlap {
    /// Renders the overlap as one sentence.
    #[must_use]
    pub fn render_sentence(&self) -> String {
        let who = match self.worktree.describe_place() {
            Some(place) => format!("session {} ({place})", self.session),
            None => format!("session {} in this worktree", self.session),
        };
        match &self.cause {
            OverlapCause::File(file) => format!("{who} has changed `{file}` too"),
            OverlapCause::Node(path) => format!("{who} works on `{path}` now"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{OverlapCause, find_overlaps};
    use crate::ports::{LiveSession, NodeKey, Worktree};
    use crate::time::Timestamp;

    fn key(path: &str) -> NodeKey {
        NodeKey {
            profile: "tickets".to_owned(),
            path: path.to_owned(),
        }
    }

    fn session(name: &str, focus: Option<&str>, touched: &[&str]) -> LiveSession {
        LiveSession {
            session: name.to_owned(),
            worktree: Worktree::default(),
            focus: focus.map(key),
            touched: touched.iter().map(|path| (*path).to_owned()).collect(),
            heard: Timestamp::from_millis(0),
        }
    }

    #[test]
    fn other_sessions_with_the_same_file_or_lineage_overlap_and_the_own_one_does_not() {
        let sessions = [
            session("me", Some("017"), &["src/a.rs"]),
            session("file", None, &["src/a.rs", "src/b.rs"]),
            session("above", Some("017"), &[]),
            session("below", Some("017/017a/x"), &[]),
            session("beside", Some("018"), &["src/c.rs"]),
        ];
        let files = ["src/a.rs".to_owned()];
        let found = find_overlaps(&sessions, "me", &files, Some(&key("017/017a")));
        let causes: Vec<(&str, OverlapCause)> = found
            .iter()
            .map(|one| (one.session.as_str(), one.cause.clone()))
            .collect();
        assert_eq!(
            causes,
            [
                ("file", OverlapCause::File("src/a.rs".to_owned())),
                ("above", OverlapCause::Node("017".to_owned())),
                ("below", OverlapCause::Node("017/017a/x".to_owned())),
            ]
        );
    }
}
