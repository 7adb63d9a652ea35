//! The loop beside the model: one tick on a long story, and a search over a large memory.

use application::Context;
use application::approve::{ApproveRequest, approve_node};
use application::generation::advance::{NextGenerationStep, StepAnswer, next_step, submit_step};
use application::generation::start_generation::{GenerationRequest, start_generation};
use application::memory::reread_prose::reread_by_rules;
use application::memory::search_memory::{SearchMemoryRequest, search_stored};
use application::tick::begin_tick::{NextTick, begin_tick};
use application::tick::submit_plan::{PlanAnswer, submit_plan};
use divan::Bencher;
use domain::approval::Force;
use domain::fact::Fact;
use domain::generation::GenerationStep;
use domain::ids::Principal;
use domain::memory::{Entry, EntryKind, StoryMemory};
use domain::operation::{Channel, Verb};
use domain::policy::Policy;
use domain::ports::{Clock, NewOperation, PlanFiles, Store};
use domain::profile::built_in_profile;
use domain::record::RecordKey;
use domain::settings::{Settings, Storage};
use domain::tick::TickStatus;
use serde_json::{Value, json};
use store::{DiskFiles, EngineSettings, KnownStores, Layout, NewVector, SystemClock, VectorFile};
use tempfile::TempDir;

fn main() {
    divan::main();
}

/// 1,000 scenes (as plans on disk and in the memory), 200 characters, 500 open loops; SQLite, journal synced. A tick is
/// looking, building the prompt, checking the plan, keeping it, running it and writing the files.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn tick_on_a_long_story(bencher: Bencher<'_, '_>) {
    let directory = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary directory");
    let store = open(&directory);
    let files = DiskFiles::open(directory.path()).expect("the directory can be opened");
    let mut scenes = Vec::new();
    for act in 1..=10 {
        files
            .replace_file(
                &format!("acts/act-{act}/strategic-plan.md"),
                "# Act\n\n## Characters\n- Person 1\n",
            )
            .expect("written");
        for chapter in 1..=10 {
            let folder = format!("acts/act-{act}/chapters/chapter-{chapter:02}");
            files
                .replace_file(&format!("{folder}/plan.md"), "# Chapter\n")
                .expect("written");
            for scene in 1..=10 {
                let alias = format!("scene-{chapter:02}{scene:02}");
                files
                    .replace_file(
                        &format!("{folder}/scenes/{alias}-blueprint.md"),
                        &format!("# Scene {act} {alias}\n"),
                    )
                    .expect("written");
                scenes.push(format!("act-{act}/chapter-{chapter:02}/{alias}"));
            }
        }
    }
    let remembered = scenes.iter().enumerate().map(|(index, node)| {
        let summary = format!("Person {} finds out something about the map, and loses it again", index % 200);
        (
            EntryKind::Scene,
            index + 1,
            json!({ "title": node, "node": node, "tick": index, "summary": [summary, "And more."] }),
        )
    });
    let people = (0..200).map(|index| {
        (
            EntryKind::Character,
            index,
            json!({ "name": format!("Person {index}"), "role": "someone" }),
        )
    });
    let loops = (0..500).map(|index| {
        (
            EntryKind::Loop,
            index,
            json!({ "text": format!("What became of matter {index}?") }),
        )
    });
    plant(&*store, remembered.chain(people).chain(loops));
    let (profiles, policy, clock) = (
        [built_in_profile("story").expect("built in")],
        Policy::default(),
        SystemClock,
    );
    let actor = Principal::Human("bench".to_owned());
    let ctx = Context::new(
        &*store,
        &files,
        &clock,
        &profiles,
        &policy,
        actor,
        Channel::Cli,
    );
    let tick = || {
        let NextTick::Ask(ask) = begin_tick(&ctx).expect("it begins") else {
            panic!("nothing was interrupted")
        };
        // What a model would say; it is no part of what is measured.
        let plan = json!({ "rationale": RATIONALE, "scene_intention": INTENTION, "actions": [
            { "tool": "memory.search", "args": { "query": "map" } },
            { "tool": "loop.open", "args": { "description": format!("What became of {}?", ask.nonce) } },
        ] });
        let answer = PlanAnswer {
            nonce: ask.nonce,
            plan,
            planner: "bench".to_owned(),
            ..PlanAnswer::default()
        };
        submit_plan(&ctx, &answer).expect("it is run").status
    };
    assert_eq!(tick(), TickStatus::Done, "the first one writes every file");
    bencher.bench_local(tick);
}

