//! `tl restore`

use serde_json::json;

use crate::{assert_refused, fingerprint, keys, newest_operation, planned, statuses, text};
use testkit::Project;

#[test]
fn a_restore_is_one_operation_with_backup_and_cascade() {
    let project = planned();
    project.write(Project::ACT, crate::ACT_EDITED);
    project.ok(&["approve", "act-1"]);
    project.ok(&["revalidate", "--all", "--keep"]);
    let before = newest_operation(&project);
    let old = text(
        &project.json(&["versions", "act-1"])["versions"][1],
        "version_hash",
    )
    .to_owned();

    let outcome = project.json(&["restore", "act", "1", "-1"]);
    assert_eq!(newest_operation(&project), before + 1);
    assert_eq!(
        keys(&outcome),
        ["backup", "cascade", "node", "restored", "success"]
    );
    assert_eq!(outcome["success"], json!(true));
    assert_eq!(text(&outcome, "restored"), old);
    assert_eq!(project.read(text(&outcome, "backup")), crate::ACT_EDITED);
    assert_eq!(project.read(Project::ACT), crate::ACT_TEXT);
    assert_eq!(outcome["node"]["version_hash"], json!(old));
    assert_eq!(
        outcome["cascade"]["invalidated_entities"],
        json!([
            {"entity_type": "chapter", "entity_id": "chapter-01", "previous_status": "approved",
             "new_status": "requires-revalidation", "path": "act-1/chapter-01"},
            {"entity_type": "scene", "entity_id": "scene-0101", "previous_status": "approved",
             "new_status": "requires-revalidation", "path": "act-1/chapter-01/scene-0101"},
        ])
    );
    assert_eq!(outcome["cascade"]["success"], json!(true));
    assert_eq!(outcome["cascade"]["operation"], json!(before + 1));
}

#[test]
fn restoring_the_approved_text_reinstates_what_is_below() {
    let project = planned();
    project.write(Project::ACT, crate::ACT_EDITED);
    let outcome = project.json(&["restore", "act-1", "-1"]);
    assert_eq!(text(&outcome["node"], "status"), "approved");
    assert_eq!(outcome["cascade"]["invalidated_entities"], json!([]));
    assert_eq!(
        outcome["cascade"]["reinstated_entities"]
            .as_array()
            .expect("a list")
            .len(),
        2
    );
    assert_eq!(
        statuses(&project),
        [
            "act-1 approved",
            "act-1/chapter-01 approved",
            "act-1/chapter-01/scene-0101 approved"
        ]
    );
}

#[test]
fn a_version_is_named_by_count_or_hash() {
    let texts = ["# One\n", "# Two\n", "# Three\n"];
    let make = || {
        let project = crate::story();
        for text in texts {
            project.write(Project::ACT, text);
            project.ok(&["show", "act-1"]);
        }
        project
    };
    for (selector, expected) in [("-1", texts[1]), ("-2", texts[0])] {
        let project = make();
        project.ok(&["restore", "act", "1", selector]);
        assert_eq!(project.read(Project::ACT), expected, "{selector}");
    }
    let project = make();
    let versions = project.json(&["versions", "act-1"]);
    let hash = text(&versions["versions"][2], "version_hash");
    let prefix: String = hash.chars().take(10).collect();
    project.ok(&["restore", "act-1", &prefix]);
    assert_eq!(project.read(Project::ACT), texts[0]);
    project.ok(&[
        "restore",
        "act-1",
        &text(&versions["versions"][1], "version_hash").to_uppercase(),
    ]);
    assert_eq!(project.read(Project::ACT), texts[1]);
}

#[test]
fn a_version_is_named_by_its_time() {
    let project = planned();
    std::fs::remove_file(project.root().join(Project::SCENE)).expect("removed");
    let timestamp = text(
        &project.json(&["versions", "scene-0101"])["versions"][0],
        "timestamp",
    )
    .to_owned();
    assert_eq!(timestamp.len(), "2026-02-11-14-30-05".len());
    let forms = [timestamp.clone(), timestamp.chars().take(10).collect()];
    for form in forms {
        project.ok(&["restore", "scene", "0101", &form]);
        assert_eq!(
            project.read(Project::SCENE),
            "# Scene 1.1\n\n## Characters\n- Mara\n"
        );
        std::fs::remove_file(project.root().join(Project::SCENE)).expect("removed");
    }
}

