//! The whole loop over twelve scenes and thirty ticks, through the four wire dialects, with a model whose answers are
//! computed from what it is asked, and with everything that goes wrong on the way.

use std::collections::BTreeSet;
use std::sync::Mutex;

use serde_json::{Value, json};
use testkit::Project;

use crate::model_server::ModelServer;
use crate::{story, text};

/// Everything the model was asked.
static PROMPTS: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// The scene before which the server is down.
const OUTAGE: usize = 9;
/// The scene whose prompt has little room.
const SMALL_CONTEXT: usize = 11;
/// Faults that have been had.
static HAD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

const WORDS: [[&str; 6]; 4] = [
    [
        "narrow", "silent", "flooded", "burning", "crooked", "frozen",
    ],
    ["stairs", "harbour", "tower", "orchard", "market", "chapel"],
    [
        "waited", "listened", "argued", "hurried", "lingered", "stumbled",
    ],
    [
        "lantern", "ledger", "mirror", "compass", "envelope", "violin",
    ],
];

/// Returns what follows a mark in a prompt, up to the end of the line.
fn after<'p>(prompt: &'p str, mark: &str) -> &'p str {
    prompt.split_once(mark).map_or("", |(_, rest)| {
        rest.lines().next().unwrap_or_default().trim()
    })
}

/// Whether something happens for the first time.
fn is_first(what: &str) -> bool {
    HAD.lock().expect("a value").insert(what.to_owned())
}

fn answer(prompt: &str) -> String {
    PROMPTS.lock().expect("a value").push(prompt.to_owned());
    // The fault that the blueprint asks for; it is no part of the story.
    let fault = after(prompt, "Fault: ");
    let scene = after(prompt, "Number: ").to_owned();
    if prompt.contains("You plan the next step") {
        return plan(prompt);
    }
    if prompt.contains("Check this scene") {
        return judge(prompt);
    }
    match fault {
        "key" if is_first(&format!("key {scene}")) => {
            r#"!401 {"error":{"message":"zebra","code":"invalid_api_key"}}"#.to_owned()
        }
        "throttle" if is_first(&format!("throttle {scene}")) => {
            r#"!429 {"error":{"message":"slow down"}}"#.to_owned()
        }
        "refusal" => "I'm sorry, but I can't help with writing this scene.".to_owned(),
        "degenerate" => "The rain fell on the town. ".repeat(60),
        "contradiction" => format!("{} Elena's eyes were blue in that light.", prose(&scene, 0)),
        _ => {
            // Written again, it is another text.
            let again = usize::from(
                prompt.contains("Write the next scene") && !is_first(&format!("wrote {scene}")),
            );
            prose(&scene, again)
        }
    }
}

/// A model without faults: what it says depends on what it is asked.
pub(crate) fn sound_answer(prompt: &str) -> String {
    if prompt.contains("You plan the next step") {
        return plan(prompt);
    }
    if prompt.contains("Check this scene") {
        return judge(prompt);
    }
    prose(after(prompt, "Number: "), 0)
}

fn prose(scene: &str, again: usize) -> String {
    let number: usize = scene.parse().unwrap_or(0);
    let word = |list: usize, at: usize| WORDS[list][(number * 5 + at + again * 3) % 6];
    let eyes = if number == 1 && again == 0 {
        "Elena had green eyes. "
    } else if number == 1 {
        "Elena had grey eyes. "
    } else {
        ""
    };
    format!(
        "{eyes}Elena Vasquez {} by the {} {} until dusk number {number}. “You kept the {},” said Marcus Thorne. She {} \
         past the {} without a word, and Marcus {} after her with the {}. Behind door {number} the {} was gone.",
        word(2, 0),
        word(0, 1),
        word(1, 2),
        word(3, 3),
        word(2, 4),
        word(1, 5),
        word(2, 1),
        word(3, 2),
        word(3, 4)
    )
}

