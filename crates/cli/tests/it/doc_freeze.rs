//! `tl doc freeze` and `tl doc revise`: a frozen plan document is immutable.

use serde_json::{Value, json};

use crate::doc::{PLAN, planned_search};
use crate::{assert_refused, newest_operation, statuses, story, text};

#[test]
fn a_frozen_document_is_immutable_whatever_is_tried() {
    let project = planned_search();
    let output = project.ok(&["doc", "freeze"]);
    assert!(
        output.stderr.contains("wave 1: M-001") && output.stderr.contains("wave 2: M-002"),
        "{}",
        output.stderr
    );
    let plan = project.json(&["doc", "show"]);
    assert!(plan["frozen_at"].is_string());
    assert_eq!(
        plan["milestone_dependencies"]["waves"],
        json!([{ "wave": 1, "milestones": ["M-001"] }, { "wave": 2, "milestones": ["M-002"] }])
    );
    assert_eq!(
        statuses(&project),
        [
            "add-search approved",
            "add-search/M-001 approved",
            "add-search/M-001/CI-001 approved",
            "add-search/M-002 approved",
            "add-search/M-002/CI-002 approved"
        ]
    );
    let ready = project.json(&["next"]);
    assert_eq!(text(&ready["ready"][0], "path"), "add-search/M-001");
    assert_eq!(
        ready["ready"].as_array().map(Vec::len),
        Some(1),
        "the second milestone waits: {ready}"
    );
    let frozen = project.read(PLAN);
    let freeze = newest_operation(&project).to_string();
    let back = (newest_operation(&project) - 1).to_string();
    for arguments in [
        vec!["doc", "add-decision", "--decision", "a", "--reasoning", "b"],
        vec!["doc", "set", "M-001", "name=x", "--version", "1"],
        vec!["doc", "remove", "CI-002", "--version", "1"],
        vec!["doc", "apply", "batch.jsonl"],
        vec!["doc", "freeze"],
        vec!["undo"],
        vec!["undo", &freeze],
        vec!["undo", &back],
        vec!["undo", "--to", "1"],
        vec!["restore", "add-search", "-1"],
    ] {
        let output = project.refused(&arguments);
        assert!(
            output.stderr.contains("frozen") || output.stderr.contains("later operation"),
            "{arguments:?}: {}",
            output.stderr
        );
        assert_eq!(project.read(PLAN), frozen, "{arguments:?}");
    }
    // By hand it can be changed; then nothing goes on until it is put back.
    project.write(PLAN, frozen.replace("An index.", "Another index."));
    assert_refused(
        &project,
        &["doc", "show"],
        "conflict",
        &[
            "was changed outside",
            "/overview/approach (line ",
            "tl doc restore",
        ],
    );
    assert_refused(
        &project,
        &["doc", "validate", "--accept"],
        "refused",
        &["is frozen since"],
    );
    assert_refused(
        &project,
        &["doc", "revise"],
        "conflict",
        &["was changed outside"],
    );
    assert_eq!(project.status("add-search"), "draft");
    assert_eq!(project.status("add-search/M-001"), "requires-revalidation");
    project.ok(&["doc", "restore"]);
    assert_eq!(project.read(PLAN), frozen);
    assert_eq!(project.status("add-search/M-001"), "approved");
    // Work goes on, and can be taken back.
    project.ok(&["progress", "add-search/M-001/CI-001", "complete"]);
    project.ok(&["undo"]);
    project.ok(&["check"]);
}

#[test]
fn a_plan_that_is_not_finished_is_not_frozen() {
    let project = story();
    project.ok(&["doc", "new", "Add search"]);
    assert_refused(
        &project,
        &["doc", "freeze"],
        "refused",
        &["/overview/problem (line ", "/milestones (line "],
    );
    let output = project.run(&["doc", "validate"]);
    assert_eq!(output.code, 0, "unfinished is no fault: {}", output.stdout);
    assert!(
        output.stdout.contains("not complete yet"),
        "{}",
        output.stdout
    );
}

