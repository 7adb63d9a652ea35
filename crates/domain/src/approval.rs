//! Approval of a node: who may approve, under which conditions, and which text it is bound to.
//!
//! Pure. Content hashes and the time are passed in; `application::approve` gathers them.

use serde::{Deserialize, Serialize};

use crate::expected_version::{ExpectedVersions, VersionConflict};
use crate::ids::{CanonicalHash, Digest32, Principal, VersionHash};
use crate::node::{Content, Node, ParentVersion, Status};
use crate::policy::{ApprovalPolicy, ConsistencyPolicy, Policy};
use crate::status::ApprovalInputs;
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

/// Rejection of exactly this text; it ends when the text changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condemnation {
    /// The condemned text; `None` when the file was not readable.
    pub canonical: Option<CanonicalHash>,
    pub reason: String,
    pub by: Principal,
    pub at: Timestamp,
}

/// Whether to approve despite warnings and a condemnation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Force {
    Yes,
    No,
}

/// Why an approval was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApprovalRefused {
    #[error("cannot approve `{node}`: parent `{parent}` is `{status}`, expected `approved`")]
    ParentNotApproved {
        node: String,
        parent: String,
        parent_path: Option<String>,
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
    #[error(
        "cannot approve `{node}`: only a person may approve here (policy.approval is `human`), and this is {by}"
    )]
    NotAPerson { node: String, by: Principal },
    #[error("cannot approve `{node}`: {} consistency warning(s), and policy.consistency is `require-force`", warnings.len())]
    Warnings { node: String, warnings: Vec<String> },
    #[error(transparent)]
    Changed(#[from] VersionConflict),
}

/// Inputs of the approval decision.
#[derive(Clone, Debug)]
pub struct ApprovalRequest<'a> {
    pub node: &'a Node,
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
    let name = || node.alias.clone();
    let (version, canonical) = require_text(node)?;
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
            parent: parent.alias.clone(),
            parent_path: parent.path.clone(),
            status: parent.status(),
        });
    }
    // Runs inside the write transaction. Compared any earlier, another writer could change the text
    // in between, and the approval would be given to a text the person has not seen.
    if let Some(shown) = request.shown {
        shown.check_current(node, request.parent)?;
    }
    // `force` overrides opinions (a condemnation, warnings), never the rules above.
    if request.force == Force::No {
        if let Some(condemnation) = &node.condemnation
            && condemnation.canonical == Some(canonical)
        {
            return Err(ApprovalRefused::Condemned {
                node: name(),
                by: condemnation.by.clone(),
                reason: condemnation.reason.clone(),
            });
        }
        if policy.consistency == ConsistencyPolicy::RequireForce && !request.warnings.is_empty() {
            return Err(ApprovalRefused::Warnings {
                node: name(),
                warnings: request.warnings,
            });
        }
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

/// Returns the hashes of a node's text. An approval names them, so there has to be one.
fn require_text(node: &Node) -> Result<(VersionHash, CanonicalHash), ApprovalRefused> {
    match &node.content {
        Content::Text {
            version, canonical, ..
        } => Ok((*version, *canonical)),
        Content::Missing => Err(ApprovalRefused::FileMissing {
            node: node.alias.clone(),
            path: node.path.clone().unwrap_or_default(),
        }),
        Content::Unreadable { why } => Err(ApprovalRefused::FileUnreadable {
            node: node.alias.clone(),
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
    if policy.accepts_approval_by(reader) {
        format!("tl approve {node}")
    } else {
        ask_person_next_step(node)
    }
}

/// Returns how an agent gets a plan approved when only people may approve.
#[must_use]
pub fn ask_person_next_step(node: &str) -> String {
    format!(
        "ask the person to approve `{node}`: they type `/approve-plan {node}` in this conversation, use the dashboard, or run \
         `tl approve {node}` in their own terminal"
    )
}
