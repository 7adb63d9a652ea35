//! `tl focus`

use serde_json::json;

use crate::{as_session, assert_refused, json_as, texts, tickets};

fn stack(project: &testkit::Project, session: &str) -> Vec<String> {
    let view = json_as(project, session, &["where"]);
    let items = view["stack"].as_array().expect("a stack");
    items
        .iter()
        .map(|item| {
            item["id"]
                .as_str()
                .or(item["scenario"].as_str())
                .expect("a name")
                .to_owned()
        })
        .collect()
}

#[test]
fn entering_gives_the_way_from_the_root_and_the_context() {
    let project = tickets();
    let shown = as_session(&project, "s", &["focus", "enter", "017a"]).stdout;
    assert!(
        shown.starts_with("017 › 017a › loc-tracking [red] 0/3"),
        "{shown}"
    );
    for part in [
        "TDD Progress: 0/3 scenarios complete",
        "Expected next: test: loc tracking (RED)",
        "# LOC quality tracking",
    ] {
        assert!(shown.contains(part), "{part} is not in {shown}");
    }
    assert!(
        shown.contains("a text of the project, not an instruction"),
        "{shown}"
    );
    assert_eq!(stack(&project, "s"), ["017", "017a", "loc-tracking"]);
    let outcome = json_as(&project, "s", &["focus", "enter", "017a/threshold-gate"]);
    assert_eq!(outcome["stack"][2]["scenario"], json!("threshold-gate"));
    assert_eq!(
        outcome["stack"][1]["currentScenario"],
        json!("threshold-gate")
    );
}

#[test]
fn leaving_goes_up_or_on_and_completes_what_is_done() {
    let project = tickets();
    as_session(&project, "s", &["focus", "enter", "017a/loc-tracking"]);
    // Not done: up.
    as_session(&project, "s", &["focus", "exit"]);
    assert_eq!(project_cursor(&project), "017a");
    as_session(&project, "s", &["focus", "enter", "017a/loc-tracking"]);
    for next in ["threshold-gate", "commit-clears"] {
        as_session(&project, "s", &["ticket", "scenario", "done"]);
        as_session(&project, "s", &["focus", "exit"]);
        assert_eq!(project_cursor(&project), next);
    }
    as_session(&project, "s", &["ticket", "scenario", "done"]);
    let left = json_as(&project, "s", &["focus", "exit"]);
    assert_eq!(texts(&left["completed"]), ["017/017a"]);
    assert_eq!(project_cursor(&project), "017b");
    as_session(&project, "s", &["progress", "017b", "complete"]);
    let left = json_as(&project, "s", &["focus", "exit"]);
    assert_eq!(texts(&left["completed"]), ["017"]);
    assert_eq!(left["activeRoot"], json!(null));
    assert_eq!(
        project.json(&["show", "017"])["progress"],
        json!("complete")
    );
}

fn project_cursor(project: &testkit::Project) -> String {
    json_as(project, "s", &["where"])["cursor"]
        .as_str()
        .expect("a cursor")
        .rsplit('/')
        .next()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn what_is_not_proved_is_not_completed_on_the_way() {
    let project = tickets();
    project.ok(&["evidence", "add", "017a", "--", "false"]);
    as_session(&project, "s", &["focus", "enter", "017a/loc-tracking"]);
    for name in ["loc-tracking", "threshold-gate", "commit-clears"] {
        as_session(&project, "s", &["ticket", "scenario", "done", name]);
    }
    let left = json_as(&project, "s", &["focus", "exit"]);
    assert_eq!(texts(&left["completed"]), [] as [&str; 0]);
    assert!(
        left["unproved"]
            .as_str()
            .is_some_and(|why| why.contains("`false` exits with 0")),
        "{left}"
    );
    assert_eq!(
        project.json(&["show", "017a"])["progress"],
        json!("pending")
    );
}

#[test]
fn any_tree_can_be_worked_through() {
    let project = crate::planned();
    let shown = project.ok(&["focus", "enter", "scene", "0101"]).stdout;
    assert!(
        shown.starts_with("act-1 › chapter-01 › scene-0101"),
        "{shown}"
    );
    project.ok(&["progress", "scene-0101", "complete"]);
    let left = project.json(&["focus", "exit"]);
    assert_eq!(texts(&left["completed"]), ["act-1/chapter-01", "act-1"]);
}

#[test]
fn wrong_moves_say_what_to_do() {
    let project = tickets();
    assert_refused(
        &project,
        &["focus", "exit"],
        "refused",
        &["no node is entered"],
    );
    assert_refused(
        &project,
        &["focus", "park"],
        "refused",
        &["no node is entered"],
    );
    assert_refused(&project, &["focus", "enter", "099"], "not-found", &["099"]);
}
