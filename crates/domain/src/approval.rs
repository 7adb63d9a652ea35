//! Approval of a node: who may approve, when, and what the approval is bound to.
//!
//! Pure. Content hashes and the time are given by the caller; see `application::approve` for how
//! they are gathered.

use serde::{Deserialize, Serialize};

use crate::ids::{CanonicalHash, Principal, VersionHash};
use crate::node::{Content, Node, ParentVersion, Status};
use crate::policy::{ApprovalPolicy, ConsistencyPolicy, Policy};
use crate::shown::{Shown, ShownChanged};
use crate::status::ApprovalFooting;
use crate::time::Timestamp;

/// The record that someone approved exactly this text below exactly that parent.
///
/// Made only in this module: by [`decide`], by [`approve_content`], or read back by [`Approval::from_record`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Approval {
    pub version: VersionHash,
    pub canonical: CanonicalHash,
    pub parent: Option<ParentVersion>,
    pub by: Principal,
    pub at: Timestamp,
    /// What was known to be odd and was approved all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl Approval {
    /// Reads an approval back from where it was recorded. Decides nothing.
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
        }
    }

    /// Returns just what a status rests on.
    #[must_use]
    pub fn footing(&self) -> ApprovalFooting {
        ApprovalFooting {
            canonical: self.canonical,
            parent: self.parent.map(|parent| parent.canonical),
            by_person: self.by.is_human(),
        }
    }
}

/// The record that someone condemned exactly this text. A new text is free of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condemnation {
    /// The condemned text; `None` when there was none to read.
    pub canonical: Option<CanonicalHash>,
    pub reason: String,
    pub by: Principal,
    pub at: Timestamp,
}

/// Whether warnings and a condemnation stand in the way.
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
    Changed(#[from] ShownChanged),
}

/// An approval about to be asked for.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    pub node: &'a Node,
    pub parent: Option<&'a Node>,
    pub by: &'a Principal,
    pub now: Timestamp,
    pub force: Force,
    /// What the person or agent saw, where something was shown.
    pub shown: Option<&'a Shown>,
    /// What the consistency checks found.
    pub warnings: Vec<String>,
}

/// Returns the approval to record, or why there is none.
///
/// # Errors
/// Every rule of approval, as [`ApprovalRefused`].
pub fn decide(request: Request<'_>, policy: &Policy) -> Result<Approval, ApprovalRefused> {
    let node = request.node;
    let name = || node.alias.clone();
    let (version, canonical) = match &node.content {
        Content::Text {
            version, canonical, ..
        } => (*version, *canonical),
        Content::Missing => {
            return Err(ApprovalRefused::FileMissing {
                node: name(),
                path: node.path.clone().unwrap_or_default(),
            });
        }
        Content::Unreadable { why } => {
            return Err(ApprovalRefused::FileUnreadable {
                node: name(),
                why: why.clone(),
            });
        }
    };
    if !policy.approval.accepts(request.by) {
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
    if let Some(shown) = request.shown {
        shown.check(node, request.parent)?;
    }
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
    Ok(Approval {
        version,
        canonical,
        parent: request.parent.and_then(|parent| parent.content.as_parent()),
        by: request.by.clone(),
        at: request.now,
        warnings: request.warnings,
    })
}

/// Returns the approval of a text that stands on no parent, such as an entity of a plan document; `None` where there is no
/// text, or where an approval by this principal does not count.
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
        } if policy.accepts(by) => Some(Approval {
            version: *version,
            canonical: *canonical,
            parent: None,
            by: by.clone(),
            at,
            warnings: Vec::new(),
        }),
        _ => None,
    }
}

/// Returns the next step towards an approval, for whoever reads it: the command for those whose approval counts, for an agent
/// who can give it and how. An agent that is handed the command tries it.
#[must_use]
pub fn approval_step(node: &str, policy: ApprovalPolicy, reader: &Principal) -> String {
    if policy.accepts(reader) {
        format!("tl approve {node}")
    } else {
        ask_person_step(node)
    }
}

/// Returns how an agent gets a plan approved where only people approve.
#[must_use]
pub fn ask_person_step(node: &str) -> String {
    format!(
        "ask the person to approve `{node}`: they type `/approve-plan {node}` in this conversation, use the dashboard, or run \
         `tl approve {node}` in their own terminal"
    )
}
