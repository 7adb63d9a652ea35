//! Build the question of an approval: what a person has to be shown before they decide about a plan.
//!
//! The same for every channel. The answer is bound to it: see [`crate::answer_question`].

use domain::approval::{ApprovalRefused, Condemnation, Force, ObjectionKind, required_force};
use domain::approval_question::{
    QuestionBase, QuestionChannel, QuestionParts, RenderedQuestion, describe_objection,
    render_question,
};
use domain::expected_version::ExpectedVersions;
use domain::ids::{Digest32, Principal, VersionHash};
use domain::node::{Node, Status};
use domain::node_reference::parent_path;
use domain::ports::Snapshot;
use domain::time::Timestamp;

use crate::context::Context;
use crate::failure::Failure;
use crate::invalidate::list_settled_below;
use crate::locate::{load_node, load_node_path, load_parent, reject_extra_words};
use crate::observe::observe_node;
use crate::plan_warnings::WarningCollector;
use crate::record_policy::resolve_deciding_policy;
use crate::revalidate::parent_changes;
use crate::scan::ScanScope;
use crate::views::DiffView;

/// Number of hexadecimal digits of a question's code.
pub(crate) const CODE_DIGITS: usize = 8;

/// What a person is shown before they decide about a plan.
#[derive(Clone, Debug)]
pub struct ApprovalQuestion {
    pub path: String,
    pub entity_type: String,
    pub title: Option<String>,
    pub file_path: Option<String>,
    pub status: Status,
    /// The text to decide on.
    pub version_hash: VersionHash,
    pub parent_path: Option<String>,
    pub parent_version_hash: Option<VersionHash>,
    /// The text that was approved last, with which the present one is compared.
    pub base: Option<ApprovedBase>,
    /// The difference from the base; `None` without a base.
    pub change: Option<DiffView>,
    /// The whole text, where there is no base.
    pub text: Option<String>,
    /// What changed in the parent since this was approved.
    pub parent_changes: Option<DiffView>,
    pub warnings: Vec<String>,
    /// An objection to this very text: a rejection, or an open request for changes.
    pub objection: Option<Condemnation>,
    /// What an approval has to override. It is shown, so a yes carries it.
    pub required_force: Force,
    /// The plans below that become stale if it is rejected; empty in a question about several plans,
    /// which are not rejected together.
    pub falls_below: Vec<String>,
    /// The person who is asked.
    pub asked: Principal,
}

/// The text that was approved last.
#[derive(Clone, Debug)]
pub struct ApprovedBase {
    pub version_hash: VersionHash,
    pub by: Principal,
    pub at: Timestamp,
}

impl ApprovalQuestion {
    /// Returns the open request for changes of this very text.
    #[must_use]
    pub fn change_request(&self) -> Option<&Condemnation> {
        let is_request = |one: &&Condemnation| one.kind == ObjectionKind::ChangesRequested;
        self.objection.as_ref().filter(is_request)
    }

    /// Returns the versions an answer is bound to.
    #[must_use]
    pub fn expected_versions(&self) -> ExpectedVersions {
        ExpectedVersions {
            version: self.version_hash.into(),
            parent: self.parent_version_hash.map(Into::into),
        }
    }

    /// Returns the code of the question: another text, parent, objection or person has another one.
    #[must_use]
    pub fn question_code(&self) -> String {
        let mut code = self.digest_identity().to_string();
        code.truncate(CODE_DIGITS);
        code
    }

    /// Whether `code` is that of this question: its code, or more digits of it.
    #[must_use]
    pub fn has_code(&self, code: &str) -> bool {
        // A shorter code could be guessed, or fit another text by chance.
        code.len() >= CODE_DIGITS
            && self
                .digest_identity()
                .to_string()
                .starts_with(&code.to_ascii_lowercase())
    }

    /// Returns the digest of everything an answer is bound to.
    pub(crate) fn digest_identity(&self) -> Digest32 {
        let parent = self.parent_version_hash.map(|parent| parent.to_string());
        // The person too: a code shown to one person must not be another's answer.
        let mut parts = vec![
            self.path.clone(),
            self.version_hash.to_string(),
            parent.unwrap_or_default(),
            self.asked.to_string(),
        ];
        // What a yes overrides: a code that was shown before a rejection says nothing about it.
        if let Some(objection) = &self.objection {
            parts.push(describe_objection(objection));
            parts.push(objection.reason.clone());
        }
        if self.required_force != Force::No {
            parts.extend(self.warnings.iter().cloned());
        }
        Digest32::of_bytes(parts.join("\n").as_bytes())
    }

    /// Renders the question for a channel.
    #[must_use]
    pub fn render_for(&self, channel: QuestionChannel) -> RenderedQuestion {
        render_question(&self.to_parts(), channel)
    }

    /// Returns what is rendered.
    pub(crate) fn to_parts(&self) -> QuestionParts<'_> {
        let base = match (&self.base, &self.change) {
            (Some(base), Some(change)) => QuestionBase::Approved {
                version: base.version_hash,
                by: &base.by,
                at: base.at,
                hunks: &change.hunks,
            },
            _ => QuestionBase::Nothing {
                text: self.text.as_deref().unwrap_or_default(),
            },
        };
        let parent_changes = self.parent_path.as_deref().zip(
            self.parent_changes
                .as_ref()
                .map(|change| change.hunks.as_slice()),
        );
        QuestionParts {
            path: &self.path,
            file: self.file_path.as_deref(),
            status: self.status,
            version: self.version_hash,
            base,
            parent_changes,
            warnings: &self.warnings,
            objection: self.objection.as_ref(),
            required_force: self.required_force,
        }
    }
}

