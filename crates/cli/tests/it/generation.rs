//! `tl story generation`: scenes that stopped on the way.

use crate::write::approved;
use crate::{INTERRUPT, KILL, asked, assert_refused, text, with_model};
use serde_json::json;

#[test]
fn a_step_that_failed_goes_on_where_it_stopped() {
    let verdict = json!({ "findings": [], "summary": ["s"] }).to_string();
    let draft = "Elena pulled at the drawer until it gave. There was only dust, and no map.";
    let project = with_model(
        approved(),
        &[
            draft,
            "no verdict at all",
            "no verdict at all",
            "no verdict at all",
            "no verdict at all",
            &verdict,
        ],
    );
    let failed = project.run(&["story", "write", "--next"]);
    assert_eq!(failed.code, 1, "{failed:?}");
    let status = project.json(&["story", "generation", "status", "scene-0101"]);
    assert_eq!(
        (text(&status, "status"), text(&status, "step")),
        ("failed", "judge")
    );
    // Only the failed step is asked again; the draft is not paid for twice.
    let mut tries = 0;
    while project
        .run(&["story", "generation", "resume", "scene-0101"])
        .code
        != 0
    {
        tries += 1;
        assert!(tries < 5, "it never ends");
    }
    let asked = asked(&project);
    assert_eq!(asked.matches("Write the next scene").count(), 1, "{asked}");
    assert_eq!(
        text(
            &project.json(&["story", "generation", "status"])[0],
            "status"
        ),
        "complete"
    );
}

#[test]
fn what_is_cancelled_stays_cancelled_until_it_is_written_anew() {
    let project = approved();
    assert_refused(
        &project,
        &["story", "generation", "status", "scene-0101"],
        "not-found",
        &["was not started"],
    );
    assert_eq!(project.json(&["story", "generation", "status"]), json!([]));
    project.ok(&["story", "write", "scene-0101"]);
    assert_refused(
        &project,
        &["story", "generation", "cancel", "scene-0101"],
        "refused",
        &["is complete"],
    );
    assert_refused(
        &project,
        &["story", "generation", "resume", "scene-0101"],
        "refused",
        &["is complete"],
    );
}

#[test]
fn a_scene_that_is_killed_at_any_step_goes_on_there() {
    let verdict = json!({ "findings": [], "summary": ["s"] }).to_string();
    let project = with_model(
        approved(),
        &[
            KILL,
            "Elena pulled at the drawer until",
            KILL,
            "it gave, and she saw that the map was gone.",
            KILL,
            &verdict,
        ],
    );
    let mut said = Vec::new();
    for _ in 0..3 {
        let killed = project.run(&["story", "write", "--next"]);
        assert_eq!(killed.code, -1, "{killed:?}");
        said.push(killed.stderr.lines().next().unwrap_or_default().to_owned());
    }
    let done = project.ok(&["story", "write", "--next"]);
    said.push(done.stderr.lines().next().unwrap_or_default().to_owned());
    let scene = "act-1/chapter-01/scene-0101";
    let at = |step: &str| format!("resuming {scene} at step {step}");
    assert_eq!(
        said,
        [
            format!("write {scene}"),
            format!("write {scene}"),
            at("conclude"),
            at("judge")
        ]
    );
    assert_eq!(
        text(
            &project.json(&["story", "generation", "status", "scene-0101"]),
            "status"
        ),
        "complete"
    );
    assert_eq!(
        project.json(&["story", "memory", "show"])["counts"]["scenes"],
        1
    );
    project.ok(&["check"]);
}

#[test]
fn a_cancelled_step_records_what_its_calls_cost() {
    let draft = "Elena pulled at the drawer until it gave. There was only dust, and no map.";
    let project = with_model(approved(), &[draft, "no verdict at all", INTERRUPT]);
    let cancelled = project.run(&["story", "write", "--next"]);
    assert!(cancelled.stderr.contains("cancelled"), "{cancelled:?}");
    // The draft, the unusable verdict, and the call that was cancelled.
    let spent = &project.json(&["story", "stats"])["spent_on"];
    assert_eq!(spent["act-1/chapter-01/scene-0101"]["calls"], 3, "{spent}");
}
