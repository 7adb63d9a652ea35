//! Plan documents: the laws of changing, checking and freezing, for any plan.

use domain::plan_document::{
    ChangeRefused, DocPlace, IdCounters, Plan, PlanChange, ProblemGrade, RepositoryState, TestPlan,
    apply_changes, changes_between, check_context, check_plan, compare_with_repository,
    compute_waves, diff_plan_texts, entity_value, intent_node, milestone_node, new_plan_id,
    parse_batch, plan_json_schema, read_plan, render_markdown, render_node_markdown,
    start_revision, touched_milestones, unique_document_id, write_plan,
};
use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use testkit::timestamp;

fn empty() -> Plan {
    Plan::new(
        "00000000-0000-8000-8000-000000000000".to_owned(),
        "Add search",
        timestamp(1),
    )
}

/// A plan with two decisions, three milestones in two waves, intents, changes and documentation.
pub(crate) fn search() -> Plan {
    let mut plan = empty();
    let lines = r#"
{"do":"set","id":"overview","version":1,"fields":{"problem":"Nothing can be found.","approach":"An index of words."}}
{"do":"set","id":"invisible_knowledge","version":1,"fields":{"architecture":{"diagram_ascii":"files -> index\n  `-> query","description":"One index."},"invariants":["the index follows the files"]}}
{"do":"add-decision","decision":"Rank with BM25","reasoning":"known, needs no model","as":"rank"}
{"do":"add-alternative","alternative":"embeddings","reason":"need a model","decision_ref":"@rank"}
{"do":"add-constraint","type":"MUST","description":"works offline","source":"user"}
{"do":"add-risk","risk":"large files","mitigation":"cut them","anchor":"src/index.rs","decision_ref":"@rank"}
{"do":"add-milestone","name":"Index","files":["src/index.rs"],"acceptance_criteria":["cargo test index"],"tests":{"files":["tests/index.rs"],"scenarios":{"edge":["an empty file"]}},"as":"index"}
{"do":"add-intent","milestone":"@index","file":"src/index.rs","function":"build","behavior":"Maps words to places.","decision_refs":["@rank"],"params":{"k1":1.2},"as":"build"}
{"do":"add-change","intent_ref":"@build","diff":"@@ -1 +1 @@\n-a\n+b\n","why_comments":["ties keep their order"]}
{"do":"add-milestone","name":"Query","files":["src/query.rs"],"acceptance_criteria":["a query finds a word"],"depends_on":["@index"],"tests":{"skip_reason":"covered by the index"},"as":"query"}
{"do":"add-intent","milestone":"@query","file":"src/query.rs","behavior":"Finds places."}
{"do":"add-milestone","name":"Manual","acceptance_criteria":["a page"],"is_documentation_only":true,"as":"manual"}
{"do":"add-doc","milestone":"@index","place":"docstring","target":"build","text":"Builds the index."}
"#;
    let mut numbers = IdCounters::default();
    let changes = parse_batch(lines, &numbers).expect("a batch");
    apply_changes(&mut plan, &mut numbers, &changes, timestamp(2)).expect("it applies");
    plan
}

fn problems(plan: &Plan) -> Vec<String> {
    check_plan(plan)
        .into_iter()
        .filter(|problem| problem.grade != ProblemGrade::Hint)
        .map(|problem| problem.render_line())
        .collect()
}

#[test]
fn a_plan_is_whole_and_complete() {
    assert_eq!(problems(&search()), Vec::<String>::new());
    assert_eq!(
        problems(&empty()),
        [
            "/overview/problem: is still empty",
            "/overview/approach: is still empty",
            "/milestones: there is no milestone yet"
        ]
    );
}

#[test]
fn the_page_is_made_from_the_plan() {
    assert_snapshot!(render_markdown(&search(), "12345678"));
}

