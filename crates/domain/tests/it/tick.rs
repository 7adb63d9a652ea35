//! Plans and tools: what is checked before anything runs, and what running does.

use domain::memory::{Entry, EntryKind, LoopStatus, StoryMemory};
use domain::tick::execute::execute_plan;
use domain::tick::plan::{TickPlan, plan_schema};
use domain::tick::tools::{ALL_TOOLS, DraftPlace, PlanNode, StoryWorld, TickStage};
use serde_json::{Value, json};

fn memory() -> StoryMemory {
    let entry = |kind, value| Entry::from_value(kind, value).unwrap();
    StoryMemory::new([
        entry(
            EntryKind::Character,
            json!({ "id": "C0", "name": "Elena", "role": "lead" }),
        ),
        entry(
            EntryKind::Character,
            json!({ "id": "C1", "name": "Маркус" }),
        ),
        entry(
            EntryKind::Loop,
            json!({ "id": "OL0", "text": "Who took the map?" }),
        ),
        entry(
            EntryKind::Scene,
            json!({ "id": "S001", "title": "Dust", "node": "act-1/chapter-01/scene-0101" }),
        ),
    ])
}

fn plan(actions: &Value) -> Value {
    json!({ "rationale": "r", "scene_intention": "s", "actions": actions, "expected_outcomes": ["o"], "mood": "unknown fields pass" })
}

#[track_caller]
fn refused(actions: &Value, expected: &str) {
    let error = TickPlan::read_plan(&plan(actions), &memory())
        .unwrap_err()
        .to_string();
    assert!(error.contains(expected), "{error}\nexpected: {expected}");
}

#[test]
fn arguments_are_checked_before_anything_runs() {
    let call = |tool: &str, args: Value| json!([{ "tool": tool, "args": args }]);
    refused(
        &call("sword.forge", json!({})),
        "unknown tool `sword.forge`; there are memory.search",
    );
    refused(&call("memory.search", json!({})), "`query` is missing");
    refused(
        &call("memory.search", json!({ "query": 7 })),
        "expected a string",
    );
    refused(
        &call("memory.search", json!({ "query": "x", "limit": 99 })),
        "from 1 to 20",
    );
    refused(
        &call(
            "memory.search",
            json!({ "query": "x", "entity_types": ["dragon"] }),
        ),
        "a list of character",
    );
    refused(
        &call("memory.search", json!({ "query": "x", "speed": 1 })),
        "no argument `speed`",
    );
    refused(
        &call("relationship.query", json!({ "character_id": "C9" })),
        "the id of a character",
    );
    refused(
        &call("relationship.query", json!({ "character_id": "$0.id" })),
        "only results of earlier actions",
    );
    refused(&json!("all of them"), "not a valid plan");
    assert!(TickPlan::read_plan(&json!({ "rationale": "r", "actions": [] }), &memory()).is_err());
}

/// Defect: `scene_intention: "…"` with five searches for `…` was a done tick.
#[test]
fn placeholders_and_plans_without_effect_are_refused() {
    let search = |query: &str| json!({ "tool": "memory.search", "args": { "query": query } });
    for (change, expected) in [
        (
            json!({ "scene_intention": "…" }),
            "`scene_intention` is `…`, which is a placeholder",
        ),
        (json!({ "scene_intention": "C0" }), "which is a placeholder"),
        (
            json!({ "rationale": "[genre1] or [genre2]" }),
            "`rationale` is",
        ),
        (
            json!({ "actions": [search("…")] }),
            "`actions[0].args.query` is `…`",
        ),
        (
            json!({ "actions": [search("map"), search("map")] }),
            "action 1 repeats action 0",
        ),
        (
            json!({ "actions": [], "expected_outcomes": ["…"] }),
            "nothing would change",
        ),
    ] {
        let mut value = plan(&json!([search("the drawer")]));
        value
            .as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        let error = TickPlan::read_plan(&value, &memory())
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{change}: {error}");
    }
}

/// Defect: an argument `[Name]`, an outcome `C0`, a refusal and a plan that only asks were done ticks.
#[test]
fn slots_refusals_and_plans_that_only_ask_are_refused() {
    let with = |changes: Value| {
        let mut plan = plan(&json!([{ "tool": "memory.search", "args": { "query": "map" } }]));
        for (key, value) in changes.as_object().unwrap() {
            plan[key] = value.clone();
        }
        TickPlan::read_plan(&plan, &memory())
    };
    let named = json!([{ "tool": "character.generate", "args": { "name": "[Name]", "role": "r", "description": "d" } }]);
    for (changes, expected) in [
        (
            json!({ "actions": named }),
            "`actions[0].args.name` is `[Name]`",
        ),
        (
            json!({ "expected_outcomes": ["C0"] }),
            "`expected_outcomes[0]` is `C0`",
        ),
        (
            json!({ "scene_intention": "I'm sorry, but I can't help with that." }),
            "`scene_intention` declines the task",
        ),
    ] {
        let refused = with(changes).unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
    }
    // A planner may ask before it plans; what is run has to change something.
    let asks = with(json!({ "expected_outcomes": [] })).unwrap();
    let refused = asks.require_effect().unwrap_err().to_string();
    assert!(refused.contains("only queries"), "{refused}");
    let expects = with(json!({ "expected_outcomes": ["the drawer is open"] })).unwrap();
    assert_eq!(expects.require_effect(), Ok(()));
}

