//! Approval of a node: who may approve, under which conditions, and which text it is bound to.
//!
//! Pure. Content hashes and the time are passed in; `application::approve` gathers them.

use serde::{Deserialize, Serialize};

use crate::expected_version::{ExpectedVersions, VersionConflict};
use crate::ids::{CanonicalHash, Digest32, Principal, VersionHash};
use crate::named_enum::named_enum;
use crate::node::{Content, Node, ParentVersion, Status};
use crate::node_reference::parent_path;
use crate::policy::{ApprovalPolicy, ConsistencyPolicy, Policy};
use crate::status::{ApprovalInputs, ObjectionInputs};
use crate::time::Timestamp;

/// Approval of exactly this text below exactly that parent version.
///
/// Constructed only in this module: by [`decide`], by [`approve_content`], or read back by
/// [`Approval::from_record`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
// `non_exhaustive` keeps other crates from building an approval past the rules in this module.
#[non_exhaustive]
pub struct Approval {
    pub version: VersionHash,
    pub canonical: CanonicalHash,
    pub parent: Option<ParentVersion>,
    pub by: Principal,
    pub at: Timestamp,
    /// Consistency warnings that were known and accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Digest of the parent's sections the text relied on when it was approved
    /// ([`crate::section::relied_sections_digest`]), for the precise cascade.
    ///
    /// Part of the approval, because a clone that never saw the parent's text of that time has
    /// nothing else to compare with. `None` where it could not be computed; then every change of
    /// the parent counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relied_sections: Option<Digest32>,
}

impl Approval {
    /// Restores a recorded approval, without checking any rule.
    #[must_use]
    pub fn from_record(
        version: VersionHash,
        canonical: CanonicalHash,
        parent: Option<ParentVersion>,
        by: Principal,
        at: Timestamp,
        warnings: Vec<String>,
    ) -> Self {
        Self {
            version,
            canonical,
            parent,
            by,
            at,
            warnings,
            relied_sections: None,
        }
    }

    /// Adds the recorded digest of the parent's sections to a restored approval.
    #[must_use]
    pub fn with_relied_sections(mut self, digest: Option<Digest32>) -> Self {
        self.relied_sections = digest;
        self
    }

    /// Returns the part of the approval the status depends on.
    #[must_use]
    pub fn approval_inputs(&self) -> ApprovalInputs {
        ApprovalInputs {
            canonical: self.canonical,
            parent: self.parent.map(|parent| parent.canonical),
            by_person: self.by.is_human(),
        }
    }
}

named_enum! {
    /// What an objection to a text asks for.
    #[derive(
        Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
    )]
    pub enum ObjectionKind {
        /// The text has to be compared with its parent again; its approval can be renewed.
        RevalidationRequired = "revalidation-required",
        /// The plan goes back to the agent: it is a draft until its text changes.
        ChangesRequested = "changes-requested",
        /// The text must not be used: the node is invalid.
        // The default, because objections were rejections before there were other kinds.
        #[default]
        Rejected = "rejected",
    }
}

impl ObjectionKind {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde passes a reference"
    )]
    fn is_rejection(&self) -> bool {
        *self == Self::Rejected
    }

    /// Whether it ends an approval of the same text. The others only suspend it: the text that was
    /// approved last is what the next one is compared with.
    #[must_use]
    pub fn ends_approval(self) -> bool {
        self == Self::Rejected
    }
}

/// An objection to exactly this text: it does not count for any other, and counts again when the text
/// comes back. It ends with an approval that answers it, or with the next objection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condemnation {
    /// The text objected to; `None` when the file was not readable.
    pub canonical: Option<CanonicalHash>,
    pub reason: String,
    pub by: Principal,
    pub at: Timestamp,
    #[serde(default, skip_serializing_if = "ObjectionKind::is_rejection")]
    pub kind: ObjectionKind,
}

impl Condemnation {
    /// Whether the approval of a text ends it. A rejected text stays rejected when another one is
    /// approved; a request is answered by the next approved text.
    #[must_use]
    pub fn is_ended_by_approval_of(&self, text: CanonicalHash) -> bool {
        self.kind != ObjectionKind::Rejected || self.canonical.is_none_or(|own| own == text)
    }

    /// Returns the part of the objection the status depends on.
    #[must_use]
    pub fn objection_inputs(&self) -> ObjectionInputs {
        ObjectionInputs {
            canonical: self.canonical,
            kind: self.kind,
        }
    }
}

/// What an approval overrides; each includes the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Force {
    No,
    /// Warnings, but no rejection.
    Warnings,
    /// A rejection too.
    Yes,
}

impl Force {
    /// Returns what is overridden, as the end of the question that asks for it; empty for nothing.
    #[must_use]
    pub fn despite_clause(self) -> &'static str {
        match self {
            Self::No => "",
            Self::Warnings => " despite the warnings",
            Self::Yes => " despite the rejection",
        }
    }
}