#[test]
fn every_node_of_a_document_is_readable() {
    let plan = search();
    let whole = render_node_markdown("plan", &write_plan(&plan)).expect("a page");
    for wanted in [
        "## Problem",
        "### DL-001: Rank with BM25",
        "## Order",
        // By name: an id alone says nothing about the order.
        "1. M-001 Index",
        "```diff",
    ] {
        assert!(whole.contains(wanted), "{wanted} is not in {whole}");
    }
    assert!(
        !whole.contains("<a id") && !whole.contains("<!--"),
        "{whole}"
    );
    assert!(!whole.contains("](#dl-"), "no link leads nowhere");
    assert!(!whole.contains(&plan.plan_id), "{whole}");
    let milestone = &plan.milestones[0];
    let text = milestone_node(&plan, milestone).text;
    let page = render_node_markdown("milestone", &text).expect("a page");
    assert!(
        page.contains(&format!("## M-001: {}", milestone.name)),
        "{page}"
    );
    let intent = intent_node(milestone, &milestone.code_intents[0]);
    let page = render_node_markdown("intent", &intent.text).expect("a page");
    assert!(page.contains(&milestone.code_intents[0].behavior), "{page}");
    assert_eq!(render_node_markdown("milestone", "no JSON"), None);
    assert_eq!(render_node_markdown("act", "{}"), None);
}

#[test]
fn the_published_schema_accepts_what_we_write_and_refuses_the_rest() {
    let validator = jsonschema::validator_for(plan_json_schema()).expect("a schema");
    for plan in [empty(), search()] {
        let value: Value = serde_json::from_str(&write_plan(&plan)).unwrap();
        assert!(
            validator.is_valid(&value),
            "{:?}",
            validator
                .iter_errors(&value)
                .map(|it| it.to_string())
                .collect::<Vec<_>>()
        );
    }
    // The smallest file anybody may write: everything else has a default.
    let small = json!({ "schema_version": 2, "plan_id": "x", "created_at": "2026-01-01T00:00:00Z", "overview": { "title": "t" } });
    assert!(validator.is_valid(&small));
    assert!(read_plan(&small.to_string()).is_ok());
    for (pointer, wrong) in [
        ("/schema_version", json!(3)),
        ("/overview", json!("title")),
        ("/milestones/0/id", json!("M1")),
        ("/milestones/0/files", json!("src")),
        ("/milestones/0/code_intents/0/behavior", json!(7)),
        ("/planning_context/decision_log/0/id", json!("D-001")),
    ] {
        let mut value: Value = serde_json::from_str(&write_plan(&search())).unwrap();
        *value.pointer_mut(pointer).unwrap() = wrong;
        assert!(!validator.is_valid(&value), "{pointer}");
    }
}

#[test]
fn every_problem_of_a_shape_is_told_at_once_with_its_place() {
    let text = write_plan(&search())
        .replace("\"title\": \"Add search\"", "\"titel\": \"Add search\"")
        .replace("\"number\": 1,", "\"number\": \"one\",")
        .replace(
            "\"is_documentation_only\": true",
            "\"is_documentation_only\": \"yes\"",
        );
    let found: Vec<String> = read_plan(&text)
        .unwrap_err()
        .iter()
        .map(|problem| problem.render_line())
        .collect();
    for part in [
        "/overview (line 6)",
        "'titel'",
        "/milestones/0/number (line ",
        "\"one\" is not of type",
        "/milestones/2/is_documentation_only (line ",
    ] {
        assert!(
            found.iter().any(|problem| problem.contains(part)),
            "{part}: {found:#?}"
        );
    }
    let torn = &write_plan(&search())[..400];
    let found = read_plan(torn).unwrap_err();
    assert_eq!(found.len(), 1);
    assert!(found[0].message.contains("not valid JSON"), "{found:?}");
    assert!(found[0].line.is_some_and(|line| line > 5));
    let moment = write_plan(&search()).replacen("\"created_at\": \"", "\"created_at\": \"x", 1);
    assert!(read_plan(&moment).is_err());
}

