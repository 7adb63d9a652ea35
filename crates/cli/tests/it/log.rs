//! `tl log`

use serde_json::json;

use crate::{assert_refused, planned, text};
use testkit::Project;

fn summaries(log: &serde_json::Value) -> Vec<&str> {
    log.as_array()
        .expect("a list")
        .iter()
        .map(|operation| text(operation, "summary"))
        .collect()
}

#[test]
fn operations_are_listed_newest_first() {
    let project = planned();
    let log = project.json(&["log"]);
    assert_eq!(
        summaries(&log),
        [
            "approve act-1/chapter-01/scene-0101",
            "new: scene-0101",
            "approve act-1/chapter-01",
            "new: chapter-01",
            "approve act-1",
            "new: act-1",
            "init with profiles story",
        ]
    );
    assert_eq!(
        crate::keys(&log[0]),
        [
            "at",
            "by",
            "channel",
            "facts",
            "operation",
            "summary",
            "undone_by",
            "verb"
        ]
    );
    let verbs: Vec<&str> = log
        .as_array()
        .expect("a list")
        .iter()
        .map(|operation| text(operation, "verb"))
        .collect();
    assert_eq!(
        verbs,
        [
            "approve", "observe", "approve", "observe", "approve", "observe", "init"
        ]
    );
    assert_eq!(text(&log[0], "by"), "agent:shell/unknown");
    assert_eq!(text(&log[1], "by"), "system");
    assert_eq!(text(&log[0], "channel"), "cli");
    assert_eq!(project.ok(&["log"]).stdout.lines().count(), 7);
}

#[test]
fn columns_line_up() {
    let project = planned();
    for state in ["active", "blocked", "complete", "pending"] {
        project.ok(&["progress", "scene-0101", state]);
    }
    let said = project.ok(&["log"]).stdout;
    let columns: Vec<Option<usize>> = said.lines().map(|line| line.find("  20")).collect();
    assert!(
        columns.len() > 10 && columns.iter().all(|column| *column == columns[0]),
        "{said}"
    );
}

#[test]
fn the_number_is_limited() {
    let project = planned();
    assert_eq!(summaries(&project.json(&["log", "--limit", "2"])).len(), 2);
    assert_eq!(project.json(&["log", "--limit", "0"]), json!([]));
    assert_eq!(
        summaries(&project.json(&["log", "--limit", "1000"])).len(),
        7
    );
}

#[test]
fn one_nodes_operations() {
    let project = planned();
    assert_eq!(
        summaries(&project.json(&["log", "scene", "0101"])),
        ["approve act-1/chapter-01/scene-0101", "new: scene-0101"]
    );
    assert_eq!(
        summaries(&project.json(&["log", "chapter-01", "--limit", "1"])),
        ["approve act-1/chapter-01"]
    );
    project.write(Project::ACT, crate::ACT_EDITED);
    assert_eq!(
        summaries(&project.json(&["log", "scene-0101", "--limit", "1"])),
        ["changed: act-1"],
        "it became stale by that"
    );
    assert_refused(
        &project,
        &["log", "scene-0909"],
        "not-found",
        &["`scene-0101`"],
    );
}

#[test]
fn the_log_looks_at_the_files_first() {
    let project = planned();
    project.write(Project::ACT, crate::ACT_EDITED);
    assert_eq!(
        summaries(&project.json(&["log", "--limit", "1"])),
        ["changed: act-1"]
    );
}

#[test]
fn one_of_many_that_changed_together() {
    let project = planned();
    for scene in 2..=80 {
        project.write(
            &Project::SCENE.replace("0101", &format!("01{scene:02}")),
            format!("# Scene {scene}\n"),
        );
    }
    project.ok(&["status"]);
    project.write(Project::CHAPTER, "# Chapter 1\n\nquite another one\n");
    project.ok(&["status"]);
    let log = project.json(&["log", "scene-0142"]);
    assert_eq!(
        summaries(&log),
        ["changed: act-1/chapter-01", "new: scene-0102, … (79 plans)"]
    );
    assert_eq!(
        summaries(&project.json(&["log", "act-1"])),
        ["approve act-1", "new: act-1"]
    );
}
