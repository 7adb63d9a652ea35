//! Errors of a model provider: they stop the story loop, cost no attempt and reach no prompt.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::model_server::ModelServer;
use crate::recorded::told;
use crate::tick::planned_story;
use crate::write::approved;
use crate::{text, with_model};
use serde_json::{Value, json};
use testkit::Project;

const PLAN: &str = r#"{"rationale": "The drawer is next", "scene_intention": "Elena opens the drawer", "actions": [],
 "expected_outcomes": ["the drawer is open"]}"#;

fn prompt_of_next_tick(project: &Project) -> String {
    project
        .ok(&["story", "tick", "--dry-run", "--show-prompt"])
        .stdout
}

fn assert_untouched(project: &Project, said: &str) {
    assert!(
        !project.root().join("plans").exists(),
        "a plan was recorded"
    );
    assert!(
        !project.root().join("errors").exists(),
        "an attempt was counted"
    );
    let prompt = prompt_of_next_tick(project);
    assert!(
        prompt.contains("Tick: 1") && !prompt.contains(said),
        "{prompt}"
    );
}

/// Defect: eight ticks with a wrong key were 24 calls and eight parked ticks.
#[test]
fn a_wrong_key_an_unpaid_bill_and_a_quota_stop_at_the_first_call() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    fn refuse(_: &str) -> String {
        let call = CALLS.fetch_add(1, Ordering::SeqCst);
        [
            r#"!401 {"error":{"message":"Incorrect API key provided: zebra","code":"invalid_api_key"}}"#,
            r#"!402 {"error":{"message":"zebra: payment required"}}"#,
            r#"!429 {"error":{"message":"zebra: You exceeded your current quota","code":"insufficient_quota"}}"#,
        ][call.min(2)]
        .to_owned()
    }
    let server = ModelServer::start(refuse);
    let project = told(planned_story(), &server.url);
    for calls in 1..=3 {
        let run = project.run(&["story", "tick", "--count", "8"]);
        assert_eq!(
            (run.code, CALLS.load(Ordering::SeqCst)),
            (1, calls),
            "{run:?}"
        );
        assert!(
            run.stderr.contains("zebra") && run.stderr.contains("the story is as it was"),
            "{run:?}"
        );
    }
    assert_untouched(&project, "zebra");
}

#[test]
fn a_scene_goes_on_at_its_step_after_the_provider_is_back() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    fn writer(prompt: &str) -> String {
        if CALLS.fetch_add(1, Ordering::SeqCst) == 1 {
            return r#"!401 {"error":{"message":"zebra"}}"#.to_owned();
        }
        if prompt.contains("Check this scene") {
            return json!({ "findings": [], "summary": ["It is empty"] }).to_string();
        }
        "Elena pulled at the drawer until it gave. There was only dust, and no map.".to_owned()
    }
    let server = ModelServer::start(writer);
    let project = told(approved(), &server.url);
    let stopped = project.run(&["story", "write", "--next"]);
    assert!(
        stopped.code == 1 && stopped.stderr.contains("can be resumed"),
        "{stopped:?}"
    );
    let status = project.json(&["story", "generation", "status", "scene-0101"]);
    assert_eq!(
        (
            text(&status, "status"),
            text(&status, "step"),
            status["failures"].clone()
        ),
        ("running", "judge", json!(0))
    );
    // `--next` goes on with it as well.
    assert_eq!(
        text(&project.json(&["story", "write", "--next"]), "status"),
        "complete"
    );
    assert_eq!(CALLS.load(Ordering::SeqCst), 3);
}

#[test]
fn a_rate_limit_is_waited_out_and_a_long_context_is_shrunk_once() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    static LENGTHS: std::sync::Mutex<Vec<usize>> = std::sync::Mutex::new(Vec::new());
    fn planner(prompt: &str) -> String {
        LENGTHS.lock().unwrap().push(prompt.len());
        match CALLS.fetch_add(1, Ordering::SeqCst) {
            0 => r#"!429 {"error":{"message":"slow down"}}"#.to_owned(),
            1 => r#"!400 {"error":{"message":"too long","code":"context_length_exceeded"}}"#
                .to_owned(),
            _ => PLAN.to_owned(),
        }
    }
    let server = ModelServer::start(planner);
    let project = planned_story();
    for name in 0..12 {
        let name = format!("name=Extra {name} of {}", "the large cast, ".repeat(60));
        project.ok(&[
            "story",
            "memory",
            "edit",
            "--new",
            "character",
            &name,
            "role=extra",
        ]);
    }
    let project = told(project, &server.url);
    let done = project.ok(&["story", "tick"]);
    assert!(
        done.stdout.starts_with("tick 1 done") && done.stderr.contains("context_tokens"),
        "{done:?}"
    );
    let lengths = LENGTHS.lock().unwrap().clone();
    assert_eq!(lengths.len(), 3);
    assert!(
        lengths[2] < lengths[1] && lengths[0] == lengths[1],
        "{lengths:?}"
    );
}

/// Defect: `tl story tick --retry 1` said that the rationale of the missing plan is empty.
#[test]
fn a_tick_without_a_plan_is_planned_again_by_retry() {
    let silent = "I would rather not.";
    let project = with_model(
        planned_story(),
        &[
            silent, silent, silent, silent, silent, silent, silent, silent, silent, PLAN, PLAN,
        ],
    );
    for status in ["failed", "failed", "parked"] {
        let run = project.run(&["story", "tick"]);
        assert!(run.stdout.contains(status), "{run:?}");
    }
    project.ok(&["story", "tick"]);
    let retried = project.ok(&["story", "tick", "--retry", "1"]);
    assert!(retried.stdout.starts_with("tick 1 done"), "{retried:?}");
    let file: Value = serde_json::from_str(&project.read("plans/plan_001.json")).unwrap();
    assert_eq!(file["plan"]["scene_intention"], "Elena opens the drawer");
    assert!(prompt_of_next_tick(&project).contains("Tick: 3"));
}

#[test]
fn a_budget_is_checked_before_the_call() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    fn planner(_: &str) -> String {
        CALLS.fetch_add(1, Ordering::SeqCst);
        PLAN.to_owned()
    }
    let server = ModelServer::start(planner);
    let project = told(planned_story(), &server.url);
    project.write(
        ".throughline/config.toml",
        "[models.budget]\nrun_tokens = 1000\n",
    );
    let run = project.run(&["story", "tick", "--count", "3"]);
    assert_eq!((run.code, CALLS.load(Ordering::SeqCst)), (1, 0), "{run:?}");
    assert!(run.stderr.contains("left for this run"), "{run:?}");
    assert_untouched(&project, "tokens");
    // What earlier commands spent counts for the day.
    project.write(
        ".throughline/config.toml",
        "[models.budget]\nday_tokens = 9000\n",
    );
    let run = project.run(&["story", "tick", "--count", "5"]);
    assert!(
        run.code == 1 && run.stderr.contains("left for this day"),
        "{run:?}"
    );
    let calls = CALLS.load(Ordering::SeqCst);
    assert!(calls > 0, "{run:?}");
    assert_eq!(project.run(&["story", "tick"]).code, 1);
    assert_eq!(CALLS.load(Ordering::SeqCst), calls);
}
