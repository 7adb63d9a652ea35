//! `tl diff`

use serde_json::json;

use crate::{assert_refused, planned, text};
use testkit::Project;

fn edited() -> Project {
    let project = planned();
    project.write(Project::ACT, crate::ACT_EDITED);
    project
}

#[test]
fn without_a_version_it_is_since_the_one_before() {
    let project = edited();
    let output = project.ok(&["diff", "act", "1"]);
    let lines: Vec<&str> = output.stdout.lines().collect();
    assert!(
        lines[0].starts_with("--- act-1 ") && lines[1].starts_with("+++ act-1 "),
        "{}",
        output.stdout
    );
    assert!(lines[1].ends_with("(now)"), "{}", output.stdout);
    assert!(lines[2].starts_with("@@ "), "{}", output.stdout);
    assert!(
        output.stdout.ends_with("-Begin.\n+Begin, but later.\n"),
        "{}",
        output.stdout
    );
    assert_eq!(project.ok(&["diff", "act-1", "-1"]).stdout, output.stdout);
    assert_eq!(
        project.ok(&["diff", "act", "1", "-1"]).stdout,
        output.stdout
    );
}

#[test]
fn json_has_sections_and_the_unified_text() {
    let view = edited().json(&["diff", "act-1"]);
    assert_eq!(
        crate::keys(&view),
        ["newer", "older", "sections", "unified"]
    );
    assert_eq!(
        view["sections"],
        json!([{"heading": "Purpose", "change": "changed"}])
    );
    assert!(text(&view, "unified").contains("\n-Begin.\n+Begin, but later.\n"));
    assert!(!text(&view, "unified").contains('\u{1b}'));
}

#[test]
fn a_version_is_named_by_hash_or_time() {
    let project = edited();
    let versions = project.json(&["versions", "act-1"]);
    let hash = text(&versions["versions"][1], "version_hash");
    let expected = project.ok(&["diff", "act-1"]).stdout;
    for length in [8, 12, 64] {
        let prefix: String = hash.chars().take(length).collect();
        assert_eq!(
            project.ok(&["diff", "act-1", &prefix]).stdout,
            expected,
            "{prefix}"
        );
    }
}

#[test]
fn the_present_version_does_not_differ() {
    let project = edited();
    let now = text(
        &project.json(&["versions", "act-1"])["versions"][0],
        "version_hash",
    )
    .to_owned();
    let output = project.ok(&["diff", "act-1", &now]);
    assert_eq!(
        (output.stdout.as_str(), output.stderr.as_str()),
        ("", "no difference\n")
    );
}

#[test]
fn a_version_that_is_not_there_is_told() {
    let project = edited();
    assert_refused(
        &project,
        &["diff", "act-1", "-2"],
        "not-found",
        &["no version `-2`", "it has 2", "tl versions act-1"],
    );
    assert_refused(
        &project,
        &["diff", "act-1", "ffffffffffff"],
        "not-found",
        &["no version `ffffffffffff`"],
    );
    assert_refused(
        &project,
        &["diff", "act-1", "yesterday"],
        "invalid",
        &["`yesterday` is not a version", "2026-02-11-14-30-05"],
    );
    assert_refused(
        &project,
        &["diff", "act-1", "-1", "-2"],
        "invalid",
        &["unexpected argument `-2`"],
    );
    assert_refused(
        &project,
        &["diff", "chapter-01"],
        "not-found",
        &["no version `-1`", "it has 1"],
    );
}

#[test]
fn a_missing_file_is_compared_as_nothing() {
    let project = planned();
    std::fs::remove_file(project.root().join(Project::SCENE)).expect("removed");
    let output = project.ok(&["diff", "scene-0101", "-1"]);
    assert!(
        output.stdout.contains("(missing)") && output.stdout.contains("-# Scene 1.1"),
        "{}",
        output.stdout
    );
}