fn plan(prompt: &str) -> String {
    let tick: u64 = after(prompt, "\nTick: ").parse().unwrap_or(0);
    let next = after(prompt, "### The blueprint of the next scene\n")
        .trim_end_matches(':')
        .to_owned();
    let is_second_turn = prompt.contains("Your queries found:");
    let mut actions = Vec::new();
    if !prompt.contains("Elena Vasquez") {
        for name in ["Elena Vasquez", "Marcus Thorne"] {
            actions.push(json!({ "tool": "character.generate", "args": { "name": name, "role": "lead", "description": "Looks for a map." } }));
        }
        actions.push(json!({ "tool": "relationship.create", "args": { "character_a": "$0.id", "character_b": "$1.id",
            "relationship_type": "rivals", "perspective_a": "needs him", "perspective_b": "doubts her" } }));
    } else {
        match tick % 4 {
            0 => actions.push(json!({ "tool": "relationship.update", "args": { "character_a": "C0", "character_b": "C1",
                "event": format!("a quarrel over step {tick}"), "status": "strained" } })),
            1 if !is_second_turn => {
                actions.push(json!({ "tool": "node.show", "args": { "node": next } }));
                actions.push(json!({ "tool": "memory.search", "args": { "query": "Elena", "limit": 3 } }));
            }
            2 => actions.push(json!({ "tool": "location.generate", "args": { "name": format!("Hall {tick}"), "description": "Cold." } })),
            _ => {
                actions.push(json!({ "tool": "loop.open", "args": { "description": format!("Who holds key {tick}, and why does it matter?") } }));
                // A person whom no blueprint names.
                let guest = json!({ "name": format!("Guest{tick}"), "role": "guest", "description": "Came by boat." });
                actions.push(json!({ "tool": "character.generate", "args": guest }));
                actions.push(json!({ "tool": "relationship.create", "args": { "character_a": "C0", "character_b": "$1.id",
                    "relationship_type": "debtor", "perspective_a": format!("owes a boat to guest {tick}"), "perspective_b": "waits" } }));
            }
        }
    }
    json!({ "rationale": format!("Step {tick} follows from what is open"),
            "scene_intention": format!("Elena and Marcus take step {tick}"), "pov_character": if tick > 1 { json!("C0") } else { Value::Null },
            "actions": actions, "expected_outcomes": [format!("outcome of step {tick}")] })
    .to_string()
}

fn judge(prompt: &str) -> String {
    let scene = prompt
        .split_once("## The scene\n")
        .map_or("", |(_, rest)| rest);
    let scene = scene.replace("│ ", "").replace('\n', " ");
    let number = scene
        .split_once("Behind door ")
        .and_then(|(_, rest)| rest.split(' ').next())
        .unwrap_or_default()
        .to_owned();
    let mut facts = vec![
        json!({ "subject": "Elena Vasquez", "predicate": format!("has opened door {number}"), "object": "and it was empty",
        "quote": format!("Behind door {number}") }),
    ];
    for colour in ["green", "grey"] {
        let quote = format!("Elena had {colour} eyes");
        if scene.contains(&quote) {
            facts.push(json!({ "subject": "Elena Vasquez", "predicate": "eyes", "object": colour, "quote": quote }));
        }
    }
    // A judge that compares the scene with the facts it is shown.
    let facts_shown = prompt.split_once("## Facts\n");
    let facts_shown = facts_shown.and_then(|(_, rest)| rest.split("\n## ").next());
    let facts_shown = facts_shown.unwrap_or_default();
    let mut findings = Vec::new();
    for (one, other) in [("green", "grey"), ("grey", "green")] {
        let quote = format!("Elena had {other} eyes");
        if facts_shown.contains(&format!("eyes {one}")) && scene.contains(&quote) {
            findings.push(json!({ "check": "continuity", "severity": "must", "problem": "other eyes", "quote": quote,
                "against": format!("Elena Vasquez eyes {one}") }));
        }
    }
    // Like a model with a schema, it can name only those whom the prompt lists.
    let characters: Vec<&str> = ["C0", "C1"]
        .into_iter()
        .filter(|id| prompt.contains(id))
        .collect();
    json!({ "findings": findings, "summary": [format!("Door {number} is opened")], "characters": characters, "facts": facts,
            "new_loops": [{ "description": format!("Who emptied room {number}?"), "importance": "high", "quote": format!("Behind door {number}") }] })
    .to_string()
}

