//! `tl undo`

use serde_json::json;

use crate::{assert_refused, newest_operation, planned, statuses, story, text, texts};
use testkit::Project;

const ALL_APPROVED: [&str; 3] = [
    "act-1 approved",
    "act-1/chapter-01 approved",
    "act-1/chapter-01/scene-0101 approved",
];

#[test]
fn an_approval_is_taken_back() {
    let project = planned();
    let approval = newest_operation(&project);
    let outcome = project.json(&["undo"]);
    assert_eq!(
        crate::keys(&outcome),
        [
            "changed_entities",
            "changed_nodes",
            "files",
            "operation",
            "success",
            "undone"
        ]
    );
    assert_eq!(outcome["undone"][0]["operation"], json!(approval));
    assert_eq!(outcome["operation"], json!(approval + 1));
    assert_eq!(outcome["files"], json!([]));
    assert_eq!(
        outcome["changed_entities"],
        json!([{"entity_type": "scene", "entity_id": "scene-0101", "previous_status": "approved", "new_status": "draft",
                "path": "act-1/chapter-01/scene-0101"}])
    );
    assert_eq!(project.status("scene-0101"), "draft");
    let log = project.json(&["log"]);
    assert_eq!(log[0]["verb"], json!("undo"));
    assert_eq!(log[1]["undone_by"], json!(approval + 1));
    assert!(
        project
            .ok(&["log"])
            .stdout
            .contains(&format!("(undone by {})", approval + 1))
    );
}

#[test]
fn the_way_back_is_told() {
    let project = planned();
    let approval = newest_operation(&project);
    let output = project.ok(&["undo"]);
    assert!(
        output.stdout.contains(&format!(
            "✓ undone: approve act-1/chapter-01/scene-0101 ({approval})"
        )),
        "{}",
        output.stdout
    );
    assert!(
        output
            .stdout
            .contains(&format!("to redo: tl undo {}", approval + 1)),
        "{}",
        output.stdout
    );
}

#[test]
fn a_restore_is_taken_back_with_its_file() {
    let project = planned();
    project.write(Project::ACT, crate::ACT_EDITED);
    project.ok(&["approve", "act-1"]);
    project.ok(&["revalidate", "--all", "--keep"]);
    let before = crate::statuses(&project);
    project.ok(&["restore", "act-1", "-1"]);
    assert_eq!(project.read(Project::ACT), crate::ACT_TEXT);
    let outcome = project.json(&["undo"]);
    assert_eq!(texts(&outcome["files"]), [Project::ACT]);
    assert_eq!(project.read(Project::ACT), crate::ACT_EDITED);
    assert_eq!(statuses(&project), before);
    // The undo of the undo restores again.
    project.ok(&["undo", &text_of(&outcome["operation"])]);
    assert_eq!(project.read(Project::ACT), crate::ACT_TEXT);
}

fn text_of(value: &serde_json::Value) -> String {
    value.as_u64().expect("a number").to_string()
}

#[test]
fn every_decision_can_be_taken_back() {
    let project = planned();
    project.write(Project::ACT, crate::ACT_EDITED);
    project.ok(&["approve", "act-1"]);
    let decisions: &[&[&str]] = &[
        &["revalidate", "chapter-01", "--keep"],
        &["revalidate", "--all", "--keep"],
        &["invalidate", "act-1", "--reason", "no"],
        &["invalidate", "scene-0101", "--reason", "no"],
        &["progress", "scene-0101", "complete"],
        &["restore", "act-1", "-1"],
    ];
    for decision in decisions {
        let before = project.json(&["tree"]);
        project.ok(decision);
        assert_ne!(project.json(&["tree"]), before, "tl {decision:?}");
        project.ok(&["undo"]);
        assert_eq!(project.json(&["tree"]), before, "tl {decision:?}");
    }
    project.ok(&["check"]);
}

#[test]
fn an_observed_edit_is_taken_back_by_its_number() {
    let project = planned();
    project.write(Project::ACT, crate::ACT_EDITED);
    project.ok(&["status"]);
    let edit = newest_operation(&project);
    assert_eq!(project.status("scene-0101"), "requires-revalidation");
    let outcome = project.json(&["undo", &edit.to_string()]);
    assert_eq!(texts(&outcome["files"]), [Project::ACT]);
    assert_eq!(project.read(Project::ACT), crate::ACT_TEXT);
    assert_eq!(statuses(&project), ALL_APPROVED);
    // What was there is not lost.
    project.ok(&["undo", &text_of(&outcome["operation"])]);
    assert_eq!(project.read(Project::ACT), crate::ACT_EDITED);
}

