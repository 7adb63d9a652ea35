//! Ticks on ports that need no disk: what is kept when a process dies between two steps.

use application::memory::reread_prose::reread_by_rules;
use application::novel::name_novel::name_novel;
use application::novel::novel_stats::novel_stats;
use application::tick::begin_tick::{NextTick, TickAsk, begin_tick, offline_plan};
use application::tick::run_tick::run_tick;
use application::tick::submit_plan::{PlanAnswer, record_plan, submit_host_plan, submit_plan};
use domain::record::read_record;
use domain::tick::{TickRecord, TickStatus};
use serde_json::json;

use crate::world::{SCENE, World};

fn asked(world: &World) -> TickAsk {
    match begin_tick(&world.ctx()).unwrap() {
        NextTick::Ask(ask) => *ask,
        NextTick::Run { tick, .. } => panic!("tick {tick} is to be run"),
    }
}

fn answer(world: &World, ask: &TickAsk) -> PlanAnswer {
    let plan = offline_plan(&world.ctx()).unwrap().unwrap();
    PlanAnswer {
        nonce: ask.nonce.clone(),
        plan,
        planner: "test".to_owned(),
        ..PlanAnswer::default()
    }
}

#[test]
fn a_plan_that_was_kept_is_run_by_the_next_process() {
    let world = World::with_story();
    let ask = asked(&world);
    // The process dies after the plan was kept.
    record_plan(&world.ctx(), &answer(&world, &ask)).unwrap();
    let NextTick::Run { tick, from_action } = begin_tick(&world.ctx()).unwrap() else {
        panic!("it should go on")
    };
    assert_eq!((tick, from_action), (1, 0));
    let outcome = run_tick(&world.ctx(), tick).unwrap();
    assert_eq!(outcome.status, TickStatus::Done);
    assert_eq!(asked(&world).tick, 2);
}

#[test]
fn files_that_were_not_written_before_the_process_died_are_written_later() {
    let world = World::with_story();
    let ask = asked(&world);
    submit_plan(&world.ctx(), &answer(&world, &ask)).unwrap();
    let path = "memory/characters/C0.md";
    let text = world.files.text(path).unwrap();
    world.files.delete(path);
    asked(&world);
    assert_eq!(world.files.text(path), Some(text));
}

#[test]
fn an_answer_to_another_question_is_late() {
    let world = World::with_story();
    let ask = asked(&world);
    let first = answer(&world, &ask);
    submit_plan(&world.ctx(), &first).unwrap();
    let failure = submit_plan(&world.ctx(), &first).unwrap_err();
    assert!(failure.message.contains("stale answer"), "{failure:?}");
    let plan = json!({ "rationale": "r", "scene_intention": "s", "actions": [{ "tool": "loop.close", "args": { "loop_id": "OL7" } }] });
    let unknown = PlanAnswer {
        nonce: asked(&world).nonce,
        plan,
        ..PlanAnswer::default()
    };
    let failure = submit_plan(&world.ctx(), &unknown).unwrap_err();
    assert!(
        failure.message.contains("`loop_id` is \"OL7\""),
        "{failure:?}"
    );
    assert_eq!(asked(&world).attempt, 1, "what was refused is not kept");
}

/// Defect: the plan of a host's model was of no scene, so the run planned that scene once more.
#[test]
fn the_plan_of_a_host_prepares_the_scene_that_it_was_asked_for() {
    let world = World::with_story();
    let ask = asked(&world);
    assert!(ask.scene.is_some());
    submit_host_plan(
        &world.ctx(),
        PlanAnswer {
            scene: None,
            ..answer(&world, &ask)
        },
    )
    .unwrap();
    let state = world.store.begin_read().unwrap();
    let record = read_record::<TickRecord>(&*state, &TickRecord::record_key(1)).unwrap();
    assert_eq!(record.and_then(|record| record.scene), ask.scene);
}

#[test]
fn a_host_that_only_asks_gets_what_its_queries_found_and_plans_again() {
    let world = World::with_story();
    let ask = asked(&world);
    let query = json!([{ "tool": "node.query", "args": { "level": "scene" } }]);
    let asks = PlanAnswer {
        plan: json!({ "rationale": "first", "scene_intention": "to know what is there", "actions": query }),
        ..answer(&world, &ask)
    };
    let failure = submit_host_plan(&world.ctx(), asks).unwrap_err();
    assert!(
        failure.message.starts_with("Your queries found:"),
        "{}",
        failure.message
    );
    assert!(
        failure.message.contains("scene-0101"),
        "{}",
        failure.message
    );
    // Nothing was recorded: the same request is answered.
    let done = submit_host_plan(&world.ctx(), answer(&world, &ask)).unwrap();
    assert_eq!((done.tick, done.status), (1, TickStatus::Done));
}

/// Defect: the state of a clone does not know the name, so its writer was asked for a scene of "Untitled".
#[test]
fn a_story_without_a_name_has_the_title_of_its_book() {
    let world = World::with_story();
    let name = || novel_stats(&world.ctx()).unwrap().novel;
    assert_eq!(name(), "Untitled");
    world.files.edit("story/book.md", "---\ntitle: Сад\n---\n");
    assert_eq!(name(), "Сад");
    assert!(asked(&world).prompt.contains("Сад"));
    name_novel(&world.ctx(), "Elena").unwrap();
    assert_eq!(name(), "Elena");
}

/// Defect: a dead man who laughed in the next scene was not among what contradicts.
#[test]
fn rereading_reports_the_dead_who_act() {
    let world = World::with_story();
    world
        .files
        .edit(&SCENE.replace("0101", "0102"), "# The door\n");
    let prose = |scene: &str, text: &str| {
        let file = format!("acts/act-1/chapters/chapter-01/content/scene-{scene}.md");
        world.files.edit(&file, text);
    };
    prose(
        "0101",
        "Marcus was dead. Elena thought of Marcus and wept.\n",
    );
    prose(
        "0102",
        "“Stop,” said Marcus. Then Marcus laughed at Elena.\n",
    );
    let outcome = reread_by_rules(&world.ctx(), &[]).unwrap();
    let told: Vec<(&str, &str)> = outcome
        .contradictions
        .iter()
        .map(|it| (it.problem.as_str(), it.quote.as_str()))
        .collect();
    assert_eq!(
        told,
        [(
            "Marcus is dead by now, and acts here",
            "“Stop,” said Marcus."
        )]
    );
    assert!(outcome.contradictions[0].scene.ends_with("scene-0102"));
}
