//! Decisions: what people and agents decided about plans, as values that travel through git.
//!
//! A decision is immutable and named by the hash of its content, so any two histories merge by
//! union. It names the node by its path, never by a number of this store. A newer decision
//! supersedes older ones by naming them; nothing is deleted.

mod allowed_signers;
mod carried;
mod decision_file;
mod followed_move;
mod id_holder;
mod proof_verdict;
mod review_verdict;
mod standing;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

pub use self::allowed_signers::{
    ALLOWED_SIGNERS_FILE, SIGNATURE_NAMESPACE, SignatureProblem, SignerKey, SignerLineProblem,
    check_signature, check_signer, is_signed_when_made, needs_signature, read_signer_lines,
    signature_basis,
};
pub use self::carried::{CarriedDecisions, CarriedTexts, CarriedTo};
pub use self::decision_file::{
    DecisionFileProblem, MAX_DECISION_FILE_BYTES, parse_decision_file, render_decision_file,
    signed_content,
};
pub use self::followed_move::FollowedMove;
pub use self::id_holder::{IdHolder, ids_of_path, is_labelled_path};
pub use self::proof_verdict::{ProofVerdict, SharedResult, merge_proofs};
pub use self::review_verdict::{ReviewOutcome, ReviewVerdict};
pub use self::standing::{
    Aspect, NodeVerdict, StandingDecisions, decide_verdict, decisions_in_force, stand_on_decisions,
    superseded_by,
};

use crate::approval::{Approval, Condemnation, ObjectionKind};
use crate::comment::CommentPlace;
use crate::ids::{CanonicalHash, Digest32, Principal, VersionHash};
use crate::node::{ParentVersion, Progress};
use crate::record::Recorded;
use crate::secrets::mask_secrets;
use crate::stamp::Stamp;
use crate::text::count_with_noun;
use crate::time::Timestamp;

/// The folder of decision files, relative to the project.
pub const DECISIONS_FOLDER: &str = ".throughline/decisions";

/// The node key of decisions about the project as a whole. No profile has an empty name, so no node
/// has this key.
pub const PROJECT_KEY: &str = ":project";

/// Number of hexadecimal digits of an id: 160 bits of the content's SHA-256.
const ID_DIGITS: usize = 40;

/// The name of a decision: the start of the SHA-256 of its content.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DecisionId(String);

impl DecisionId {
    /// Parses an id; `None` unless it is 40 lower-case hexadecimal digits.
    #[must_use]
    pub fn parse_id(text: &str) -> Option<Self> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        // Lower case only: on a file system that ignores case, two spellings would be one file.
        (text.len() == ID_DIGITS && text.bytes().all(is_digit)).then(|| Self(text.to_owned()))
    }

    /// Parses the id at the end of the key of a decision's record.
    #[must_use]
    pub fn of_record_key(key: &str) -> Option<Self> {
        key.rsplit_once('#').and_then(|(_, id)| Self::parse_id(id))
    }

    /// Parses the name of a decision file.
    #[must_use]
    pub fn parse_file_name(name: &str) -> Option<Self> {
        Self::parse_id(name.strip_suffix(".json")?)
    }

    /// Returns the path of its file, relative to the project.
    #[must_use]
    pub fn file_path(&self) -> String {
        // No part of the node's path is in it: when one branch moves a node and another decides on
        // it, git would report a directory rename conflict.
        format!("{DECISIONS_FOLDER}/{}/{}.json", self.folder_name(), self.0)
    }

    /// Returns the name of the folder its file is in.
    #[must_use]
    pub fn folder_name(&self) -> &str {
        self.0.get(..2).unwrap_or_default()
    }

    /// Returns the first ten digits, for display.
    #[must_use]
    pub fn short_id(&self) -> &str {
        self.0.get(..10).unwrap_or(&self.0)
    }
}

impl fmt::Display for DecisionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether a path of the project is that of a decision file.
#[must_use]
pub fn is_decision_file(path: &str) -> bool {
    path.rsplit_once('/')
        // The whole path is compared, so that a copy in another folder is no decision.
        .and_then(|(_, name)| DecisionId::parse_file_name(name))
        .is_some_and(|id| id.file_path() == path)
}

/// A decision about one node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The node, as [`crate::ports::NodeKey`] renders it.
    pub node: String,
    #[serde(flatten)]
    pub what: Verdict,
    pub by: Principal,
    pub at: Timestamp,
    /// The older decisions about this node that this one replaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supersedes: Vec<DecisionId>,
    /// The SSH signature of [`signed_content`], armored. Part of the content the id is computed from:
    /// two signatures of one decision are two files, and no merge has to choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// The plan's file when it was decided, where several plans can have one id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_file: Option<String>,
}

