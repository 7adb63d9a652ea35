//! `tl doc`

use serde_json::{Value, json};
use testkit::Project;

use crate::{
    assert_refused, finished, keys, names_in, newest_operation, statuses, story, text, texts,
};

pub(crate) const PLAN: &str = ".throughline/plans/add-search/plan.json";

/// Everything a plan needs to be frozen.
pub(crate) const BATCH: &str = r#"{"do":"set","id":"overview","version":1,"fields":{"problem":"Nothing can be found.","approach":"An index."}}
{"do":"add-decision","decision":"BM25","reasoning":"needs no model","as":"rank"}
{"do":"add-milestone","name":"Index","files":["src/index.rs"],"acceptance_criteria":["cargo test"],"tests":{"files":["tests/index.rs"]},"as":"index"}
{"do":"add-intent","milestone":"@index","file":"src/index.rs","behavior":"Maps words to places.","decision_refs":["@rank"],"as":"build"}
{"do":"add-change","intent_ref":"@build","diff":"@@ -0,0 +1 @@\n+fn build() {}\n"}
{"do":"add-milestone","name":"Query","files":["src/query.rs"],"acceptance_criteria":["a word is found"],"depends_on":["@index"],"tests":{"skip_reason":"with the index"},"as":"query"}
{"do":"add-intent","milestone":"@query","file":"src/query.rs","behavior":"Finds places."}
"#;

/// A project with a document `add-search` that could be frozen.
pub(crate) fn planned_search() -> Project {
    let project = story();
    project.ok(&["doc", "new", "Add search"]);
    project.write("batch.jsonl", BATCH);
    project.ok(&["doc", "apply", "batch.jsonl"]);
    // The test that the first milestone names.
    project.write("tests/index.rs", "// a test\n");
    project
}

fn with_input(project: &Project, arguments: &[&str], input: &str) -> testkit::Output {
    use std::io::{Seek, SeekFrom, Write};
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(input.as_bytes()).expect("written");
    file.seek(SeekFrom::Start(0)).expect("at the start");
    finished(project.command(arguments).stdin(file))
}

#[test]
fn a_document_grows_by_commands_that_print_ids() {
    let project = story();
    assert_eq!(
        project.ok(&["doc", "new", "Add search"]).stdout,
        "add-search\n"
    );
    let steps: &[(&[&str], &str)] = &[
        (
            &[
                "add-decision",
                "--decision",
                "BM25",
                "--reasoning",
                "no model",
            ],
            "DL-001",
        ),
        (
            &[
                "add-alternative",
                "--alternative",
                "grep",
                "--reason",
                "slow",
                "--decision-ref",
                "DL-001",
            ],
            "RA-001",
        ),
        (
            &[
                "add-constraint",
                "--type",
                "MUST",
                "--description",
                "offline",
                "--source",
                "user",
            ],
            "C-001",
        ),
        (
            &[
                "add-risk",
                "--risk",
                "big files",
                "--mitigation",
                "cut",
                "--anchor",
                "src/a.rs",
                "--decision-ref",
                "DL-001",
            ],
            "R-001",
        ),
        (
            &[
                "add-milestone",
                "--name",
                "Index",
                "--file",
                "src/a.rs",
                "--criterion",
                "tests pass",
                "--test-file",
                "t.rs",
            ],
            "M-001",
        ),
        (
            &[
                "add-intent",
                "--milestone",
                "M-001",
                "--file",
                "src/a.rs",
                "--behavior",
                "maps",
                "--decision-ref",
                "DL-001",
                "--param",
                "k=1",
            ],
            "CI-001",
        ),
        (
            &[
                "add-milestone",
                "--name",
                "Query",
                "--needs",
                "M-001",
                "--skip-tests",
                "none",
                "--documentation-only",
            ],
            "M-002",
        ),
        (
            &[
                "add-doc",
                "--milestone",
                "M-001",
                "--place",
                "docstring",
                "--target",
                "f",
                "--text",
                "Maps.",
            ],
            "M-001",
        ),
    ];
    for (arguments, id) in steps {
        let mut all = vec!["doc"];
        all.extend(*arguments);
        assert_eq!(project.ok(&all).stdout, format!("{id}\n"), "{arguments:?}");
    }
    let output = with_input(
        &project,
        &[
            "doc",
            "add-change",
            "--intent",
            "CI-001",
            "--diff",
            "-",
            "--why",
            "order",
        ],
        "@@ -1 +1 @@\n",
    );
    assert_eq!(output.stdout, "CC-001\n", "{}", output.stderr);
    let plan = project.json(&["doc", "show"]);
    assert_eq!(
        project.read(PLAN),
        project.ok(&["--json", "doc", "show"]).stdout,
        "it is plan.json itself"
    );
    assert_eq!(
        keys(&plan),
        [
            "created_at",
            "frozen_at",
            "invisible_knowledge",
            "milestone_dependencies",
            "milestones",
            "overview",
            "plan_id",
            "planning_context",
            "schema_version"
        ]
    );
    assert_eq!(plan["schema_version"], json!(2));
    assert_eq!(
        plan["milestones"][0]["documentation"]["docstrings"][0]["target"],
        json!("f")
    );
    assert_eq!(
        plan["milestones"][0]["code_changes"][0]["why_comments"],
        json!(["order"])
    );
    assert_eq!(
        text(&project.json(&["doc", "show", "CI-001"]), "behavior"),
        "maps"
    );
    assert_eq!(
        statuses(&project),
        [
            "add-search draft",
            "add-search/M-001 draft",
            "add-search/M-001/CI-001 draft",
            "add-search/M-002 draft"
        ]
    );
    assert_eq!(
        texts(&project.json(&["show", "add-search/M-002"])["needs"]),
        ["M-001"]
    );
    project.ok(&["check"]);
}

