//! `tl check`

use std::fs;

use serde_json::{Value, json};

use crate::{Event, planned, run_with, story, text};
use testkit::Project;

/// Returns what is found as `kind node`, and asserts the exit code.
#[track_caller]
fn findings(project: &Project) -> Vec<String> {
    let output = project.run(&["check", "--json"]);
    let value: Value = serde_json::from_str(&output.stdout).expect("JSON");
    let list = value["findings"].as_array().expect("a list");
    assert_eq!(value["ok"], json!(list.is_empty()));
    assert_eq!(output.code, if list.is_empty() { 0 } else { 3 }, "{value}");
    for finding in list {
        assert_eq!(
            crate::keys(finding),
            ["kind", "message", "next_steps", "node"]
        );
        assert!(
            !finding["next_steps"].as_array().expect("a list").is_empty(),
            "{finding}"
        );
    }
    list.iter()
        .map(|finding| {
            format!(
                "{} {}",
                text(finding, "kind"),
                finding["node"].as_str().unwrap_or("-")
            )
        })
        .collect()
}

#[test]
fn a_sound_project_is_code_0() {
    let project = planned();
    assert_eq!(
        project.ok(&["check"]).stdout,
        "✓ 3 nodes: state and plan files agree\n"
    );
    assert_eq!(
        project.json(&["check"]),
        json!({"ok": true, "nodes": 3, "findings": []})
    );
    assert_eq!(
        story().ok(&["check"]).stdout,
        "✓ 0 nodes: state and plan files agree\n"
    );
}

#[test]
fn a_finding_is_code_3_and_says_what_to_do() {
    let project = planned();
    fs::remove_file(project.root().join(Project::SCENE)).expect("removed");
    let output = project.run(&["check"]);
    assert_eq!(output.code, 3);
    assert!(
        output
            .stdout
            .contains("✗ file-missing: the plan file of `act-1/chapter-01/scene-0101` is missing"),
        "{}",
        output.stdout
    );
    assert!(output.stdout.contains("    tl "), "{}", output.stdout);
    assert!(
        output.stdout.ends_with("1 problem found\n"),
        "{}",
        output.stdout
    );
}

#[test]
fn every_kind_is_found() {
    let cases: &[(&str, Event<'_>, &[&str])] = &[
        (
            "a missing file",
            &|project| fs::remove_file(project.root().join(Project::SCENE)).expect("removed"),
            &["file-missing act-1/chapter-01/scene-0101"],
        ),
        (
            "an edit nobody saw",
            &|project| project.write(Project::SCENE, "# Edited\n"),
            &["hash-mismatch act-1/chapter-01/scene-0101"],
        ),
        (
            "a new file nobody saw",
            &|project| project.write("acts/act-2/strategic-plan.md", "# Act 2\n"),
            &["not-recorded -"],
        ),
        (
            "a binary file",
            &|project| project.write(Project::SCENE, b"\x00\x01\x02"),
            &["file-unreadable act-1/chapter-01/scene-0101"],
        ),
        (
            "a parent without a plan",
            &|project| {
                fs::remove_file(project.root().join(Project::CHAPTER)).expect("removed");
                project.ok(&["status"]);
            },
            &["orphan act-1/chapter-01"],
        ),
        (
            "a scene in the wrong chapter",
            &|project| {
                project.write(
                    "acts/act-1/chapters/chapter-01/scenes/scene-0907-blueprint.md",
                    "# Lost\n",
                )
            },
            &["misplaced -"],
        ),
        (
            "front matter that is not YAML",
            &|project| {
                project.write(Project::SCENE, "---\nneeds: [scene-0102\n---\n# Scene\n");
                project.ok(&["status"]);
            },
            &["front-matter act-1/chapter-01/scene-0101"],
        ),
        (
            "a need that is not there",
            &|project| {
                project.write(Project::SCENE, "---\nneeds: scene-0909\n---\n# Scene\n");
                project.ok(&["status"]);
            },
            &["needs act-1/chapter-01/scene-0101"],
        ),
    ];
    for (what, damage, expected) in cases {
        let project = planned();
        damage(&project);
        assert_eq!(findings(&project), *expected, "{what}");
    }
}

#[test]
fn a_profile_that_was_switched_off_is_a_broken_hierarchy() {
    let project = planned();
    let output = run_with(
        &project,
        &[("THROUGHLINE_PROFILES", "tickets")],
        &["check", "--json"],
    );
    assert_eq!(output.code, 3);
    assert!(
        output.stdout.contains("broken-hierarchy")
            && output.stdout.contains("which is not enabled"),
        "{}",
        output.stdout
    );
}

#[test]
fn the_mirror_is_checked() {
    let project = planned();
    let file = ".throughline/mirror/story/act-1.json";
    let good = project.read(file);
    project.write(file, good.replace("\"approved\"", "\"draft\""));
    assert_eq!(findings(&project).len(), 1);
    project.ok(&["state", "repair"]);
    assert_eq!(project.read(file), good);
    fs::remove_file(project.root().join(file)).expect("removed");
    assert_eq!(findings(&project).len(), 1);
    project.ok(&["state", "repair"]);
    assert_eq!(project.read(file), good);
    assert_eq!(findings(&project), Vec::<String>::new());
}

#[test]
fn check_changes_nothing() {
    let project = planned();
    project.write(Project::ACT, crate::ACT_EDITED);
    project.write("acts/act-2/strategic-plan.md", "# Act 2\n");
    let journal = project.read(".throughline/journal.jsonl");
    let mirror = project.read(".throughline/mirror/story/act-1.json");
    assert_eq!(findings(&project).len(), 2);
    assert_eq!(findings(&project).len(), 2, "and finds the same again");
    assert_eq!(project.read(".throughline/journal.jsonl"), journal);
    assert_eq!(project.read(".throughline/mirror/story/act-1.json"), mirror);
    assert_eq!(
        crate::names_in(&project, "acts/act-1/backups"),
        Vec::<String>::new()
    );
}