#[test]
fn what_points_into_the_void_is_told_with_its_pointer() {
    let mut plan = search();
    plan.planning_context.rejected_alternatives[0].decision_ref = "DL-009".to_owned();
    plan.planning_context.known_risks[0].decision_ref = Some("DL-008".to_owned());
    plan.milestones[0].code_intents[0]
        .decision_refs
        .push("DL-007".to_owned());
    plan.milestones[0].code_changes[0].intent_ref = "CI-002".to_owned();
    let mut orphan = plan.milestones[0].code_changes[0].clone();
    (orphan.id, orphan.intent_ref) = ("CC-002".to_owned(), "CI-077".to_owned());
    plan.milestones[1].code_changes.push(orphan);
    plan.milestones[1].depends_on = vec!["M-044".to_owned()];
    plan.milestones[2].id = "M-001".to_owned();
    plan.milestones[2].number = 2;
    plan.milestones[1].files = vec![
        "../../etc/passwd".to_owned(),
        "/etc/hosts".to_owned(),
        "C:\\x".to_owned(),
    ];
    let found = problems(&plan);
    for part in [
        "/planning_context/rejected_alternatives/0/decision_ref: there is no decision `DL-009`",
        "/planning_context/known_risks/0/decision_ref: there is no decision `DL-008`",
        "/milestones/0/code_intents/0/decision_refs/1: there is no decision `DL-007`",
        "/milestones/0/code_changes/0/intent_ref: `CI-002` is an intent of `M-002`, not of this milestone",
        "/milestones/1/code_changes/0/intent_ref: there is no code intent `CI-077` for this change",
        "/milestones/1/depends_on/0: there is no milestone `M-044`",
        "/milestones/2/id: duplicate id `M-001`",
        "/milestones/2/number: duplicate number 2",
        "/milestones/1/files/0: `../../etc/passwd` is not inside the project",
        "/milestones/1/files/1: `/etc/hosts`",
        "/milestones/1/files/2: `C:\\x`",
    ] {
        assert!(
            found.iter().any(|problem| problem.contains(part)),
            "{part}: {found:#?}"
        );
    }
}

#[test]
fn waves_follow_from_needs_and_given_ones_must_agree() {
    let waves = |plan: &Plan| {
        compute_waves(plan)
            .unwrap()
            .into_iter()
            .map(|wave| wave.milestones.join(" "))
            .collect::<Vec<_>>()
    };
    let mut plan = search();
    assert_eq!(waves(&plan), ["M-001 M-003", "M-002"]);
    let given = |plan: &mut Plan, waves: Value| {
        plan.milestone_dependencies.waves = serde_json::from_value(waves).unwrap();
    };
    given(
        &mut plan,
        json!([{ "wave": 1, "milestones": ["M-001"] }, { "wave": 2, "milestones": ["M-002", "M-003"] }]),
    );
    assert_eq!(problems(&plan), Vec::<String>::new());
    given(
        &mut plan,
        json!([{ "wave": 1, "milestones": ["M-001", "M-002"] }, { "wave": 3, "milestones": ["M-009", "M-001"] }]),
    );
    assert_eq!(
        problems(&plan),
        [
            "/milestone_dependencies/waves/1/wave: is 3, expected 2: waves are numbered in order",
            "/milestone_dependencies/waves/1/milestones/0: there is no milestone `M-009`",
            "/milestone_dependencies/waves/1/milestones/1: `M-001` is in two waves",
            "/milestone_dependencies/waves/0: `M-002` is in wave 1, but needs `M-001`, which is in wave 2",
            "/milestone_dependencies/waves: `M-003` is in no wave"
        ]
    );
    given(&mut plan, json!([]));
    plan.milestones[0].depends_on = vec!["M-002".to_owned()];
    assert_eq!(
        problems(&plan),
        ["/milestones/0/depends_on: dependency cycle: M-001 → M-002 → M-001"]
    );
}

fn set(id: &str, version: Option<u64>, fields: Value) -> PlanChange {
    PlanChange::Set {
        id: id.to_owned(),
        version,
        fields: fields.as_object().cloned().unwrap_or_else(Map::new),
    }
}

fn refused(change: PlanChange) -> String {
    let mut plan = search();
    let mut numbers = IdCounters::from_plan(&plan);
    apply_changes(&mut plan, &mut numbers, &[change], timestamp(3))
        .unwrap_err()
        .1
        .to_string()
}