#[test]
fn the_schema_is_published_and_is_the_one_we_keep_to() {
    let project = planned_search();
    let schema: Value = serde_json::from_str(&project.ok(&["doc", "schema"]).stdout).expect("JSON");
    assert_eq!(text(&schema, "title"), "Plan");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    assert!(validator.is_valid(&project.json(&["doc", "show"])));
    project.ok(&["doc", "freeze"]);
    assert!(validator.is_valid(&project.json(&["doc", "show"])));
}

#[test]
fn a_change_says_which_version_it_is_for() {
    let project = planned_search();
    let before = (project.read(PLAN), newest_operation(&project));
    for (arguments, kind) in [
        (vec!["doc", "set", "M-001", "name=x"], "invalid"),
        (
            vec!["doc", "set", "M-001", "name=x", "--version", "7"],
            "conflict",
        ),
        (
            vec!["doc", "remove", "CI-002", "--version", "7"],
            "conflict",
        ),
    ] {
        let mut with_json = vec!["--json"];
        with_json.extend(&arguments);
        let output = project.refused(&with_json);
        let value: Value = serde_json::from_str(&output.stdout).expect("JSON");
        assert_eq!(text(&value["error"], "kind"), kind, "{value}");
        assert_eq!(value["current"]["version"], json!(1), "{value}");
        assert!(
            project.refused(&arguments).stderr.contains("\nnow: {"),
            "the entity is shown"
        );
    }
    assert_eq!(
        (project.read(PLAN), newest_operation(&project)),
        before,
        "nothing was changed"
    );
    project.ok(&[
        "doc",
        "set",
        "M-001",
        "name=The index",
        "flags:=[\"risky\"]",
        "tests.skip_reason=none",
        "--version",
        "1",
    ]);
    let milestone = project.json(&["doc", "show", "M-001"]);
    assert_eq!(
        (
            text(&milestone, "name"),
            &milestone["version"],
            &milestone["flags"]
        ),
        ("The index", &json!(2), &json!(["risky"]))
    );
    assert_eq!(milestone["tests"]["skip_reason"], json!("none"));
    let output = project.refused(&["doc", "set", "M-001", "name=x", "--version", "1"]);
    assert!(
        output.stderr.contains("at version 2, not 1"),
        "{}",
        output.stderr
    );
}

