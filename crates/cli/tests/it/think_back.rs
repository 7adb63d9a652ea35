//! `tl think-back`: how it came to where it is.

use crate::{keys, texts, trail};

#[test]
fn it_tells_turning_points_anchors_and_what_is_next() {
    let project = trail();
    project.ok(&["intent", "Build auth"]);
    project.ok(&["map", "tactic", "JWT"]);
    project.ok(&["anchor", "add", "jose, not passport"]);
    project.ok(&["map", "action", "Write it", "--status", "blocked"]);
    let back = project.json(&["think-back"]);
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
            .ok(&["think-back"])
            .stdout
            .contains("Turning points")
    );
}
