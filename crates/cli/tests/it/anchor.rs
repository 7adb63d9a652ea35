//! `tl anchor`: what every briefing holds up.

use crate::{assert_refused, text, trail};

#[test]
fn anchors_are_kept_and_listed_newest_first() {
    let project = trail();
    project.ok(&["anchor", "add", "No new dependency"]);
    let stamp = text(&project.json(&["intent", "Build auth"]), "stamp").to_owned();
    let anchor = project.json(&["anchor", "add", "JWT only"]);
    assert_eq!(text(&anchor, "session_stamp"), stamp);
    let list = project.json(&["anchor", "list"]);
    assert_eq!(
        (text(&list[0], "text"), text(&list[1], "text")),
        ("JWT only", "No new dependency")
    );
    assert!(project.ok(&["brief"]).stdout.contains("Anchor: “JWT only”"));
    assert_refused(
        &project,
        &["anchor", "add", &"x".repeat(501)],
        "invalid",
        &["501 characters"],
    );
}