/// What was decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "kebab-case")]
pub enum Verdict {
    /// Exactly this text below exactly that parent is approved, or kept after the parent changed.
    Approved {
        text: CanonicalHash,
        version: VersionHash,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<ParentVersion>,
        /// Consistency warnings that were known and accepted.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        warnings: Vec<String>,
        /// Digest of the parent's sections the text relies on, for the precise cascade.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        relied_sections: Option<Digest32>,
    },
    /// Exactly this text is rejected.
    Rejected {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<CanonicalHash>,
        reason: String,
    },
    /// Changes of exactly this text are requested; the next text answers it.
    ChangesRequested {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<CanonicalHash>,
        reason: String,
    },
    /// Exactly this text has to be compared with its parent again.
    RevalidationRequired {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<CanonicalHash>,
        reason: String,
    },
    Progress {
        progress: Progress,
    },
    Commented {
        text: String,
        /// The words or the thread it is about.
        #[serde(default, skip_serializing_if = "CommentPlace::is_empty")]
        place: CommentPlace,
    },
    /// A pinned note, which every briefing repeats; about the project.
    Noted {
        stamp: Stamp,
        text: String,
    },
    /// A gate was overridden for one step. A record of who did it and why: it lets nothing pass in
    /// another clone.
    Overridden {
        gate: String,
        reason: String,
    },
    /// A review was concluded, or a finding accepted; about the project, because a subject is only a
    /// name.
    Reviewed(ReviewVerdict),
    /// Plans have other places or rewritten references: these decisions belong there now. About the
    /// project.
    Carried {
        decisions: BTreeMap<DecisionId, CarriedTo>,
    },
    /// A check proves the node; with the result of its last run that has to be shared.
    Proved(ProofVerdict),
    /// Takes back what it supersedes. A file of its own, so that a merge does not bring back what
    /// someone took back.
    Withdrawn {
        aspect: Aspect,
    },
}

impl Decision {
    /// Masks secrets in what people wrote: the file is committed and shared.
    #[must_use]
    pub fn with_masked_texts(mut self) -> Self {
        // The hashes are not masked: they name the real text, which is not in the file.
        let mask = |text: &mut String| *text = mask_secrets(text).into_owned();
        match &mut self.what {
            Verdict::Approved { warnings, .. } => warnings.iter_mut().for_each(mask),
            Verdict::Rejected { reason: text, .. }
            | Verdict::ChangesRequested { reason: text, .. }
            | Verdict::RevalidationRequired { reason: text, .. }
            | Verdict::Noted { text, .. }
            | Verdict::Overridden { reason: text, .. } => mask(text),
            Verdict::Commented { text, place } => {
                mask(text);
                if let Some(anchor) = &mut place.anchor {
                    mask(&mut anchor.quote);
                }
            }
            Verdict::Reviewed(verdict) => verdict.findings.iter_mut().for_each(mask),
            Verdict::Proved(verdict) => verdict.mask_texts(),
            Verdict::Progress { .. } | Verdict::Carried { .. } | Verdict::Withdrawn { .. } => {}
        }
        self
    }

    /// Returns the decision that records an approval.
    #[must_use]
    pub fn from_approval(node: String, approval: &Approval, supersedes: Vec<DecisionId>) -> Self {
        Self {
            node,
            what: Verdict::Approved {
                text: approval.canonical,
                version: approval.version,
                parent: approval.parent,
                warnings: approval.warnings.clone(),
                relied_sections: approval.relied_sections,
            },
            by: approval.by.clone(),
            at: approval.at,
            supersedes,
            signature: None,
            plan_file: None,
        }
    }

    /// Returns the decision that records an objection.
    #[must_use]
    pub fn from_condemnation(
        node: String,
        condemnation: &Condemnation,
        supersedes: Vec<DecisionId>,
    ) -> Self {
        let (text, reason) = (condemnation.canonical, condemnation.reason.clone());
        Self {
            node,
            what: match condemnation.kind {
                ObjectionKind::Rejected => Verdict::Rejected { text, reason },
                ObjectionKind::ChangesRequested => Verdict::ChangesRequested { text, reason },
                ObjectionKind::RevalidationRequired => {
                    Verdict::RevalidationRequired { text, reason }
                }
            },
            by: condemnation.by.clone(),
            at: condemnation.at,
            supersedes,
            signature: None,
            plan_file: None,
        }
    }

