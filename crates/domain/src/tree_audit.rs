//! Integrity audit of the recorded tree, for `tl check`: content, hierarchy, `needs`, statuses.
//!
//! Reports, never repairs. Comparing with the files on disk and verifying the store's checksums is
//! done by the use case, which adds findings of the same type. Not to be confused with the audit
//! log of servers ([`crate::token`]).

use crate::cascade::{CascadeContext, reevaluate_subtree};
use crate::duplicate_ids::{describe_duplicate, renumber_command, split_label};
use crate::ids::OperationId;
use crate::needs::Needs;
use crate::node::{Content, Node};
use crate::profile::Profile;
use crate::status::StatusRules;
use crate::time::Timestamp;
use crate::tree::Tree;

/// One finding of `tl check`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditFinding {
    pub kind: AuditFindingKind,
    /// Path alias of the node concerned.
    pub node: Option<String>,
    pub message: String,
    /// Commands that fix it.
    pub next_steps: Vec<String>,
}

/// The kinds of [`Finding`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AuditFindingKind {
    FileMissing,
    FileUnreadable,
    /// Transient read error, which says nothing about the content.
    FileUnavailable,
    HashMismatch,
    NotRecorded,
    Orphan,
    BrokenHierarchy,
    StatusMismatch,
    Needs,
    FrontMatter,
    Misplaced,
    /// Two plans with one id.
    DuplicateId,
    /// A file in the decisions folder that is no decision, or was changed.
    DecisionDamaged,
    /// A looser policy in `config.toml` waits for `tl policy accept`.
    PolicyNotAccepted,
    /// The file of a decision made here is gone, although no other commit was checked out.
    DecisionGone,
    /// The history was rolled back or rewritten since this user last saw it.
    HistoryChanged,
    SecretInPlan,
    /// A file of this working copy differs from a shared state.
    CopyDiffers,
    /// A node is complete by a file that came with git alone.
    UnprovedCompletion,
    Store(&'static str),
}

impl AuditFindingKind {
    /// Returns the name used in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FileMissing => "file-missing",
            Self::FileUnreadable => "file-unreadable",
            Self::FileUnavailable => "file-unavailable",
            Self::HashMismatch => "hash-mismatch",
            Self::NotRecorded => "not-recorded",
            Self::Orphan => "orphan",
            Self::BrokenHierarchy => "broken-hierarchy",
            Self::StatusMismatch => "status-mismatch",
            Self::Needs => "needs",
            Self::FrontMatter => "front-matter",
            Self::Misplaced => "misplaced",
            Self::DuplicateId => "duplicate-id",
            Self::DecisionDamaged => "decision-damaged",
            Self::PolicyNotAccepted => "policy-not-accepted",
            Self::DecisionGone => "decision-gone",
            Self::HistoryChanged => "history-changed",
            Self::SecretInPlan => "secret-in-plan",
            Self::CopyDiffers => "copy-differs",
            Self::UnprovedCompletion => "unproved-completion",
            Self::Store(word) => word,
        }
    }
}

/// Audits the tree: missing files, invalid parents, broken `needs`, statuses that do not follow.
#[must_use]
pub fn audit_tree(
    tree: &Tree,
    profiles: &[Profile],
    max_depth: usize,
    rules: StatusRules<'_>,
) -> Vec<AuditFinding> {
    let mut findings = Vec::new();
    for node in tree.all_preorder() {
        audit_content(tree, node, &mut findings);
        audit_work_keys(tree, profiles, node, &mut findings);
        audit_hierarchy(tree, profiles, node, &mut findings);
        audit_id(tree, node, &mut findings);
    }
    // Once for the whole tree: a cycle has no single node it belongs to.
    for problem in Needs::from_tree(tree, profiles).problems {
        findings.push(AuditFinding {
            kind: AuditFindingKind::Needs,
            node: Some(problem.node_path().to_owned()),
            message: problem.to_string(),
            next_steps: vec!["change `needs` in the plan's front matter".to_owned()],
        });
    }
    audit_statuses(tree, max_depth, rules, &mut findings);
    findings
}

fn audit_content(tree: &Tree, node: &Node, findings: &mut Vec<AuditFinding>) {
    let path = tree.alias_path(node);
    let file = node.path.as_deref().unwrap_or_default();
    let has_children = tree.children(node.id).next().is_some();
    match &node.content {
        Content::Text { .. } => {}
        // A missing file with plans below it is a different problem: forgetting the node would take
        // the children along, so the suggested fix restores the file instead.
        Content::Missing if has_children => findings.push(AuditFinding {
            kind: AuditFindingKind::Orphan,
            message: format!("`{path}` has no plan file `{file}`, but there are plans below it"),
            next_steps: vec![
                "tl state repair --rebuild-orphans".to_owned(),
                format!("tl plan {} {path}", node.level),
            ],
            node: Some(path),
        }),
        Content::Missing => findings.push(AuditFinding {
            kind: AuditFindingKind::FileMissing,
            message: format!("the plan file of `{path}` is missing: `{file}`"),
            next_steps: vec![
                format!("tl versions {path}"),
                "tl state repair --forget-missing".to_owned(),
            ],
            node: Some(path),
        }),
        Content::Unreadable { why } => findings.push(AuditFinding {
            kind: AuditFindingKind::FileUnreadable,
            message: format!("the plan file of `{path}` cannot be read: {why}"),
            next_steps: vec![format!("look at `{file}`"), format!("tl versions {path}")],
            node: Some(path),
        }),
    }
}