/// Builds the question about a plan for the acting person; `None` if it is approved already.
///
/// # Errors
/// When there is no such node, it has no text, its parent is not approved, or the state cannot be
/// read.
pub fn build_question(
    ctx: &Context<'_>,
    words: &[String],
) -> Result<Option<ApprovalQuestion>, Failure> {
    build_question_about(ctx, words, None)
}

/// Builds the question for a caller who knows a version of the plan: nobody is asked about another.
///
/// # Errors
/// As [`build_question`], and when the text or the parent is not the expected one.
pub fn build_question_about(
    ctx: &Context<'_>,
    words: &[String],
    expected: Option<&ExpectedVersions>,
) -> Result<Option<ApprovalQuestion>, Failure> {
    let seen = observe_node(ctx, words, ScanScope::Lineage)?;
    reject_extra_words(seen.rest)?;
    let node = load_node(&*seen.state, seen.id)?;
    let parent = load_parent(&*seen.state, &node)?;
    let path = load_node_path(&*seen.state, &node)?;
    if let Some(expected) = expected {
        expected.check_current(&path, &node, parent.as_ref())?;
    }
    if node.status() == Status::Approved {
        return Ok(None);
    }
    // Not asked for nothing: the answer would be refused.
    if let Some(parent) = parent
        && parent.status() != Status::Approved
    {
        return Err(ApprovalRefused::ParentNotApproved {
            parent: parent_path(&path).to_owned(),
            node: path,
            parent_file: parent.path.clone(),
            status: parent.status(),
        }
        .into());
    }
    let mut warnings = WarningCollector::new(ctx);
    let question = build_question_on(ctx, &*seen.state, &node, &mut warnings)?;
    Ok(Some(ApprovalQuestion {
        falls_below: list_settled_below(&*seen.state, node.id)?,
        ..question
    }))
}

/// Builds the question about a node of a snapshot.
pub(crate) fn build_question_on(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    warnings: &mut WarningCollector<'_>,
) -> Result<ApprovalQuestion, Failure> {
    let path = load_node_path(state, node)?;
    let version_hash = require_text(node, &path)?;
    let parent = load_parent(state, node)?;
    let now = load_shown_text(state, version_hash)?;
    let (base, change) = compare_with_approved(ctx, state, node, version_hash, &now)?;
    let stale_above = match &parent {
        Some(parent) if node.status() == Status::RequiresRevalidation => {
            parent_changes(state, node, parent)?
        }
        _ => None,
    };
    let warnings = warnings.collect_warnings(state, node, parent.as_ref())?;
    let policy = resolve_deciding_policy(ctx, state)?;
    Ok(ApprovalQuestion {
        entity_type: node.level.clone(),
        title: node.description.title.clone(),
        file_path: node.path.clone(),
        status: node.status(),
        version_hash,
        parent_path: parent
            .as_ref()
            .map(|parent| load_node_path(state, parent))
            .transpose()?,
        parent_version_hash: parent
            .as_ref()
            .and_then(|parent| parent.content.version_hash()),
        // Either the difference or the whole text: both would push one of them out of a channel
        // with a limit.
        text: base.is_none().then_some(now),
        base,
        change,
        parent_changes: stale_above,
        required_force: required_force(node, &warnings, policy.consistency),
        warnings,
        objection: node.objection_to_text().cloned(),
        falls_below: Vec::new(),
        asked: ctx.actor.clone(),
        path,
    })
}

/// Returns the version of a node's text; a node without one cannot be decided about.
pub(crate) fn require_text(node: &Node, path: &str) -> Result<VersionHash, Failure> {
    node.content.version_hash().ok_or_else(|| {
        Failure::refused(format!("`{path}` has no text that could be approved"))
            .with_step(format!("tl why {path}"))
    })
}

/// Returns the approved text and the difference from it; nothing if no approval counts, or its text
/// was never seen here: then the whole text is shown.
fn compare_with_approved(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    version: VersionHash,
    now: &str,
) -> Result<(Option<ApprovedBase>, Option<DiffView>), Failure> {
    // An agent's approval is no base where only people approve: nobody has read that text.
    let policy = resolve_deciding_policy(ctx, state)?.approval;
    let counts = |by: &Principal| policy.accepts_approval_by(by);
    let Some(approval) = node.approval.as_ref().filter(|one| counts(&one.by)) else {
        return Ok((None, None));
    };
    // Approved in another clone, and never read here: then the whole text is shown.
    let Some(older) = state.load_text(approval.version)? else {
        return Ok((None, None));
    };
    let name =
        |what: &str, hash: VersionHash| format!("{} {} ({what})", node.alias, hash.short_hex());
    let change = DiffView::from_texts(
        name("approved", approval.version),
        &older,
        name("now", version),
        now,
    );
    let base = ApprovedBase {
        version_hash: approval.version,
        by: approval.by.clone(),
        at: approval.at,
    };
    Ok((Some(base), Some(change)))
}

/// Returns the text to decide on. Without it there is nothing to show, and so nothing to ask.
fn load_shown_text(state: &dyn Snapshot, version: VersionHash) -> Result<String, Failure> {
    state.load_text(version)?.ok_or_else(|| {
        Failure::unavailable(format!(
            "the text of version {} is not stored here",
            version.short_hex()
        ))
        .with_step("tl check")
    })
}