/// Returns what an approval of a node's text has to override.
///
/// Every question shows it, so that a yes to the question carries it; any other approval has to say
/// so by itself. A rejection that came after the question is not overridden by its answer.
#[must_use]
pub fn required_force(node: &Node, warnings: &[String], policy: ConsistencyPolicy) -> Force {
    let is_rejected = |objection: &Condemnation| objection.kind == ObjectionKind::Rejected;
    if node.objection_to_text().is_some_and(is_rejected) {
        Force::Yes
    } else if policy == ConsistencyPolicy::RequireForce && !warnings.is_empty() {
        Force::Warnings
    } else {
        Force::No
    }
}

/// Why an approval was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApprovalRefused {
    #[error("cannot approve `{node}`: parent `{parent}` is `{status}`, expected `approved`")]
    ParentNotApproved {
        node: String,
        parent: String,
        parent_file: Option<String>,
        status: Status,
    },
    #[error("cannot approve `{node}`: its plan file `{path}` is missing")]
    FileMissing { node: String, path: String },
    #[error("cannot approve `{node}`: its plan file cannot be read: {why}")]
    FileUnreadable { node: String, why: String },
    #[error("cannot approve `{node}`: this text was condemned by {by}: {reason}")]
    Condemned {
        node: String,
        by: Principal,
        reason: String,
    },
    #[error("cannot approve `{node}`: {by} requested changes of this text: {reason}")]
    ChangesRequested {
        node: String,
        by: Principal,
        reason: String,
    },
    #[error(
        "cannot approve `{node}`: only a person may approve here (policy.approval is `human`), and this is {by}"
    )]
    NotAPerson { node: String, by: Principal },
    #[error(
        "cannot approve `{node}`: the answer does not say which text was read (now {})",
        version.short_hex()
    )]
    NotShown { node: String, version: VersionHash },
    #[error("cannot approve `{node}`, because policy.consistency is `require-force`: {}", warnings.join("; "))]
    Warnings { node: String, warnings: Vec<String> },
    #[error(transparent)]
    Changed(#[from] VersionConflict),
}

/// Inputs of the approval decision.
#[derive(Clone, Debug)]
pub struct ApprovalRequest<'a> {
    pub node: &'a Node,
    /// The path of the node: an alias alone may name several.
    pub path: &'a str,
    pub parent: Option<&'a Node>,
    pub by: &'a Principal,
    pub now: Timestamp,
    pub force: Force,
    /// The versions the decision was made on, if the caller was shown any.
    pub shown: Option<&'a ExpectedVersions>,
    /// Findings of the consistency checks.
    pub warnings: Vec<String>,
    /// Digest of the parent's sections the node relies on; see [`Approval::relied_sections`].
    pub relied_sections: Option<Digest32>,
}

/// Checks every rule of approval and returns the approval to record.
///
/// # Errors
/// [`ApprovalRefused`] with the first rule that is violated.
pub fn decide_approval(
    request: ApprovalRequest<'_>,
    policy: &Policy,
) -> Result<Approval, ApprovalRefused> {
    let node = request.node;
    let name = || request.path.to_owned();
    let (version, canonical) = require_text(node, request.path)?;
    // Before the parent is checked: an agent that may not approve at all should not be told to get
    // the parent approved first.
    if !policy.approval.accepts_approval_by(request.by) {
        return Err(ApprovalRefused::NotAPerson {
            node: name(),
            by: request.by.clone(),
        });
    }
    if let Some(parent) = request.parent
        && parent.status() != Status::Approved
    {
        return Err(ApprovalRefused::ParentNotApproved {
            node: name(),
            parent: parent_path(request.path).to_owned(),
            parent_file: parent.path.clone(),
            status: parent.status(),
        });
    }
    // Runs inside the write transaction. Compared any earlier, another writer could change the text
    // in between, and the approval would be given to a text the person has not seen.
    match request.shown {
        Some(shown) => shown.check_current(request.path, node, request.parent)?,
        None if policy.approval.requires_person() => {
            return Err(ApprovalRefused::NotShown {
                node: name(),
                version,
            });
        }
        None => {}
    }
    // `force` overrides opinions (an objection, warnings), never the rules above.
    refuse_objected_text(&request)?;
    if required_force(node, &request.warnings, policy.consistency) > request.force {
        return Err(ApprovalRefused::Warnings {
            node: name(),
            warnings: request.warnings,
        });
    }
    // Warnings are recorded with the approval: later it must be visible what was known.
    Ok(Approval {
        version,
        canonical,
        parent: request
            .parent
            .and_then(|parent| parent.content.as_parent_version()),
        by: request.by.clone(),
        at: request.now,
        warnings: request.warnings,
        relied_sections: request.relied_sections,
    })
}