fn alias(number: usize) -> String {
    format!(
        "scene-{:02}{:02}",
        (number - 1) / 4 + 1,
        (number - 1) % 4 + 1
    )
}

fn path(number: usize) -> String {
    format!(
        "act-1/chapter-{:02}/{}",
        (number - 1) / 4 + 1,
        alias(number)
    )
}

fn blueprint(number: usize, fault: &str) -> String {
    format!(
        "# Scene {number}: door {number}\n\nPOV: Elena\n\n## Characters\n- Elena\n- Marcus\n\n## Beats\nThey open door {number}.\n\nNumber: {number}\nFault: {fault}\n"
    )
}

fn write_blueprint(project: &Project, number: usize, fault: &str) {
    let file = format!(
        "acts/act-1/chapters/chapter-{:02}/scenes/{}-blueprint.md",
        (number - 1) / 4 + 1,
        alias(number)
    );
    project.write(&file, blueprint(number, fault));
}

fn configure(project: &Project, more: &str) {
    let text = format!(
        "[policy.generation]\nscene_words = 60\nrevisions = 1\napprove_drafts = true\n{more}"
    );
    project.write(".throughline/config.toml", text);
}

/// Twelve scenes in three chapters. The policy lets the run approve them.
pub(crate) fn twelve_scenes() -> Project {
    let project = story();
    configure(&project, "");
    let cast = "## Characters\n- Elena\n- Marcus\n";
    project.write(Project::ACT, format!("# Act 1\n\n{cast}"));
    for chapter in 1..=3 {
        let file = Project::CHAPTER.replace("chapter-01", &format!("chapter-{chapter:02}"));
        project.write(&file, format!("# Chapter {chapter}\n\n{cast}"));
    }
    for number in 1..=12 {
        let fault = match number {
            3 => "refusal",
            4 => "degenerate",
            5 => "contradiction",
            6 => "key",
            7 => "throttle",
            _ => "none",
        };
        write_blueprint(&project, number, fault);
    }
    project
}

/// The four dialects in turn.
pub(crate) fn with_dialect(project: Project, number: usize, url: &str) -> Project {
    let provider = ["openai-compatible", "anthropic", "openai", "gemini"][number % 4];
    project
        .with_environment("THROUGHLINE_LLM_PROVIDER", provider)
        .with_environment("THROUGHLINE_LLM_MODEL", "scripted")
        .with_environment("THROUGHLINE_LLM_API_KEY", "key-of-the-test-0123456789")
        .with_environment("THROUGHLINE_LLM_BASE_URL", url)
}

fn entries(project: &Project, kind: &str) -> Vec<Value> {
    let shown = project.json(&["story", "memory", "show", kind]);
    let all = shown["entries"].as_array().expect("a value");
    all.iter().map(|it| it["entry"].clone()).collect()
}

/// Returns the people, ties and places of the memory.
fn who_and_where(project: &Project) -> BTreeSet<String> {
    let names = |kind: &str, field: &str| -> Vec<String> {
        let all = entries(project, kind);
        all.iter().map(|it| text(it, field).to_owned()).collect()
    };
    let all = [
        names("characters", "name"),
        names("relationships", "perspective_a"),
        names("locations", "name"),
    ];
    all.into_iter().flatten().collect()
}

/// Returns what has to be in the writer's prompt: the open loops, the canon, what there is between Elena and Marcus,
/// and whatever the ticks of the scene made.
fn what_the_ticks_left(project: &Project, before: &BTreeSet<String>) -> Vec<String> {
    let made = who_and_where(project);
    let mut expected: Vec<String> = made.difference(before).cloned().collect();
    for it in entries(project, "loops") {
        if matches!(text(&it, "status"), "open" | "advanced") {
            expected.push(text(&it, "text").to_owned());
        }
    }
    for it in entries(project, "facts") {
        if text(&it, "truth") == "canon" {
            expected.push(format!(
                "{} {}",
                text(&it, "predicate"),
                text(&it, "object")
            ));
        }
    }
    for it in entries(project, "relationships") {
        if text(&it, "character_b") == "C1" {
            expected.push(text(&it, "perspective_a").to_owned());
            let last = it["history"].as_array().and_then(|all| all.last().cloned());
            expected.extend(last.map(|event| text(&event, "event").to_owned()));
        }
    }
    expected
}

