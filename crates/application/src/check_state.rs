//! Check the state: its integrity, and whether it matches the plan files. Changes nothing.
//!
//! Repairing is `repair_state`.

use domain::audit::{self, Finding, FindingKind};
use domain::node::Content;
use domain::observation::{Found, Place};
use domain::ports::{History, Snapshot};
use domain::secrets::{MaskedSecret, MaskedText, in_lines, secret_lines};
use domain::status::{JudgingRules, any_change_counts};
use domain::tree::Tree;
use serde::Serialize;

use crate::context::{Context, Noticed};
use crate::failure::Failure;
use crate::record_policy::judging_policy;
use crate::survey::{Scope, survey};

/// Outcome of a check.
#[derive(Clone, Debug, Serialize)]
pub struct CheckOutcome {
    pub ok: bool,
    pub nodes: usize,
    pub findings: Vec<FindingView>,
}

impl CheckOutcome {
    /// Adds the findings of the edge.
    pub fn add(&mut self, findings: Vec<FindingView>) {
        self.ok &= findings.is_empty();
        self.findings.extend(findings);
    }
}

/// One finding.
#[derive(Clone, Debug, Serialize)]
pub struct FindingView {
    pub kind: String,
    pub node: Option<String>,
    pub message: String,
    pub next_steps: Vec<String>,
}

impl From<Finding> for FindingView {
    fn from(finding: Finding) -> Self {
        Self {
            kind: finding.kind.word().to_owned(),
            node: finding.node,
            message: finding.message,
            next_steps: finding.next_steps,
        }
    }
}

/// Checks everything.
///
/// # Errors
/// When the state cannot even be read.
pub fn check_state(ctx: &Context<'_>) -> Result<CheckOutcome, Failure> {
    // Opening a snapshot replays what a killed process left in the journal; only then is it known
    // which mirror files are missing.
    drop(ctx.store.read()?);
    // Deferred mirror files are not a finding.
    ctx.store.finish_mirror();
    let state = ctx.store.read()?;
    let tree = Tree::new(state.all_nodes()?);
    let mut findings = against_files(ctx, &*state, &tree)?;
    // Under the precise cascade a child may rightly depend on an older version of its parent.
    // Judging that needs both texts and was done when the parent changed, so it is not repeated
    // here.
    let precise = ctx.policy.cascade == domain::policy::CascadePolicy::Precise;
    let never = |_: &domain::status::Footing, _, _| false;
    let own = audit::tree(
        &tree,
        ctx.profiles,
        ctx.policy.cascade_max_depth,
        JudgingRules {
            approval: judging_policy(ctx, &*state, &[])?,
            moved: if precise { &never } else { &any_change_counts },
        },
    );
    findings.extend(
        own.into_iter()
            .filter(|finding| !(precise && finding.kind == FindingKind::StatusMismatch)),
    );
    // A store gives one snapshot at a time, and its integrity check opens its own.
    drop(state);
    for found in ctx.store.verify()? {
        findings.push(Finding {
            kind: FindingKind::Store(found.kind.word()),
            node: None,
            message: found.message,
            next_steps: vec!["tl repair".to_owned()],
        });
    }
    findings.extend(untrusted(ctx));
    Ok(CheckOutcome {
        // A secret in a user's own file is theirs to remove; the state itself is sound.
        ok: findings
            .iter()
            .all(|finding| finding.kind == FindingKind::SecretInPlan),
        nodes: tree.len(),
        findings: findings.into_iter().map(FindingView::from).collect(),
    })
}

/// Returns the decisions a person has to make before policy and history can be trusted again.
fn untrusted(ctx: &Context<'_>) -> Vec<Finding> {
    let history = ctx.store.history().problem().map(|message| Finding {
        kind: FindingKind::HistoryChanged,
        node: None,
        message,
        next_steps: History::NEXT_STEPS.map(str::to_owned).to_vec(),
    });
    let policy = ctx.waiting_policy.iter().map(|change| Finding {
        kind: FindingKind::PolicyNotAccepted,
        node: None,
        message: format!(
            "config.toml is looser than the policy in force, and has no effect: {change}"
        ),
        next_steps: vec![
            "tl policy accept   # in your own terminal; or change config.toml back".to_owned(),
        ],
    });
    history.into_iter().chain(policy).collect()
}

