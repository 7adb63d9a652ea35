//! News for a running session: operations of others since its last event, and what they mean for it.
//!
//! Pure: which operations are news, which plans they changed, and the words for it. Reading the
//! history and limiting the message is done where an event is handled.

use crate::approval::ObjectionKind;
use crate::approval_question::DeclinedQuestion;
use crate::comment::Comment;
use crate::fact::Fact;
use crate::ids::{NodeId, Principal, VersionHash};
use crate::node::{Node, Progress, Status};
use crate::operation::{Channel, Operation, OperationHead, Verb};
use crate::record::Recorded;
use crate::text::clean_line;

/// Maximum length of a quoted comment or reason, in characters.
const MAX_QUOTED_CHARS: usize = 200;
/// Maximum length of a quoted request for changes, in characters.
const MAX_REQUEST_CHARS: usize = 2_000;

/// A change of one plan by someone else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanNews {
    pub node: NodeId,
    pub change: PlanChange,
    pub by: Principal,
}

/// The kinds of changes a session is told about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanChange {
    Approved,
    ApprovalWithdrawn,
    Condemned {
        reason: String,
    },
    ChangesRequested {
        text: String,
    },
    RevalidationRequired {
        reason: String,
    },
    /// A person was asked to approve it and did not decide.
    Declined,
    Commented {
        text: String,
    },
    Added,
    Edited {
        version: Option<VersionHash>,
    },
    Moved,
    Progressed(Progress),
    BecameStale,
}

/// What a session knows of a plan that changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanKnowledge {
    /// Whether the plan is in its focus, or it has read or been given it.
    pub is_concerned: bool,
    /// The version it last read or was given.
    pub version: Option<VersionHash>,
}

/// Whether a session is told about an operation: a decision, a comment or an edit of someone else.
#[must_use]
pub fn is_news_for_session(head: &OperationHead, session: &str) -> bool {
    let is_own = matches!(&head.by, Principal::Agent { session: by, .. } if by == session);
    !is_own && is_told(head.verb)
}

/// Exhaustive, so that a new verb has to take a side. The bookkeeping of other sessions is left out:
/// a session can do nothing about it.
fn is_told(verb: Verb) -> bool {
    match verb {
        Verb::Observe
        | Verb::Submit
        | Verb::Approve
        | Verb::Revalidate
        | Verb::Invalidate
        | Verb::RequestChanges
        | Verb::Decline
        | Verb::Progress
        | Verb::Restore
        | Verb::Move
        | Verb::Renumber
        | Verb::Reshape
        | Verb::Rebuild
        | Verb::Adopt
        | Verb::Undo
        | Verb::Override
        | Verb::Comment
        | Verb::Document
        | Verb::Flow
        | Verb::Review
        | Verb::Policy => true,
        Verb::Init
        | Verb::Repair
        | Verb::Backup
        | Verb::Focus
        | Verb::Claim
        | Verb::Evidence
        | Verb::Ticket
        | Verb::Commit
        | Verb::Intent
        | Verb::Map
        | Verb::Compact
        | Verb::Prune
        | Verb::Migrate
        | Verb::Remember
        | Verb::Tick
        | Verb::Write => false,
    }
}

/// Whether plans went or came back with a branch: one line about the checkout says it.
#[must_use]
pub fn is_checkout(operation: &Operation) -> bool {
    let mut facts = operation.facts.iter();
    facts.any(|fact| matches!(fact, Fact::NodeRemoved { .. }))
}

/// Returns the changes of single plans, one per plan, and what was said about them; nothing if the
/// operation is better told by its summary.
#[must_use]
pub fn collect_plan_news(operation: &Operation) -> Vec<PlanNews> {
    let is_about_plans = matches!(
        operation.verb,
        Verb::Observe
            | Verb::Submit
            | Verb::Approve
            | Verb::Revalidate
            | Verb::Invalidate
            | Verb::RequestChanges
            | Verb::Decline
            | Verb::Progress
            | Verb::Restore
            | Verb::Move
            | Verb::Comment
    );
    if !is_about_plans {
        return Vec::new();
    }
    let is_checkout = is_checkout(operation);
    let mut found: Vec<PlanNews> = Vec::new();
    for fact in &operation.facts {
        let Some((node, change, by)) = plan_change(fact) else {
            continue;
        };
        // A pull brings another text together with what was decided about it: the words are told
        // beside the edit.
        let is_first = !is_checkout && found.iter().all(|news| news.node != node);
        if is_first || change.has_words() {
            let by = by.unwrap_or_else(|| operation.by.clone());
            found.push(PlanNews { node, change, by });
        }
    }
    found
}

