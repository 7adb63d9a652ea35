//! The tools of the trail, by the names and words of the design.

use serde_json::json;

use crate::{World, done, failed, surface};

#[test]
fn a_session_through_tools_alone() {
    let surface = surface(&World::with_trail());
    assert!(
        failed(
            &surface,
            "map_context",
            json!({ "level": "tactic", "content": "x" })
        )["message"]
            .as_str()
            .unwrap()
            .contains("no intent")
    );
    done(
        &surface,
        "declare_intent",
        json!({ "focus": "Build auth", "mode": "exploration" }),
    );
    done(
        &surface,
        "map_context",
        json!({ "level": "tactic", "content": "JWT", "status": "complete" }),
    );
    done(
        &surface,
        "map_context",
        json!({ "level": "tactic", "content": "Middleware" }),
    );
    done(&surface, "save_anchor", json!({ "text": "jose only" }));
    done(
        &surface,
        "save_mem",
        json!({ "text": "passport was tried", "shelf": "tried" }),
    );
    assert_eq!(
        done(&surface, "recall_mems", json!({ "query": "pass" }))["mems"][0]["shelf"],
        "tried"
    );
    assert_eq!(
        done(&surface, "list_shelves", json!({}))["shelves"],
        json!([{ "shelf": "tried", "notes": 1 }])
    );
    assert_eq!(
        done(
            &surface,
            "self_rate",
            json!({ "score": 8, "reason": "fine" })
        )["average"],
        8.0
    );
    let tree = done(&surface, "scan_hierarchy", json!({}));
    assert_eq!(
        (&tree["version"], &tree["root"]["content"]),
        (&json!(1), &json!("Build auth"))
    );
    assert_eq!(done(&surface, "check_drift", json!({}))["drift_score"], 100);
    assert_eq!(
        done(&surface, "think_back", json!({}))["anchors"],
        json!(["jose only"])
    );
    assert_eq!(done(&surface, "hierarchy_prune", json!({}))["branches"], 1);
    assert!(
        done(&surface, "brief", json!({}))["text"]
            .as_str()
            .unwrap()
            .contains("Trajectory:")
    );
    let ended = done(
        &surface,
        "compact_session",
        json!({ "report": "Keep the middleware." }),
    );
    assert_eq!(ended["next_compaction_report"], "Keep the middleware.");
    assert!(
        failed(&surface, "hierarchy_migrate", json!({}))["message"]
            .as_str()
            .unwrap()
            .contains("no older trail")
    );
    assert!(
        failed(&surface, "self_rate", json!({ "score": 0 }))["message"]
            .as_str()
            .unwrap()
            .contains("1 to 10")
    );
}