/// Compares the recorded state with the files, without recording anything.
fn against_files(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &Tree,
) -> Result<Vec<Finding>, Failure> {
    let next = domain::ids::NodeId(u32::MAX / 2);
    // Every file is read whatever its stamp: a check that trusted the stamps would miss a change
    // that kept size and mtime.
    let seen = survey(ctx, state, Scope::EverythingAnew, next)?;
    let mut findings = Vec::new();
    for sighting in &seen.sightings {
        match &sighting.place {
            Place::New(new) => findings.push(Finding {
                kind: FindingKind::NotRecorded,
                node: None,
                message: format!(
                    "`{}` is not recorded yet",
                    new.path.as_deref().unwrap_or(&new.alias)
                ),
                next_steps: vec!["tl sync-hashes".to_owned()],
            }),
            Place::Known(id) => {
                let Some(node) = tree.get(*id) else { continue };
                let path = tree.path(node);
                let file = node.path.as_deref().unwrap_or_default();
                let (kind, message) = match (&sighting.found, &node.content) {
                    (Found::Missing, _) => (
                        FindingKind::FileMissing,
                        format!("the plan file of `{path}` is missing: `{file}`"),
                    ),
                    (Found::Unreadable { why }, _) => (
                        FindingKind::FileUnreadable,
                        format!("the plan file of `{path}` cannot be read: {why}"),
                    ),
                    (Found::Text { version, .. }, Content::Text { version: known, .. }) => (
                        FindingKind::HashMismatch,
                        format!(
                            "`{path}` was recorded as {}, but `{file}` is {}",
                            known.short(),
                            version.short()
                        ),
                    ),
                    (Found::Text { version, .. }, _) => (
                        FindingKind::HashMismatch,
                        format!("`{path}` has a plan file again: {}", version.short()),
                    ),
                };
                findings.push(Finding {
                    kind,
                    node: Some(path),
                    message,
                    next_steps: vec!["tl sync-hashes".to_owned()],
                });
            }
        }
    }
    // The scan reports these as notices; in a check they are findings, and must not be printed
    // twice.
    for noticed in ctx.take_noticed() {
        match noticed {
            Noticed::Misplaced { path, why } => findings.push(Finding {
                kind: FindingKind::Misplaced,
                node: None,
                message: format!("`{path}`: {why}"),
                next_steps: vec!["move or rename it".to_owned()],
            }),
            Noticed::Unavailable { path, why } => findings.push(Finding {
                kind: FindingKind::FileUnavailable,
                node: None,
                message: format!(
                    "`{path}` cannot be read now: {why}; what was known of it still counts"
                ),
                next_steps: vec![format!("make `{path}` readable, then: tl check")],
            }),
            other => ctx.notice(other),
        }
    }
    for node in tree.all_in_order() {
        let Some(version) = node.content.version() else {
            continue;
        };
        let text = state.text(version).ok().flatten();
        let secrets: Vec<MaskedSecret> = match MaskedText::read(state, version).ok().flatten() {
            Some(masked) => masked.secrets,
            // Stored by a version without masking: the text itself is searched.
            None => text.as_deref().map(secret_lines).unwrap_or_default(),
        };
        if let (false, Some(file)) = (secrets.is_empty(), &node.path) {
            let lines = in_lines(&secrets);
            findings.push(Finding {
                kind: FindingKind::SecretInPlan,
                node: Some(tree.path(node)),
                message: format!("`{file}` holds a secret: {lines}; new stored copies are masked, the file is not"),
                next_steps: vec![
                    format!("take it out of `{file}`, and revoke it if the file was ever shared"),
                    "tl secret scan   # whether older history holds it".to_owned(),
                ],
            });
        }
        if let Some(problem) = text.and_then(|text| domain::front_matter::read(&text).problem) {
            findings.push(Finding {
                kind: FindingKind::FrontMatter,
                node: Some(tree.path(node)),
                message: format!(
                    "front matter of `{}`, {problem}",
                    node.path.as_deref().unwrap_or_default()
                ),
                next_steps: vec!["fix the lines between the two `---`".to_owned()],
            });
        }
    }
    Ok(findings)
}
