//! `tl trail map`: where a session is.

use crate::{assert_refused, text, trail};

#[test]
fn the_cursor_goes_down_and_comes_up_again() {
    let project = trail();
    assert_refused(
        &project,
        &["trail", "map", "tactic", "x"],
        "refused",
        &["no intent is declared", "tl trail intent"],
    );
    project.ok(&["trail", "intent", "Build auth"]);
    assert_refused(
        &project,
        &["trail", "map", "action", "x"],
        "refused",
        &["no tactic is active"],
    );
    assert_refused(
        &project,
        &["trail", "map", "step", "x"],
        "invalid",
        &["tactic, action"],
    );
    assert_refused(
        &project,
        &["trail", "map", "tactic", "x", "--status", "done"],
        "invalid",
        &["pending, active, complete, blocked"],
    );
    let tactic = project.json(&["trail", "map", "tactic", "Middleware"]);
    assert!(text(&tactic, "cursor").starts_with("tc_"));
    let action = project.json(&["trail", "map", "action", "Handler"]);
    assert!(text(&action, "cursor").starts_with("a_"));
    // The same words are the same node, and from what is complete the cursor comes up.
    let done = project.json(&["trail", "map", "action", "Handler", "--status", "complete"]);
    assert_eq!(done["cursor"], tactic["cursor"]);
    let tree = project.json(&["trail", "scan"]);
    assert_eq!(
        tree["root"]["children"][0]["children"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    assert_eq!(
        tree["root"]["children"][0]["children"][0]["status"],
        "complete"
    );
    // Two in one minute have two names.
    project.ok(&["trail", "map", "action", "Another"]);
    let tree = project.json(&["trail", "scan"]);
    let ids: Vec<&str> = tree["root"]["children"][0]["children"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| text(node, "id"))
        .collect();
    assert_ne!(ids[0], ids[1]);
    assert!(
        project.json(&["check"])["findings"]
            .as_array()
            .is_none_or(Vec::is_empty)
    );
}

#[test]
fn a_finished_trajectory_is_not_gone_on_with() {
    let project = trail();
    let place = project.json(&["trail", "intent", "Build auth"]);
    project.ok(&["progress", text(&place, "trajectory"), "complete"]);
    assert_refused(
        &project,
        &["trail", "map", "tactic", "more"],
        "refused",
        &["is complete", "tl trail intent"],
    );
    let brief = crate::in_session(&project, "s2", &["brief"]).stdout;
    assert!(!brief.contains("Build auth"), "{brief}");
}
