//! `tl tick`: the loop with rules, with a model that is a script, and with everything that goes wrong.

use crate::{asked, assert_refused, story, text, with_model};
use serde_json::{Value, json};
use testkit::Project;

const ACT: &str = "# Act 1: The Map\n\n## Characters\n- Elena\n- Marcus\n\n## Locations\n- The Archive\n";
const CHAPTER: &str = "# Chapter 1: Dust\n\n## Characters\n- Elena\n";

fn planned_story() -> Project {
    let project = story();
    project.write(Project::ACT, ACT);
    project.write(Project::CHAPTER, CHAPTER);
    project.write(Project::SCENE, "# Scene: The locked drawer\n\n## Goal\nElena opens it.\n");
    project.write(&Project::SCENE.replace("0101", "0102"), "# Scene: The letter\n");
    project
}

fn with_answers(answers: &[&str]) -> Project {
    with_model(planned_story(), answers)
}

fn plan(actions: &Value) -> String {
    json!({ "rationale": "because", "scene_intention": "Elena opens the drawer", "actions": actions }).to_string()
}

fn statuses(outcomes: &Value) -> Vec<(u64, String)> {
    let outcomes = outcomes.as_array().expect("a list");
    outcomes.iter().map(|it| (it["tick"].as_u64().expect("a number"), text(it, "status").to_owned())).collect()
}

#[test]
fn thirty_ticks_without_a_model() {
    let project = planned_story();
    let outcomes = project.json(&["tick", "--count", "30"]);
    let expected: Vec<(u64, String)> = (1..=30).map(|tick| (tick, "done".to_owned())).collect();
    assert_eq!(statuses(&outcomes), expected);
    assert_eq!(text(&outcomes[0], "planner"), "offline");
    let memory = project.json(&["memory", "show"]);
    assert_eq!(
        memory["counts"],
        json!({ "characters": 2, "locations": 1, "relationships": 1, "scenes": 0, "loops": 2, "lore": 0, "facts": 0 })
    );
    let file: Value = serde_json::from_str(&project.read("plans/plan_030.json")).unwrap();
    assert_eq!((file["tick"].clone(), file["execution"]["success"].clone()), (json!(30), json!(true)));
    assert!(!project.root().join("errors").exists());
    project.ok(&["check"]);
    // The same state gives the same plan.
    let again = planned_story();
    let outcomes_again = again.json(&["tick", "--count", "30"]);
    let plans = |outcomes: &Value| outcomes.as_array().unwrap().iter().map(|it| it["plan"].clone()).collect::<Vec<_>>();
    assert_eq!(plans(&outcomes), plans(&outcomes_again));
}

#[test]
fn what_the_planner_is_told_can_be_seen_and_changed() {
    let project = planned_story();
    project.ok(&["tick", "--count", "3"]);
    let prompt = project.ok(&["tick", "--dry-run", "--show-prompt"]).stdout;
    for part in [
        "Tick: 4",
        "│ Name: Elena",
        "- **memory.search**:",
        "OL0 [HIGH]",
        "│ - act-1/chapter-01/scene-0101: Scene: The locked drawer",
    ] {
        assert!(prompt.contains(part), "{part}\n{prompt}");
    }
    project.write(".throughline/templates/planner.md", "{novel_name} {unknown} {active_character_name}");
    assert_eq!(project.ok(&["tick", "--dry-run", "--show-prompt"]).stdout, "Untitled {unknown} Elena\n");
    let rehearsed = project.json(&["tick", "--dry-run"]);
    assert_eq!(rehearsed["tick"], 4);
    assert_eq!(statuses(&project.json(&["tick"])), [(4, "done".to_owned())], "a rehearsal changes nothing");
}

