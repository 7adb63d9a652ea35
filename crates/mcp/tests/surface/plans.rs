//! Plan documents, workflows and reviews through the tools, as an agent uses them.

use mcp::surface::{Called, Surface, ToolSelection};
use serde_json::{Value, json};

use crate::{World, agent, done};

fn plans() -> Surface {
    let selection = ToolSelection {
        toolsets: Some(vec!["milestones".to_owned()]),
        ..ToolSelection::default()
    };
    Surface::new(World::story(), selection).unwrap()
}

/// Calls a tool that must fail, and returns everything it says.
fn failed(surface: &Surface, tool: &str, arguments: Value) -> Value {
    match surface.call(&agent(), tool, &arguments) {
        Called::Failed(value) => {
            crate::assert_usable_steps(surface, &value["error"]["next_steps"]);
            value
        }
        other => panic!("{tool} {arguments}: {other:?}"),
    }
}

#[test]
fn a_plan_is_made_changed_and_frozen() {
    let surface = plans();
    assert_eq!(
        done(&surface, "doc_new", json!({ "title": "Add search" }))["document"],
        "add-search"
    );
    let changes = json!([
        { "do": "set", "id": "overview", "version": 1, "fields": { "problem": "p", "approach": "a" } },
        { "do": "add-milestone", "name": "Index", "acceptance_criteria": ["c"], "tests": { "skip_reason": "none" }, "as": "m" },
        { "do": "add-intent", "milestone": "@m", "file": "src/a.rs", "behavior": "b" },
    ]);
    let changed = done(&surface, "doc_change", json!({ "changes": changes }));
    assert_eq!(changed["changed"][2]["id"], "CI-001");
    let wrong = json!({ "changes": [{ "do": "set", "id": "M-001", "version": 9, "fields": { "name": "x" } }] });
    let error = failed(&surface, "doc_change", wrong);
    assert_eq!(
        (&error["error"]["kind"], &error["current"]["version"]),
        (&json!("conflict"), &json!(1))
    );
    // Everything that is wrong, at once.
    let unreadable = json!([{ "do": "fly" }, { "do": "set" }, { "do": "add-risk", "riks": "r" }]);
    let error = failed(&surface, "doc_change", json!({ "changes": unreadable }));
    let message = error["error"]["message"].as_str().unwrap();
    for part in [
        "3 lines of the batch cannot be read",
        "line 1: unknown variant `fly`",
        "line 2: missing fields `id`, `fields`",
        "line 3: unknown field `riks`",
        "also missing: `risk`, `mitigation`",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert_eq!(
        done(&surface, "doc_show", json!({ "entity": "M-001" }))["entity"]["name"],
        "Index"
    );
    assert_eq!(
        done(&surface, "doc_show", json!({}))["plan"]["schema_version"],
        2
    );
    assert_eq!(done(&surface, "doc_validate", json!({}))["complete"], true);
    assert_eq!(
        done(&surface, "doc_freeze", json!({}))["waves"],
        json!([{ "wave": 1, "milestones": ["M-001"] }])
    );
    assert_eq!(
        failed(&surface, "doc_change", json!({ "changes": changes }))["error"]["kind"],
        "refused"
    );

    assert_eq!(
        done(
            &surface,
            "flow_move",
            json!({ "how": "start", "workflow": "executor" })
        )["step"],
        "init"
    );
    done(&surface, "flow_move", json!({ "how": "done" }));
    done(&surface, "flow_move", json!({ "how": "done" }));
    assert_eq!(
        done(&surface, "flow_move", json!({ "how": "take" }))["milestone"],
        "M-001"
    );
    let step = done(&surface, "flow_next", json!({}));
    assert_eq!(
        (&step["role"], &step["wave"]),
        (&json!("developer"), &json!(1))
    );
    assert_eq!(
        failed(&surface, "flow_move", json!({ "how": "done" }))["error"]["kind"],
        "refused"
    );
    assert_eq!(
        failed(&surface, "flow_move", json!({ "how": "start" }))["error"]["kind"],
        "invalid"
    );
}

#[test]
fn anything_is_reviewed() {
    let surface = plans();
    let of = json!("chapter 2");
    done(
        &surface,
        "review_check",
        json!({ "check": "POV holds", "severity": "MUST", "of": of }),
    );
    let verdict = json!({ "item": "qa-001", "verdict": "fail", "finding": "no", "of": of });
    assert_eq!(
        done(&surface, "review_verdict", verdict)["item"]["fail_count"],
        1
    );
    assert_eq!(
        done(&surface, "review_status", json!({ "of": of }))["blocking"],
        json!(["qa-001"])
    );
    let stale = json!({ "item": "qa-001", "verdict": "pass", "version": 1, "of": of });
    assert_eq!(
        failed(&surface, "review_verdict", stale)["current"]["version"],
        2
    );
}
