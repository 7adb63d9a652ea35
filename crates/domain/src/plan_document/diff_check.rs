//! Check of a plan's diffs: do they apply to the files as they are, milestone after milestone.
//!
//! The equivalent of `git apply --check` for a whole plan: a diff may build on what an earlier milestone
//! changes. Pure: the caller reads the files.

use super::check::{PlanProblem, ProblemGrade};
use super::model::{CodeChange, Milestone, Plan};
use super::patch::{PatchProblem, PatchedFiles, apply_patch, is_patch_applied};
use super::waves::compute_waves;

/// A code change that does not apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnappliedChange {
    pub change: String,
    pub intent: String,
    pub problem: PatchProblem,
}

/// Returns a problem for every diff that does not apply after those before it.
#[must_use]
pub fn check_diffs(plan: &Plan, read_file: &dyn Fn(&str) -> Option<String>) -> Vec<PlanProblem> {
    let mut files = PatchedFiles::new();
    let mut problems = Vec::new();
    for at in execution_order(plan) {
        let Some(milestone) = plan.milestones.get(at) else {
            continue;
        };
        for (index, change) in milestone.code_changes.iter().enumerate() {
            // A diff that fails changes nothing; those that build on it are reported too.
            if let Err(problem) = apply_patch(&change.diff, &change.file, &mut files, read_file) {
                problems.push(PlanProblem {
                    pointer: format!("/milestones/{at}/code_changes/{index}/diff"),
                    message: format!("{}: {problem}", change.id),
                    grade: ProblemGrade::Unfinished,
                    line: None,
                });
            }
        }
    }
    problems.extend(hint_missing_tests(plan, &files, read_file));
    problems
}

/// Returns the milestones' places in the order in which they are carried out.
fn execution_order(plan: &Plan) -> Vec<usize> {
    let place = |id: &String| plan.milestones.iter().position(|one| one.id == *id);
    match compute_waves(plan) {
        Ok(waves) => waves
            .iter()
            .flat_map(|wave| &wave.milestones)
            .filter_map(place)
            .collect(),
        // A cycle is a problem of its own.
        Err(_) => (0..plan.milestones.len()).collect(),
    }
}

/// Returns a hint for every test file of a milestone with diffs that neither exists nor is written by one
/// of them: carrying out the diffs leaves the milestone untested.
fn hint_missing_tests(
    plan: &Plan,
    files: &PatchedFiles,
    read_file: &dyn Fn(&str) -> Option<String>,
) -> Vec<PlanProblem> {
    let mut hints = Vec::new();
    for (at, milestone) in plan.milestones.iter().enumerate() {
        if milestone.code_changes.is_empty() {
            continue;
        }
        for (index, file) in milestone.tests.files.iter().enumerate() {
            let is_there = match files.get(file) {
                Some(text) => text.is_some(),
                None => read_file(file).is_some(),
            };
            if !is_there {
                hints.push(PlanProblem {
                    pointer: format!("/milestones/{at}/tests/files/{index}"),
                    message: format!(
                        "`{file}` does not exist, and no code change of `{}` writes it",
                        milestone.id
                    ),
                    grade: ProblemGrade::Hint,
                    line: None,
                });
            }
        }
    }
    hints
}

/// Applies the code changes of a milestone to the files as they are; those that are in the files already
/// count as applied.
///
/// # Errors
/// Every change that does not apply; then none counts as applied.
pub fn apply_milestone(
    milestone: &Milestone,
    read_file: &dyn Fn(&str) -> Option<String>,
) -> Result<PatchedFiles, Vec<UnappliedChange>> {
    let mut files = PatchedFiles::new();
    let apply = |change: &CodeChange| {
        // An executor who writes the tests first, or goes on after an interruption, has some already.
        if is_patch_applied(&change.diff, &change.file, &files, read_file) {
            return None;
        }
        let applied = apply_patch(&change.diff, &change.file, &mut files, read_file);
        applied.err().map(|problem| UnappliedChange {
            change: change.id.clone(),
            intent: change.intent_ref.clone(),
            problem,
        })
    };
    let unapplied: Vec<UnappliedChange> = milestone.code_changes.iter().filter_map(apply).collect();
    if unapplied.is_empty() {
        Ok(files)
    } else {
        Err(unapplied)
    }
}

/// Returns the test files that the text of a milestone's node names. Empty for any other text.
#[must_use]
pub fn list_test_files(text: &str) -> Vec<String> {
    let value: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    let files = value["tests"]["files"].as_array().into_iter().flatten();
    files
        .filter_map(|path| path.as_str().map(str::to_owned))
        .collect()
}

/// Returns the files a node of a document is about, by the node's text: those of its milestone or intent,
/// with tests and code changes. Empty for any other text.
#[must_use]
pub fn list_node_files(text: &str) -> Vec<String> {
    let Ok(value) = serde_json::from_str::<serde_json::Value>(text) else {
        return Vec::new();
    };
    let mut files: Vec<String> = Vec::new();
    let mut add = |value: &serde_json::Value| match value {
        serde_json::Value::String(path) => files.push(path.clone()),
        serde_json::Value::Array(paths) => {
            files.extend(
                paths
                    .iter()
                    .filter_map(|path| path.as_str().map(str::to_owned)),
            );
        }
        _ => {}
    };
    add(&value["files"]);
    add(&value["tests"]["files"]);
    add(&value["intent"]["file"]);
    for list in ["changes", "code_changes", "code_intents"] {
        for one in value[list].as_array().into_iter().flatten() {
            add(&one["file"]);
        }
    }
    files.sort();
    files.dedup();
    files
}
