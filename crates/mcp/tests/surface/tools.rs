//! The tools, driven through a plan's life and with everything wrong.

use application::answer_question::Answer;
use domain::approval::Force;
use mcp::surface::Called;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{ACT, CHAPTER, World, agent, done, failed, surface};

const ACT_TEXT: &str = "# The harbour\n\n## Characters\n- Mara\n\n## Purpose\nMara comes home.\n";

/// The workflow of the design: plan, refuse, approve, plan, cascade, restore, through tools alone.
#[test]
fn a_plans_life_through_tools_alone() {
    let world = World::story();
    let surface = surface(&world);
    let act = json!({ "entity_type": "act", "entity_id": "act-1" });
    let chapter = json!({ "entity_type": "chapter", "entity_id": "act-1/chapter-01" });
    assert_eq!(done(&surface, "where", json!({}))["nodes"], 0);
    world.write(ACT, ACT_TEXT);
    assert_eq!(
        done(&surface, "get_entity_state", act.clone())["status"],
        "draft"
    );
    world.write(CHAPTER, "# The gate\n\n## Characters\n- Mara\n");
    let refused = failed(&surface, "approve_entity", chapter.clone());
    assert_eq!(refused["kind"], "refused");
    assert!(
        refused["next_steps"]
            .as_array()
            .is_some_and(|steps| !steps.is_empty()),
        "{refused}"
    );
    assert_eq!(
        done(&surface, "approve_entity", act.clone())["success"],
        true
    );
    assert_eq!(
        done(&surface, "approve_entity", chapter.clone())["success"],
        true
    );
    let ready = done(&surface, "next", json!({ "limit": 1 }));
    assert_eq!(
        (ready["ready"].as_array().map(Vec::len), &ready["more"]),
        (Some(1), &json!(0)),
        "{ready}"
    );

    world.write(ACT, &ACT_TEXT.replace("home", "back"));
    assert_eq!(
        done(&surface, "get_entity_state", chapter.clone())["status"],
        "requires-revalidation"
    );
    let why = done(&surface, "why", json!({ "node": "act-1/chapter-01" }));
    assert!(
        why["summary"]
            .as_str()
            .is_some_and(|summary| summary.contains("act-1")),
        "{why}"
    );
    let diff = done(&surface, "get_backup_diff", act.clone());
    assert!(
        diff["unified"]
            .as_str()
            .is_some_and(|diff| diff.contains("+Mara comes back.")),
        "{diff}"
    );
    let backup = done(&surface, "create_backup", act.clone());
    assert_eq!(
        world.text(backup["backup"].as_str().unwrap()),
        ACT_TEXT.replace("home", "back")
    );
    let versions = done(&surface, "list_backups", act.clone());
    assert_eq!(
        versions["versions"].as_array().map(Vec::len),
        Some(2),
        "{versions}"
    );
    let restored = done(
        &surface,
        "restore_backup",
        json!({ "entity_type": "act", "entity_id": "act-1", "version": "-1" }),
    );
    assert_eq!(restored["success"], true);
    assert_eq!(world.text(ACT), ACT_TEXT);
    assert_eq!(
        done(&surface, "get_entity_state", chapter.clone())["status"],
        "approved",
        "it came back with its parent"
    );

    let children = done(&surface, "get_children_status", act.clone());
    assert_eq!(
        (
            &children["total_children"],
            &children["status_counts"]["approved"]
        ),
        (&json!(1), &json!(1))
    );
    let tree = done(&surface, "get_hierarchy_tree", json!({ "act_id": "act-1" }));
    assert_eq!(tree["tree"][0]["children"][0]["entity_id"], "chapter-01");
    let gone = done(
        &surface,
        "cascade_invalidate",
        json!({ "entity_type": "act", "entity_id": "act-1", "reason": "another story" }),
    );
    assert_eq!(
        gone["invalidated_entities"][0]["entity_id"], "chapter-01",
        "{gone}"
    );
    assert!(
        done(&surface, "brief", json!({}))["text"]
            .as_str()
            .is_some_and(|text| text.contains("another story") && !text.contains("act-1 is"))
    );
}

#[test]
fn a_state_is_changed_only_for_the_version_that_is_known() {
    let world = World::story();
    let surface = surface(&world);
    world.write(ACT, ACT_TEXT);
    let version = done(
        &surface,
        "get_entity_state",
        json!({ "entity_type": "act", "entity_id": "act-1" }),
    )["version_hash"]
        .as_str()
        .unwrap()
        .to_owned();
    let update = |status: &str, version: &str| json!({ "entity_type": "act", "entity_id": "act-1", "status": status, "version_hash": version, "file_path": ACT });
    world.write(ACT, "# Another\n");
    let conflict = failed(
        &surface,
        "update_entity_state",
        update("approved", &version),
    );
    assert_eq!(conflict["kind"], "conflict");
    world.write(ACT, ACT_TEXT);
    let approved = done(
        &surface,
        "update_entity_state",
        update("approved", &version),
    );
    assert_eq!(approved["entity"]["status"], "approved");
    assert_eq!(
        done(
            &surface,
            "update_entity_state",
            update("approved", &version)
        )["success"],
        true,
        "twice is once"
    );
    assert_eq!(
        failed(
            &surface,
            "update_entity_state",
            update("requires-revalidation", &version)
        )["kind"],
        "refused"
    );
    assert_eq!(
        done(&surface, "update_entity_state", update("invalid", &version))["entity"]["status"],
        "invalid"
    );
}