#[test]
fn refusals_name_the_place_and_change_nothing() {
    let project = planned_search();
    let before = (project.read(PLAN), newest_operation(&project));
    let cases: &[(&[&str], &str, &[&str])] = &[
        (
            &["show", "M-009"],
            "not-found",
            &["`add-search` has no `M-009`"],
        ),
        (
            &["show", "--doc", "add-serch"],
            "not-found",
            &["did you mean `add-search`?"],
        ),
        (
            &["use", "nothing"],
            "not-found",
            &["there is no plan document `nothing`"],
        ),
        (
            &["set", "M-001", "name", "--version", "1"],
            "invalid",
            &["expected FIELD=VALUE"],
        ),
        (
            &["set", "M-001", "files:=[", "--version", "1"],
            "invalid",
            &["not valid JSON"],
        ),
        (
            &["set", "M-001", "nam=x", "--version", "1"],
            "invalid",
            &["did you mean `name`?"],
        ),
        (
            &["set", "M-001", "depends_on:=[\"M-002\"]", "--version", "1"],
            "refused",
            &["M-001 → M-002 → M-001"],
        ),
        (
            &[
                "add-intent",
                "--milestone",
                "M-7",
                "--file",
                "a",
                "--behavior",
                "b",
            ],
            "not-found",
            &["there is no milestone `M-7`"],
        ),
        (
            &[
                "add-intent",
                "--milestone",
                "M-001",
                "--file",
                "../a",
                "--behavior",
                "b",
            ],
            "refused",
            &["/milestones/0/code_intents/1/file", "without `..`"],
        ),
        (
            &[
                "add-intent",
                "--milestone",
                "M-001",
                "--file",
                "a",
                "--behavior",
                "b",
                "--decision-ref",
                "DL-9",
            ],
            "refused",
            &["there is no decision `DL-9`"],
        ),
        (
            &["add-change", "--intent", "CI-001", "--diff", "no-such-file"],
            "invalid",
            &["cannot read `no-such-file`"],
        ),
        (
            &["add-change", "--intent", "CI-404", "--diff", "batch.jsonl"],
            "not-found",
            &["no code intent `CI-404`"],
        ),
        (
            &[
                "add-doc",
                "--milestone",
                "M-001",
                "--place",
                "margin",
                "--text",
                "x",
            ],
            "invalid",
            &["module, docstring, algorithm, inline"],
        ),
        (
            &["remove", "DL-001", "--version", "1"],
            "refused",
            &["referenced by CI-001"],
        ),
        (&["revise"], "refused", &["`add-search` is not frozen"]),
        (
            &["diff", "nothing"],
            "not-found",
            &["there is no plan document `nothing`"],
        ),
    ];
    for (arguments, kind, parts) in cases {
        let mut all = vec!["doc"];
        all.extend(*arguments);
        assert_refused(&project, &all, kind, parts);
    }
    assert_refused(
        &story(),
        &["doc", "show"],
        "not-found",
        &["there is no plan document yet", "tl doc new"],
    );
    assert_refused(
        &story(),
        &["doc", "new", " "],
        "invalid",
        &["a plan needs a title"],
    );
    assert_eq!(
        (project.read(PLAN), newest_operation(&project)),
        before,
        "nothing was changed"
    );
}

#[test]
fn a_batch_is_one_operation_or_none() {
    let project = planned_search();
    let before = (project.read(PLAN), newest_operation(&project));
    project.write("half.jsonl", "{\"do\":\"add-decision\",\"decision\":\"a\",\"reasoning\":\"b\"}\n{\"do\":\"remove\",\"id\":\"M-001\",\"version\":1}\n");
    assert_refused(
        &project,
        &["doc", "apply", "half.jsonl"],
        "refused",
        &["change 2 of the batch", "referenced by CI-001"],
    );
    project.write(
        "torn.jsonl",
        "{\"do\":\"add-decision\"\n\n{\"do\":\"fly\"}\n",
    );
    assert_refused(
        &project,
        &["doc", "apply", "torn.jsonl"],
        "invalid",
        &["2 lines of the batch", "line 1:", "line 3:", "`fly`"],
    );
    assert_eq!((project.read(PLAN), newest_operation(&project)), before);
    let more = "{\"do\":\"add-decision\",\"decision\":\"a\",\"reasoning\":\"b\",\"as\":\"d\"}\n{\"do\":\"add-alternative\",\"alternative\":\"x\",\"reason\":\"y\",\"decision_ref\":\"@d\"}\n";
    assert_eq!(
        with_input(&project, &["doc", "apply", "-"], more).stdout,
        "DL-002\nRA-001\n"
    );
    assert_eq!(newest_operation(&project), before.1 + 1);
    project.ok(&["undo"]);
    assert_eq!(
        project.read(PLAN),
        before.0,
        "an undo takes all of it back, in the file too"
    );
    project.ok(&[
        "doc",
        "add-decision",
        "--decision",
        "again",
        "--reasoning",
        "b",
    ]);
}

