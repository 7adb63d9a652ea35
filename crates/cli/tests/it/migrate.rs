//! `tl trail migrate`: trails of older forms.

use serde_json::json;

use crate::{assert_refused, text, trail};

fn hierarchy() -> String {
    let node = |id: &str,
                level: &str,
                content: &str,
                status: &str,
                created: i64,
                children: serde_json::Value| {
        let stamp = id.rsplit('_').next().expect("a stamp");
        json!({ "id": id, "level": level, "content": content, "status": status, "created": created, "stamp": stamp, "children": children })
    };
    let action = node(
        "a_00151102026",
        "action",
        "Write it",
        "active",
        1_770_822_000_000,
        json!([]),
    );
    // The old stamps collide within a minute.
    let again = node(
        "a_00151102026",
        "action",
        "Write more",
        "pending",
        1_770_822_000_000,
        json!([]),
    );
    let tactic = node(
        "tc_4514110226",
        "tactic",
        "JWT",
        "active",
        1_770_821_100_000,
        json!([action, again]),
    );
    let root = node(
        "t_30141102026",
        "trajectory",
        "Build auth",
        "active",
        1_770_820_200_000,
        json!([tactic]),
    );
    json!({ "version": 1, "root": root, "cursor": "a_00151102026" }).to_string()
}

#[test]
fn a_tree_is_taken_over_with_its_times_and_its_log() {
    let project = trail();
    assert_refused(
        &project,
        &["trail", "migrate"],
        "not-found",
        &["no older trail"],
    );
    project.write(".hivemind/hierarchy.json", hierarchy());
    project.write(
        ".hivemind/active.md",
        "---\na: 1\n---\n# Active\n\n- decided on jose\n<!-- x -->\n",
    );
    let outcome = project.json(&["trail", "migrate"]);
    assert_eq!(
        (&outcome["nodes"], &outcome["log_lines"]),
        (&4.into(), &2.into())
    );
    let tree = project.json(&["trail", "scan"]);
    assert_eq!(text(&tree["root"], "id"), "t_30141102026");
    assert_eq!(text(&tree["root"]["children"][0], "stamp"), "45141102026");
    assert_eq!(tree["root"]["created"], 1_770_820_200_000_i64);
    assert_eq!(
        text(&tree["root"]["children"][0]["children"][1], "id"),
        "a_00151102026-2"
    );
    assert_eq!(project.read(".hivemind/hierarchy.json"), hierarchy());
    assert!(
        project
            .read(text(&outcome, "session_file"))
            .contains("note: decided on jose")
    );
    assert_refused(
        &project,
        &["trail", "migrate"],
        "refused",
        &["already has a trail"],
    );
}

#[test]
fn a_flat_brain_becomes_a_chain_and_nonsense_is_said_to_be() {
    let project = trail();
    project.write(
        "brain.json",
        json!({ "hierarchy": { "trajectory": "Auth", "tactic": "JWT", "action": "" } }).to_string(),
    );
    assert_eq!(project.json(&["trail", "migrate"])["nodes"], 2);
    let project = trail();
    project.write(".hivemind/brain.json", "{ not json");
    assert_refused(
        &project,
        &["trail", "migrate"],
        "invalid",
        &[".hivemind/brain.json"],
    );
    let project = trail();
    project.write(".hivemind/active.md", "# Build the thing\n\n- step one\n");
    let outcome = project.json(&["trail", "migrate"]);
    assert_eq!(
        (&outcome["nodes"], &outcome["log_lines"]),
        (&1.into(), &2.into())
    );
}
