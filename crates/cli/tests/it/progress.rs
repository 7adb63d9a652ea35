//! `tl progress`

use serde_json::json;

use crate::{assert_refused, planned, text};

#[test]
fn progress_is_set_and_shown() {
    let project = planned();
    for state in ["active", "blocked", "complete", "pending"] {
        assert_eq!(
            project.ok(&["progress", "scene", "0101", state]).stdout,
            format!("act-1/chapter-01/scene-0101 is {state}\n")
        );
        assert_eq!(
            text(&project.json(&["show", "scene-0101"]), "progress"),
            state
        );
    }
    let view = project.json(&["progress", "scene-0101", "active"]);
    assert_eq!(
        (text(&view, "progress"), text(&view, "status")),
        ("active", "approved")
    );
}

#[test]
fn progress_does_not_touch_approval() {
    let project = planned();
    project.ok(&["progress", "act-1", "blocked"]);
    assert_eq!(
        crate::statuses(&project),
        [
            "act-1 approved",
            "act-1/chapter-01 approved",
            "act-1/chapter-01/scene-0101 approved"
        ]
    );
}

#[test]
fn an_unknown_state_lists_the_known_ones() {
    let project = planned();
    assert_refused(
        &project,
        &["progress", "act-1", "done"],
        "invalid",
        &[
            "`done` is not a progress state",
            "pending, active, complete, blocked",
        ],
    );
    assert_eq!(
        project.json(&["show", "act-1"])["progress"],
        json!("pending")
    );
}