#[test]
fn a_file_changed_by_hand_is_reported_and_taken_over_when_asked() {
    let project = planned_search();
    let ours = project.read(PLAN);
    let edited = ours.replace("\"name\": \"Index\"", "\"name\": \"The index\"");
    project.write(PLAN, &edited);
    let before = newest_operation(&project);
    assert_refused(
        &project,
        &["doc", "add-decision", "--decision", "a", "--reasoning", "b"],
        "conflict",
        &["/milestones/0/name (line ", "tl doc validate --accept"],
    );
    assert_eq!(project.read(PLAN), edited, "never overwritten");
    let output = project.run(&["--json", "doc", "validate"]);
    assert_eq!(output.code, 3);
    let found: Value = serde_json::from_str(&output.stdout).expect("JSON");
    assert_eq!(found["changed_outside"], json!(["/milestones/0/name"]));
    assert!(newest_operation(&project) >= before);
    let settled = project.json(&["doc", "validate", "--accept"]);
    assert_eq!(
        settled["changed"],
        json!([{ "id": "M-001", "change": "changed", "fields": ["name"] }])
    );
    assert_eq!(
        project.json(&["doc", "show", "M-001"])["version"],
        json!(2),
        "who saw version 1 saw another milestone"
    );
    assert_eq!(
        project.json(&["show", "add-search/M-001"])["title"],
        json!("The index")
    );
    project.ok(&["doc", "add-decision", "--decision", "a", "--reasoning", "b"]);
    // What is ours to set is not taken over.
    let text = project.read(PLAN);
    project.write(
        PLAN,
        text.replace(
            "\"frozen_at\": null",
            "\"frozen_at\": \"2026-01-01T00:00:00Z\"",
        ),
    );
    assert_refused(
        &project,
        &["doc", "validate", "--accept"],
        "invalid",
        &["/frozen_at (line ", "is set by `tl doc freeze`"],
    );
    project.ok(&["doc", "restore"]);
    assert_eq!(project.read(PLAN), text);
    assert!(
        project
            .ok(&["doc", "restore"])
            .stdout
            .contains("nothing to restore")
    );
}

/// What is done to a file, by name, and what is said about it.
type Damage<'d> = (&'d str, fn(&str) -> Vec<u8>, &'d [&'d str]);

#[test]
fn a_corrupted_file_is_reported_precisely_and_never_overwritten() {
    let damages: &[Damage] = &[
        (
            "torn",
            |text| text.as_bytes()[..text.len() / 2].to_vec(),
            &["is not a valid plan any more", "not valid JSON", "(line "],
        ),
        ("empty", |_| Vec::new(), &["is not a valid plan any more"]),
        (
            "another type",
            |text| {
                text.replace("\"number\": 1,", "\"number\": \"one\",")
                    .into_bytes()
            },
            &["/milestones/0/number (line ", "\"one\""],
        ),
        (
            "a key too many",
            |text| {
                text.replacen("\"title\":", "\"extra\": 1, \"title\":", 1)
                    .into_bytes()
            },
            &["/overview (line ", "'extra'"],
        ),
        (
            "a reference into the void",
            |text| text.replace("\"DL-001\"\n", "\"DL-009\"\n").into_bytes(),
            &["contradicts itself", "there is no decision `DL-009`"],
        ),
        ("binary", |_| vec![0, 159, 146, 150], &["cannot be read"]),
    ];
    for (name, damage, parts) in damages {
        let project = planned_search();
        let ours = project.read(PLAN);
        let wrong = damage(&ours);
        project.write(PLAN, &wrong);
        for command in [
            &["doc", "show"][..],
            &["doc", "add-decision", "--decision", "a", "--reasoning", "b"],
            &["doc", "freeze"],
            &["doc", "render"],
            &["doc", "apply", "batch.jsonl"],
        ] {
            let error = assert_refused(&project, command, "invalid", parts);
            assert!(!texts(&error["next_steps"]).is_empty(), "{name}");
        }
        assert_eq!(project.run(&["doc", "validate"]).code, 3, "{name}");
        assert_eq!(
            project.run(&["doc", "validate", "--accept"]).code,
            1,
            "{name}"
        );
        assert_eq!(
            std::fs::read(project.root().join(PLAN)).expect("the file"),
            wrong,
            "{name}: never overwritten"
        );
        if *name == "binary" {
            assert_refused(
                &project,
                &["doc", "restore"],
                "refused",
                &["cannot be kept"],
            );
            std::fs::remove_file(project.root().join(PLAN)).expect("removed");
            assert_refused(
                &project,
                &["doc", "show"],
                "refused",
                &["is gone", "tl doc restore"],
            );
        }
        project.ok(&["doc", "restore"]);
        assert_eq!(project.read(PLAN), ours, "{name}");
        project.ok(&["doc", "add-decision", "--decision", "a", "--reasoning", "b"]);
        project.ok(&["check"]);
    }
}