/// Returns what the ticks of a scene made, as it is named where it does not fit into the prompt: people, places and
/// questions by their first words.
fn what_the_ticks_made(project: &Project, before: &BTreeSet<String>) -> Vec<String> {
    let mut open = entries(project, "loops").into_iter().filter(|it| {
        matches!(text(it, "status"), "open" | "advanced")
            && text(it, "text").starts_with("Who holds key")
    });
    let names = ["characters", "locations"].map(|kind| entries(project, kind));
    let names = names.iter().flatten().map(|it| text(it, "name").to_owned());
    let made = names.filter(|name| !before.contains(name));
    made.chain(open.next_back().map(|it| text(&it, "text").to_owned()))
        .collect()
}

/// Returns the last prompt for writing a scene.
fn writer_prompt(number: usize) -> String {
    let prompts = PROMPTS.lock().expect("a value");
    let mark = format!("Number: {number}\n");
    let is_it =
        |prompt: &&String| prompt.contains("Write the next scene") && prompt.contains(&mark);
    prompts
        .iter()
        .rev()
        .find(is_it)
        .cloned()
        .unwrap_or_default()
}

#[test]
fn twelve_scenes_and_thirty_ticks_through_four_dialects() {
    let server = ModelServer::start(answer);
    let mut project = twelve_scenes();
    let mut ticks = 0;
    for number in 1..=12 {
        if number == OUTAGE {
            // The server is down: the run stops at once, and changes nothing.
            project = with_dialect(project, number, "http://127.0.0.1:9/v1");
            let ticks = project.json(&["story", "stats"])["ticks"].clone();
            assert_stopped(
                &project.run(&["story", "run", "--scenes", "1"]),
                "cannot be reached",
            );
            assert_eq!(project.json(&["story", "stats"])["ticks"], ticks);
        }
        project = with_dialect(project, number, &server.url);
        // The first scene is planned by the run itself; the others by ticks of their own.
        let count = match number {
            1 => 0,
            _ if number % 2 == 0 || number == 3 => 3,
            _ => 2,
        };
        let before = who_and_where(&project);
        if count > 0 {
            project.ok(&["story", "tick", "--count", &count.to_string()]);
        }
        ticks += count.max(1);
        let expected = match number == SMALL_CONTEXT {
            true => what_the_ticks_made(&project, &before),
            false => what_the_ticks_left(&project, &before),
        };
        if number >= SMALL_CONTEXT {
            let tokens = if number == SMALL_CONTEXT { 600 } else { 12_000 };
            configure(&project, &format!("context_tokens = {tokens}\n"));
        }
        let calls = PROMPTS.lock().expect("a value").len();
        let mut run = project.run(&["story", "run", "--scenes", "1"]);
        if number == SMALL_CONTEXT {
            // Too small for a judge that knows the scene's plan: the run stops, and goes on with the least limit.
            assert_stopped(&run, "600 tokens of context are too few for the step judge");
            let (_, least) = run
                .stderr
                .rsplit_once("context_tokens ")
                .expect("a command");
            let least = least.lines().next().unwrap_or_default();
            configure(&project, &format!("context_tokens = {least}\n"));
            run = project.run(&["story", "run", "--scenes", "1"]);
        }
        let prompt = writer_prompt(number);
        for part in &expected {
            assert!(
                prompt.contains(part.as_str()),
                "`{part}` of the ticks is not in the prompt of scene {number}:\n{prompt}"
            );
        }
        if number == SMALL_CONTEXT {
            assert!(prompt.contains("are not shown"), "{prompt}");
        }
        if number > 1 {
            if number != SMALL_CONTEXT {
                assert!(prompt.contains("outcome of step"), "{prompt}");
            }
            let asked = PROMPTS.lock().expect("a value");
            let planned = asked[calls..]
                .iter()
                .filter(|it| it.contains("You plan the next step"));
            assert_eq!(planned.count(), 0, "scene {number} was planned already");
        }
        finish_fault(&project, number, &run);
    }
    // Twelve scenes, thirty ticks, four dialects.
    let stats = project.json(&["story", "stats"]);
    let state = project.json(&["story", "tick", "--dry-run", "--show-prompt"]);
    assert_eq!((ticks, state["tick"].as_u64()), (30, Some(31)), "{stats}");
    let ended = project.run(&["story", "run"]);
    assert!(
        ended.code == 0 && ended.stdout.contains("everything in the plan is written"),
        "{ended:?}"
    );
    let book = project.ok(&["story", "compile"]).stdout;
    assert!(
        !book.contains("I'm sorry") && !book.contains("The rain fell"),
        "{book}"
    );
    assert_eq!(book.matches("Behind door ").count(), 12, "{book}");
    // The planner got the results of its queries, within the tick.
    let asked = PROMPTS.lock().expect("a value").clone();
    let told = asked.iter().find(|it| it.contains("Your queries found:"));
    assert!(
        told.is_some_and(|it| it.contains("node.show")),
        "no second turn"
    );
    // Errors of the provider are no attempts, and reach no prompt.
    assert!(!project.root().join("errors").exists());
    for words in ["zebra", "slow down", "cannot be reached"] {
        let told = asked.iter().find(|it| it.contains(words));
        assert!(told.is_none(), "`{words}`: {told:?}");
    }
    rewrite_and_edit(&project);
    project.ok(&["check"]);
}

