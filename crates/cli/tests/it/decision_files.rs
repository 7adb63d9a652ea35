//! What becomes of decision files when a decision is made again, moved, or made by another command.

use std::path::{Path, PathBuf};

use testkit::Project;

use crate::{planned, text, tickets};

fn decision_files(project: &Project) -> Vec<PathBuf> {
    fn list(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.path().is_dir() {
                true => list(&entry.path(), found),
                false => found.push(entry.path()),
            }
        }
    }
    let mut found = Vec::new();
    list(&project.root().join(".throughline/decisions"), &mut found);
    found.sort();
    found
}

/// Returns the texts of the files that are in `after` only.
fn new_texts(before: &[PathBuf], after: &[PathBuf]) -> Vec<String> {
    let is_new = |path: &&PathBuf| !before.contains(path);
    let read = |path: &PathBuf| std::fs::read_to_string(path).expect("a decision");
    after.iter().filter(is_new).map(read).collect()
}

fn commit_everything(project: &Project) {
    assert!(project.shell(
        "git add -A && git -c user.name=Ann -c user.email=ann@example.org commit -qm plans"
    ));
}

#[test]
fn a_note_is_pinned_again_by_the_undo_of_its_unpin() {
    let project = tickets();
    project.ok(&["status"]);
    let note = project.json(&["note", "add", "--pin", "No new dependency"]);
    let stamp = text(&note, "stamp");
    for _ in 0..2 {
        project.ok(&["note", "unpin", stamp]);
        let log = project.json(&["log"]);
        let operations = log.as_array().expect("a list");
        let unpin = operations
            .iter()
            .find(|one| text(one, "summary").starts_with("unpin"));
        let operation = unpin.expect("an operation")["operation"].to_string();
        project.ok(&["undo", &operation]);
        let pinned = project.json(&["note", "list", "--pinned"]);
        assert_eq!(text(&pinned[0], "text"), "No new dependency");
    }
    project.ok(&["check"]);
}

#[test]
fn a_decision_that_moved_with_its_plan_is_restored_as_it_was_made() {
    let project = planned();
    assert!(project.shell("git init -q -b main ."));
    project.ok(&["approve", "act-1", "--force"]);
    let approved = decision_files(&project);
    project.ok(&["renumber", "act-1", "5"]);
    assert_eq!(project.status("act-5"), "approved");
    commit_everything(&project);
    project.ok(&["status"]);
    for file in &approved {
        std::fs::remove_file(file).expect("a decision file");
    }
    project.ok(&["status"]);
    project.ok(&["decisions", "restore"]);
    let told = project.ok(&["status"]);
    assert!(!told.stderr.contains("does not count"), "{}", told.stderr);
    for file in &approved {
        assert!(file.exists(), "{}", file.display());
    }
    assert_eq!(project.status("act-5"), "approved");
    // Git sees the committed files again, byte for byte.
    assert!(project.shell("git diff --quiet -- .throughline/decisions"));
}

#[test]
fn a_completed_scenario_is_a_decision_for_other_clones() {
    let project = tickets();
    let before = decision_files(&project);
    project.ok(&["ticket", "scenario", "done", "017a/threshold-gate"]);
    let made = new_texts(&before, &decision_files(&project));
    assert!(
        made.iter()
            .any(|text| text.contains("017a/threshold-gate") && text.contains("complete")),
        "{made:?}"
    );
}