/// 400 scenes of 2,500 words (a million words), read by rules into an empty memory.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn reread_a_million_words_by_rules(bencher: Bencher<'_, '_>) {
    let directory = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary directory");
    let (store, files) = plant_book(&directory, 2_500);
    with_context(&*store, &files, |ctx| {
        bencher.bench_local(|| reread_by_rules(ctx, &[]).expect("it is read").read.len());
    });
}

/// The loop on a written book: 400 scenes of prose and about 2,000 entries in the memory.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn tick_on_a_written_book(bencher: Bencher<'_, '_>) {
    let directory = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary directory");
    let (store, files) = plant_book(&directory, 200);
    plant(&*store, two_thousand());
    with_context(&*store, &files, |ctx| {
        reread_by_rules(ctx, &[]).expect("it is read");
        run_tick_with_search(ctx);
        bencher.bench_local(|| run_tick_with_search(ctx));
    });
}

/// Building the planner's context on the same book.
#[divan::bench(sample_count = 50, sample_size = 1)]
fn context_of_a_written_book(bencher: Bencher<'_, '_>) {
    let directory = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary directory");
    let (store, files) = plant_book(&directory, 200);
    plant(&*store, two_thousand());
    with_context(&*store, &files, |ctx| {
        reread_by_rules(ctx, &[]).expect("it is read");
        run_tick_with_search(ctx);
        bencher.bench_local(|| begin_tick(ctx).is_ok());
    });
}

/// Building the writer's prompt on the same book, for its last scene.
#[divan::bench(sample_count = 50, sample_size = 1)]
fn writers_context_of_a_written_book(bencher: Bencher<'_, '_>) {
    with_begun_scene(|ctx, scene| {
        bencher.bench_local(|| is_asked_for(ctx, scene, GenerationStep::Write));
    });
}

/// Building the judge's prompt on the same book, for a draft of its last scene.
#[divan::bench(sample_count = 50, sample_size = 1)]
fn judges_context_of_a_written_book(bencher: Bencher<'_, '_>) {
    with_begun_scene(|ctx, scene| {
        let NextGenerationStep::Ask(ask) = next_step(ctx, scene).expect("it begins") else {
            panic!("nothing was drafted")
        };
        let answer = StepAnswer {
            nonce: ask.nonce,
            answer: Value::String(write_draft(1_000)),
            writer: "bench".to_owned(),
            ..StepAnswer::default()
        };
        submit_step(ctx, scene, &answer).expect("it is drafted");
        bencher.bench_local(|| is_asked_for(ctx, scene, GenerationStep::Judge));
    });
}

