//! Plans and tools: what is checked before anything runs, and what running does.

use domain::memory::{Entry, EntryKind, LoopStatus, Memory};
use domain::tick::execute::execute;
use domain::tick::plan::{Plan, schema};
use domain::tick::tools::{ALL, Stage, World};
use serde_json::{Value, json};

fn memory() -> Memory {
    let entry = |kind, value| Entry::read(kind, value).unwrap();
    Memory::new([
        entry(EntryKind::Character, json!({ "id": "C0", "name": "Elena", "role": "lead" })),
        entry(EntryKind::Character, json!({ "id": "C1", "name": "Маркус" })),
        entry(EntryKind::Loop, json!({ "id": "OL0", "text": "Who took the map?" })),
        entry(EntryKind::Scene, json!({ "id": "S001", "title": "Dust", "node": "act-1/chapter-01/scene-0101" })),
    ])
}

fn plan(actions: &Value) -> Value {
    json!({ "rationale": "r", "scene_intention": "s", "actions": actions, "mood": "unknown fields pass" })
}

#[track_caller]
fn refused(actions: &Value, expected: &str) {
    let error = Plan::read(&plan(actions), &memory()).unwrap_err().to_string();
    assert!(error.contains(expected), "{error}\nexpected: {expected}");
}

#[test]
fn arguments_are_checked_before_anything_runs() {
    let call = |tool: &str, args: Value| json!([{ "tool": tool, "args": args }]);
    refused(&call("sword.forge", json!({})), "no tool; there are memory.search");
    refused(&call("memory.search", json!({})), "`query` is missing");
    refused(&call("memory.search", json!({ "query": 7 })), "expected a text");
    refused(&call("memory.search", json!({ "query": "x", "limit": 99 })), "from 1 to 20");
    refused(&call("memory.search", json!({ "query": "x", "entity_types": ["dragon"] })), "a list of character");
    refused(&call("memory.search", json!({ "query": "x", "speed": 1 })), "no argument `speed`");
    refused(&call("relationship.query", json!({ "character_id": "C9" })), "the id of a character");
    refused(&call("relationship.query", json!({ "character_id": "$0.id" })), "only results of earlier actions");
    refused(&json!("all of them"), "it is no plan");
    assert!(Plan::read(&json!({ "rationale": "r", "actions": [] }), &memory()).is_err());
}

#[test]
fn ids_are_put_right() {
    for written in ["C0", "c0", "C000", "[C0]", "C0: Elena", "elena", "`C0`"] {
        let value = plan(&json!([{ "tool": "Relationship_Query", "args": { "character_id": written } }]));
        let plan = Plan::read(&value, &memory()).unwrap();
        assert_eq!(plan.actions[0].args["character_id"], "C0", "{written}");
    }
    let mut value = plan(&json!([]));
    value["pov_character"] = json!("маркус");
    value["target_location"] = json!("null");
    let plan = Plan::read(&value, &memory()).unwrap();
    assert_eq!((plan.pov_character.as_deref(), plan.target_location), (Some("C1"), None));
}

fn run(actions: &Value) -> (Memory, Vec<Value>) {
    let plan = Plan::read(&plan(actions), &memory()).unwrap();
    let world = World {
        nodes: Vec::new(),
        search: &|_, _, _| Ok(vec!["OL0".to_owned()]),
        text: &|_| None,
        prose: &|_| Some("And there, under the floor, lay the map: Ivo had it.".to_owned()),
    };
    let mut stage = Stage { memory: memory(), tick: 5, world: &world };
    let done = execute(&mut stage, &plan, Vec::new());
    let told = done.into_iter().map(|it| it.result.unwrap_or_else(|| json!(it.error))).collect();
    (stage.memory, told)
}

#[test]
fn a_later_action_uses_an_earlier_result_and_sees_what_is_new() {
    let (memory, told) = run(&json!([
        { "tool": "character.generate", "args": { "name": "Ivo", "role": "clerk", "description": "Keeps maps." } },
        { "tool": "relationship.create", "args": { "character_a": "C0", "character_b": "$0.id", "relationship_type": "rivals",
            "perspective_a": "a", "perspective_b": "b", "intensity": 6 } },
        { "tool": "relationship.update", "args": { "character_a": "$0.id", "character_b": "C0", "event": "a truce", "status": "calm" } },
        { "tool": "relationship.query", "args": { "character_id": "C0", "status_filter": "CALM" } },
        { "tool": "memory.search", "args": { "query": "maps" } },
    ]));
    assert_eq!(told[0], json!({ "id": "C2", "name": "Ivo" }));
    assert_eq!(told[3]["relationships"][0]["other_name"], "Ivo");
    let found: Vec<&Value> = told[4]["results"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
    assert_eq!(found, ["OL0", "C2"]);
    assert_eq!(memory.relationships().next().unwrap().history[0].tick, 5);
    assert_eq!(memory.changes().len(), 2);
}

#[test]
fn a_loop_is_resolved_by_the_words_of_a_scene_not_by_claim() {
    let close = |args: Value| {
        let mut all = json!({ "loop_id": "OL0", "outcome": "resolved", "reason": "found" });
        all.as_object_mut().unwrap().extend(args.as_object().unwrap().clone());
        let (memory, told) = run(&json!([{ "tool": "loop.close", "args": all }]));
        (memory.loops().next().unwrap().status, told[0].to_string())
    };
    let (status, told) = close(json!({}));
    assert!(status == LoopStatus::Open && told.contains("only be resolved with"), "{told}");
    let (status, told) = close(json!({ "scene_id": "S001", "evidence": "she found the map" }));
    assert!(status == LoopStatus::Open && told.contains("does not stand in S001"), "{told}");
    let (status, _) = close(json!({ "scene_id": "S001", "evidence": "under the floor lay the map" }));
    assert_eq!(status, LoopStatus::Resolved);
    let (status, _) = close(json!({ "outcome": "abandoned" }));
    assert_eq!(status, LoopStatus::Abandoned);
}

#[test]
fn the_schema_names_every_tool_and_bounds_everything() {
    let schema = schema(&memory());
    let actions = schema["properties"]["actions"]["items"]["anyOf"].as_array().unwrap();
    let names: Vec<&Value> = actions.iter().map(|it| &it["properties"]["tool"]["const"]).collect();
    assert_eq!(names, ALL.iter().map(|tool| tool.name).collect::<Vec<_>>());
    fn bounded(value: &Value) {
        let is = |word: &str| value["type"] == word;
        if is("string") {
            let ends = ["maxLength", "enum", "const", "pattern"].iter().any(|key| value.get(*key).is_some());
            assert!(ends, "{value}");
        }
        assert!(!is("array") || value.get("maxItems").is_some(), "{value}");
        match value {
            Value::Object(members) => members.values().for_each(bounded),
            Value::Array(items) => items.iter().for_each(bounded),
            _ => {}
        }
    }
    bounded(&schema);
    assert_eq!(schema["properties"]["pov_character"]["enum"], json!(["C0", "C1"]));
}