#[test]
fn ids_are_put_right() {
    for written in ["C0", "c0", "C000", "[C0]", "C0: Elena", "elena", "`C0`"] {
        let value =
            plan(&json!([{ "tool": "Relationship_Query", "args": { "character_id": written } }]));
        let plan = TickPlan::read_plan(&value, &memory()).unwrap();
        assert_eq!(plan.actions[0].args["character_id"], "C0", "{written}");
    }
    let mut value = plan(&json!([]));
    value["pov_character"] = json!("маркус");
    value["target_location"] = json!("null");
    let plan = TickPlan::read_plan(&value, &memory()).unwrap();
    assert_eq!(
        (plan.pov_character.as_deref(), plan.target_location),
        (Some("C1"), None)
    );
}

fn run(actions: &Value) -> (StoryMemory, Vec<Value>) {
    let (memory, _, told) = run_all(actions);
    (memory, told)
}

const PLAN: &str = "---\nmood: dark\n---\n# One\n\n## Goal\n\nOld.\n\n## End\n\nShut.\n";

fn run_all(actions: &Value) -> (StoryMemory, Vec<(String, String)>, Vec<Value>) {
    let plan = TickPlan::read_plan(&plan(actions), &memory()).unwrap();
    let node = |path: &str, level: &str, status| PlanNode {
        path: path.to_owned(),
        file: format!("{path}.md"),
        level: level.to_owned(),
        status,
        progress: "pending",
        ..PlanNode::default()
    };
    let world = StoryWorld {
        nodes: vec![
            node("act-1", "act", "approved"),
            node("act-1/chapter-01", "chapter", "draft"),
            node("act-2", "act", "draft"),
            node("act-2/chapter-01", "chapter", "requires-revalidation"),
        ],
        place: &|level, id, under| match (level, under) {
            ("chapter", Some("act-1")) => {
                let node = format!("act-1/chapter-0{id}");
                let text = (id == "1").then(|| PLAN.to_owned());
                Ok(DraftPlace {
                    file: format!("{node}.md"),
                    node,
                    text,
                })
            }
            _ => Err("its parent is not approved".to_owned()),
        },
        allows: &|_, text| {
            if text.len() > 8 {
                Ok(())
            } else {
                Err("it would shrink".to_owned())
            }
        },
        search: &|_, _, _| Ok(vec!["OL0".to_owned()]),
        text: &|_| Some(PLAN.to_owned()),
        prose: &|_| Some("And there, under the floor, lay the map: Ivo had it.".to_owned()),
    };
    let mut stage = TickStage {
        memory: memory(),
        tick: 5,
        world: &world,
        drafts: Vec::new(),
    };
    let done = execute_plan(&mut stage, &plan, Vec::new());
    let told = done
        .into_iter()
        .map(|it| it.result.unwrap_or_else(|| json!(it.error)))
        .collect();
    let drafts = stage
        .drafts
        .into_iter()
        .map(|draft| (draft.file, draft.text))
        .collect();
    (stage.memory, drafts, told)
}