/// Begins to write the last scene of a written book.
fn with_begun_scene(act: impl FnOnce(&Context<'_>, &[String])) {
    let directory = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary directory");
    let (store, files) = plant_book(&directory, 200);
    plant(&*store, two_thousand());
    let scene = ["act-4/chapter-10/scene-1010".to_owned()];
    with_context(&*store, &files, |ctx| {
        reread_by_rules(ctx, &[]).expect("it is read");
        for node in ["act-4", "act-4/chapter-10", "act-4/chapter-10/scene-1010"] {
            let request = ApproveRequest {
                node: vec![node.to_owned()],
                force: Force::No,
                shown: None,
            };
            approve_node(ctx, &request).expect("approved");
        }
        start_generation(ctx, &scene, GenerationRequest::default()).expect("started");
        act(ctx, &scene);
    });
}

fn is_asked_for(ctx: &Context<'_>, scene: &[String], step: GenerationStep) {
    let next = next_step(ctx, scene).expect("it goes on");
    assert!(
        matches!(&next, NextGenerationStep::Ask(ask) if ask.step == step),
        "{step:?}: {next:?}"
    );
}

/// 100,000 entries in SQLite.
#[divan::bench(sample_count = 200, sample_size = 1)]
fn memory_search_over_100_000_entries(bencher: Bencher<'_, '_>) {
    let directory = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary directory");
    let store = open(&directory);
    plant(&*store, hundred_thousand());
    let state = store.begin_read().expect("readable");
    let mut turn = 0;
    bencher.bench_local(|| {
        turn += 1;
        let query = format!(
            "{} {} {}",
            WORDS[turn % 10],
            WORDS[(turn / 3) % 10],
            1_000 + turn * 37
        );
        let request = SearchMemoryRequest {
            query,
            kinds: Vec::new(),
            limit: 10,
            nearest: Vec::new(),
        };
        search_stored(&*state, &request).expect("found").len()
    });
}

/// The same with a vector of 384 dimensions for each entry: words and meaning, fused. What the model for vectors takes is
/// no part of it.
#[divan::bench(sample_count = 60, sample_size = 1)]
fn memory_search_with_100_000_vectors(bencher: Bencher<'_, '_>) {
    let directory = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary directory");
    let store = open(&directory);
    plant(&*store, hundred_thousand());
    let state = store.begin_read().expect("readable");
    let file = VectorFile::new(&directory.path().join("vectors.bin"), "bench/384");
    let mut seed = 7_u32;
    let mut vector = move || -> Vec<f32> {
        let mut next = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) as f32 / 8_388_608.0 - 1.0
        };
        (0..384).map(|_| next() / 11.3).collect()
    };
    let vectors: Vec<NewVector> = (0..100_000)
        .map(|index| NewVector {
            record: RecordKey {
                kind: "fact".to_owned(),
                key: format!("F{index}"),
            },
            mark: 0,
            vector: vector(),
        })
        .collect();
    file.upsert_vectors(&vectors, |_| true).expect("written");
    drop(vectors);
    let mut turn = 0;
    bencher.bench_local(|| {
        turn += 1;
        let query = format!(
            "{} {} {}",
            WORDS[turn % 10],
            WORDS[(turn / 3) % 10],
            1_000 + turn * 37
        );
        let mut request = SearchMemoryRequest {
            query,
            limit: 10,
            ..SearchMemoryRequest::default()
        };
        let found = file.find_nearest(&vector(), &request.kind_words(), request.search_depth());
        request.nearest = found.into_iter().map(|(record, _)| record).collect();
        search_stored(&*state, &request).expect("found").len()
    });
}

/// 400 scenes in 40 chapters, each with a blueprint and a text of a given number of words.
fn plant_book(directory: &TempDir, words: usize) -> (Box<dyn Store>, DiskFiles) {
    let store = open(directory);
    let files = DiskFiles::open(directory.path()).expect("the directory can be opened");
    let write = |path: &str, text: &str| files.replace_file(path, text).expect("written");
    for act in 1..=4 {
        write(&format!("acts/act-{act}/strategic-plan.md"), "# Act\n");
        for chapter in 1..=10 {
            let folder = format!("acts/act-{act}/chapters/chapter-{chapter:02}");
            write(&format!("{folder}/plan.md"), "# Chapter\n");
            for scene in 1..=10 {
                let alias = format!("scene-{chapter:02}{scene:02}");
                let blueprint =
                    format!("# Scene {act} {alias}\n\n## Characters\n- Person{scene}\n");
                write(&format!("{folder}/scenes/{alias}-blueprint.md"), &blueprint);
                let number = act * 1_000 + chapter * 20 + scene;
                write(
                    &format!("{folder}/content/{alias}.md"),
                    &write_prose(number, words),
                );
            }
        }
    }
    (store, files)
}

/// Prose with names, speech, places and features.
fn write_prose(number: usize, words: usize) -> String {
    let mut text = String::new();
    let mut turn = number;
    let mut count = 0;
    while count < words {
        turn = turn.wrapping_mul(1_103_515_245).wrapping_add(12_345) % 2_147_483_648;
        let (one, other) = (WORDS[turn % 10], WORDS[(turn / 10) % 10]);
        let (person, place) = (turn / 100 % 40, turn / 4_000 % 30);
        let sentence = match turn / 7 % 5 {
            0 => format!("“The {one} is gone,” said Person{person}. "),
            1 => format!("Person{person} walked into the Hall{place} with a {one} and a {other}. "),
            2 => format!("Person{person} had green eyes and a {one}. "),
            3 => format!(
                "Nobody spoke of the {one} that winter, nor of the {other} behind the wall. "
            ),
            _ => format!(
                "Then Person{person} looked at the {other}, and the {one} was still there.\n\n"
            ),
        };
        count += sentence.split_whitespace().count();
        text.push_str(&sentence);
    }
    text
}

