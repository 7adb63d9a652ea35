//! `tl trail intent`: what a session is for.

use crate::{assert_refused, keys, story, text, trail};

#[test]
fn it_begins_a_trajectory_with_a_file_and_a_place_in_the_list() {
    let project = trail();
    let place = project.json(&[
        "trail",
        "intent",
        "Build",
        "the auth system",
        "--mode",
        "quick_fix",
    ]);
    assert_eq!(
        keys(&place),
        [
            "content",
            "cursor",
            "mode",
            "session",
            "session_file",
            "stamp",
            "status",
            "trajectory",
            "tree"
        ]
    );
    assert_eq!(
        (text(&place, "content"), text(&place, "session")),
        ("Build the auth system", "s1")
    );
    let (stamp, file) = (text(&place, "stamp"), text(&place, "session_file"));
    assert_eq!(text(&place, "trajectory"), format!("t_{stamp}"));
    let session = project.read(file);
    assert!(
        session.contains("mode: \"quick_fix\"")
            && session.contains("intent: Build the auth system"),
        "{session}"
    );
    let manifest = project.read(".throughline/sessions/manifest.json");
    assert!(
        manifest.contains(&format!("\"active_stamp\": \"{stamp}\"")),
        "{manifest}"
    );
    assert!(
        project
            .read(".throughline/templates/session.md")
            .contains("## Log")
    );
    // Said twice is said once; said otherwise, the other one is archived.
    assert_eq!(
        project.json(&[
            "trail",
            "intent",
            "Build the auth system",
            "--mode",
            "quick_fix"
        ])["stamp"],
        stamp
    );
    project.ok(&["trail", "intent", "Write docs"]);
    let sessions = project.json(&["trail", "session", "list"]);
    assert_eq!(
        (
            sessions[0]["status"].as_str(),
            sessions[1]["status"].as_str()
        ),
        (Some("active"), Some("archived"))
    );
}

#[test]
fn what_cannot_be_declared_is_refused() {
    let project = trail();
    assert_refused(&project, &["trail", "intent", "  "], "invalid", &["empty"]);
    assert_refused(
        &project,
        &["trail", "intent", "x", "--mode", "slow"],
        "invalid",
        &["plan_driven, quick_fix, exploration"],
    );
    assert_refused(
        &project,
        &["trail", "intent", &"x".repeat(501)],
        "invalid",
        &["501 characters"],
    );
    assert_refused(
        &story(),
        &["trail", "intent", "x"],
        "refused",
        &["keeps no trail", "\"trail\"]"],
    );
}
