//! `tl ticket scenario`

use serde_json::json;

use crate::{as_session, assert_refused, json_as, tickets};

#[test]
fn scenarios_come_from_the_file_and_follow_it() {
    let project = tickets();
    let view = project.json(&["ticket", "scenario", "list", "017a"]);
    assert_eq!((&view["completed"], &view["total"]), (&json!(0), &json!(3)));
    assert_eq!(view["scenarios"][1]["title"], json!("Threshold gate"));
    let file = "tickets/017a-loc/test-definitions.md";
    project.write(
        file,
        format!(
            "{}\n```gherkin\nScenario: Порог\n  Given nothing\n```\n",
            project.read(file)
        ),
    );
    assert_eq!(
        project.json(&["ticket", "scenario", "list", "017a"])["total"],
        json!(4)
    );
    project.ok(&["show", "017a/порог"]);
    // What is taken out of the file is gone from the list and from the tree, and comes back with it.
    project.write(file, "## Scenario: Threshold gate\nGiven 400 lines\n");
    let view = project.json(&["ticket", "scenario", "list", "017a"]);
    assert_eq!(
        (&view["total"], &view["scenarios"][0]["name"]),
        (&json!(1), &json!("threshold-gate"))
    );
    assert_refused(
        &project,
        &["show", "017a/loc-tracking"],
        "not-found",
        &["is not in its file any more, and its state is kept"],
    );
    project.ok(&["check"]);
    project.write(file, "## Scenario: LOC tracking\nGiven edits\n");
    project.ok(&["show", "017a/loc-tracking"]);
}

#[test]
fn the_present_one_is_done_without_a_name() {
    let project = tickets();
    assert_refused(
        &project,
        &["ticket", "scenario", "done"],
        "not-found",
        &["works on no scenario"],
    );
    as_session(&project, "s", &["focus", "enter", "017a"]);
    let view = json_as(&project, "s", &["ticket", "scenario", "done"]);
    assert_eq!(
        (&view["completed"], &view["scenarios"][1]["current"]),
        (&json!(1), &json!(true))
    );
    let view = json_as(
        &project,
        "s",
        &["ticket", "scenario", "done", "Commit clears"],
    );
    assert_eq!(view["completed"], json!(2));
    assert_refused(
        &project,
        &["ticket", "scenario", "done", "017a"],
        "invalid",
        &["is a ticket, not a scenario"],
    );
    let shown = as_session(&project, "s", &["ticket", "scenario", "list"]).stdout;
    assert!(
        shown.starts_with("017a 2/3\n[x] loc-tracking") && shown.contains("\n[>] threshold-gate"),
        "{shown}"
    );
}
