//! Thirty ticks through the real program and OpenAI's dialect: with a server on a socket, and from the recording of it.
//!
//! What the recording is, and how to record it again, is in `tests/tapes/README.md`.

use serde_json::{Value, json};
use testkit::Project;

use crate::model_server::ModelServer;
use crate::tick::planned_story;

const TAPE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/tapes/thirty-ticks.jsonl"
);

/// Returns what a planner says that reads its prompt: what it names is there, and now and then it errs as models do.
fn planner(prompt: &str) -> String {
    let after = |start: &str| {
        prompt
            .rsplit_once(start)
            .map(|(_, rest)| rest.lines().next().unwrap_or_default().trim())
    };
    let tick: u64 = after("\nTick: ")
        .and_then(|tick| tick.parse().ok())
        .unwrap_or(0);
    let has = |id: &str| prompt.contains(&format!("│ - {id}: "));
    let mut actions = Vec::new();
    match tick % 6 {
        1 if !has("C0") => {
            actions.push(json!({ "tool": "character.generate", "args": { "name": "Elena", "role": "lead", "description": "Looks for a map.", "goals": ["find it"] } }));
            actions.push(json!({ "tool": "character.generate", "args": { "name": "Маркус", "role": "mentor", "description": "Knows more than he says." } }));
            actions.push(json!({ "tool": "relationship.create", "args": { "character_a": "$0.id", "character_b": "$1.id",
                "relationship_type": "mentor", "perspective_a": "trusts him", "perspective_b": "fears for her", "intensity": 6 } }));
        }
        1 => actions.push(json!({ "tool": "relationship.update", "args": { "character_a": "c0", "character_b": "[C1]",
            "event": format!("a quarrel in tick {tick}"), "status": "strained", "intensity": 8 } })),
        2 => actions.push(json!({ "tool": "location.generate", "args": { "name": format!("Room {tick}"), "description": "Dust and drawers." } })),
        3 => actions.push(json!({ "tool": "loop.open", "args": { "description": format!("What lies behind door {tick}, and who has the key?"), "importance": "high" } })),
        4 => actions.push(json!({ "tool": "memory.search", "args": { "query": "map mentor", "limit": 3 } })),
        5 => actions.push(json!({ "tool": "node.query", "args": { "level": "scene" } })),
        _ => actions.push(json!({ "tool": "scene.query", "args": { "limit": 2 } })),
    }
    // An unknown tool: the model gets the error and corrects it.
    if tick == 8 && !prompt.contains("sword.forge") {
        actions.push(json!({ "tool": "sword.forge", "args": {} }));
    }
    let plan = json!({
        "rationale": format!("Tick {tick} goes on from what is open."),
        "scene_intention": format!("Елена и Маркус, шаг {tick}: the drawer is tried again"),
        "actions": actions,
        "expected_outcomes": [format!("step {tick} is taken")],
    });
    let text = serde_json::to_string_pretty(&plan).unwrap_or_default();
    match tick % 4 {
        0 => format!("Here is my plan:\n\n```json\n{text}\n```\nI hope {{it}} helps!"),
        1 => text.replace("]\n}", "],\n}"),
        _ => text,
    }
}

pub(crate) fn told(project: Project, base_url: &str) -> Project {
    project
        .with_environment("THROUGHLINE_LLM_PROVIDER", "openai-compatible")
        .with_environment("THROUGHLINE_LLM_MODEL", "scripted")
        .with_environment("THROUGHLINE_LLM_BASE_URL", base_url)
}

fn thirty(project: &Project) -> Vec<Value> {
    let outcomes = project.json(&["story", "tick", "--count", "30"]);
    let outcomes = outcomes
        .as_array()
        .unwrap_or_else(|| panic!("no list: {outcomes}"));
    let ticks: Vec<(u64, &str)> = outcomes
        .iter()
        .map(|it| (it["tick"].as_u64().unwrap_or(0), crate::text(it, "status")))
        .collect();
    let expected: Vec<(u64, &str)> = (1..=30).map(|tick| (tick, "done")).collect();
    assert_eq!(ticks, expected);
    outcomes.iter().map(|it| it["plan"].clone()).collect()
}

#[test]
fn thirty_ticks_live_and_recorded_are_the_same_story() {
    let server = ModelServer::start(planner);
    let mut live = told(planned_story(), &server.url);
    if std::env::var_os("THROUGHLINE_RECORD_TAPES").is_some() {
        let _ = std::fs::remove_file(TAPE);
        live = live
            .with_environment("THROUGHLINE_LLM_WIRE_TAPE", TAPE)
            .with_environment("THROUGHLINE_LLM_WIRE_TAPE_MODE", "record");
    }
    let plans = thirty(&live);
    // Nobody listens at this address: every answer comes from the tape, through the same dialect.
    let replayed = told(planned_story(), "http://127.0.0.1:9/v1")
        .with_environment("THROUGHLINE_LLM_WIRE_TAPE", TAPE);
    assert_eq!(thirty(&replayed), plans);
    let stats = replayed.json(&["story", "stats"]);
    assert_eq!(
        (
            stats["spending"]["calls"].clone(),
            stats["spending"]["calls_without_price"].clone()
        ),
        (json!(41), json!(41))
    );
    assert!(
        stats["spending"]["input_tokens"].as_u64().unwrap_or(0) > 10_000,
        "{stats}"
    );
    replayed.ok(&["check"]);
}
