//! `tl state rebuild`

use std::fs;

use serde_json::json;

use crate::{planned, statuses, story};
use testkit::Project;

#[test]
fn approvals_hold_where_the_text_is_the_approved_one() {
    let project = planned();
    project.write(Project::SCENE, "# Scene 1.1, edited\n");
    let outcome = project.json(&["state", "rebuild"]);
    assert_eq!(
        outcome,
        json!({
            "success": true,
            "nodes": 3,
            "levels": [["act", 1], ["chapter", 1], ["scene", 1]],
            "status_counts": {"draft": 1, "approved": 2, "requires-revalidation": 0, "invalid": 0},
            "forgotten": [],
        })
    );
    assert_eq!(
        statuses(&project),
        [
            "act-1 approved",
            "act-1/chapter-01 approved",
            "act-1/chapter-01/scene-0101 draft"
        ]
    );
    project.ok(&["check"]);
}

#[test]
fn without_any_state_everything_is_a_draft() {
    let project = planned();
    let state = project.root().join(".throughline");
    for file in ["state.db", "state.db-wal", "state.db-shm", "journal.jsonl"] {
        let _ = fs::remove_file(state.join(file));
    }
    fs::remove_dir_all(state.join("mirror")).expect("removed");
    let output = project.ok(&["state", "rebuild"]);
    assert_eq!(
        output.stdout,
        "✓ rebuilt 1 act, 1 chapter, 1 scene\n  3 ○ draft\n"
    );
    assert_eq!(
        statuses(&project),
        [
            "act-1 draft",
            "act-1/chapter-01 draft",
            "act-1/chapter-01/scene-0101 draft"
        ]
    );
    project.ok(&["approve", "act-1"]);
    project.ok(&["check"]);
}

#[test]
fn what_has_no_file_is_forgotten() {
    let project = planned();
    fs::remove_file(project.root().join(Project::SCENE)).expect("removed");
    let outcome = project.json(&["state", "rebuild"]);
    assert_eq!(outcome["forgotten"], json!(["act-1/chapter-01/scene-0101"]));
    assert_eq!(
        statuses(&project),
        ["act-1 approved", "act-1/chapter-01 approved"]
    );
}

#[test]
fn nothing_to_rebuild_is_fine() {
    let output = story().ok(&["state", "rebuild"]);
    assert_eq!(output.stdout, "✓ rebuilt nothing: no plan files found\n");
}

#[test]
fn a_rebuild_cannot_be_undone_but_loses_no_version() {
    let project = planned();
    project.write(Project::ACT, crate::ACT_EDITED);
    project.ok(&["state", "rebuild"]);
    assert_eq!(
        project.json(&["versions", "act-1"])["versions"]
            .as_array()
            .expect("a list")
            .len(),
        2
    );
    let rebuild = crate::newest_operation(&project);
    crate::assert_refused(
        &project,
        &["undo", &rebuild.to_string()],
        "refused",
        &["cannot be undone"],
    );
}