#[test]
fn a_version_is_named_by_the_time_in_its_backups_name() {
    let project = planned();
    project.write(Project::ACT, crate::ACT_EDITED);
    let versions = project.json(&["versions", "act-1"]);
    let backup = crate::texts(&versions["versions"][1]["backups"])[0];
    let moment = backup
        .strip_prefix("acts/act-1/backups/strategic-plan-")
        .and_then(|rest| rest.strip_suffix(".md"));
    let moment = moment.expect("a moment");
    // The new version has this time too: it is seen when the backup is written.
    let diff = project.ok(&["diff", "act-1", moment]).stdout;
    let hash = text(&versions["versions"][1], "version_hash");
    let hash: String = hash.chars().take(8).collect();
    assert!(diff.contains(&hash), "{diff}");
    project.ok(&["restore", "act-1", moment]);
    assert_eq!(project.read(Project::ACT), crate::ACT_TEXT);
    project.ok(&["undo"]);
    let name = backup.rsplit('/').next().expect("a name");
    project.ok(&["restore", "act-1", name]);
    assert_eq!(project.read(Project::ACT), crate::ACT_TEXT);
}

#[test]
fn a_time_that_fits_several_lists_them() {
    let project = planned();
    project.write(Project::ACT, "# Act 1\n\nIn between.\n");
    project.ok(&["show", "act-1"]);
    project.write(Project::ACT, crate::ACT_EDITED);
    let versions = project.json(&["versions", "act-1"]);
    let year: String = text(&versions["versions"][0], "timestamp")
        .chars()
        .take(10)
        .collect();
    let hashes: Vec<String> = versions["versions"]
        .as_array()
        .expect("a list")
        .iter()
        // The present one is never meant.
        .skip(1)
        .map(|version| text(version, "version_hash").chars().take(8).collect())
        .collect();
    let parts: Vec<&str> = hashes
        .iter()
        .map(String::as_str)
        .chain(["fits 2 versions", "tl versions act-1"])
        .collect();
    assert_refused(&project, &["restore", "act-1", &year], "invalid", &parts);
}

#[test]
fn a_version_by_the_exact_time_json_gives() {
    // `at` tells two versions of one second apart.
    let project = planned();
    project.write(Project::ACT, crate::ACT_EDITED);
    let at = text(&project.json(&["versions", "act-1"])["versions"][1], "at").to_owned();
    project.ok(&["restore", "act-1", &at]);
    assert_eq!(project.read(Project::ACT), crate::ACT_TEXT);
}

#[test]
fn a_deleted_file_comes_back() {
    let project = planned();
    let text = project.read(Project::CHAPTER);
    std::fs::remove_dir_all(project.root().join("acts/act-1/chapters")).expect("removed");
    assert_eq!(project.status("chapter-01"), "invalid");
    project.ok(&["restore", "chapter-01", "-1"]);
    assert_eq!(project.read(Project::CHAPTER), text);
    assert_eq!(project.status("chapter-01"), "approved");
    project.ok(&["restore", "scene-0101", "-1"]);
    assert_eq!(project.status("scene-0101"), "approved");
}

#[test]
fn a_restore_that_cannot_be_changes_nothing() {
    let project = planned();
    project.write(Project::ACT, crate::ACT_EDITED);
    project.ok(&["status"]);
    let before = fingerprint(&project);
    let now = text(&project.json(&["show", "act-1"]), "version_hash").to_owned();
    assert_refused(
        &project,
        &["restore", "act-1", "-7"],
        "not-found",
        &["no version `-7`", "tl versions act-1"],
    );
    assert_refused(
        &project,
        &["restore", "act-1", "first"],
        "invalid",
        &["is not a version"],
    );
    assert_refused(
        &project,
        &["restore", "act-1", &now],
        "refused",
        &["that version already"],
    );
    assert_refused(
        &project,
        &["restore", "act", "1"],
        "invalid",
        &["expected one version", "tl versions act 1"],
    );
    assert_eq!(fingerprint(&project), before);
    assert_eq!(project.read(Project::ACT), crate::ACT_EDITED);
}

#[test]
fn people_are_told_where_the_old_text_is() {
    let project = planned();
    project.write(Project::ACT, crate::ACT_EDITED);
    let output = project.ok(&["restore", "act-1", "-1"]);
    assert!(
        output.stdout.contains("✓ restored act-1 to ")
            && output
                .stdout
                .contains("backup of the replaced text: acts/act-1/backups/"),
        "{}",
        output.stdout
    );
}
