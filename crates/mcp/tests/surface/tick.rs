//! The loop with control inverted: the host's own model plans and writes, through tools alone.

use mcp::surface::{Surface, ToolSelection};
use serde_json::{Value, json};

use crate::world::World;
use crate::{ACT, CHAPTER, agent, done, failed};

const SCENE: &str = "acts/act-1/chapters/chapter-01/scenes/scene-0101-blueprint.md";

fn offered(world: &std::sync::Arc<World>) -> Surface {
    let selection = ToolSelection {
        toolsets: Some(vec!["story".to_owned()]),
        ..ToolSelection::default()
    };
    Surface::new(world.clone(), selection).unwrap()
}

#[test]
fn the_hosts_model_plans_and_what_it_says_is_checked() {
    let world = World::story();
    let surface = offered(&world);
    world.write(ACT, "# Act 1\n");
    let asked = done(&surface, "tick_begin", json!({}));
    assert_eq!((&asked["next"], &asked["tick"]), (&json!("ask"), &json!(1)));
    assert!(
        asked["prompt"]
            .as_str()
            .is_some_and(|prompt| prompt.contains("character.generate")),
        "{asked}"
    );
    assert_eq!(asked["schema"]["type"], "object");
    let plan = |name: &str| {
        json!({ "rationale": "r", "scene_intention": "s",
        "actions": [{ "tool": "character.generate", "args": { "name": name, "role": "lead", "description": "d" } }] })
    };
    let submit = |plan: Value| json!({ "nonce": asked["nonce"], "plan": plan });
    let refused = failed(
        &surface,
        "tick_submit",
        submit(
            json!({ "rationale": "r", "scene_intention": "s", "actions": [{ "tool": "x", "args": {} }] }),
        ),
    );
    assert!(
        refused["message"]
            .as_str()
            .is_some_and(|message| message.contains("unknown tool")),
        "{refused}"
    );
    let outcome = done(&surface, "tick_submit", submit(plan("Mara")));
    assert_eq!(
        (&outcome["tick"], &outcome["status"]),
        (&json!(1), &json!("done"))
    );
    assert!(world.text("memory/characters/C0.md").contains("name: Mara"));
    assert_eq!(
        failed(&surface, "tick_submit", submit(plan("Ivo")))["kind"],
        "conflict",
        "an answer counts once"
    );
}

#[test]
fn the_hosts_model_writes_and_judges() {
    let world = World::story();
    let surface = offered(&world);
    world.write(ACT, "# Act 1\n");
    world.write(CHAPTER, "# Chapter 1\n");
    world.write(SCENE, "# The gate\n\nMara opens it.\n");
    for (level, id) in [
        ("act", "act-1"),
        ("chapter", "chapter-01"),
        ("scene", "scene-0101"),
    ] {
        done(
            &surface,
            "approve_entity",
            json!({ "entity_type": level, "entity_id": id }),
        );
    }
    let step = done(&surface, "start_generation", json!({}));
    assert_eq!(
        (&step["step"], &step["scene"]),
        (&json!("write"), &json!("act-1/chapter-01/scene-0101"))
    );
    let prose = "Mara opened the gate and went in. ".to_owned()
        + &(0..600).map(|n| format!("word{n} ")).collect::<String>()
        + "and that was all.";
    let submit = |step: &Value, rest: Value| {
        let mut all = json!({ "scene_id": "scene-0101", "nonce": step["nonce"] });
        all.as_object_mut()
            .unwrap()
            .extend(rest.as_object().unwrap().clone());
        done(&surface, "generation_submit", all)
    };
    let judge = submit(&step, json!({ "text": prose }));
    assert_eq!(judge["step"], "judge", "{judge}");
    let status = done(
        &surface,
        "get_generation_status",
        json!({ "scene_id": "scene-0101" }),
    );
    assert_eq!(
        (&status["status"], &status["stale"]),
        (&json!("running"), &json!(false))
    );
    let resumed = done(
        &surface,
        "resume_generation",
        json!({ "scene_id": "scene-0101" }),
    );
    assert_eq!(resumed["nonce"], judge["nonce"], "it goes on where it was");
    let end = submit(
        &judge,
        json!({ "verdict": { "findings": [], "summary": ["Mara goes in"] } }),
    );
    assert_eq!(end["generation"]["status"], "complete", "{end}");
    assert!(
        world
            .text("acts/act-1/chapters/chapter-01/content/scene-0101.md")
            .starts_with("Mara opened")
    );
    let state = surface
        .read(&agent(), "state://generation/scene-0101")
        .unwrap()
        .unwrap();
    assert!(
        state.text.contains("\"status\":\"complete\""),
        "{}",
        state.text
    );
}
