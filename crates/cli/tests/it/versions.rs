//! `tl versions`, and the readable backups.

use serde_json::json;

use crate::{names_in, planned, run_with, story, text, texts};
use testkit::Project;

const BACKUPS: &str = "acts/act-1/backups";

/// Says whether a name is `strategic-plan-YYYY-MM-DD-HH-MM-SS.md`, or that with a suffix.
fn is_backup_name(name: &str) -> bool {
    let Some(moment) = name
        .strip_prefix("strategic-plan-")
        .and_then(|rest| rest.strip_suffix(".md"))
    else {
        return false;
    };
    let parts: Vec<&str> = moment.split('-').collect();
    let widths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    parts
        .iter()
        .all(|part| part.chars().all(|c| c.is_ascii_digit()))
        && widths.len() >= 6
        && widths[..6] == [4, 2, 2, 2, 2, 2]
        && widths.len() <= 7
}

#[test]
fn versions_are_listed_newest_first() {
    let project = planned();
    project.write(Project::ACT, crate::ACT_EDITED);
    let view = project.json(&["versions", "act", "1"]);
    assert_eq!(text(&view, "entity_id"), "act-1");
    let versions = view["versions"].as_array().expect("a list");
    assert_eq!(versions.len(), 2);
    let facts: Vec<_> = versions
        .iter()
        .map(|version| {
            (
                version["back"].clone(),
                version["current"].clone(),
                version["approved"].clone(),
                version["size"].clone(),
            )
        })
        .collect();
    assert_eq!(
        facts,
        [
            (
                json!(null),
                json!(true),
                json!(false),
                json!(crate::ACT_EDITED.len())
            ),
            (
                json!("-1"),
                json!(false),
                json!(true),
                json!(crate::ACT_TEXT.len())
            ),
        ]
    );
    assert_eq!(text(&versions[0], "operation"), "changed: act-1");
    assert_eq!(text(&versions[1], "operation"), "new: act-1");
    let said = project.ok(&["versions", "act-1"]).stdout;
    assert!(
        said.contains("✓ approved") && said.contains(BACKUPS) && said.contains("now  "),
        "{said}"
    );
}

#[test]
fn columns_line_up() {
    let project = planned();
    project.write(Project::ACT, crate::ACT_EDITED);
    let view = project.json(&["versions", "act-1"]);
    let said = project.ok(&["versions", "act-1"]).stdout;
    let columns: Vec<Option<usize>> = view["versions"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|version| {
            let hash: String = text(version, "version_hash").chars().take(8).collect();
            said.lines().find_map(|line| line.find(&hash))
        })
        .collect();
    assert_eq!(columns[0], columns[1], "{said}");
}

#[test]
fn an_overwritten_plan_is_kept_as_a_readable_file() {
    let project = planned();
    project.write(Project::ACT, crate::ACT_EDITED);
    let view = project.json(&["versions", "act-1"]);
    let backups = texts(&view["versions"][1]["backups"]);
    assert_eq!(backups.len(), 1);
    assert_eq!(project.read(backups[0]), crate::ACT_TEXT);
    let name = backups[0]
        .strip_prefix("acts/act-1/backups/")
        .expect("beside the plan");
    assert!(is_backup_name(name), "{name}");
    // The time in the name is the one by which the version can be named.
    assert_eq!(names_in(&project, BACKUPS), [name]);
}

#[test]
fn backups_within_one_second_overwrite_nothing() {
    let project = story();
    let texts: Vec<String> = (0..8)
        .map(|turn| format!("# Act 1\n\nturn {turn}\n"))
        .collect();
    for text in &texts {
        project.write(Project::ACT, text);
        project.ok(&["show", "act-1"]);
    }
    let names = names_in(&project, BACKUPS);
    let mut kept: Vec<String> = names
        .iter()
        .map(|name| project.read(&format!("{BACKUPS}/{name}")))
        .collect();
    kept.sort();
    assert_eq!(kept, texts[..7], "every overwritten text, and only those");
    for name in &names {
        assert!(is_backup_name(name), "{name}");
    }
}

#[test]
fn a_backup_that_is_in_the_way_is_left_alone() {
    // Whatever the second is, its name is taken: the next free suffix is used.
    let project = planned();
    project.write(Project::ACT, crate::ACT_EDITED);
    project.ok(&["show", "act-1"]);
    let first = names_in(&project, BACKUPS);
    project.write(&format!("{BACKUPS}/{}", first[0]), "a user's own notes");
    project.write(Project::ACT, crate::ACT_TEXT);
    project.ok(&["show", "act-1"]);
    assert_eq!(
        project.read(&format!("{BACKUPS}/{}", first[0])),
        "a user's own notes"
    );
    assert_eq!(names_in(&project, BACKUPS).len(), 2);
}

#[test]
fn the_policy_says_when_backups_are_written() {
    let cases = [("off", 0), ("approved", 1), ("always", 2)];
    for (policy, expected) in cases {
        let project = planned().with_environment("THROUGHLINE_BACKUPS", policy);
        for text in ["# Act 1, second\n", "# Act 1, third\n"] {
            project.write(Project::ACT, text);
            project.ok(&["show", "act-1"]);
        }
        assert_eq!(names_in(&project, BACKUPS).len(), expected, "{policy}");
        assert_eq!(
            project.json(&["versions", "act-1"])["versions"]
                .as_array()
                .expect("a list")
                .len(),
            3,
            "{policy}"
        );
    }
}

#[test]
fn formatting_makes_a_version_but_no_backup() {
    let project = planned();
    project.write(Project::ACT, crate::ACT_TEXT.replace('\n', "\r\n"));
    let view = project.json(&["versions", "act-1"]);
    assert_eq!(view["versions"].as_array().expect("a list").len(), 2);
    assert_eq!(view["versions"][0]["approved"], json!(true));
    assert_eq!(names_in(&project, BACKUPS), Vec::<String>::new());
}

#[test]
fn the_pre_image_is_there_even_if_nobody_looked_after_the_last_write() {
    let project = story();
    project.write(Project::ACT, "# First\n");
    project.ok(&["status"]);
    project.write(Project::ACT, "# Second\n");
    let output = run_with(&project, &[], &["restore", "act-1", "-1"]);
    assert_eq!(output.code, 0, "{}", output.stderr);
    assert_eq!(project.read(Project::ACT), "# First\n");
    project.ok(&["restore", "act-1", "-1"]);
    assert_eq!(
        project.read(Project::ACT),
        "# Second\n",
        "what was there before the restore"
    );
}
