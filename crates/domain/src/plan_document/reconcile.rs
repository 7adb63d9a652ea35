//! Reconciliation: compares a frozen plan with what changed in the repository since the freeze.
//!
//! By file name only: whether a change does what the intent says is for a review to judge.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::Serialize;

use super::model::{CodeIntent, Milestone, Plan};

/// State of the repository and of the evidence, to compare a plan with.
#[derive(Clone, Debug, Default)]
pub struct RepositoryState {
    /// Files that differ from their state at the freeze, relative to the project.
    pub changed: BTreeSet<String>,
    /// Number of pieces of evidence, by milestone.
    pub evidence: BTreeMap<String, usize>,
    /// Test files that the plan names and that do not exist, or are empty.
    pub missing_tests: BTreeSet<String>,
}

/// Differences between plan and repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reconciliation {
    pub intents_without_changes: Vec<UnchangedIntent>,
    /// Changed files that the plan does not mention.
    pub changes_without_intents: Vec<String>,
    pub criteria_without_evidence: Vec<UnprovenCriteria>,
    pub missing_tests: Vec<MissingTest>,
    /// Number of intents whose file changed.
    pub carried_out: usize,
}

/// An intent whose file is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnchangedIntent {
    pub milestone: String,
    pub intent: String,
    pub file: String,
    pub behavior: String,
}

impl UnchangedIntent {
    /// Describes the gap with the command that shows the intent.
    #[must_use]
    pub fn render_line(&self) -> String {
        let Self { intent, file, .. } = self;
        format!("{intent} is not carried out (`{file}` did not change): tl doc show {intent}")
    }
}

/// A test file that a milestone names and that is not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MissingTest {
    pub milestone: String,
    pub file: String,
}

/// A milestone whose acceptance criteria have no evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnprovenCriteria {
    pub milestone: String,
    pub criteria: Vec<String>,
}

impl Reconciliation {
    /// Whether plan and repository agree.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.intents_without_changes.is_empty()
            && self.changes_without_intents.is_empty()
            && self.criteria_without_evidence.is_empty()
            && self.missing_tests.is_empty()
    }

    /// Renders the report as Markdown.
    #[must_use]
    pub fn render_markdown(&self, title: &str, since: &str) -> String {
        let mut page =
            format!("# Reconciliation of {title}\n\nCompared with what changed since {since}.\n");
        // Writing to a String cannot fail.
        if self.is_clean() {
            let _ = writeln!(
                page,
                "\nPlan and repository agree: {} carried out.",
                self.carried_out
            );
            return page;
        }
        let mut part = |heading: &str, lines: Vec<String>| {
            if !lines.is_empty() {
                let _ = writeln!(page, "\n## {heading}\n");
                lines.iter().for_each(|line| {
                    let _ = writeln!(page, "- {line}");
                });
            }
        };
        let intents = self.intents_without_changes.iter();
        part(
            "Intents without a change",
            intents
                .map(|one| {
                    format!(
                        "{} {} `{}`: {}",
                        one.milestone, one.intent, one.file, one.behavior
                    )
                })
                .collect(),
        );
        part(
            "Changes without an intent",
            self.changes_without_intents
                .iter()
                .map(|file| format!("`{file}`"))
                .collect(),
        );
        let criteria = self.criteria_without_evidence.iter();
        part(
            "Acceptance criteria without evidence",
            criteria
                .flat_map(|one| {
                    one.criteria
                        .iter()
                        .map(move |text| format!("{} {text}", one.milestone))
                })
                .collect(),
        );
        let tests = self.missing_tests.iter();
        part(
            "Tests that do not exist",
            tests
                .map(|one| format!("{} `{}`", one.milestone, one.file))
                .collect(),
        );
        page
    }
}

/// Compares a plan with the repository.
#[must_use]
pub fn compare_with_repository(plan: &Plan, reality: &RepositoryState) -> Reconciliation {
    let mut meant: BTreeSet<&str> = BTreeSet::new();
    let mut found = Reconciliation {
        intents_without_changes: Vec::new(),
        changes_without_intents: Vec::new(),
        criteria_without_evidence: Vec::new(),
        missing_tests: Vec::new(),
        carried_out: 0,
    };
    for milestone in &plan.milestones {
        meant.extend(
            milestone
                .files
                .iter()
                .chain(&milestone.tests.files)
                .map(String::as_str),
        );
        meant.extend(
            milestone
                .code_changes
                .iter()
                .map(|change| change.file.as_str()),
        );
        for intent in &milestone.code_intents {
            meant.insert(&intent.file);
            if is_carried_out(milestone, intent, reality) {
                found.carried_out += 1;
            } else {
                found.intents_without_changes.push(UnchangedIntent {
                    milestone: milestone.id.clone(),
                    intent: intent.id.clone(),
                    file: intent.file.clone(),
                    behavior: intent
                        .behavior
                        .lines()
                        .next()
                        .unwrap_or_default()
                        .to_owned(),
                });
            }
        }
        let tests = milestone.tests.files.iter();
        let missing = tests.filter(|file| reality.missing_tests.contains(*file));
        found.missing_tests.extend(missing.map(|file| MissingTest {
            milestone: milestone.id.clone(),
            file: file.clone(),
        }));
        // Evidence is attached to milestones, so a milestone's criteria are proven together.
        let proven = reality.evidence.get(&milestone.id).copied().unwrap_or(0) > 0;
        if !proven && !milestone.acceptance_criteria.is_empty() {
            let criteria = milestone.acceptance_criteria.clone();
            found.criteria_without_evidence.push(UnprovenCriteria {
                milestone: milestone.id.clone(),
                criteria,
            });
        }
    }
    // A folder among a milestone's files covers everything below it. The slash keeps `src/a` from
    // covering `src/ab.rs`.
    let folders: Vec<String> = meant
        .iter()
        .map(|path| format!("{}/", path.trim_end_matches('/')))
        .collect();
    let covered = |file: &str| {
        meant.contains(file)
            || folders
                .iter()
                .any(|folder| file.starts_with(folder.as_str()))
    };
    // Throughline's own files change with every command; no plan mentions them or the ignore list.
    let ours = |file: &str| file.starts_with(".throughline/") || file == ".gitignore";
    // The executor carries the planned documentation into the project's own documents, whichever these
    // are.
    let is_documented = plan
        .milestones
        .iter()
        .any(|milestone| !milestone.documentation.is_empty() || milestone.is_documentation_only);
    let documents = |file: &str| is_documented && is_document(file);
    found.changes_without_intents = reality
        .changed
        .iter()
        .filter(|file| !covered(file) && !ours(file) && !documents(file))
        .cloned()
        .collect();
    found
}

/// Whether a file is documentation rather than code.
fn is_document(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    matches!(extension, "md" | "mdx" | "rst" | "adoc" | "txt")
        || name.to_lowercase().starts_with("changelog")
        || file.split('/').any(|part| part == "docs" || part == "doc")
}

/// Whether a file of the intent changed. A code change may implement its intent in another file
/// than the intent names; either of the two counts, but a test of the milestone only where the intent is
/// about it.
fn is_carried_out(milestone: &Milestone, intent: &CodeIntent, reality: &RepositoryState) -> bool {
    let changes = milestone
        .code_changes
        .iter()
        .filter(|change| change.intent_ref == intent.id)
        .filter(|change| !milestone.tests.files.contains(&change.file));
    let mut files = changes
        .map(|change| change.file.as_str())
        .chain([intent.file.as_str()]);
    files.any(|file| reality.changed.contains(file))
}
