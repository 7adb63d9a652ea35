//! `tl state sync-hashes`

use serde_json::json;

use crate::{newest_operation, planned};
use testkit::Project;

#[test]
fn nothing_differs() {
    let project = planned();
    assert_eq!(
        project.ok(&["state", "sync-hashes"]).stdout,
        "✓ 3 nodes: no changes\n"
    );
    assert_eq!(
        project.json(&["state", "sync-hashes"]),
        json!({"success": true, "nodes": 3, "operation": null, "summary": null})
    );
}

#[test]
fn what_differs_is_recorded() {
    let project = planned();
    project.write(Project::ACT, crate::ACT_EDITED);
    let outcome = project.json(&["state", "sync-hashes"]);
    assert_eq!(
        outcome,
        json!({"success": true, "nodes": 3, "operation": newest_operation(&project), "summary": "changed: act-1"})
    );
    assert_eq!(
        project.status("act-1"),
        "draft",
        "status follows from the approved text, not from the sync"
    );
    project.write(Project::ACT, crate::ACT_TEXT);
    project.ok(&["state", "sync-hashes"]);
    assert_eq!(project.status("act-1"), "approved");
}