/// Returns the change of a plan that a fact records, and who made it if the fact says so.
fn plan_change(fact: &Fact) -> Option<(NodeId, PlanChange, Option<Principal>)> {
    Some(match fact {
        Fact::ApprovalChanged {
            node,
            after: Some(approval),
            ..
        } => (*node, PlanChange::Approved, Some(approval.by.clone())),
        Fact::ApprovalChanged {
            node, after: None, ..
        } => (*node, PlanChange::ApprovalWithdrawn, None),
        Fact::CondemnationChanged {
            node,
            after: Some(condemned),
            ..
        } => {
            let reason = condemned.reason.clone();
            let change = match condemned.kind {
                ObjectionKind::Rejected => PlanChange::Condemned { reason },
                ObjectionKind::ChangesRequested => PlanChange::ChangesRequested { text: reason },
                ObjectionKind::RevalidationRequired => PlanChange::RevalidationRequired { reason },
            };
            (*node, change, Some(condemned.by.clone()))
        }
        Fact::RecordChanged {
            record,
            after: Some(body),
            ..
        } if record.kind == DeclinedQuestion::KIND => {
            // A body of another version is no reason to fail a hook: its summary is told instead.
            let declined: DeclinedQuestion = serde_json::from_value(body.clone()).ok()?;
            (declined.node, PlanChange::Declined, Some(declined.by))
        }
        Fact::RecordChanged {
            record,
            after: Some(body),
            ..
        } if record.kind == Comment::KIND => {
            let said: Comment = serde_json::from_value(body.clone()).ok()?;
            (
                said.node,
                PlanChange::Commented {
                    text: said.text_with_quote(),
                },
                Some(said.by),
            )
        }
        Fact::NodeAdded { node } => (node.id, PlanChange::Added, None),
        Fact::ContentChanged { node, after, .. } => {
            let version = after.version_hash();
            (*node, PlanChange::Edited { version }, None)
        }
        Fact::NodeMoved { node, .. } | Fact::NodeRenamed { node, .. } => {
            (*node, PlanChange::Moved, None)
        }
        Fact::ProgressChanged { node, after, .. } => (*node, PlanChange::Progressed(*after), None),
        _ => return None,
    })
}

/// Returns the plans that became stale or invalid with an operation.
pub fn stale_nodes(operation: &Operation) -> impl Iterator<Item = NodeId> {
    let is_stale = |status| matches!(status, Status::RequiresRevalidation | Status::Invalid);
    operation
        .facts
        .iter()
        .filter_map(|fact| match fact {
            Fact::StandingsChanged { groups } => Some(groups),
            _ => None,
        })
        .flatten()
        // From one stale status to another is no news.
        .filter(move |group| is_stale(group.after.status) && !is_stale(group.before.status))
        .flat_map(|group| group.nodes.iter().copied())
}

impl PlanChange {
    /// Whether it brings someone's words, which nothing else tells.
    #[must_use]
    pub fn has_words(&self) -> bool {
        matches!(
            self,
            Self::Condemned { .. }
                | Self::ChangesRequested { .. }
                | Self::RevalidationRequired { .. }
                | Self::Commented { .. }
        )
    }
}

impl PlanNews {
    /// Whether the session has the text already: it wrote it, and another process recorded it first.
    #[must_use]
    pub fn is_known(&self, known: PlanKnowledge) -> bool {
        match &self.change {
            PlanChange::Edited { version } => version.is_some() && *version == known.version,
            _ => false,
        }
    }

