//! Comments on a plan or its prose: feedback without a decision, delivered to the agent that works on it.
//!
//! A comment may be about a place in either text, and belong to the thread of another comment. Its id
//! follows from its content, so that it is the same in every clone.

use serde::{Deserialize, Serialize};

use crate::decision::DecisionId;
use crate::ids::{CanonicalHash, Digest32, NodeId, OperationId, Principal};
use crate::node::{Node, Status};
use crate::record::Recorded;
use crate::text_anchor::TextAnchor;
use crate::time::Timestamp;

/// Maximum length of a comment, in characters.
pub const MAX_COMMENT_CHARS: usize = 10_000;

/// A comment on a node; a record, keyed by node and operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    pub node: NodeId,
    /// The operation that recorded it; a session that last saw an older one has not received it.
    pub operation: OperationId,
    pub by: Principal,
    pub at: Timestamp,
    pub text: String,
    /// Its decision, where decisions are files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<DecisionId>,
    /// When a shape change rewrote the plan's references while the comment was open: that change is
    /// no answer to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carried_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "CommentPlace::is_empty")]
    pub place: CommentPlace,
}

/// Number of hexadecimal digits of a comment's id.
const ID_DIGITS: usize = 10;

/// What a comment is about: the plan's text, words of it, or another comment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommentPlace {
    /// The plan's text when it was made. Times of changes differ from clone to clone, texts do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<CanonicalHash>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<TextAnchor>,
    /// Whether the words are in the prose, not in the plan.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_prose: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadLink>,
}

impl CommentPlace {
    /// Whether nothing is said about the place, as in comments of earlier versions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The thread a comment belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadLink {
    /// Id of the comment that began it.
    pub of: String,
    /// Whether it ends the thread; a later reply opens it again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resolves: bool,
}

/// What became of a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CommentState {
    Open,
    /// The plan was changed or decided since.
    Answered,
    /// The quoted words are no longer in the text.
    Outdated,
    Resolved,
}

impl CommentState {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Answered => "answered",
            Self::Outdated => "outdated",
            Self::Resolved => "resolved",
        }
    }
}

impl Recorded for Comment {
    const KIND: &'static str = "comment";
}

impl Comment {
    /// Returns the record key; a node's comments sort together, oldest first.
    #[must_use]
    pub fn record_key(&self) -> String {
        // Zero-padded, because keys are sorted as text.
        let key = format!("{}{:012}", comment_key_prefix(self.node), self.operation.0);
        // One operation can receive several comments.
        match &self.decision {
            Some(decision) => format!("{key}-{}", decision.short_id()),
            None => key,
        }
    }

    /// Returns the id, by which replies name the comment.
    #[must_use]
    pub fn comment_id(&self) -> String {
        // Neither node nor operation: their numbers differ between clones.
        let content = format!("{}\n{}\n{}", self.by, self.at, self.text);
        let mut id = Digest32::of_bytes(content.as_bytes()).to_string();
        id.truncate(ID_DIGITS);
        id
    }

    /// Returns the id of the comment that began the thread.
    #[must_use]
    pub fn thread_id(&self) -> String {
        let link = self.place.thread.as_ref();
        link.map_or_else(|| self.comment_id(), |link| link.of.clone())
    }

    /// Returns what became of the thread that this comment began: `thread` are all comments of it, in
    /// order, and `text` is the present text it is about, plan or prose.
    ///
    /// Words that are still in the text are still meant, so a change elsewhere is no answer to a comment
    /// about a place. An approval of the plan is none to a comment about the prose.
    #[must_use]
    pub fn thread_state(
        &self,
        node: &Node,
        text: Option<&str>,
        thread: &[Comment],
    ) -> CommentState {
        // The last link decides, so that a reply after "resolved" opens the thread again.
        let last = thread
            .iter()
            .filter_map(|one| one.place.thread.as_ref())
            .next_back();
        if last.is_some_and(|link| link.resolves) {
            return CommentState::Resolved;
        }
        match (&self.place.anchor, text) {
            (Some(anchor), Some(text)) if anchor.find_in(text).is_none() => CommentState::Outdated,
            (Some(_), Some(_)) if self.place.in_prose => CommentState::Open,
            (Some(_), None) if self.place.in_prose => CommentState::Outdated,
            (Some(_), Some(_)) => {
                let approval = node.approval.as_ref();
                let is_accepted = node.status() == Status::Approved
                    && approval.is_some_and(|approval| approval.at > self.at);
                match is_accepted {
                    true => CommentState::Answered,
                    false => CommentState::Open,
                }
            }
            _ if thread.iter().any(|one| one.is_open(node)) => CommentState::Open,
            _ => CommentState::Answered,
        }
    }

    /// Returns the text with the quoted words before it, for messages in one piece.
    #[must_use]
    pub fn text_with_quote(&self) -> String {
        match &self.place.anchor {
            Some(anchor) => format!("on \u{201c}{}\u{201d}: {}", anchor.quote, self.text),
            None => self.text.clone(),
        }
    }

    /// Whether the comment is open: the plan was neither changed nor decided on since.
    #[must_use]
    pub fn is_open(&self, node: &Node) -> bool {
        // There is no "resolved" flag to forget: another text counts as the answer, and so does a
        // decision. Both are the same in every clone, and on every branch with this text.
        if let Some(plan) = self.place.plan {
            let decided = [
                node.approval.as_ref().map(|approval| approval.at),
                node.condemnation.as_ref().map(|objection| objection.at),
            ];
            let text = node.content.canonical_hash();
            return text.is_none_or(|text| text == plan)
                && decided.into_iter().flatten().all(|at| at <= self.at);
        }
        // Made without a text: any later change of the node.
        let open_since = self.carried_at.unwrap_or(self.at).max(self.at);
        open_since >= node.updated_at
    }
}

/// Returns the key prefix of a node's comments.
#[must_use]
pub fn comment_key_prefix(node: NodeId) -> String {
    format!("{}/", node.0)
}