/// Refuses a text that was rejected, or of which changes were requested.
///
/// A person who approves has the last word over a request; an agent never has it over a person's.
fn refuse_objected_text(request: &ApprovalRequest<'_>) -> Result<(), ApprovalRefused> {
    let Some(objection) = request.node.objection_to_text() else {
        return Ok(());
    };
    let (node, author) = (request.path.to_owned(), objection.by.clone());
    let reason = objection.reason.clone();
    let is_forced = request.force == Force::Yes;
    match objection.kind {
        ObjectionKind::Rejected if !is_forced => Err(ApprovalRefused::Condemned {
            node,
            by: author,
            reason,
        }),
        ObjectionKind::ChangesRequested
            if !request.by.is_human() && (author.is_human() || !is_forced) =>
        {
            Err(ApprovalRefused::ChangesRequested {
                node,
                by: author,
                reason,
            })
        }
        ObjectionKind::Rejected
        | ObjectionKind::ChangesRequested
        | ObjectionKind::RevalidationRequired => Ok(()),
    }
}

/// Returns the hashes of a node's text. An approval names them, so there has to be one.
fn require_text(node: &Node, path: &str) -> Result<(VersionHash, CanonicalHash), ApprovalRefused> {
    let name = || path.to_owned();
    match &node.content {
        Content::Text {
            version, canonical, ..
        } => Ok((*version, *canonical)),
        Content::Missing => Err(ApprovalRefused::FileMissing {
            node: name(),
            path: node.path.clone().unwrap_or_default(),
        }),
        Content::Unreadable { why } => Err(ApprovalRefused::FileUnreadable {
            node: name(),
            why: why.clone(),
        }),
    }
}

/// Returns the approval of a text that has no parent, such as an entity of a plan document.
///
/// `None` if there is no text, or if approvals by this principal do not count.
#[must_use]
pub fn approve_content(
    content: &Content,
    by: &Principal,
    at: Timestamp,
    policy: ApprovalPolicy,
) -> Option<Approval> {
    match content {
        Content::Text {
            version, canonical, ..
        } if policy.accepts_approval_by(by) => Some(Approval {
            version: *version,
            canonical: *canonical,
            parent: None,
            by: by.clone(),
            at,
            warnings: Vec::new(),
            relied_sections: None,
        }),
        _ => None,
    }
}

/// Returns the next step towards an approval, worded for the reader.
///
/// A reader whose approval counts gets the command; an agent is told how to ask a person.
#[must_use]
pub fn approval_next_step(node: &str, policy: ApprovalPolicy, reader: &Principal) -> String {
    // An agent that is shown `tl approve` runs it, only to be refused.
    decision_next_step(node, Status::Draft, policy.accepts_approval_by(reader))
}

/// A plan that is not approved, as next steps name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndecidedPlan {
    pub path: String,
    pub status: Status,
}

impl UndecidedPlan {
    /// Returns the next step towards its approval: [`decision_next_step`].
    #[must_use]
    pub fn next_step(&self, may_decide: bool) -> String {
        decision_next_step(&self.path, self.status, may_decide)
    }
}

/// Returns the next step towards the approval of a plan, worded for its status and for a reader who may
/// decide about it or not.
#[must_use]
pub fn decision_next_step(node: &str, status: Status, may_decide: bool) -> String {
    match status {
        Status::Invalid => format!("tl why {node}"),
        Status::RequiresRevalidation if may_decide => format!("tl revalidate {node}"),
        Status::RequiresRevalidation => ask_to_revalidate_next_step(node),
        Status::Draft | Status::Approved if may_decide => format!("tl approve {node}"),
        Status::Draft | Status::Approved => ask_person_next_step(node),
    }
}

/// Start of [`ask_person_next_step`], by which a reader whose agent has a tool for it knows the step.
pub(crate) const ASK_PERSON: &str = "ask the person to approve `";

/// Returns how an agent gets a plan approved when only people may approve.
#[must_use]
pub fn ask_person_next_step(node: &str) -> String {
    format!(
        "{ASK_PERSON}{node}`: they type `/approve-plan {node}` in this conversation, use the dashboard, or run \
         `tl approve {node}` in their own terminal"
    )
}

/// Start of [`ask_to_revalidate_next_step`], by which a reader whose agent has a tool for it knows the
/// step.
pub(crate) const ASK_TO_REVALIDATE: &str = "ask the person to revalidate `";

/// Returns how an agent gets a stale plan revalidated when only people may approve.
#[must_use]
pub fn ask_to_revalidate_next_step(node: &str) -> String {
    format!(
        "{ASK_TO_REVALIDATE}{node}`: they type `/approve-plan {node}` in this conversation, use the dashboard, or \
         run `tl revalidate {node}` in their own terminal"
    )
}

/// Returns the ways in which a person approves a plan, for an agent that has asked already.
#[must_use]
pub fn describe_ways_to_approve(node: &str) -> String {
    format!(
        "the person approves `{node}` on the dashboard, with `/approve-plan {node}` in this conversation, or with \
         `tl approve {node}` in their own terminal"
    )
}