/// Asserts that a run ended at once because of the provider, and says how it goes on.
fn assert_stopped(run: &testkit::Output, why: &str) {
    assert!(
        run.code == 1 && run.stderr.contains(why) && run.stderr.contains("tl story run"),
        "{run:?}"
    );
    assert!(!run.stdout.contains("parked"), "{run:?}");
}

/// Checks how the fault of a scene ended, and takes it out of the blueprint.
fn finish_fault(project: &Project, number: usize, run: &testkit::Output) {
    let is_held = matches!(number, 3..=5);
    if number == 6 {
        assert_stopped(run, "zebra");
    } else if number == 7 {
        assert!(run.code == 0 && run.stderr.contains("try 2 of"), "{run:?}");
    } else if is_held {
        assert_eq!(run.code, 1, "{run:?}");
        let stopped = format!("stopped: `{}` is held", path(number));
        assert!(run.stdout.contains(&stopped), "{run:?}");
        let status = project.json(&["story", "generation", "status", &alias(number)]);
        let check = ["refusal", "degenerate", "continuity"][number - 3];
        assert_eq!(text(&status["findings"][0], "check"), check, "{status}");
        assert_eq!(text(&status["findings"][0], "severity"), "must");
        // Nothing of it is in the book or the memory.
        let file = format!(
            "acts/act-1/chapters/chapter-{:02}/content/{}.md",
            (number - 1) / 4 + 1,
            alias(number)
        );
        assert!(!project.root().join(file).exists());
        let scenes = entries(project, "scenes");
        assert_eq!(scenes.len(), number - 1, "{scenes:?}");
        write_blueprint(project, number, "none");
        project.ok(&["approve", &alias(number)]);
    } else {
        assert_eq!(run.code, 0, "{run:?}");
    }
    if is_held || number == 6 {
        // The same command goes on, and does not plan once more.
        let calls = PROMPTS.lock().expect("a value").len();
        let again = project.ok(&["story", "run", "--scenes", "1"]);
        assert!(again.stdout.contains("complete"), "{again:?}");
        let asked = PROMPTS.lock().expect("a value");
        let planned = asked[calls..]
            .iter()
            .filter(|it| it.contains("You plan the next step"));
        assert_eq!(planned.count(), 0, "{again:?}");
    }
}