    /// Returns the approval it gives, if it is one.
    #[must_use]
    pub fn as_approval(&self) -> Option<Approval> {
        match &self.what {
            Verdict::Approved {
                text,
                version,
                parent,
                warnings,
                relied_sections,
            } => {
                let approval = Approval::from_record(
                    *version,
                    *text,
                    *parent,
                    self.by.clone(),
                    self.at,
                    warnings.clone(),
                );
                Some(approval.with_relied_sections(*relied_sections))
            }
            _ => None,
        }
    }

    /// Returns the objection it makes, if it is one.
    #[must_use]
    pub fn as_condemnation(&self) -> Option<Condemnation> {
        let (kind, text, reason) = match &self.what {
            Verdict::Rejected { text, reason } => (ObjectionKind::Rejected, text, reason),
            Verdict::ChangesRequested { text, reason } => {
                (ObjectionKind::ChangesRequested, text, reason)
            }
            Verdict::RevalidationRequired { text, reason } => {
                (ObjectionKind::RevalidationRequired, text, reason)
            }
            _ => return None,
        };
        Some(Condemnation {
            canonical: *text,
            reason: reason.clone(),
            by: self.by.clone(),
            at: self.at,
            kind,
        })
    }

    /// Returns the node's path, as people write it.
    #[must_use]
    pub fn node_path(&self) -> &str {
        self.node
            .split_once(':')
            .map_or(self.node.as_str(), |(_, path)| path)
    }

    /// Returns one line for the log: `approval of act-1/chapter-03 by human:ann`.
    #[must_use]
    pub fn describe_briefly(&self) -> String {
        let noun = match &self.what {
            Verdict::Approved { .. } => "approval",
            Verdict::Rejected { .. } => "rejection",
            Verdict::ChangesRequested { .. } => "request for changes",
            Verdict::RevalidationRequired { .. } => "request for revalidation",
            Verdict::Progress { .. } => "progress",
            Verdict::Commented { .. } => "comment",
            Verdict::Noted { .. } => "pinned note",
            Verdict::Overridden { .. } => "override",
            Verdict::Reviewed(verdict) => {
                return format!("{} by {}", verdict.describe_briefly(), self.by);
            }
            Verdict::Carried { decisions } => {
                let count = count_with_noun(decisions.len(), "decision", "decisions");
                return format!("move of {count} to other places by {}", self.by);
            }
            Verdict::Proved(_) => "evidence",
            Verdict::Withdrawn { .. } => "withdrawal",
        };
        let path = self.node_path();
        let link = if matches!(self.what, Verdict::Commented { .. }) {
            "on"
        } else {
            "of"
        };
        format!("{noun} {link} {path} by {}", self.by)
    }
}

/// What the store knows of a decision: a record, keyed by node and id.
///
/// A cache of the folder: deleting it loses no decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownDecision {
    #[serde(skip)]
    pub id: Option<DecisionId>,
    #[serde(flatten)]
    pub decision: Decision,
    /// Whether its file is in the working tree; it goes and comes with branches.
    pub present: bool,
    /// Whether it counts: made here, or accepted.
    pub trusted: bool,
    /// Whether its file went although no other commit was checked out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub vanished: bool,
    /// Why it does not count, where signatures are required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature_problem: Option<String>,
    /// The decision as its file has it, if the plan has another place or rewritten references now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<Box<Decision>>,
}

impl Recorded for KnownDecision {
    const KIND: &'static str = "decision";
}

impl KnownDecision {
    /// Returns the decision as its file has it.
    #[must_use]
    pub fn as_in_file(&self) -> &Decision {
        self.original.as_deref().unwrap_or(&self.decision)
    }

    /// Returns the record key of a decision.
    #[must_use]
    pub fn record_key(node_key: &str, id: &DecisionId) -> String {
        format!("{}{id}", Self::key_prefix(node_key))
    }

    /// Returns the key prefix of a node's decisions.
    #[must_use]
    pub fn key_prefix(node_key: &str) -> String {
        // `#` is in no alias, so no node's prefix is a prefix of another's.
        format!("{node_key}#")
    }

    /// Returns the record read under `key`, with its id.
    #[must_use]
    pub fn with_id_of_key(mut self, key: &str) -> Self {
        self.id = DecisionId::of_record_key(key);
        self
    }

    /// Whether it takes part in deciding a status.
    #[must_use]
    pub fn counts(&self) -> bool {
        // Each changes by itself: with a checkout, with the adoption of the clone, and with the
        // allowed signers.
        self.present && self.trusted && self.signature_problem.is_none()
    }
}