#[test]
fn undo_takes_a_document_back_and_brings_it_again() {
    let project = story();
    project.ok(&["doc", "new", "Add search"]);
    project.ok(&["doc", "add-milestone", "--name", "Index"]);
    let whole = project.read(PLAN);
    project.ok(&["undo"]);
    project.ok(&["undo"]);
    assert_eq!(statuses(&project), Vec::<String>::new());
    assert_eq!(
        names_in(&project, ".throughline/plans/add-search"),
        ["backups"]
    );
    assert_refused(
        &project,
        &["doc", "show"],
        "not-found",
        &["there is no plan document yet"],
    );
    let operation = newest_operation(&project);
    project.ok(&["undo", &operation.to_string()]);
    project.ok(&["undo", &(operation - 1).to_string()]);
    assert_eq!(project.read(PLAN), whole);
    project.ok(&["doc", "add-milestone", "--name", "Query"]);
    project.ok(&["check"]);
}

#[test]
fn the_page_is_rendered_the_same_every_time() {
    let project = planned_search();
    project.ok(&[
        "doc",
        "set",
        "invisible_knowledge",
        "architecture.diagram_ascii=a -> b",
        "--version",
        "1",
    ]);
    assert_eq!(
        project.ok(&["doc", "render"]).stdout,
        ".throughline/plans/add-search/plan.md\n"
    );
    let page = project.read(".throughline/plans/add-search/plan.md");
    for part in [
        "# Add search",
        "<a id=\"dl-001\"></a>DL-001: BM25",
        "[DL-001](#dl-001)",
        "```text\na -> b\n```",
        "```diff\n@@ -0,0 +1 @@",
    ] {
        assert!(page.contains(part), "{part}:\n{page}");
    }
    assert_eq!(project.json(&["doc", "render"])["changed"], json!(false));
    assert_eq!(project.ok(&["doc", "show"]).stdout, page);
}

#[test]
fn a_document_this_state_does_not_know_is_taken_over_by_choice() {
    let project = planned_search();
    project.ok(&["doc", "freeze"]);
    let other = story();
    other.write(PLAN, project.read(PLAN));
    assert_refused(
        &other,
        &["doc", "show", "--doc", "add-search"],
        "not-found",
        &["does not know it", "--accept --doc add-search"],
    );
    other.ok(&["doc", "validate", "--accept", "--doc", "add-search"]);
    assert_eq!(other.read(PLAN), project.read(PLAN), "byte for byte");
    assert_eq!(statuses(&other), statuses(&project));
    assert_refused(
        &other,
        &["doc", "add-decision", "--decision", "a", "--reasoning", "b"],
        "refused",
        &["is frozen"],
    );
}

#[test]
fn two_writers_never_lose_a_change() {
    let project = planned_search();
    let running: Vec<std::process::Child> = (0..6)
        .map(|number| {
            let decision = format!("decision {number}");
            let mut command = project.command(&[
                "doc",
                "add-decision",
                "--decision",
                &decision,
                "--reasoning",
                "r",
            ]);
            command
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null())
                .spawn()
                .expect("it starts")
        })
        .collect();
    for mut child in running {
        assert!(child.wait().expect("it ends").success());
    }
    let plan = project.json(&["doc", "show"]);
    let log = plan["planning_context"]["decision_log"]
        .as_array()
        .expect("a list");
    let mut ids: Vec<&str> = log.iter().map(|one| text(one, "id")).collect();
    ids.sort_unstable();
    assert_eq!(
        ids,
        [
            "DL-001", "DL-002", "DL-003", "DL-004", "DL-005", "DL-006", "DL-007"
        ]
    );
}