    /// Renders the line about the plan.
    #[must_use]
    pub fn render_line(
        &self,
        path: &str,
        node: &Node,
        channel: Channel,
        known: PlanKnowledge,
    ) -> String {
        let what = match &self.change {
            PlanChange::Approved => "was approved".to_owned(),
            PlanChange::ApprovalWithdrawn => "lost its approval".to_owned(),
            PlanChange::Condemned { reason } => {
                format!(
                    "was condemned (reason, as data: \"{}\")",
                    quote_text(reason)
                )
            }
            PlanChange::ChangesRequested { text } => {
                let text = quote_request(text);
                format!("has changes requested, as data: \"{text}\"")
            }
            PlanChange::RevalidationRequired { reason } => {
                let reason = quote_text(reason);
                format!("has to be revalidated (reason, as data: \"{reason}\")")
            }
            PlanChange::Declined => {
                "was not approved: the person was asked and did not decide".to_owned()
            }
            PlanChange::Commented { text } => {
                format!("has a new comment, as data: \"{}\"", quote_text(text))
            }
            PlanChange::Added => "is new".to_owned(),
            PlanChange::Edited { version: None } => "has no readable file any more".to_owned(),
            PlanChange::Edited { .. } => "was edited".to_owned(),
            PlanChange::Moved => "was moved or renamed".to_owned(),
            PlanChange::Progressed(progress) => format!("is {progress} now"),
            PlanChange::BecameStale => "became stale".to_owned(),
        };
        let author = render_author(&self.by, channel);
        let meaning = known
            .is_concerned
            .then(|| self.describe_meaning(node, known))
            .flatten()
            .map_or_else(String::new, |meaning| format!(": {meaning}"));
        format!("- `{path}` {what}{author}{meaning}")
    }

    /// Returns what the change means for a session that works with the plan.
    fn describe_meaning(&self, node: &Node, known: PlanKnowledge) -> Option<&'static str> {
        let is_outdated = known
            .version
            .is_some_and(|version| node.content.version_hash() != Some(version));
        match (&self.change, node.status()) {
            (PlanChange::Condemned { .. } | PlanChange::ApprovalWithdrawn, _) => {
                Some("do not build on it")
            }
            // Before the comparison of texts: what a person asked for is more useful than that the
            // text is old.
            (PlanChange::ChangesRequested { .. }, _) => {
                Some("change the text accordingly, then ask for approval again")
            }
            (_, _) if is_outdated => Some("you know an older text, read it again"),
            (_, Status::RequiresRevalidation) => {
                Some("it is stale, read it and its parent again before you build on it")
            }
            (PlanChange::Approved, Status::Approved) => Some("you can build on it"),
            _ => None,
        }
    }
}

/// Renders the line about an operation that is told by its summary.
#[must_use]
pub fn render_summary_line(head: &OperationHead) -> String {
    let author = render_author(&head.by, head.channel);
    format!("- {}{author}", quote_text(&head.summary))
}

/// Renders who made a change, and where; nothing for edits of files, whose author is unknown.
fn render_author(by: &Principal, channel: Channel) -> String {
    let place = match channel {
        Channel::Web => " on the dashboard",
        Channel::Cli => " in a terminal",
        Channel::Mcp => " over MCP",
        Channel::Hook => " in a session",
        Channel::System => "",
    };
    match by {
        Principal::Human(name) => format!(" by {}{place}", clean_line(name)),
        Principal::Agent { host, .. } => format!(" by an agent ({}){place}", clean_line(host)),
        Principal::System => String::new(),
    }
}

/// Returns a request for changes in one bounded line: the agent works from its words, so it gets more
/// of them than of a reason.
fn quote_request(text: &str) -> String {
    cut_line(text, MAX_REQUEST_CHARS)
}

/// Returns a text of someone else in one bounded line. It reaches an agent's prompt, so control
/// characters are removed.
fn quote_text(text: &str) -> String {
    cut_line(text, MAX_QUOTED_CHARS)
}

fn cut_line(text: &str, max_chars: usize) -> String {
    let line = clean_line(text);
    match line.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}
