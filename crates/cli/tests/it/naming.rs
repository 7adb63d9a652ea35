//! How nodes are named on the command line, and where the project is found.

use crate::{assert_refused, finished, planned, story, text, two_acts};
use testkit::Project;

#[test]
fn a_node_has_many_names() {
    let project = planned();
    let cases: &[(&[&str], &str)] = &[
        (&["act-1"], "act-1"),
        (&["act", "1"], "act-1"),
        (&["ACT", "1"], "act-1"),
        (&["act", "act-1"], "act-1"),
        (&["Act-1"], "act-1"),
        (&["chapter-01"], "act-1/chapter-01"),
        (&["chapter-1"], "act-1/chapter-01"),
        (&["chapter", "1"], "act-1/chapter-01"),
        (&["chapter", "01"], "act-1/chapter-01"),
        (&["chapter", "chapter-01"], "act-1/chapter-01"),
        (&["act-1/chapter-01"], "act-1/chapter-01"),
        (&["act-1/chapter-1"], "act-1/chapter-01"),
        (&["scene-0101"], "act-1/chapter-01/scene-0101"),
        (&["scene", "0101"], "act-1/chapter-01/scene-0101"),
        (&["scene", "101"], "act-1/chapter-01/scene-0101"),
        (&["chapter-01/scene-0101"], "act-1/chapter-01/scene-0101"),
        (
            &["act-1/chapter-01/scene-0101"],
            "act-1/chapter-01/scene-0101",
        ),
    ];
    for (words, path) in cases {
        let mut arguments = vec!["show"];
        arguments.extend(*words);
        assert_eq!(
            text(&project.json(&arguments), "path"),
            *path,
            "tl show {words:?}"
        );
    }
}

#[test]
fn an_ambiguous_alias_lists_the_candidates() {
    let project = two_acts();
    for arguments in [
        ["show", "chapter-01"].as_slice(),
        &["show", "chapter", "1"],
        &["approve", "chapter-1"],
        &["children", "chapter-01"],
        &["why", "chapter-01"],
        &["versions", "chapter", "1"],
        &["log", "chapter-01"],
        &["tree", "chapter-01"],
        &["restore", "chapter-01", "-1"],
        &["invalidate", "chapter-01", "--reason", "x"],
        &["progress", "chapter", "1", "active"],
    ] {
        assert_refused(
            &project,
            arguments,
            "invalid",
            &["act-1/chapter-01", "act-2/chapter-01"],
        );
    }
    assert_refused(
        &project,
        &["show", "chapter-01/scene-0101"],
        "invalid",
        &["act-1/chapter-01/scene-0101", "act-2/chapter-01/scene-0101"],
    );
    assert_eq!(
        text(&project.json(&["show", "act-2/chapter-01"]), "title"),
        "Chapter 1 of act 2"
    );
    assert_eq!(
        text(&project.json(&["show", "act-1/chapter-01"]), "title"),
        "Chapter 1"
    );
}

#[test]
fn an_alias_becomes_ambiguous_when_the_second_file_was_noticed() {
    let project = planned();
    project.write("acts/act-2/strategic-plan.md", "# Act 2\n");
    project.write("acts/act-2/chapters/chapter-01/plan.md", "# Other\n");
    project.ok(&["status"]);
    assert_refused(
        &project,
        &["show", "chapter-01"],
        "invalid",
        &["act-1/chapter-01", "act-2/chapter-01"],
    );
}

#[test]
fn numbers_sort_as_numbers() {
    let project = story();
    for number in [10, 2, 1, 9] {
        project.write(
            &format!("acts/act-{number}/strategic-plan.md"),
            "# An act\n",
        );
    }
    assert_eq!(
        crate::statuses(&project),
        ["act-1 draft", "act-2 draft", "act-9 draft", "act-10 draft"]
    );
}

#[test]
fn a_project_is_found_from_below() {
    let project = planned();
    let mut command = project.command(&["show", "scene-0101", "--json"]);
    command.current_dir(project.root().join("acts/act-1/chapters/chapter-01/scenes"));
    let output = finished(&mut command);
    assert_eq!(output.code, 0, "{}", output.stderr);
    assert!(
        output
            .stdout
            .contains(&format!("\"file_path\":\"{}\"", Project::SCENE)),
        "{}",
        output.stdout
    );
}

#[test]
fn a_project_is_named_from_anywhere() {
    let project = planned();
    let root = project.root();
    for arguments in [
        [
            "--project",
            root.to_str().expect("Unicode"),
            "show",
            "act-1",
            "--json",
        ],
        [
            "show",
            "act-1",
            "--json",
            "--project",
            root.to_str().expect("Unicode"),
        ],
    ] {
        let mut command = project.command(&arguments);
        command.current_dir("/");
        let output = finished(&mut command);
        assert_eq!(output.code, 0, "{}", output.stderr);
        assert!(
            output.stdout.contains("\"entity_id\":\"act-1\""),
            "{}",
            output.stdout
        );
    }
    let mut relative = project.command(&["--project", "work", "status"]);
    relative.current_dir(root.parent().expect("a parent"));
    assert_eq!(finished(&mut relative).code, 0);
}

#[test]
fn a_named_directory_must_be_the_project_itself() {
    let project = planned();
    assert_refused(
        &project,
        &["--project", "acts", "status"],
        "not-found",
        &["there is no Throughline project", "tl init"],
    );
    assert_refused(
        &project,
        &["--project", "no/such/place", "status"],
        "not-found",
        &["no/such/place"],
    );
}