#[test]
fn everything_after_an_operation_is_taken_back() {
    let project = planned();
    let before = project.json(&["tree"]);
    let point = newest_operation(&project);
    project.write(Project::ACT, crate::ACT_EDITED);
    project.ok(&["approve", "act-1"]);
    project.ok(&["revalidate", "--all", "--keep"]);
    project.ok(&["progress", "scene-0101", "active"]);
    project.ok(&["undo"]);
    project.ok(&["invalidate", "scene-0101", "--reason", "no"]);
    let outcome = project.json(&["undo", "--to", &point.to_string()]);
    assert_eq!(outcome["success"], json!(true), "{outcome}");
    assert_eq!(project.json(&["tree"]), before);
    assert_eq!(project.read(Project::ACT), crate::ACT_TEXT);
    project.ok(&["check"]);
    // And that is one operation, too.
    project.ok(&["undo", &text_of(&outcome["operation"])]);
    assert_eq!(project.read(Project::ACT), crate::ACT_EDITED);
    assert_eq!(project.status("scene-0101"), "invalid");
}

#[test]
fn what_changed_since_is_in_the_way() {
    let project = story();
    project.write(Project::ACT, crate::ACT_TEXT);
    project.ok(&["approve", "act-1"]);
    let first = newest_operation(&project);
    project.write(Project::ACT, crate::ACT_EDITED);
    project.ok(&["approve", "act-1"]);
    let before = crate::fingerprint(&project);
    assert_refused(
        &project,
        &["undo", &first.to_string()],
        "conflict",
        &[
            "cannot be undone by itself",
            "tl log",
            &format!("tl undo --to {}", first - 1),
        ],
    );
    assert_eq!(crate::fingerprint(&project), before);
}

#[test]
fn an_edit_in_between_is_not_overwritten() {
    let project = planned();
    project.write(Project::ACT, crate::ACT_EDITED);
    project.ok(&["restore", "act-1", "-1"]);
    project.write(Project::ACT, "# Act 1, by hand\n");
    assert_refused(
        &project,
        &["undo"],
        "conflict",
        &["cannot be undone by itself"],
    );
    assert_eq!(project.read(Project::ACT), "# Act 1, by hand\n");
}

#[test]
fn what_cannot_be_undone_says_why() {
    let project = planned();
    let last = newest_operation(&project);
    assert_refused(
        &project,
        &["undo", "999"],
        "not-found",
        &["there is no operation 999", "tl log"],
    );
    assert_refused(
        &project,
        &["undo", "--to", "999"],
        "not-found",
        &["there is no operation 999"],
    );
    assert_refused(
        &project,
        &["undo", "1"],
        "refused",
        &["operation 1 (init)", "cannot be undone"],
    );
    assert_refused(
        &project,
        &["undo", "2"],
        "refused",
        &["observed new plan files", "does not remove them"],
    );
    project.ok(&["undo"]);
    assert_refused(
        &project,
        &["undo", &last.to_string()],
        "refused",
        &["was undone already", &format!("tl undo {}", last + 1)],
    );
    assert_refused(
        &story(),
        &["undo"],
        "refused",
        &["there is nothing to undo"],
    );
}

#[test]
fn text_survives_an_undo_of_everything() {
    let project = story();
    project.write(Project::ACT, crate::ACT_TEXT);
    project.ok(&["status"]);
    let point = newest_operation(&project);
    project.write(Project::ACT, crate::ACT_EDITED);
    project.ok(&["approve", "act-1"]);
    project.ok(&["undo", "--to", &point.to_string()]);
    assert_eq!(project.read(Project::ACT), crate::ACT_TEXT);
    let versions = project.json(&["versions", "act-1"]);
    let sizes: Vec<u64> = versions["versions"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| one["size"].as_u64().expect("a size"))
        .collect();
    assert_eq!(sizes.len(), 2, "{versions}");
    let backups = crate::names_in(&project, "acts/act-1/backups");
    let kept: Vec<String> = backups
        .iter()
        .map(|name| project.read(&format!("acts/act-1/backups/{name}")))
        .collect();
    assert!(kept.contains(&crate::ACT_EDITED.to_owned()), "{kept:?}");
    assert_eq!(text(&project.json(&["show", "act-1"]), "status"), "draft");
}

#[test]
fn a_noticed_deletion_is_taken_back() {
    let project = planned();
    let before = project.read(Project::SCENE);
    std::fs::remove_file(project.root().join(Project::SCENE)).expect("removed");
    project.ok(&["status"]);
    let deletion = newest_operation(&project);
    let outcome = project.json(&["undo", &deletion.to_string()]);
    assert_eq!(project.read(Project::SCENE), before);
    assert_eq!(statuses(&project), ALL_APPROVED);
    project.ok(&["undo", &text_of(&outcome["operation"])]);
    assert!(!project.root().join(Project::SCENE).exists());
    assert_eq!(project.status("scene-0101"), "invalid");
}

#[test]
fn a_forced_approval_taken_back_leaves_the_condemnation() {
    let project = planned();
    project.ok(&["invalidate", "scene-0101", "--reason", "dull"]);
    project.ok(&["approve", "scene-0101", "--force"]);
    project.ok(&["undo"]);
    assert_eq!(project.status("scene-0101"), "invalid");
    assert_eq!(
        text(
            &project.json(&["show", "scene-0101"]),
            "invalidation_reason"
        ),
        "condemned: dull"
    );
    project.ok(&["undo"]);
    assert_eq!(statuses(&project), ALL_APPROVED);
}
