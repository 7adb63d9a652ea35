//! `tl generation`: scenes that stopped on the way.

use crate::write::approved;
use crate::{asked, assert_refused, text, with_model};
use serde_json::json;

#[test]
fn a_step_that_failed_goes_on_where_it_stopped() {
    let verdict = json!({ "findings": [], "summary": ["s"] }).to_string();
    let draft = "Elena pulled at the drawer until it gave. There was only dust, and no map.";
    let project = with_model(
        approved(),
        &[draft, "no verdict at all", "no verdict at all", "no verdict at all", "no verdict at all", &verdict],
    );
    let failed = project.run(&["write", "--next"]);
    assert_eq!(failed.code, 1, "{failed:?}");
    let status = project.json(&["generation", "status", "scene-0101"]);
    assert_eq!((text(&status, "status"), text(&status, "step")), ("failed", "judge"));
    // Only the failed step is asked again; the draft is not paid for twice.
    let mut tries = 0;
    while project.run(&["generation", "resume", "scene-0101"]).code != 0 {
        tries += 1;
        assert!(tries < 5, "it never ends");
    }
    let asked = asked(&project);
    assert_eq!(asked.matches("Write the next scene").count(), 1, "{asked}");
    assert_eq!(text(&project.json(&["generation", "status"])[0], "status"), "complete");
}

#[test]
fn what_is_cancelled_stays_cancelled_until_it_is_written_anew() {
    let project = approved();
    assert_refused(&project, &["generation", "status", "scene-0101"], "not-found", &["was not begun"]);
    assert_eq!(project.json(&["generation", "status"]), json!([]));
    project.ok(&["write", "scene-0101"]);
    assert_refused(&project, &["generation", "cancel", "scene-0101"], "refused", &["is complete"]);
    assert_refused(&project, &["generation", "resume", "scene-0101"], "refused", &["is complete"]);
}