/// Reports words of a ticket's front matter that mean nothing here: they are ignored, which their
/// author does not expect.
fn audit_work_keys(
    tree: &Tree,
    profiles: &[Profile],
    node: &Node,
    findings: &mut Vec<AuditFinding>,
) {
    let profile = profiles.iter().find(|one| one.name == node.profile);
    let (Some(work), Some(profile)) = (&node.description.work, profile) else {
        return;
    };
    for unknown in work.unknown_words(&profile.work_phases) {
        let path = tree.alias_path(node);
        let file = node.path.as_deref().unwrap_or_default();
        findings.push(AuditFinding {
            kind: AuditFindingKind::FrontMatter,
            message: unknown.describe(&path),
            next_steps: vec![format!("change `{}` in {file}", unknown.key)],
            node: Some(path),
        });
    }
}

/// Reports a node that is labelled because another one has its id.
fn audit_id(tree: &Tree, node: &Node, findings: &mut Vec<AuditFinding>) {
    let Some((id, _)) = split_label(&node.alias) else {
        return;
    };
    let has_id = |other: &&Node| {
        other.alias == id && (&other.profile, &other.level) == (&node.profile, &node.level)
    };
    // Below its own parent first; in a flat level the parents may differ.
    let siblings: Vec<&Node> = match node.parent {
        Some(parent) => tree.children(parent).collect(),
        None => tree.root_nodes().collect(),
    };
    let other = siblings.into_iter().find(has_id);
    let other = other.or_else(|| tree.nodes().find(has_id));
    let file = |node: &Node| node.path.clone().unwrap_or_default();
    let path = tree.alias_path(node);
    let mut finding = duplicate_id_finding(
        &node.alias,
        &file(node),
        &other.map(file).unwrap_or_default(),
    );
    finding.next_steps = vec![renumber_command(&path)];
    finding.node = Some(path);
    findings.push(finding);
}

/// Returns the finding about a plan with the id of another one.
#[must_use]
pub fn duplicate_id_finding(label: &str, file: &str, other: &str) -> AuditFinding {
    AuditFinding {
        kind: AuditFindingKind::DuplicateId,
        node: None,
        message: describe_duplicate(label, file, other),
        next_steps: vec![renumber_command(label)],
    }
}

fn audit_hierarchy(
    tree: &Tree,
    profiles: &[Profile],
    node: &Node,
    findings: &mut Vec<AuditFinding>,
) {
    let path = tree.alias_path(node);
    let mut broken = |message: String, next_steps: Vec<String>| {
        findings.push(AuditFinding {
            kind: AuditFindingKind::BrokenHierarchy,
            node: Some(path.clone()),
            message,
            next_steps,
        });
    };
    // Plan documents bring their own profile, which is not listed in the project's configuration.
    let brought = (node.profile == crate::plan_document::MILESTONES_PROFILE)
        .then(crate::plan_document::milestones_profile);
    let Some(profile) = profiles
        .iter()
        .find(|profile| profile.name == node.profile)
        .or(brought)
    else {
        broken(
            format!(
                "`{path}` belongs to profile `{}`, which is not enabled",
                node.profile
            ),
            vec![format!(
                "add \"{}\" to `profiles` in .throughline/config.toml",
                node.profile
            )],
        );
        // Without the profile neither the level nor the parent can be checked.
        return;
    };
    let Some(level) = profile.find_level(&node.level) else {
        broken(
            format!(
                "`{path}` is a `{}`, and profile `{}` has no such level",
                node.level, profile.name
            ),
            vec![format!("levels: {}", profile.render_hierarchy())],
        );
        return;
    };
    match tree.parent_of(node) {
        // The record names a parent that is not in the tree: damage, or a removal that went wrong.
        None if node.parent.is_some() => {
            broken(
                format!("the parent of `{path}` is not there"),
                vec!["tl state repair --rebuild-orphans".to_owned()],
            );
        }
        None if !level.root => {
            broken(
                format!("`{path}` is a `{}` without a parent", level.name),
                vec!["tl state rebuild".to_owned()],
            );
        }
        Some(parent) if !level.under.contains(&parent.level) => broken(
            format!("`{path}` is a `{}` below a `{}`", level.name, parent.level),
            vec![format!("levels: {}", profile.render_hierarchy())],
        ),
        None | Some(_) => {}
    }
}

fn audit_statuses(
    tree: &Tree,
    max_depth: usize,
    rules: StatusRules<'_>,
    findings: &mut Vec<AuditFinding>,
) {
    // A dry run of the cascade over the whole tree: any change it would make is a recorded status
    // that does not follow from the facts. Operation and time are placeholders that are not shown.
    let occasion = CascadeContext {
        operation: OperationId(0),
        now: Timestamp::from_millis(0),
        note: None,
    };
    for top in tree.root_nodes() {
        match reevaluate_subtree(
            &tree.subtree_status_inputs(top.id),
            &std::collections::HashMap::new(),
            occasion,
            max_depth,
            rules,
        ) {
            Ok(groups) => {
                for (group, id) in groups
                    .iter()
                    .flat_map(|group| group.nodes.iter().map(move |id| (group, id)))
                {
                    let Some(node) = tree.get(*id) else { continue };
                    findings.push(AuditFinding {
                        kind: AuditFindingKind::StatusMismatch,
                        node: Some(tree.alias_path(node)),
                        message: format!(
                            "`{}` is recorded as `{}`, but the facts make it `{}`",
                            tree.alias_path(node),
                            group.before.status,
                            group.after.status
                        ),
                        next_steps: vec!["tl state repair --fix-hashes".to_owned()],
                    });
                }
            }
            // Reported like any other finding: one damaged root must not hide those of the others.
            Err(too_deep) => findings.push(AuditFinding {
                kind: AuditFindingKind::BrokenHierarchy,
                node: Some(tree.alias_path(top)),
                message: too_deep.to_string(),
                next_steps: vec!["tl state rebuild".to_owned()],
            }),
        }
    }
}
