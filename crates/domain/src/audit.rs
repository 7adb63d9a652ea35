//! Audit: is the recorded tree sound, and does it agree with the files?

use crate::cascade::{Occasion, reevaluate};
use crate::ids::OperationId;
use crate::needs::Needs;
use crate::node::{Content, Node};
use crate::profile::Profile;
use crate::status::JudgingRules;
use crate::time::Timestamp;
use crate::tree::Tree;

/// Something `check` found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub kind: FindingKind,
    /// Path alias of the node it is about.
    pub node: Option<String>,
    pub message: String,
    /// Commands that mend it.
    pub next_steps: Vec<String>,
}

/// The kinds of [`Finding`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingKind {
    FileMissing,
    FileUnreadable,
    /// It cannot be read now; nothing is said about its content.
    FileUnavailable,
    HashMismatch,
    NotRecorded,
    Orphan,
    BrokenHierarchy,
    StatusMismatch,
    Needs,
    FrontMatter,
    Misplaced,
    /// A looser policy in the file waits for a person.
    PolicyNotAccepted,
    /// The history is not the one this user knew.
    HistoryChanged,
    SecretInPlan,
    Store(&'static str),
}

impl FindingKind {
    /// Returns the word used in JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
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
            Self::PolicyNotAccepted => "policy-not-accepted",
            Self::HistoryChanged => "history-changed",
            Self::SecretInPlan => "secret-in-plan",
            Self::Store(word) => word,
        }
    }
}

/// Audits the tree by itself: files that are gone, parents that cannot be, statuses that do not follow.
#[must_use]
pub fn tree(
    tree: &Tree,
    profiles: &[Profile],
    max_depth: usize,
    rules: JudgingRules<'_>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for node in tree.all_in_order() {
        content(tree, node, &mut findings);
        hierarchy(tree, profiles, node, &mut findings);
    }
    for problem in Needs::of(tree, profiles).problems {
        findings.push(Finding {
            kind: FindingKind::Needs,
            node: Some(problem.node().to_owned()),
            message: problem.to_string(),
            next_steps: vec!["change `needs` in the plan's front matter".to_owned()],
        });
    }
    statuses(tree, max_depth, rules, &mut findings);
    findings
}

fn content(tree: &Tree, node: &Node, findings: &mut Vec<Finding>) {
    let path = tree.path(node);
    let file = node.path.as_deref().unwrap_or_default();
    let has_children = tree.children(node.id).next().is_some();
    match &node.content {
        Content::Text { .. } => {}
        Content::Missing if has_children => findings.push(Finding {
            kind: FindingKind::Orphan,
            message: format!("`{path}` has no plan file `{file}`, but there are plans below it"),
            next_steps: vec![
                "tl repair --rebuild-orphans".to_owned(),
                format!("tl plan {} {}", node.level, node.alias),
            ],
            node: Some(path),
        }),
        Content::Missing => findings.push(Finding {
            kind: FindingKind::FileMissing,
            message: format!("the plan file of `{path}` is missing: `{file}`"),
            next_steps: vec![
                format!("tl versions {path}"),
                "tl repair --forget-missing".to_owned(),
            ],
            node: Some(path),
        }),
        Content::Unreadable { why } => findings.push(Finding {
            kind: FindingKind::FileUnreadable,
            message: format!("the plan file of `{path}` cannot be read: {why}"),
            next_steps: vec![format!("look at `{file}`"), format!("tl versions {path}")],
            node: Some(path),
        }),
    }
}

fn hierarchy(tree: &Tree, profiles: &[Profile], node: &Node, findings: &mut Vec<Finding>) {
    let path = tree.path(node);
    let mut broken = |message: String, next_steps: Vec<String>| {
        findings.push(Finding {
            kind: FindingKind::BrokenHierarchy,
            node: Some(path.clone()),
            message,
            next_steps,
        });
    };
    let brought =
        (node.profile == crate::plan_document::PROFILE).then(crate::plan_document::profile);
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
        return;
    };
    let Some(level) = profile.level(&node.level) else {
        broken(
            format!(
                "`{path}` is a `{}`, and profile `{}` has no such level",
                node.level, profile.name
            ),
            vec![format!("levels: {}", profile.hierarchy())],
        );
        return;
    };
    match tree.parent(node) {
        None if node.parent.is_some() => {
            broken(
                format!("the parent of `{path}` is not there"),
                vec!["tl repair --rebuild-orphans".to_owned()],
            );
        }
        None if !level.root => {
            broken(
                format!("`{path}` is a `{}` without a parent", level.name),
                vec!["tl rebuild".to_owned()],
            );
        }
        Some(parent) if !level.under.contains(&parent.level) => broken(
            format!("`{path}` is a `{}` below a `{}`", level.name, parent.level),
            vec![format!("levels: {}", profile.hierarchy())],
        ),
        None | Some(_) => {}
    }
}

fn statuses(tree: &Tree, max_depth: usize, rules: JudgingRules<'_>, findings: &mut Vec<Finding>) {
    let occasion = Occasion {
        operation: OperationId(0),
        now: Timestamp::from_millis(0),
        note: None,
    };
    for top in tree.tops() {
        match reevaluate(
            &tree.footings(top.id),
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
                    findings.push(Finding {
                        kind: FindingKind::StatusMismatch,
                        node: Some(tree.path(node)),
                        message: format!(
                            "`{}` is recorded as `{}`, but the facts make it `{}`",
                            tree.path(node),
                            group.before.status,
                            group.after.status
                        ),
                        next_steps: vec!["tl repair --fix-hashes".to_owned()],
                    });
                }
            }
            Err(too_deep) => findings.push(Finding {
                kind: FindingKind::BrokenHierarchy,
                node: Some(tree.path(top)),
                message: too_deep.to_string(),
                next_steps: vec!["tl rebuild".to_owned()],
            }),
        }
    }
}
