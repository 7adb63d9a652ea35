//! Ticks on ports that need no disk: what is kept when a process dies between two steps.

use application::tick::begin_tick::{NextTick, TickAsk, begin_tick, offline_plan};
use application::tick::run_tick::run_tick;
use application::tick::submit_plan::{PlanAnswer, record_plan, submit_plan};
use domain::tick::TickStatus;
use serde_json::json;

use crate::world::World;

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