#[test]
fn a_revision_goes_on_from_a_frozen_plan() {
    let project = planned_search();
    project.ok(&["doc", "freeze"]);
    let frozen = project.read(PLAN);
    assert_eq!(project.ok(&["doc", "revise"]).stdout, "add-search-r2\n");
    let plan = project.json(&["doc", "show"]);
    assert_eq!(
        (text(&plan["revises"], "document"), &plan["frozen_at"]),
        ("add-search", &Value::Null)
    );
    project.ok(&[
        "doc",
        "set",
        "CI-001",
        "behavior=Maps words to many places.",
        "--version",
        "1",
    ]);
    project.ok(&["doc", "add-decision", "--decision", "b", "--reasoning", "c"]);
    let found = project.json(&["doc", "diff"]);
    assert_eq!(
        found["changes"],
        json!([{ "id": "CI-001", "change": "changed", "fields": ["behavior"] }, { "id": "DL-002", "change": "added" }])
    );
    let output = project.ok(&["doc", "diff"]);
    assert!(
        output.stdout.contains("+Maps words to many places."),
        "{}",
        output.stdout
    );
    assert_eq!(project.read(PLAN), frozen);
    let list = project.json(&["doc", "list"]);
    assert_eq!(
        (
            text(&list[1], "document"),
            &list[1]["revises"],
            &list[1]["current"]
        ),
        ("add-search-r2", &json!("add-search"), &json!(true))
    );
    project.ok(&["doc", "use", "add-search"]);
    assert!(project.json(&["doc", "show"])["frozen_at"].is_string());
    project.ok(&["doc", "use", "add-search-r2"]);
    project.ok(&["doc", "freeze"]);
    assert_eq!(project.ok(&["doc", "revise"]).stdout, "add-search-r3\n");
}

#[test]
fn only_a_person_freezes_where_only_people_approve() {
    let project = planned_search();
    project.configure("policy.approval", "\"human\"");
    assert_refused(
        &project,
        &["doc", "freeze"],
        "refused",
        &["only a person may freeze `add-search`"],
    );
    assert_eq!(project.status("add-search"), "draft");
}

#[test]
fn an_agent_cannot_write_into_a_frozen_document() {
    let project = planned_search();
    let session = project.session("s");
    let write =
        |file: &str| session.before("Write", &json!({ "file_path": file, "content": "{}" }));
    let folder = ".throughline/plans/add-search";
    assert!(
        write(PLAN).block().is_none(),
        "a draft is reported when it is used, not blocked"
    );
    project.ok(&["doc", "freeze"]);
    for (tool, input) in [
        ("Write", json!({ "file_path": PLAN, "content": "{}" })),
        (
            "Write",
            json!({ "file_path": format!("{folder}/../add-search/plan.md"), "content": "x" }),
        ),
        (
            "Write",
            json!({ "file_path": project.root().join(PLAN), "content": "x" }),
        ),
        (
            "Edit",
            json!({ "file_path": PLAN, "old_string": "Index", "new_string": "Indices" }),
        ),
    ] {
        let block = session
            .before(tool, &input)
            .block()
            .unwrap_or_else(|| panic!("{tool} {input} is not blocked"));
        assert!(
            block.contains("frozen gate") && block.contains("tl doc revise --doc add-search"),
            "{block}"
        );
    }
    std::os::unix::fs::symlink("plan.json", project.root().join(folder).join("other.json"))
        .expect("a link");
    assert!(
        write(&format!("{folder}/other.json")).block().is_some(),
        "a link leads to the same file"
    );
    for free in [
        format!("{folder}/qr-impl-code.json"),
        format!("{folder}/notes.md"),
        "src/a.rs".to_owned(),
    ] {
        assert!(write(&free).block().is_none(), "{free}");
    }
    let output = project.refused(&[
        "gate",
        "override",
        "frozen",
        "add-search",
        "--reason",
        "just once",
    ]);
    assert!(
        output.stderr.contains("cannot be changed"),
        "{}",
        output.stderr
    );
    assert_eq!(
        project.json(&["gate", "stats"])["gates"]["frozen"]["blocks"],
        json!(5)
    );
    project.configure("policy.gates.frozen", "\"warn\"");
    let answer = write(PLAN);
    assert!(
        answer.block().is_none()
            && answer
                .context()
                .is_some_and(|text| text.contains("is frozen")),
        "{answer:?}"
    );
}
