//! `tl gate`

use serde_json::json;
use testkit::Project;

use crate::{planned, story, tickets};

#[test]
fn an_override_is_a_persons_word() {
    let project = planned();
    let output = project.run(&[
        "gate",
        "override",
        "shrink",
        "act-1",
        "--reason",
        "an outline",
    ]);
    assert_eq!(output.code, 1);
    assert!(
        output.stderr.contains("a gate is overridden by a person"),
        "{}",
        output.stderr
    );
    let output = project.run(&["gate", "override", "shrnk", "act-1", "--reason", "x"]);
    assert!(
        output.stderr.contains("did you mean `shrink`?"),
        "{}",
        output.stderr
    );
    assert_eq!(
        project.run(&["gate", "override", "shrink", "act-1"]).code,
        2
    );
}

#[test]
fn the_ledger_is_counted_and_a_call_counts_once() {
    let project = story();
    assert_eq!(
        project.json(&["gate", "stats"]),
        json!({ "events": 0, "faults": 0, "gates": {}, "hosts": [] })
    );
    project.write(Project::ACT, crate::ACT_TEXT);
    let session = project.session("s").with("tool_use_id", "toolu_1");
    for _ in 0..2 {
        let answer = session.before(
            "Write",
            &json!({ "file_path": Project::CHAPTER, "content": "# Chapter\n" }),
        );
        assert!(answer.block().is_some(), "{answer:?}");
    }
    let stats = project.json(&["gate", "stats"]);
    assert_eq!(stats["gates"]["hierarchy"]["blocks"], json!(1), "{stats}");
    let output = project.ok(&["gate", "stats"]);
    assert!(
        output.stdout.contains("hierarchy: 1 blocked, 0 warned"),
        "{}",
        output.stdout
    );
}

#[test]
fn the_thresholds_of_each_work_level_are_explained() {
    let project = tickets();
    let explain = |gate: &str| project.ok(&["gate", "explain", gate]).stdout;
    let lines = explain("loc");
    assert!(
        lines.contains("patch 200, task 400, feature 400"),
        "{lines}"
    );
    let files = explain("scope");
    assert!(
        files.contains("patch 2, task 5, feature without a limit; scenarios: 5"),
        "{files}"
    );
    project.ok(&["config", "set", "policy.gates.loc_task_percent", "75"]);
    project.ok(&["config", "set", "policy.gates.scope_patch_files", "1"]);
    assert!(explain("loc").contains("patch 200, task 300, feature 400"));
    assert!(explain("scope").contains("patch 1, task 5"));
    assert_eq!(
        project
            .run(&["config", "set", "policy.gates.loc_task_percent", "101"])
            .code,
        1
    );
}