#[test]
fn every_refusal_says_why() {
    let cases = [
        (
            set("M-001", None, json!({ "name": "x" })),
            "missing version of `M-001`: name the one you read; it is now at version 2",
        ),
        (
            set("M-001", Some(1), json!({ "name": "x" })),
            "`M-001` is at version 2, not 1",
        ),
        (
            set("M-01", Some(1), json!({})),
            "there is no entity `M-01`; did you mean `M-001`?",
        ),
        (
            set("DL-001", Some(1), json!({ "id": "DL-002" })),
            "cannot set `id` of `DL-001`",
        ),
        (
            set("DL-001", Some(1), json!({ "decison": "x" })),
            "did you mean `decision`?",
        ),
        (
            set("M-001", Some(2), json!({ "code_intents": [] })),
            "each has an id of its own",
        ),
        (
            set("M-001", Some(2), json!({ "files": "src" })),
            "expected a sequence",
        ),
        (
            set("M-001", Some(2), json!({ "depends_on": ["M-002"] })),
            "dependency cycle",
        ),
        (
            PlanChange::Remove {
                id: "DL-001".to_owned(),
                version: Some(1),
            },
            "referenced by RA-001, R-001, CI-001",
        ),
        (
            PlanChange::Remove {
                id: "M-001".to_owned(),
                version: Some(2),
            },
            "referenced by CI-001, CC-001, M-002",
        ),
        (
            PlanChange::Remove {
                id: "overview".to_owned(),
                version: Some(2),
            },
            "a part every plan has",
        ),
        (
            PlanChange::AddDecision {
                decision: " ".to_owned(),
                reasoning: "x".to_owned(),
            },
            "`decision` is empty",
        ),
        (
            PlanChange::AddDoc {
                milestone: "M-001".to_owned(),
                place: DocPlace::Inline,
                target: String::new(),
                text: "x".to_owned(),
            },
            "`target` is empty",
        ),
        (
            PlanChange::AddAlternative {
                alternative: "a".to_owned(),
                reason: "b".to_owned(),
                decision_ref: "DL-404".to_owned(),
            },
            "there is no decision `DL-404`",
        ),
    ];
    for (change, part) in cases {
        let said = refused(change.clone());
        assert!(said.contains(part), "{change:?}: {said}");
    }
}

#[test]
fn a_mismatch_gives_the_entity_as_it_is() {
    let mut plan = search();
    let mut numbers = IdCounters::from_plan(&plan);
    let (_, refused) = apply_changes(
        &mut plan,
        &mut numbers,
        &[set("CI-001", Some(9), json!({ "behavior": "x" }))],
        timestamp(3),
    )
    .unwrap_err();
    let ChangeRefused::AnotherVersion {
        current,
        is: 1,
        given: 9,
        ..
    } = refused
    else {
        panic!("{refused:?}")
    };
    assert_eq!(Some(current), entity_value(&search(), "CI-001"));
}

#[test]
fn fields_inside_fields_and_lists_as_text() {
    let mut plan = search();
    let mut numbers = IdCounters::from_plan(&plan);
    let changes = [
        set(
            "M-001",
            Some(2),
            json!({ "tests.skip_reason": "none", "files": "[\"a.rs\"]", "is_documentation_only": "true" }),
        ),
        set("overview", Some(2), json!({ "problem": "[not a list]" })),
    ];
    apply_changes(&mut plan, &mut numbers, &changes, timestamp(3)).unwrap();
    let milestone = &plan.milestones[0];
    assert_eq!(
        milestone.tests,
        TestPlan {
            skip_reason: Some("none".to_owned()),
            ..milestone.tests.clone()
        }
    );
    assert_eq!(
        (milestone.files.as_slice(), milestone.is_documentation_only),
        (&["a.rs".to_owned()][..], true)
    );
    assert_eq!(plan.overview.problem, "[not a list]");
}

#[test]
fn a_number_is_never_given_twice() {
    let mut plan = search();
    let mut numbers = IdCounters::from_plan(&plan);
    let add = PlanChange::AddConstraint {
        kind: "MUST".to_owned(),
        description: "x".to_owned(),
        source: String::new(),
    };
    let remove = PlanChange::Remove {
        id: "C-002".to_owned(),
        version: Some(1),
    };
    let ids = apply_changes(
        &mut plan,
        &mut numbers,
        &[add.clone(), remove, add],
        timestamp(3),
    )
    .unwrap();
    assert_eq!(
        ids.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(),
        ["C-002", "C-002", "C-003"]
    );
    assert_eq!(
        IdCounters::from_plan(&plan).clone().merge_max(&numbers),
        numbers
    );
}

