//! `tl story tick`: the loop with rules, with a model that is a script, and with everything that goes wrong.

use std::process::Stdio;

use crate::{KILL, asked, assert_refused, story, text, with_model};
use serde_json::{Value, json};
use testkit::Project;

const ACT: &str =
    "# Act 1: The Map\n\n## Characters\n- Elena\n- Marcus\n\n## Locations\n- The Archive\n";
const CHAPTER: &str = "# Chapter 1: Dust\n\n## Characters\n- Elena\n";

pub(crate) fn planned_story() -> Project {
    let project = story();
    project.write(Project::ACT, ACT);
    project.write(Project::CHAPTER, CHAPTER);
    project.write(
        Project::SCENE,
        "# Scene: The locked drawer\n\n## Goal\nElena opens it.\n",
    );
    project.write(
        &Project::SCENE.replace("0101", "0102"),
        "# Scene: The letter\n",
    );
    project
}

/// Returns what was planned for the first ticks, as their files have it.
fn plans_on_disk(project: &Project, ticks: usize) -> Vec<Value> {
    let file = |tick: usize| {
        serde_json::from_str::<Value>(&project.read(&format!("plans/plan_{tick:03}.json")))
            .expect("a plan file")
    };
    (1..=ticks)
        .map(|tick| {
            let file = file(tick);
            assert_eq!(text(&file, "status"), "done", "tick {tick}");
            file["plan"].clone()
        })
        .collect()
}

fn with_answers(answers: &[&str]) -> Project {
    with_model(planned_story(), answers)
}

fn plan(actions: &Value) -> String {
    json!({ "rationale": "because", "scene_intention": "Elena opens the drawer", "actions": actions,
            "expected_outcomes": ["the drawer is open"] })
    .to_string()
}

fn statuses(outcomes: &Value) -> Vec<(u64, String)> {
    let outcomes = outcomes.as_array().expect("a list");
    outcomes
        .iter()
        .map(|it| {
            (
                it["tick"].as_u64().expect("a number"),
                text(it, "status").to_owned(),
            )
        })
        .collect()
}

