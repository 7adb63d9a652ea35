//! `tl trail back`: how it came to where it is.

use crate::{keys, texts, trail};

#[test]
fn it_tells_turning_points_anchors_and_what_is_next() {
    let project = trail();
    project.ok(&["trail", "intent", "Build auth"]);
    project.ok(&["trail", "map", "tactic", "JWT"]);
    project.ok(&["note", "add", "--pin", "jose, not passport"]);
    project.ok(&["trail", "map", "action", "Write it", "--status", "blocked"]);
    let back = project.json(&["trail", "back"]);
    assert_eq!(
        keys(&back),
        [
            "anchors",
            "cursor",
            "gaps",
            "log",
            "next_action",
            "session",
            "signals",
            "tree",
            "turning_points"
        ]
    );
    let points = texts(&back["turning_points"]).join("\n");
    for part in [
        "intent: “Build auth”",
        "tactic: “JWT”",
        "decision: “jose, not passport”",
        "blocked: “Write it”",
    ] {
        assert!(points.contains(part), "{points}");
    }
    assert!(
        back["next_action"].as_str().unwrap().contains("is blocked"),
        "{back}"
    );
    assert!(
        project
            .ok(&["trail", "back"])
            .stdout
            .contains("Turning points")
    );
}