#[test]
fn a_batch_that_cannot_be_read_names_every_line() {
    let text = "{\"do\":\"add-decision\",\"decision\":\"a\",\"reasonin\":\"b\"}\n\nnot json\n{\"do\":\"add-intent\",\"milestone\":\"@m\",\"file\":\"a\",\"behavior\":\"b\"}\n{\"do\":\"set\",\"id\":\"M-001\",\"fields\":{},\"version\":1,\"as\":\"x\"}\n";
    let found = parse_batch(text, &IdCounters::default()).unwrap_err();
    let lines: Vec<(usize, &str)> = found
        .iter()
        .map(|problem| (problem.line.unwrap(), problem.message.as_str()))
        .collect();
    assert_eq!(
        lines.iter().map(|(line, _)| *line).collect::<Vec<_>>(),
        [1, 3, 4, 5]
    );
    for (at, part) in [
        "did you mean `reasoning`?",
        "not valid JSON",
        "undefined name `@m`",
        "`as` must be a string",
    ]
    .iter()
    .enumerate()
    {
        assert!(lines[at].1.contains(part), "{lines:?}");
    }
}

#[test]
fn ids_of_documents_are_names_people_can_type() {
    let id =
        |title: &str| unique_document_id(title, &|id| id == "add-search" || id == "add-search-2");
    assert_eq!(id("Add search"), "add-search-3");
    assert_eq!(id("  Поиск: быстро!  "), "поиск-быстро");
    assert_eq!(id("../../etc"), "etc");
    assert_eq!(id("…"), "plan");
    assert!(id(&"long ".repeat(60)).len() <= 52);
    let uuid = new_plan_id(&domain::ids::StoreId("s".to_owned()), "a", timestamp(1));
    assert_eq!((uuid.len(), uuid.as_bytes()[14]), (36, b'8'), "{uuid}");
}