#[test]
fn thirty_ticks_without_a_model() {
    let project = planned_story();
    let outcomes = project.json(&["story", "tick", "--count", "30"]);
    let expected: Vec<(u64, String)> = (1..=30).map(|tick| (tick, "done".to_owned())).collect();
    assert_eq!(statuses(&outcomes), expected);
    assert_eq!(text(&outcomes[0], "planner"), "offline");
    let memory = project.json(&["story", "memory", "show"]);
    assert_eq!(
        memory["counts"],
        json!({ "characters": 2, "locations": 1, "relationships": 1, "scenes": 0, "loops": 2, "lore": 0, "facts": 0 })
    );
    let file: Value = serde_json::from_str(&project.read("plans/plan_030.json")).unwrap();
    assert_eq!(
        (file["tick"].clone(), file["execution"]["success"].clone()),
        (json!(30), json!(true))
    );
    assert!(!project.root().join("errors").exists());
    project.ok(&["check"]);
    // The same state gives the same plan.
    let again = planned_story();
    let outcomes_again = again.json(&["story", "tick", "--count", "30"]);
    let plans = |outcomes: &Value| {
        outcomes
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["plan"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(plans(&outcomes), plans(&outcomes_again));
}

#[test]
fn what_the_planner_is_told_can_be_seen_and_changed() {
    let project = planned_story();
    project.ok(&["story", "tick", "--count", "3"]);
    let prompt = project
        .ok(&["story", "tick", "--dry-run", "--show-prompt"])
        .stdout;
    for part in [
        "Tick: 4",
        "│ Name: Elena",
        "- **memory.search**:",
        "OL0 [HIGH]",
        "│ - act-1/chapter-01/scene-0101: Scene: The locked drawer",
    ] {
        assert!(prompt.contains(part), "{part}\n{prompt}");
    }
    project.write(
        ".throughline/templates/planner.md",
        "{novel_name} {unknown} {active_character_name}",
    );
    assert_eq!(
        project
            .ok(&["story", "tick", "--dry-run", "--show-prompt"])
            .stdout,
        "Untitled {unknown} Elena\n"
    );
    let rehearsed = project.json(&["story", "tick", "--dry-run"]);
    assert_eq!(rehearsed["tick"], 4);
    assert_eq!(
        statuses(&project.json(&["story", "tick"])),
        [(4, "done".to_owned())],
        "a rehearsal changes nothing"
    );
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
    let failed = project.run(&["story", "tick"]);
    assert_eq!(failed.code, 1, "{failed:?}");
    assert!(
        failed
            .stderr
            .contains("action 2 (`relationship.update`): C0 and C1 have no relationship"),
        "{failed:?}"
    );
    assert!(
        failed.stderr.contains("errors/error_001.json")
            && failed.stderr.contains("tl story tick --retry 1"),
        "{failed:?}"
    );
    let error: Value = serde_json::from_str(&project.read("errors/error_001.json")).unwrap();
    assert_eq!(error["error"]["action_index"], 2);
    assert_eq!(
        error["execution"]["actions_executed"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    assert!(
        project
            .read("errors/error_001.log")
            .contains("have no relationship")
    );
    let mut file: Value = serde_json::from_str(&project.read("plans/plan_001.json")).unwrap();
    file["plan"]["actions"][2] = json!({ "tool": "relationship.create", "args": { "character_a": "ivo", "character_b": "[c1]",
        "relationship_type": "colleagues", "perspective_a": "wary", "perspective_b": "amused" } });
    project.write("plans/plan_001.json", file.to_string());
    let outcome = project.json(&["story", "tick", "--retry", "1"]);
    assert_eq!(statuses(&outcome), [(1, "done".to_owned())]);
    assert_eq!(
        project.json(&["story", "memory", "show", "R0"])["entry"]["character_b"],
        "C1",
        "ids are put right"
    );
    assert_eq!(
        project.json(&["story", "memory", "show"])["counts"]["characters"],
        2,
        "nothing is run twice"
    );
    assert_refused(
        &project,
        &["story", "tick", "--retry", "1"],
        "refused",
        &["tick 1 is done"],
    );
    assert_refused(
        &project,
        &["story", "tick", "--skip", "1"],
        "refused",
        &["tick 1 is done"],
    );
    assert_refused(
        &project,
        &["story", "tick", "--retry", "9"],
        "not-found",
        &["there is no tick 9"],
    );
}

#[test]
fn a_plan_that_keeps_failing_is_put_aside_and_the_loop_goes_on() {
    let bad = plan(
        &json!([{ "tool": "loop.open", "args": { "description": "Who?" } },
                           { "tool": "node.show", "args": { "node": "act-9" } }]),
    );
    let good = plan(&json!([]));
    let dup = plan(&json!([{ "tool": "node.show", "args": { "node": "act-9" } }]));
    let project = with_answers(&[&bad, &dup, &dup, &good]);
    let run = project.run(&["--json", "story", "tick", "--count", "2"]);
    assert_eq!(run.code, 1);
    let outcomes: Value = serde_json::from_str(&run.stdout).unwrap();
    let expected = [(1, "failed"), (1, "failed"), (1, "parked"), (2, "done")]
        .map(|(tick, word)| (tick, word.to_owned()));
    assert_eq!(statuses(&outcomes), expected);
    let asked = asked(&project);
    assert!(
        asked.contains("The last plan for this tick failed")
            && asked.contains("the plan has no `act-9`"),
        "{asked}"
    );
    assert_eq!(
        statuses(&project.json(&["story", "tick"])),
        [(3, "done".to_owned())]
    );
}

#[test]
fn answers_that_are_no_plans_are_asked_for_again_and_then_told() {
    let wrong_tool = plan(&json!([{ "tool": "sword.forge", "args": {} }]));
    let good =
        plan(&json!([{ "tool": "memory.search", "args": { "query": "drawer", "limit": 3 } }]));
    let project = with_answers(&[&wrong_tool, &good]);
    assert_eq!(
        statuses(&project.json(&["story", "tick"])),
        [(1, "done".to_owned())]
    );
    let asked = asked(&project);
    assert!(
        asked.contains("sword.forge"),
        "the error goes back: {asked}"
    );

    let project = with_answers(&["I would rather not."]);
    let failed = project.run(&["story", "tick"]);
    assert_eq!(failed.code, 1);
    assert!(
        project.root().join("errors/error_001.json").exists(),
        "{failed:?}"
    );
    assert_eq!(
        statuses(&project.json(&["story", "tick", "--skip", "1"])),
        [(1, "skipped".to_owned())]
    );
}

/// Ticks are killed at every stage of their life, most of them between plan and action. In the end the story is the one
/// that nobody disturbed: no plan is lost, none is run twice, and the next process says where it resumes.
#[test]
fn killed_ticks_leave_the_story_that_nobody_disturbed() {
    const ROUNDS: usize = 24;
    let project = planned_story();
    let started = std::time::Instant::now();
    project.ok(&["story", "tick"]);
    let mut whole = started.elapsed();
    let (mut tick, mut killed, mut resumed) = (1, 0, 0);
    for round in 0..ROUNDS {
        let plan = project
            .root()
            .join(format!("plans/plan_{:03}.json", tick + 1));
        let mut child = project
            .command(&["story", "tick"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        if round % 2 == 0 {
            // The plan is kept; its actions are about to be run.
            while !plan.exists() && child.try_wait().unwrap().is_none() {
                std::thread::yield_now();
            }
        } else {
            let step = u32::try_from(round / 2 + 1).unwrap();
            std::thread::sleep(whole * step / 10);
        }
        let _ = child.kill();
        if child.wait().unwrap().success() {
            whole = whole * 9 / 10;
        } else {
            killed += 1;
        }
        let next = project.ok(&["story", "tick"]);
        if next.stderr.contains("resuming") {
            resumed += 1;
        }
        let done = next
            .stdout
            .lines()
            .next()
            .and_then(|line| line.split(' ').nth(1))
            .and_then(|word| word.parse().ok());
        let done: usize = done.unwrap_or_else(|| panic!("no tick in {next:?}"));
        assert!(
            done == tick + 1 || done == tick + 2,
            "tick {tick}, then {done}"
        );
        if next.stderr.contains("at action") {
            assert_eq!(
                done,
                tick + 1,
                "what is resumed is the tick that was killed: {next:?}"
            );
        }
        tick = done;
    }
    assert!(killed > ROUNDS / 4, "the kills came too late: {killed}");
    assert!(
        resumed > 0,
        "no kill fell between plan and action, of {killed}"
    );
    let calm = planned_story();
    calm.ok(&["story", "tick", "--count", &tick.to_string()]);
    assert_eq!(plans_on_disk(&project, tick), plans_on_disk(&calm, tick));
    let counts = |project: &Project| project.json(&["story", "memory", "show"])["counts"].clone();
    assert_eq!(counts(&project), counts(&calm));
    project.ok(&["state", "repair"]);
    project.ok(&["check"]);
}

#[test]
fn a_tick_that_is_killed_while_the_model_thinks_is_asked_again() {
    let good = plan(&json!([{ "tool": "loop.open", "args": { "description": "Who was it?" } }]));
    let project = with_answers(&[KILL, &good]);
    assert_eq!(project.run(&["story", "tick"]).code, -1, "it was killed");
    assert!(!project.root().join("plans").exists());
    let next = project.ok(&["story", "tick"]);
    assert!(
        next.stdout.starts_with("tick 1 done") && next.stderr.contains("for tick 1"),
        "{next:?}"
    );
    assert_eq!(
        project.json(&["story", "memory", "show"])["counts"]["loops"],
        1
    );
    project.ok(&["check"]);
}

/// The files of a tick are copies: what a process did not get to write before it died, the next one writes.
#[test]
fn files_that_are_behind_catch_up_and_edited_ones_stay() {
    let project = planned_story();
    project.ok(&["story", "tick"]);
    let file = project.read("plans/plan_001.json");
    // As it is between the commit and the last write.
    project.write(
        "plans/plan_001.json",
        file.replace("\"done\"", "\"planned\""),
    );
    project.write("memory/characters/.tl-17-0-C7.md", "half a fi");
    let next = project.ok(&["story", "tick"]);
    assert!(
        next.stderr
            .contains("resuming: tick 1 was done when a process ended"),
        "{next:?}"
    );
    assert!(!next.stderr.contains(".tl-17"), "{next:?}");
    assert_eq!(project.read("plans/plan_001.json"), file);
    let edited = file
        .replace("\"done\"", "\"planned\"")
        .replace("Made by rules", "Made by me");
    project.write("plans/plan_001.json", &edited);
    project.ok(&["story", "tick"]);
    assert_eq!(project.read("plans/plan_001.json"), edited);
}

#[test]
fn a_plan_may_write_drafts_and_never_approves() {
    let chapter = "acts/act-1/chapters/chapter-02/plan.md";
    let add = json!({ "level": "chapter", "id": "2", "under": "act-1", "text": "# Глава 2\n\n## Characters\n- Elena\n" });
    let edit =
        json!({ "node": "act-1/chapter-01", "section": "Goal", "text": "Elena finds the letter." });
    let blocked =
        json!({ "level": "scene", "id": "0101", "under": "act-1/chapter-02", "text": "# Scene" });
    let project = with_answers(&[
        &plan(&json!([{ "tool": "node.add", "args": add }])),
        &plan(
            &json!([{ "tool": "node.add", "args": add }, { "tool": "node.edit", "args": edit },
                      { "tool": "node.add", "args": blocked }]),
        ),
        &plan(
            &json!([{ "tool": "node.edit", "args": { "node": "act-1", "text": "# Another act altogether" } }]),
        ),
    ]);
    // The gates of an agent are the gates of the loop: nothing is planned below a draft.
    let failed = project.run(&["story", "tick"]);
    assert!(
        failed.code == 1 && failed.stderr.contains("parent `act-1` is `draft`"),
        "{failed:?}"
    );
    assert!(!project.root().join(chapter).exists());
    project.ok(&["approve", "act-1"]);
    let failed = project.run(&["story", "tick"]);
    assert!(
        failed
            .stderr
            .contains("action 2 (`node.add`): `act-1/chapter-02` is a draft"),
        "{failed:?}"
    );
    assert_eq!(
        project.read(chapter),
        "# Глава 2\n\n## Characters\n- Elena\n"
    );
    assert!(
        project
            .read(Project::CHAPTER)
            .ends_with("\n## Goal\n\nElena finds the letter.\n")
    );
    assert_eq!(
        (
            project.status("act-1/chapter-02"),
            project.status("chapter-01")
        ),
        ("draft".into(), "draft".into())
    );
    let failed = project.run(&["story", "tick"]);
    assert!(failed.stderr.contains("`act-1` is approved"), "{failed:?}");
    assert_eq!(project.read(Project::ACT), ACT);
    project.ok(&["check"]);
}