#[test]
fn a_failed_action_stops_the_tick_and_an_edited_plan_goes_on_there() {
    let project = with_answers(&[&format!(
        "Sure! Here is the plan:\n```json\n{}\n```",
        plan(&json!([
            { "tool": "character.generate", "args": { "name": "Ivo", "role": "clerk", "description": "Tired." } },
            { "tool": "character.generate", "args": { "name": "Elena", "role": "lead", "description": "Curious." } },
            { "tool": "relationship.update", "args": { "character_a": "$0.id", "character_b": "$1.id", "event": "a quarrel" } },
        ]))
    )]);
    let failed = project.run(&["tick"]);
    assert_eq!(failed.code, 1, "{failed:?}");
    assert!(failed.stderr.contains("action 2 (`relationship.update`): C0 and C1 have no relationship"), "{failed:?}");
    assert!(
        failed.stderr.contains("errors/error_001.json") && failed.stderr.contains("tl tick --retry 1"),
        "{failed:?}"
    );
    let error: Value = serde_json::from_str(&project.read("errors/error_001.json")).unwrap();
    assert_eq!(error["error"]["action_index"], 2);
    assert_eq!(error["execution"]["actions_executed"].as_array().unwrap().len(), 3);
    assert!(project.read("errors/error_001.log").contains("have no relationship"));
    let mut file: Value = serde_json::from_str(&project.read("plans/plan_001.json")).unwrap();
    file["plan"]["actions"][2] = json!({ "tool": "relationship.create", "args": { "character_a": "ivo", "character_b": "[c1]",
        "relationship_type": "colleagues", "perspective_a": "wary", "perspective_b": "amused" } });
    project.write("plans/plan_001.json", file.to_string());
    let outcome = project.json(&["tick", "--retry", "1"]);
    assert_eq!(statuses(&outcome), [(1, "done".to_owned())]);
    assert_eq!(project.json(&["memory", "show", "R0"])["entry"]["character_b"], "C1", "ids are put right");
    assert_eq!(project.json(&["memory", "show"])["counts"]["characters"], 2, "nothing is run twice");
    assert_refused(&project, &["tick", "--retry", "1"], "refused", &["tick 1 is done"]);
    assert_refused(&project, &["tick", "--skip", "1"], "refused", &["tick 1 is done"]);
    assert_refused(&project, &["tick", "--retry", "9"], "not-found", &["there is no tick 9"]);
}

#[test]
fn a_plan_that_keeps_failing_is_put_aside_and_the_loop_goes_on() {
    let bad = plan(&json!([{ "tool": "loop.open", "args": { "description": "Who?" } },
                           { "tool": "node.show", "args": { "node": "act-9" } }]));
    let good = plan(&json!([]));
    let dup = plan(&json!([{ "tool": "node.show", "args": { "node": "act-9" } }]));
    let project = with_answers(&[&bad, &dup, &dup, &good]);
    let run = project.run(&["--json", "tick", "--count", "2"]);
    assert_eq!(run.code, 1);
    let outcomes: Value = serde_json::from_str(&run.stdout).unwrap();
    let expected =
        [(1, "failed"), (1, "failed"), (1, "parked"), (2, "done")].map(|(tick, word)| (tick, word.to_owned()));
    assert_eq!(statuses(&outcomes), expected);
    let asked = asked(&project);
    assert!(
        asked.contains("The last plan for this tick failed") && asked.contains("the plan has no `act-9`"),
        "{asked}"
    );
    assert_eq!(statuses(&project.json(&["tick"])), [(3, "done".to_owned())]);
}

#[test]
fn answers_that_are_no_plans_are_asked_for_again_and_then_told() {
    let wrong_tool = plan(&json!([{ "tool": "sword.forge", "args": {} }]));
    let good = plan(&json!([{ "tool": "memory.search", "args": { "query": "drawer", "limit": 3 } }]));
    let project = with_answers(&[&wrong_tool, &good]);
    assert_eq!(statuses(&project.json(&["tick"])), [(1, "done".to_owned())]);
    let asked = asked(&project);
    assert!(asked.contains("sword.forge"), "the error goes back: {asked}");

    let project = with_answers(&["I would rather not."]);
    let failed = project.run(&["tick"]);
    assert_eq!(failed.code, 1);
    assert!(project.root().join("errors/error_001.json").exists(), "{failed:?}");
    assert_eq!(statuses(&project.json(&["tick", "--skip", "1"])), [(1, "skipped".to_owned())]);
}