#[test]
fn plans_are_found_and_written_as_drafts() {
    let (_, drafts, told) = run_all(&json!([
        { "tool": "node.query", "args": { "level": "Chapter", "status": "draft" } },
        { "tool": "node.query", "args": { "under": "act-2", "limit": 1 } },
        { "tool": "node.add", "args": { "level": "chapter", "id": "2", "under": "act-1", "text": "# Two\n\nBegin." } },
        { "tool": "node.add", "args": { "level": "chapter", "id": "1", "under": "act-1", "text": PLAN } },
        { "tool": "node.edit", "args": { "node": "act-1/chapter-01", "section": "goal", "text": "New." } },
        { "tool": "node.edit", "args": { "node": "act-1/chapter-01", "section": "Cast", "text": "- Elena" } },
        { "tool": "node.show", "args": { "node": "act-1/chapter-01" } },
    ]));
    assert_eq!(
        (
            told[0]["found"].clone(),
            told[0]["nodes"][0]["node"].clone()
        ),
        (json!(1), json!("act-1/chapter-01"))
    );
    assert_eq!(told[1]["nodes"][0]["node"], "act-2/chapter-01");
    assert_eq!(
        told[2],
        json!({ "node": "act-1/chapter-02", "file": "act-1/chapter-02.md", "status": "draft" })
    );
    assert_eq!(
        told[3]["status"], "draft",
        "the very text that is there is no second plan"
    );
    let edited = PLAN.replace("Old.", "New.") + "\n## Cast\n\n- Elena\n";
    assert_eq!(
        told[6]["text"], edited,
        "later actions see what earlier ones wrote"
    );
    let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    assert_eq!(
        drafts,
        [
            file("act-1/chapter-02.md", "# Two\n\nBegin.\n"),
            file("act-1/chapter-01.md", &edited)
        ]
    );
    for (tool, args, expected) in [
        (
            "node.add",
            json!({ "level": "chapter", "id": "1", "under": "act-1", "text": "# Other" }),
            "has a plan already",
        ),
        (
            "node.add",
            json!({ "level": "scene", "id": "0201", "text": "# Scene" }),
            "parent is not approved",
        ),
        (
            "node.edit",
            json!({ "node": "act-1", "text": "# Act one, rewritten" }),
            "is approved",
        ),
        (
            "node.edit",
            json!({ "node": "chapter-01", "text": "# Which?" }),
            "is ambiguous",
        ),
        (
            "node.edit",
            json!({ "node": "act-2", "text": "# No" }),
            "would shrink",
        ),
        (
            "node.query",
            json!({ "under": "act-9" }),
            "the plan has no `act-9`",
        ),
    ] {
        let (_, drafts, told) = run_all(&json!([{ "tool": tool, "args": args }]));
        assert!(
            told[0].to_string().contains(expected) && drafts.is_empty(),
            "{}",
            told[0]
        );
    }
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
    let found: Vec<&Value> = told[4]["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["id"])
        .collect();
    assert_eq!(found, ["OL0", "C2"]);
    assert_eq!(memory.relationships().next().unwrap().history[0].tick, 5);
    assert_eq!(memory.change_facts().len(), 2);
}

#[test]
fn a_loop_is_resolved_by_the_words_of_a_scene_not_by_claim() {
    let close = |args: Value| {
        let mut all = json!({ "loop_id": "OL0", "outcome": "resolved", "reason": "found" });
        all.as_object_mut()
            .unwrap()
            .extend(args.as_object().unwrap().clone());
        let (memory, told) = run(&json!([{ "tool": "loop.close", "args": all }]));
        (memory.loops().next().unwrap().status, told[0].to_string())
    };
    let (status, told) = close(json!({}));
    assert!(
        status == LoopStatus::Open && told.contains("only be resolved with"),
        "{told}"
    );
    let (status, told) = close(json!({ "scene_id": "S001", "evidence": "she found the map" }));
    assert!(
        status == LoopStatus::Open && told.contains("is not a quote from S001"),
        "{told}"
    );
    let (status, _) =
        close(json!({ "scene_id": "S001", "evidence": "under the floor lay the map" }));
    assert_eq!(status, LoopStatus::Resolved);
    let (status, _) = close(json!({ "outcome": "abandoned" }));
    assert_eq!(status, LoopStatus::Abandoned);
}

/// Defect: a short schema listed the newest people, and the plan of a small model could not follow the protagonist.
#[test]
fn a_short_schema_names_the_cast_before_the_newest() {
    let mut memory = memory();
    for number in 0..60 {
        let value = json!({ "id": format!("C{}", number + 2), "name": format!("Extra {number}") });
        memory.put_entry(Entry::from_value(EntryKind::Character, value).unwrap());
    }
    for (cast, expected) in [
        (&["C0", "C7"][..], ["C0", "C7", "C60", "C61"]),
        (&[][..], ["C58", "C59", "C60", "C61"]),
        // Unknown ids and those of another kind are nobody.
        (&["C99", "OL0", "C1"][..], ["C1", "C59", "C60", "C61"]),
    ] {
        let schema = plan_schema(&memory, cast, 4);
        let listed = &schema["properties"]["pov_character"]["enum"];
        assert_eq!(*listed, json!(expected));
    }
}

#[test]
fn the_schema_names_every_tool_and_bounds_everything() {
    let schema = plan_schema(&memory(), &[], 400);
    let actions = schema["properties"]["actions"]["items"]["anyOf"]
        .as_array()
        .unwrap();
    let names: Vec<&Value> = actions
        .iter()
        .map(|it| &it["properties"]["tool"]["const"])
        .collect();
    assert_eq!(
        names,
        ALL_TOOLS.iter().map(|tool| tool.name).collect::<Vec<_>>()
    );
    fn bounded(value: &Value) {
        let is = |word: &str| value["type"] == word;
        if is("string") {
            let ends = ["maxLength", "enum", "const", "pattern"]
                .iter()
                .any(|key| value.get(*key).is_some());
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
    assert_eq!(
        schema["properties"]["pov_character"]["enum"],
        json!(["C0", "C1"])
    );
}
