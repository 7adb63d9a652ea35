//! `tl state repair`

use std::fs;

use serde_json::json;

use crate::{keys, planned, statuses, texts};
use testkit::Project;

#[test]
fn a_sound_project_needs_nothing() {
    let project = planned();
    let outcome = project.json(&["state", "repair"]);
    assert_eq!(
        keys(&outcome),
        ["actions", "operations", "remaining", "success"]
    );
    assert_eq!(outcome["success"], json!(true));
    assert_eq!(outcome["operations"], json!([]));
    assert_eq!(outcome["remaining"]["ok"], json!(true));
    project.ok(&[
        "state",
        "repair",
        "--fix-hashes",
        "--rebuild-orphans",
        "--forget-missing",
    ]);
}

#[test]
fn hashes_are_fixed() {
    let project = planned();
    project.write(Project::ACT, crate::ACT_EDITED);
    let outcome = project.json(&["state", "repair", "--fix-hashes"]);
    assert_eq!(outcome["success"], json!(true));
    assert!(
        texts(&outcome["actions"])[0].contains("changed: act-1"),
        "{outcome}"
    );
    assert_eq!(
        statuses(&project),
        [
            "act-1 draft",
            "act-1/chapter-01 requires-revalidation",
            "act-1/chapter-01/scene-0101 requires-revalidation"
        ]
    );
    project.ok(&["check"]);
}

#[test]
fn orphans_get_their_parent_back() {
    // Once noticed before, and once as the very first command after the loss.
    for noticed_before in [true, false] {
        let project = planned();
        let text = project.read(Project::CHAPTER);
        fs::remove_file(project.root().join(Project::CHAPTER)).expect("removed");
        if noticed_before {
            assert_eq!(project.status("chapter-01"), "invalid");
        }
        let outcome = project.run(&["state", "repair", "--rebuild-orphans"]);
        assert_eq!(
            outcome.code, 0,
            "noticed before: {noticed_before}\n{}",
            outcome.stdout
        );
        assert_eq!(project.read(Project::CHAPTER), text);
        assert_eq!(
            statuses(&project),
            [
                "act-1 approved",
                "act-1/chapter-01 approved",
                "act-1/chapter-01/scene-0101 approved"
            ]
        );
    }
}

#[test]
fn what_needs_judgement_remains() {
    let project = planned();
    fs::remove_file(project.root().join(Project::SCENE)).expect("removed");
    let output = project.run(&["state", "repair"]);
    assert_eq!(output.code, 3, "{}", output.stdout);
    assert!(
        output.stdout.contains("tl state repair --forget-missing"),
        "{}",
        output.stdout
    );
    assert_eq!(project.status("scene-0101"), "invalid");
}

#[test]
fn what_is_gone_is_forgotten_on_demand() {
    let project = planned();
    fs::remove_dir_all(project.root().join("acts/act-1/chapters")).expect("removed");
    let outcome = project.json(&["state", "repair", "--forget-missing"]);
    assert_eq!(outcome["success"], json!(true), "{outcome}");
    assert_eq!(statuses(&project), ["act-1 approved"]);
    project.ok(&["check"]);
    project.ok(&["undo"]);
    assert_eq!(
        statuses(&project),
        [
            "act-1 approved",
            "act-1/chapter-01 invalid",
            "act-1/chapter-01/scene-0101 invalid"
        ],
        "forgetting can be undone"
    );
}

#[test]
fn a_parent_with_plans_below_is_not_forgotten() {
    let project = planned();
    fs::remove_file(project.root().join(Project::CHAPTER)).expect("removed");
    let output = project.run(&["state", "repair", "--forget-missing"]);
    assert_eq!(output.code, 3);
    assert_eq!(project.status("chapter-01"), "invalid");
}
