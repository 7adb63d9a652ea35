//! `tl trail drift`: what the hooks counted.

use serde_json::json;

use crate::{keys, trail};

#[test]
fn calls_are_counted_per_session() {
    let project = trail();
    project.ok(&["trail", "intent", "Build auth"]);
    let session = project.session("s1");
    for number in 0..3 {
        let _ = session.before("Read", &json!({ "file_path": format!("/x/{number}") }));
        let _ = session.after("Read", &json!({ "file_path": format!("/x/{number}") }));
    }
    let _ = project
        .session("s2")
        .before("Read", &json!({ "file_path": "/x" }));
    let _ = project
        .session("s2")
        .after("Read", &json!({ "file_path": "/x" }));
    let drift = project.json(&["trail", "drift"]);
    assert_eq!(
        (
            &drift["turn_count"],
            &drift["tool_type_counts"]["read"],
            &drift["drift_score"]
        ),
        (&3.into(), &3.into(), &100.into())
    );
    assert_eq!(
        keys(&drift["tool_type_counts"]),
        ["governance", "query", "read", "write"]
    );
    assert!(
        project
            .ok(&["trail", "drift"])
            .stdout
            .contains("3 calls (3 read")
    );
}