/// A draft whose phrases differ: the acceptance floors refuse one that repeats itself.
fn write_draft(words: usize) -> String {
    let mut text = String::new();
    for index in 0..words / 7 {
        let word = |step: usize| WORDS[(index / step) % 10];
        let (one, other, last) = (word(1), word(3), word(7));
        let sentence =
            format!("Person10 took the {one}{index}, the {other}{index} and {last}{index}. ");
        text.push_str(&sentence);
    }
    text
}

/// 150 characters, 350 open loops, 1,100 facts; the 400 scenes are added by reading.
fn two_thousand() -> impl Iterator<Item = (EntryKind, usize, Value)> {
    let people = (0..150).map(|index| {
        (
            EntryKind::Character,
            index,
            json!({ "name": format!("Person{index}"), "role": "someone" }),
        )
    });
    let loops = (0..350).map(|index| {
        (
            EntryKind::Loop,
            index,
            json!({ "text": format!("What became of matter {index}?") }),
        )
    });
    people.chain(loops).chain(hundred_thousand().take(1_100))
}

fn with_context(store: &dyn Store, files: &DiskFiles, act: impl FnOnce(&Context<'_>)) {
    let (profiles, policy, clock) = (
        [built_in_profile("story").expect("built in")],
        Policy::default(),
        SystemClock,
    );
    let actor = Principal::Human("bench".to_owned());
    act(&Context::new(
        store,
        files,
        &clock,
        &profiles,
        &policy,
        actor,
        Channel::Cli,
    ));
}

/// Runs one tick; what a model would say is no part of it.
fn run_tick_with_search(ctx: &Context<'_>) -> TickStatus {
    let NextTick::Ask(ask) = begin_tick(ctx).expect("it begins") else {
        panic!("nothing was interrupted")
    };
    let plan = json!({ "rationale": RATIONALE, "scene_intention": INTENTION, "actions": [
        { "tool": "memory.search", "args": { "query": "map" } },
        { "tool": "loop.open", "args": { "description": format!("What became of {}?", ask.nonce) } },
    ] });
    let answer = PlanAnswer {
        nonce: ask.nonce,
        plan,
        planner: "bench".to_owned(),
        ..PlanAnswer::default()
    };
    submit_plan(ctx, &answer).expect("it is run").status
}

const RATIONALE: &str = "The map was lost, and nobody has asked for it since";
const INTENTION: &str = "Someone asks who had the map last";

const WORDS: [&str; 10] = [
    "river", "letter", "mentor", "winter", "archive", "harbour", "quarrel", "lantern", "oath",
    "map",
];

fn hundred_thousand() -> impl Iterator<Item = (EntryKind, usize, Value)> {
    (0..100_000usize).map(|index| {
        let word = |step: usize| WORDS[(index / step) % WORDS.len()];
        let object = format!("{} {} {} number {index}", word(1), word(10), word(100));
        let fact = json!({ "subject": format!("C{}", index % 200), "predicate": "speaks of", "object": object });
        (EntryKind::Fact, index, fact)
    })
}

fn open(directory: &TempDir) -> Box<dyn Store> {
    let layout = Layout::new(directory.path(), &Settings::default());
    let known = KnownStores::in_state_directory(&directory.path().join("user"));
    store::create_store(&layout, Storage::Sqlite, &known).expect("a store");
    let settings = EngineSettings {
        mirror: false,
        ..EngineSettings::default()
    };
    store::open_store(
        &layout,
        Storage::Sqlite,
        &settings,
        &known,
        None,
        SystemClock.now(),
    )
    .expect("the store opens")
    .0
}

fn plant(store: &dyn Store, entries: impl Iterator<Item = (EntryKind, usize, Value)>) {
    let mut memory = StoryMemory::default();
    for (kind, number, mut value) in entries {
        value["id"] = json!(kind.format_id(u32::try_from(number).expect("few entries")));
        memory.put_entry(Entry::from_value(kind, value).expect("an entry"));
    }
    let facts: Vec<Fact> = memory.change_facts();
    let mut tx = store.begin_write().expect("the write lock");
    let operation = NewOperation {
        at: SystemClock.now(),
        by: Principal::System,
        channel: Channel::System,
        verb: Verb::Remember,
        summary: "plant".to_owned(),
        key: None,
        facts,
        texts: Vec::new(),
    };
    tx.record_operation(operation).expect("recorded");
    tx.commit().expect("committed");
}