#[test]
fn contexts_are_loose_but_lists() {
    assert!(check_context(r#"{"task_spec": ["goal"], "more": {"x": 1}}"#).is_empty());
    let said = |text: &str| {
        check_context(text)
            .iter()
            .map(|problem| problem.render_line())
            .collect::<Vec<_>>()
            .join("; ")
    };
    assert_eq!(
        said("{\n\"task_spec\": [1],\n\"user_quotes\": \"x\"}"),
        "/task_spec/0 (line 2): expected a string, found 1; /user_quotes (line 3): expected a list, found \"x\""
    );
    assert!(said("{}").contains("/task_spec"));
    assert!(said("[]").contains("expected an object"));
    assert!(said("{").contains("not valid JSON"));
}

#[test]
fn a_revision_keeps_everything_and_names_its_origin() {
    let mut frozen = search();
    frozen.frozen_at = Some(timestamp(9));
    let from = domain::plan_document::Revises {
        document: "a".to_owned(),
        plan_id: frozen.plan_id.clone(),
        version_hash: "h".to_owned(),
    };
    let mut next = start_revision(&frozen, from, "another".to_owned(), timestamp(10));
    assert_eq!(
        (next.frozen_at, next.milestones.clone()),
        (None, frozen.milestones.clone())
    );
    assert!(changes_between(&frozen, &next).is_empty());
    let mut numbers = IdCounters::from_plan(&next);
    let changes = [
        set(
            "CI-001",
            Some(1),
            json!({ "behavior": "Maps words to many places." }),
        ),
        PlanChange::Remove {
            id: "C-001".to_owned(),
            version: Some(1),
        },
        PlanChange::AddDecision {
            decision: "a".to_owned(),
            reasoning: "b".to_owned(),
        },
    ];
    apply_changes(&mut next, &mut numbers, &changes, timestamp(11)).unwrap();
    let found: Vec<String> = changes_between(&frozen, &next)
        .into_iter()
        .map(|it| format!("{} {} {}", it.change, it.id, it.fields.join(",")))
        .collect();
    assert_eq!(
        found,
        ["removed C-001 ", "changed CI-001 behavior", "added DL-002 "]
    );
}

#[test]
fn a_plan_is_compared_with_what_changed() {
    let plan = search();
    let report = |changed: &[&str], proven: &[&str]| {
        let reality = RepositoryState {
            changed: changed.iter().map(|file| (*file).to_owned()).collect(),
            evidence: proven.iter().map(|id| ((*id).to_owned(), 1)).collect(),
            ..RepositoryState::default()
        };
        compare_with_repository(&plan, &reality)
    };
    let clean = report(
        &[
            "src/index.rs",
            "src/query.rs",
            "tests/index.rs",
            ".throughline/config.toml",
        ],
        &["M-001", "M-002", "M-003"],
    );
    assert!(clean.is_clean(), "{clean:?}");
    let found = report(&["src/index.rs", "src/other.rs"], &["M-001"]);
    assert_snapshot!(found.render_markdown("Add search", "abc"), @r"
    # Reconciliation of Add search

    Compared with what changed since abc.

    ## Intents without a change

    - M-002 CI-002 `src/query.rs`: Finds places.

    ## Changes without an intent

    - `src/other.rs`

    ## Acceptance criteria without evidence

    - M-002 a query finds a word
    - M-003 a page
    ");
}

#[test]
fn only_what_changed_is_mirrored() {
    let before = search();
    let mut after = before.clone();
    after.milestones[1].code_intents[0].behavior = "Finds all places.".to_owned();
    after.milestones.remove(2);
    assert_eq!(
        touched_milestones(Some(&before), &after),
        ["M-002", "M-003"]
    );
    assert_eq!(touched_milestones(None, &after), ["M-001", "M-002"]);
    assert!(touched_milestones(Some(&after), &after).is_empty());
    let mut shorter = before.clone();
    shorter.milestones.remove(0);
    assert_eq!(
        touched_milestones(Some(&before), &shorter),
        ["M-001"],
        "the others only moved up"
    );
    assert!(
        intent_node(&before.milestones[0], &before.milestones[0].code_intents[0])
            .text
            .contains("CC-001")
    );
}

/// An arbitrary change of a plan, sensible or not.
#[derive(Clone, Debug)]
enum Wish {
    Decide,
    Milestone { needs: usize },
    Intent { milestone: usize, decision: usize },
    Carry { intent: usize },
    Set { which: usize, version: u64 },
    Remove { which: usize, version: u64 },
}

fn wishes() -> impl Strategy<Value = Vec<Wish>> {
    let any = 0..9_usize;
    let wish = prop_oneof![
        2 => Just(Wish::Decide),
        2 => any.clone().prop_map(|needs| Wish::Milestone { needs }),
        4 => (any.clone(), any.clone()).prop_map(|(milestone, decision)| Wish::Intent { milestone, decision }),
        3 => any.clone().prop_map(|intent| Wish::Carry { intent }),
        2 => (any.clone(), 1..3_u64).prop_map(|(which, version)| Wish::Set { which, version }),
        2 => (any, 1..3_u64).prop_map(|(which, version)| Wish::Remove { which, version }),
    ];
    prop::collection::vec(wish, 1..40)
}

fn change(wish: &Wish) -> PlanChange {
    match wish {
        Wish::Decide => PlanChange::AddDecision {
            decision: "d".to_owned(),
            reasoning: "r".to_owned(),
        },
        Wish::Milestone { needs } => PlanChange::AddMilestone {
            name: "m".to_owned(),
            files: vec!["a.rs".to_owned()],
            flags: Vec::new(),
            requirements: Vec::new(),
            acceptance_criteria: vec!["c".to_owned()],
            depends_on: if *needs == 0 {
                Vec::new()
            } else {
                vec![format!("M-{needs:03}")]
            },
            tests: TestPlan {
                skip_reason: Some("none".to_owned()),
                ..TestPlan::default()
            },
            is_documentation_only: false,
            delegated_to: None,
        },
        Wish::Intent {
            milestone,
            decision,
        } => PlanChange::AddIntent {
            milestone: format!("M-{milestone:03}"),
            file: "a.rs".to_owned(),
            function: None,
            behavior: "b".to_owned(),
            decision_refs: if *decision == 0 {
                Vec::new()
            } else {
                vec![format!("DL-{decision:03}")]
            },
            params: std::collections::BTreeMap::new(),
        },
        Wish::Carry { intent } => PlanChange::AddChange {
            intent_ref: format!("CI-{intent:03}"),
            file: None,
            diff: "@@".to_owned(),
            context_lines: String::new(),
            why_comments: Vec::new(),
        },
        Wish::Set { which, version } => set(
            &format!("M-{which:03}"),
            Some(*version),
            json!({ "name": "n" }),
        ),
        Wish::Remove { which, version } => {
            let id = [
                format!("DL-{which:03}"),
                format!("CI-{which:03}"),
                format!("M-{which:03}"),
            ];
            PlanChange::Remove {
                id: id[which % 3].clone(),
                version: Some(*version),
            }
        }
    }
}

proptest! {
    /// Whatever is wished: a plan is never broken, a refused change changes nothing, versions only go up, the text is
    /// the plan. And a plan that could be frozen is enough by itself: every reference in it leads to something in it, and
    /// every milestone has its place in the waves.
    #[test]
    fn a_plan_stays_whole_under_any_changes(wishes in wishes()) {
        let mut plan = empty();
        let mut numbers = IdCounters::default();
        for wish in &wishes {
            let (mut next, mut given) = (plan.clone(), numbers.clone());
            match apply_changes(&mut next, &mut given, &[change(wish)], timestamp(5)) {
                Ok(applied) => {
                    let before = entity_value(&plan, &applied[0].id).and_then(|it| it["version"].as_u64());
                    let after = applied[0].entity.as_ref().and_then(|it| it["version"].as_u64());
                    if let (Some(before), Some(after)) = (before, after) {
                        prop_assert!(after > before);
                    }
                    (plan, numbers) = (next, given);
                }
                Err((at, _)) => prop_assert_eq!(at, 0),
            }
            prop_assert!(check_plan(&plan).iter().all(|problem| problem.grade != ProblemGrade::Broken));
        }
        let text = write_plan(&plan);
        let again = read_plan(&text).unwrap();
        prop_assert_eq!(&again, &plan);
        prop_assert_eq!(write_plan(&again), text.clone());
        prop_assert!(diff_plan_texts(&text, &text).is_empty());
        prop_assert_eq!(render_markdown(&plan, "v"), render_markdown(&again, "v"));
        if check_plan(&plan).iter().all(|problem| problem.grade == ProblemGrade::Hint) {
            let ids = text.matches("\"id\"").count();
            prop_assert!(ids > 0);
            let in_waves: Vec<String> = compute_waves(&plan).unwrap().into_iter().flat_map(|wave| wave.milestones).collect();
            prop_assert_eq!(in_waves.len(), plan.milestones.len());
            for (milestone, intent) in plan.iter_intents() {
                prop_assert!(intent.decision_refs.iter().all(|id| entity_value(&plan, id).is_some()));
                prop_assert!(milestone.depends_on.iter().all(|id| entity_value(&plan, id).is_some()));
            }
        }
    }

    /// A batch is all or nothing: with one wrong line at any place, none of it is there.
    #[test]
    fn a_batch_is_all_or_nothing(wishes in wishes(), at in 0..40_usize) {
        let mut changes: Vec<PlanChange> = Vec::new();
        let (mut plan, mut numbers) = (empty(), IdCounters::default());
        for wish in &wishes {
            let (mut next, mut given) = (plan.clone(), numbers.clone());
            if apply_changes(&mut next, &mut given, &[change(wish)], timestamp(5)).is_ok() {
                changes.push(change(wish));
                (plan, numbers) = (next, given);
            }
        }
        let (mut whole, mut given) = (empty(), IdCounters::default());
        apply_changes(&mut whole, &mut given, &changes, timestamp(5)).unwrap();
        prop_assert_eq!(&whole, &plan);
        let wrong = at.min(changes.len());
        changes.insert(wrong, set("M-999", Some(1), json!({})));
        let (mut half, mut given) = (empty(), IdCounters::default());
        let (place, _) = apply_changes(&mut half, &mut given, &changes, timestamp(5)).unwrap_err();
        prop_assert_eq!(place, wrong);
    }

    /// Nothing that stands in a file makes the reader fall over.
    #[test]
    fn any_text_is_read_or_reported(text in ".{0,200}", cut in 0..4_000_usize, noise in "[\\x00-\\x7f]{0,3}") {
        prop_assert!(read_plan(&text).is_err());
        let mut whole = write_plan(&search());
        let place = (0..=cut.min(whole.len())).rev().find(|at| whole.is_char_boundary(*at)).unwrap();
        whole.insert_str(place, &noise);
        if let Err(problems) = read_plan(&whole) {
            prop_assert!(!problems.is_empty());
        }
        let _ = check_context(&whole);
    }
}