#[test]
fn where_people_approve_an_agent_waits() {
    let world = World::where_people_approve();
    let surface = surface(&world);
    world.write(ACT, ACT_TEXT);
    let act = json!({ "node": "act-1" });
    let waiting = done(&surface, "plan_approve", act.clone());
    assert_eq!(
        (&waiting["success"], &waiting["waiting_for"]),
        (&json!(false), &json!("a person")),
        "{waiting}"
    );
    assert_eq!(
        done(&surface, "wait", json!({ "node": "act-1" }))["done"],
        false
    );
    let person = domain::ids::Principal::Human("mara".to_owned());
    let ask = || {
        surface
            .approval_question(&person, "plan_approve", &act)
            .unwrap()
    };
    let question = ask().expect("there is something to ask");
    assert!(
        question.message.contains("`act-1`") && question.asked[0].path == "act-1",
        "{question:?}"
    );
    let approve = Answer::Approve { force: Force::No };
    assert!(
        matches!(surface.answer_shown(&question, &approve), Called::Done(value) if value["success"] == true)
    );
    assert_eq!(
        done(&surface, "wait", json!({ "node": "act-1" }))["done"],
        true
    );
    assert_eq!(ask(), None);
}

#[test]
fn a_large_tree_is_cut_and_says_so() {
    let world = World::story();
    let surface = surface(&world);
    world.write(ACT, ACT_TEXT);
    for chapter in 1..=30 {
        world.write(
            &format!("acts/act-1/chapters/chapter-{chapter:02}/plan.md"),
            "# A chapter\n",
        );
    }
    let tree = done(&surface, "get_hierarchy_tree", json!({ "limit": 10 }));
    assert_eq!(
        (&tree["nodes"], &tree["cut"]),
        (&json!(10), &json!(21)),
        "{tree}"
    );
    assert_eq!(tree["tree"][0]["children_not_shown"], 21);
    let flat = done(
        &surface,
        "get_hierarchy_tree",
        json!({ "depth": 1, "include_status": false }),
    );
    assert_eq!(
        flat["tree"],
        json!([{ "entity_id": "act-1", "entity_type": "act", "title": "The harbour", "children_not_shown": 30 }])
    );
}

#[test]
fn what_is_wrong_is_said_with_what_is_allowed() {
    let world = World::story();
    let surface = surface(&world);
    let cases = [
        ("why", json!({}), "missing field `node`"),
        ("why", json!({ "nod": "act-1" }), "did you mean `node`?"),
        ("why", json!({ "node": 7 }), "expected a string"),
        ("why", json!("act-1"), "expected struct"),
        (
            "wait",
            json!({ "node": "act-1", "until": "soon" }),
            "expected `approved` or `changed`",
        ),
        (
            "get_entity_state",
            json!({ "entity_type": "act", "entity_id": "act-9" }),
            "act-9",
        ),
        (
            "get_entity_state",
            json!({ "entity_type": "volume", "entity_id": "1" }),
            "volume",
        ),
    ];
    for (tool, arguments, part) in cases {
        let error = failed(&surface, tool, arguments.clone());
        assert!(
            error["message"]
                .as_str()
                .is_some_and(|message| message.contains(part)),
            "{tool} {arguments}: {error}"
        );
    }
    match surface.call(&agent(), "get_entity_sate", &json!({})) {
        Called::Unknown(message) => assert!(
            message.contains("did you mean `get_entity_state`?"),
            "{message}"
        ),
        other => panic!("{other:?}"),
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(
                "(node|entity_type|entity_id|limit|status|[a-z]{1,6})",
                inner,
                0..4
            )
            .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A thousand wrong arguments: each gets one answer, and the state is as it was.
#[test]
fn no_arguments_break_anything() {
    let world = World::story();
    let surface = surface(&world);
    // Every tool, also those that are not listed.
    let profiles = mcp::surface::Workspace::profiles(&*world);
    let catalogue = mcp::surface::Catalogue::of(&profiles).unwrap();
    let names: Vec<&str> = catalogue.tools.iter().map(|tool| tool.name).collect();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(1_000));
    runner
        .run(&(0..names.len(), any_value()), |(tool, arguments)| {
            // No arguments are right for some tools, and those may change the state. A list is read
            // as fields in their order, and never comes through the protocol.
            let is_empty = arguments.as_object().is_some_and(serde_json::Map::is_empty);
            if !is_empty && !arguments.is_null() && !arguments.is_array() {
                let _ = surface.call(&agent(), names[tool], &arguments);
            }
            Ok(())
        })
        .unwrap();
    assert_eq!(done(&surface, "where", json!({}))["nodes"], 0);
}

#[test]
fn a_change_of_shape_goes_where_its_arguments_say() {
    let world = World::story();
    let surface = surface(&world);
    world.write(ACT, ACT_TEXT);
    world.write(CHAPTER, "# The gate\n");
    let reshape = |arguments: Value| done(&surface, "plan_reshape", arguments);
    let inserted = reshape(json!({ "action": "insert", "after": "act-1/chapter-01" }));
    assert_eq!(inserted["node"], "act-1/chapter-02");
    let two = json!({ "action": "insert", "node": "chapter-01", "after": "chapter-02" });
    let refused = failed(&surface, "plan_reshape", two);
    assert_eq!(refused["kind"], "invalid");
    let nowhere = json!({ "action": "move", "node": "act-1/chapter-02" });
    let refused = failed(&surface, "plan_reshape", nowhere);
    let steps = refused["next_steps"].as_array().map(Vec::len);
    assert_eq!(steps, Some(2), "{refused}");
    let file = "acts/act-1/chapters/chapter-9/plan.md";
    world.write(file, "# The storm\n");
    let moved = reshape(json!({ "action": "move", "node": file }));
    assert_eq!(
        moved["moved_files"][0]["path"],
        "acts/act-1/chapters/chapter-09/plan.md"
    );
}