/// Writes a scene again and edits texts by hand: the memory is that of the last texts.
fn rewrite_and_edit(project: &Project) {
    let eyes = |project: &Project| -> Vec<String> {
        let facts = entries(project, "facts");
        let eyes = facts.iter().filter(|it| text(it, "predicate") == "eyes");
        eyes.map(|it| format!("{} {}", text(it, "object"), text(it, "truth")))
            .collect()
    };
    assert_eq!(eyes(project), ["green canon"]);
    project.ok(&["story", "write", "scene-0101"]);
    assert_eq!(
        eyes(project),
        ["grey canon"],
        "the discarded text is no canon"
    );
    for edit in 0..30 {
        let number = [1, 2, 7, 12, 5, 9][edit % 6];
        let file = format!(
            "acts/act-1/chapters/chapter-{:02}/content/{}.md",
            (number - 1) / 4 + 1,
            alias(number)
        );
        // There and back: with every other round, the words of the judge's quotations are gone.
        let (from, to) = match edit / 6 % 2 {
            0 => (["grey", "Behind door"], ["brown", "Beyond door"]),
            _ => (["brown", "Beyond door"], ["grey", "Behind door"]),
        };
        let edited = project.read(&file).replace(from[0], to[0]);
        project.write(&file, edited.replace(from[1], to[1]));
        // Whatever was quoted from words that are gone, is gone; what is back, is known again.
        let quoted = format!("Who emptied room {number}?");
        let loops = entries(project, "loops");
        let is_known = loops.iter().any(|it| text(it, "text") == quoted);
        assert_eq!(
            is_known,
            from[1].starts_with("Beyond"),
            "edit {edit}: {loops:?}"
        );
    }
    assert_eq!(eyes(project), ["brown canon"]);
    let before = project.json(&["story", "memory", "show"]);
    project.ok(&["story", "memory", "reread", "--all", "--rules"]);
    assert_eq!(project.json(&["story", "memory", "show"]), before);
}

#[test]
fn an_outage_stops_the_run_and_the_next_run_goes_on() {
    let project = twelve_scenes();
    let down = with_dialect(project, 0, "http://127.0.0.1:9/v1");
    let stopped = down.run(&["story", "run"]);
    assert!(
        stopped.code == 1 && stopped.stderr.contains("the story is as it was"),
        "{stopped:?}"
    );
    assert!(stopped.stderr.contains("tl story run"), "{stopped:?}");
    assert!(
        !down.root().join("errors").exists(),
        "an attempt was counted"
    );
}

#[test]
fn without_the_policy_the_run_waits_for_a_person() {
    let project = twelve_scenes();
    project.write(
        ".throughline/config.toml",
        "[policy.generation]\nscene_words = 60\n",
    );
    let waits = project.run(&["story", "run"]);
    assert_eq!(waits.code, 3, "{waits:?}");
    assert!(
        waits.stdout.contains("is `draft`, not approved") && waits.stdout.contains("tl approve")
            || waits.stderr.contains("tl approve"),
        "{waits:?}"
    );
}

#[test]
fn the_offline_loop_covers_every_blueprint_closes_its_loops_and_ends() {
    let project = twelve_scenes();
    let run = project.json(&["story", "run"]);
    assert_eq!(
        text(&run, "stopped"),
        "everything in the plan is written",
        "{run}"
    );
    assert_eq!(run["scenes"].as_array().map(Vec::len), Some(12));
    // Ticks go on until every question of the plan is closed, and then there is nothing to plan.
    let ended = project.ok(&["story", "tick", "--count", "40"]);
    assert!(ended.stderr.contains("the book is written"), "{ended:?}");
    let loops = entries(&project, "loops");
    let asked: BTreeSet<&str> = loops.iter().map(|it| text(it, "text")).collect();
    assert_eq!(asked.len(), 12, "one for each blueprint: {asked:?}");
    for it in &loops {
        assert_eq!(text(it, "status"), "resolved", "{it}");
    }
    project.ok(&["check"]);
}
