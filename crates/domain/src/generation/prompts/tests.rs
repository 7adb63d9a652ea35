//! Tests of the prompts: what is in them, within which size.

use super::*;
use crate::generation::{COMMENT_CHECK, SceneFinding, SceneVariant};
use crate::memory::{Entry, OpenLoop, Relationship};
use crate::tick::plan::TickPlan;
use crate::tick::{ContextUsed, TickStatus};
use crate::time::Timestamp;

fn story() -> StoryMemory {
    let mut memory = StoryMemory::default();
    memory.add_entry(Entry::Character(Character {
        name: "Elena Vasquez".to_owned(),
        traits: vec!["stubborn".to_owned()],
        goals: vec!["find the map".to_owned()],
        emotional_state: Some("uneasy".to_owned()),
        ..Character::default()
    }));
    memory.add_entry(Entry::Character(Character {
        name: "Marcus Thorne".to_owned(),
        ..Character::default()
    }));
    memory.add_entry(Entry::Location(Location {
        name: "The Archive".to_owned(),
        atmosphere: "a brass door".to_owned(),
        ..Location::default()
    }));
    memory.add_entry(Entry::Relationship(Relationship {
        character_a: "C0".to_owned(),
        character_b: "C1".to_owned(),
        status: "strained".to_owned(),
        perspective_a: "since the quarrel".to_owned(),
        ..Relationship::default()
    }));
    memory.add_entry(Entry::Loop(OpenLoop {
        text: "Who tore the fragment?".to_owned(),
        ..OpenLoop::default()
    }));
    memory.add_entry(Entry::Fact(StoryFact {
        subject: "C0".to_owned(),
        predicate: "has eyes".to_owned(),
        object: "green".to_owned(),
        ..StoryFact::default()
    }));
    memory
}

fn tick() -> TickRecord {
    TickRecord {
        tick: 1,
        status: TickStatus::Done,
        at: Timestamp::from_millis(0),
        planner: "test".to_owned(),
        plan: TickPlan {
            rationale: "r".to_owned(),
            scene_intention: "C0 follows the clerk".to_owned(),
            target_location: Some("L0".to_owned()),
            expected_outcomes: vec!["the clerk is warned".to_owned()],
            ..TickPlan::default()
        },
        executed: vec![crate::tick::execute::ExecutedAction {
            action_index: 0,
            tool: "memory.search".to_owned(),
            args: serde_json::Map::new(),
            result: Some(json!([{ "id": "C1", "text": "owes a debt" }])),
            error: None,
            success: true,
        }],
        errors: Vec::new(),
        failures: 0,
        context_used: ContextUsed::default(),
        warnings: Vec::new(),
        scene: None,
        consulted: Vec::new(),
    }
}

fn writer_prompt(tokens: usize, before: &[String]) -> StepPrompt {
    let memory = story();
    let ticks = [tick()];
    let material = WritingMaterial {
        novel: "The Map",
        scene: "scene-0101",
        blueprint: "# The drawer\n\n## Characters\n- Elena\n- Marcus\n",
        parent: "# Chapter\n",
        memory: &memory,
        ticks: &ticks,
        before,
        guidance: &AuthorGuidance::default(),
        comments: &[],
        words: 900,
        tokens,
    };
    let mut room = ContextBudget::new(tokens);
    let text = material.render_writer_prompt(WRITER_TEMPLATE, &mut room);
    StepPrompt {
        text,
        schema: None,
        least_tokens: room.least_tokens(),
        sections: room.sections,
    }
}

/// Defect: of nine things in the memory and the plan of the tick, none was in the writer's prompt, because
/// the blueprint says "Elena" and the memory "Elena Vasquez".
#[test]
fn what_the_tick_decided_and_the_cast_is_in_the_writers_prompt() {
    let prompt = writer_prompt(12_000, &[]).text;
    for part in [
        "uneasy",
        "strained",
        "quarrel",
        "fragment",
        "Archive",
        "brass door",
        "stubborn",
        "find the map",
        "Elena Vasquez follows the clerk",
        "the clerk is warned",
        "owes a debt",
        "eyes green",
    ] {
        assert!(prompt.contains(part), "no `{part}` in {prompt}");
    }
    assert!(!prompt.contains("C0") && !prompt.contains("L0"), "{prompt}");
}

/// Defect: a person, a tie and a place that a tick made were not on the page, unless the blueprint named them.
#[test]
fn what_the_actions_of_a_tick_made_is_in_the_writers_prompt() {
    let mut memory = story();
    memory.add_entry(Entry::Character(Character {
        name: "Ivo Marek".to_owned(),
        text: "never sleeps".to_owned(),
        ..Character::default()
    }));
    memory.add_entry(Entry::Character(Character {
        name: "Nobody Else".to_owned(),
        ..Character::default()
    }));
    memory.add_entry(Entry::Location(Location {
        name: "Hall Nine".to_owned(),
        text: "sealed".to_owned(),
        ..Location::default()
    }));
    memory.add_entry(Entry::Relationship(Relationship {
        character_a: "C0".to_owned(),
        character_b: "C2".to_owned(),
        relationship_type: "debtor".to_owned(),
        ..Relationship::default()
    }));
    let action = |tool: &str, args: serde_json::Value, id: &str| {
        let args = args.as_object().cloned().unwrap_or_default();
        crate::tick::execute::ExecutedAction {
            action_index: 0,
            tool: tool.to_owned(),
            args,
            result: Some(json!({ "id": id })),
            error: None,
            success: true,
        }
    };
    let ties = json!({ "character_a": "C0", "character_b": "C2" });
    let ticks = [TickRecord {
        executed: vec![
            action("relationship.create", ties, "R1"),
            action("location.generate", json!({ "name": "Hall Nine" }), "L1"),
            action("relationship.query", json!({ "character_id": "C3" }), ""),
        ],
        ..tick()
    }];
    let material = WritingMaterial {
        novel: "The Map",
        scene: "scene-0101",
        blueprint: "# The drawer\n\n## Characters\n- Elena\n",
        parent: "",
        memory: &memory,
        ticks: &ticks,
        before: &["The lamp went out.".to_owned()],
        guidance: &AuthorGuidance::default(),
        comments: &[],
        words: 900,
        tokens: 6_000,
    };
    let mut room = ContextBudget::new(6_000);
    let prompt = material.render_writer_prompt(WRITER_TEMPLATE, &mut room);
    for part in ["never sleeps", "debtor", "Hall Nine: sealed"] {
        assert!(prompt.contains(part), "no `{part}` in {prompt}");
    }
    assert!(!prompt.contains("│ Nobody Else"), "{prompt}");
    // The judge sees what the writer saw.
    let judged = material.render_reading_prompt("Elena went home.").text;
    for part in [
        "debtor",
        "Hall Nine: sealed",
        "the clerk is warned",
        "│ The lamp went out.",
    ] {
        assert!(judged.contains(part), "no `{part}` in {judged}");
    }
}

/// Defect: a revision was asked for without the fact that the text contradicts.
#[test]
fn a_revision_is_given_the_facts() {
    let prompt = prompt_of_step(GenerationStep::Revise, 4_000).text;
    for part in ["against \"Her green eyes\"", "eyes green", "uneasy"] {
        assert!(prompt.contains(part), "no `{part}` in {prompt}");
    }
}

/// Defect: with long scenes before it, people and facts were cut away, and the newest prose at its end.
#[test]
fn people_and_facts_are_kept_and_old_prose_is_left_out() {
    let long = "The rain fell on the roofs of the town. ".repeat(2_000) + "The last lamp went out.";
    let prompt = writer_prompt(2_500, &[long]);
    for part in [
        "uneasy",
        "eyes green",
        "strained",
        "The last lamp went out.",
    ] {
        assert!(prompt.text.contains(part), "no `{part}`");
    }
    let used: usize = prompt.sections.iter().map(|section| section.tokens).sum();
    assert!(used <= 2_500, "{used}");
    let before = prompt.sections.last().unwrap();
    assert!(
        before.name == "scenes before" && before.left_out > 1_000,
        "what was left out is named: {before:?}"
    );
}

/// Defect: 48,693 bytes at 3,000 tokens, with 390 characters and 400 loops.
#[test]
fn the_judges_prompt_is_bounded() {
    let mut memory = story();
    for number in 0..400 {
        memory.add_entry(Entry::Character(Character {
            name: format!("Extra {number} with a long name of the large cast"),
            ..Character::default()
        }));
        memory.add_entry(Entry::Loop(OpenLoop {
            text: format!("Question {number} that a reader waits for since long ago?"),
            ..OpenLoop::default()
        }));
    }
    let material = WritingMaterial {
        novel: "",
        scene: "",
        blueprint: "# One\n\n- Elena\n",
        parent: "",
        memory: &memory,
        ticks: &[],
        before: &[],
        guidance: &AuthorGuidance::default(),
        comments: &[],
        words: 0,
        tokens: 3_000,
    };
    let prompt = material.render_reading_prompt("Elena went home.");
    let text = prompt.text;
    assert!(text.len() < 12_000, "{}", text.len());
    assert!(text.contains("C0: Elena Vasquez") && text.contains("are not shown"));
    // Defect: the schema listed the newest, so that a judge could not say that the protagonist is present.
    let schema = prompt.schema.unwrap();
    let people = &schema["properties"]["characters"]["items"]["enum"];
    let people = people.as_array().unwrap();
    assert!(
        people.len() < 400 && people.contains(&json!("C0")),
        "{people:?}"
    );
}

fn prompt_of_step(step: GenerationStep, tokens: usize) -> StepPrompt {
    let memory = story();
    let material = WritingMaterial {
        novel: "The Map",
        scene: "scene-0101",
        blueprint: "# The drawer\n\n- Elena\n",
        parent: "",
        memory: &memory,
        ticks: &[],
        before: &[],
        guidance: &AuthorGuidance::default(),
        comments: &["on \"The lamp\": too early".to_owned()],
        words: 900,
        tokens,
    };
    let finding = |check: &str| SceneFinding {
        check: check.to_owned(),
        severity: crate::generation::FindingSeverity::Should,
        problem: "the point of view slips".to_owned(),
        quote: None,
        against: Some("Her green eyes".to_owned()),
    };
    let generation = Generation {
        step,
        draft: "The lamp went out.".to_owned(),
        findings: vec![finding("pov"), finding(COMMENT_CHECK)],
        variants: vec![SceneVariant {
            draft: "Rain had come early that year.".to_owned(),
            writer: "w".to_owned(),
            findings: Vec::new(),
            verdict: None,
        }],
        ..Generation::begin_writing(
            crate::ids::NodeId(1),
            "scene-0101".to_owned(),
            crate::ids::CanonicalHash(crate::ids::Digest32::of_bytes(b"")),
            Timestamp::from_millis(0),
        )
    };
    material.render_prompt(&generation, WRITER_TEMPLATE)
}

/// Comments of the author reach the writer with the words they are about, and not a second time as findings.
#[test]
fn comments_and_earlier_variants_are_in_the_writers_prompts() {
    let revise = prompt_of_step(GenerationStep::Revise, 4_000).text;
    assert!(revise.contains("│ on \"The lamp\": too early"), "{revise}");
    assert_eq!(revise.matches("the point of view slips").count(), 1);
    let write = prompt_of_step(GenerationStep::Write, 4_000).text;
    assert!(write.contains("too early") && write.contains("│ Rain had come early"));
}

/// Defect: the schema of the answer was sent on top of the budget, and a small context was exceeded by it.
#[test]
fn the_schema_of_the_answer_counts() {
    let prompt = prompt_of_step(GenerationStep::Judge, 3_000);
    let schema = prompt.schema.unwrap().to_string();
    let tokens = crate::context_budget::estimate_tokens(&schema);
    let mut sections = prompt.sections.iter();
    let counted = sections.find(|it| it.name == "schema of the answer");
    assert_eq!(counted.map(|it| it.tokens), Some(tokens));
    let used: usize = prompt.sections.iter().map(|section| section.tokens).sum();
    assert!(used <= 3_000, "{used}");
}

/// Returns the action of a tick that made or changed an entry.
fn executed(tool: &str, id: &str) -> crate::tick::execute::ExecutedAction {
    crate::tick::execute::ExecutedAction {
        action_index: 0,
        tool: tool.to_owned(),
        args: serde_json::Map::new(),
        result: Some(json!({ "id": id })),
        error: None,
        success: true,
    }
}

/// Returns the writer's prompt of a scene whose tick opened the last of many loops, stated the first of many
/// facts and changed the tie of two people who are not in the scene.
fn prompt_after_tick(tokens: usize) -> String {
    let mut memory = story();
    memory.add_entry(Entry::Loop(OpenLoop {
        text: "Will Elena find the key?".to_owned(),
        ..OpenLoop::default()
    }));
    for number in 0..200 {
        memory.add_entry(Entry::Loop(OpenLoop {
            text: format!("Question {number} that a reader waits for since long ago?"),
            importance: crate::memory::Importance::High,
            ..OpenLoop::default()
        }));
        memory.add_entry(Entry::Fact(StoryFact {
            subject: "C0".to_owned(),
            predicate: format!("remembers day {number} of the long year"),
            object: "well".to_owned(),
            ..StoryFact::default()
        }));
    }
    memory.add_entry(Entry::Loop(OpenLoop {
        text: "Who lit the lamp on the pier?".to_owned(),
        ..OpenLoop::default()
    }));
    memory.add_entry(Entry::Relationship(Relationship {
        character_a: "C1".to_owned(),
        character_b: "C1".to_owned(),
        relationship_type: "rivals".to_owned(),
        ..Relationship::default()
    }));
    let ticks = [TickRecord {
        executed: vec![
            executed("loop.open", "OL202"),
            executed("fact.state", "F0"),
            executed("relationship.update", "R1"),
        ],
        ..tick()
    }];
    let material = WritingMaterial {
        novel: "The Map",
        scene: "scene-0101",
        blueprint: "# The drawer\n\n## Characters\n- Elena\n",
        parent: "",
        memory: &memory,
        ticks: &ticks,
        before: &[],
        guidance: &AuthorGuidance::default(),
        comments: &[],
        words: 900,
        tokens,
    };
    let mut room = ContextBudget::new(tokens);
    material.render_writer_prompt(WRITER_TEMPLATE, &mut room)
}

/// Defect: a loop that the tick opened came last among 200 of higher importance, and the prompt said only
/// "(190 more are not shown)".
#[test]
fn what_a_tick_changed_comes_first_and_is_named_where_it_does_not_fit() {
    let roomy = prompt_after_tick(3_000);
    let at = |part: &str| {
        let found = roomy.find(part);
        found.unwrap_or_else(|| panic!("no `{part}` in {roomy}"))
    };
    assert!(at("Who lit the lamp") < at("Will Elena find the key?"));
    assert!(at("Will Elena find the key?") < at("Question 0 "));
    assert!(at("eyes green") < at("remembers day"));
    at("rivals");
    for tokens in [0, 100, 400, 1_000] {
        let prompt = prompt_after_tick(tokens);
        for part in ["Who lit the lamp", "has eyes green", "rivals"] {
            assert!(prompt.contains(part), "no `{part}` at {tokens}: {prompt}");
        }
    }
}

/// Defect: a judge was asked about a scene without its blueprint and without any fact, and accepted it.
#[test]
fn no_prompt_is_without_blueprint_cast_and_facts() {
    let memory = story();
    let draft = "Elena opened the drawer. ".repeat(40);
    let blueprint = "# The drawer\n\nElena finds the map.\n";
    let ask = |tokens: usize| {
        let material = WritingMaterial {
            novel: "The Map",
            scene: "scene-0101",
            blueprint,
            parent: "# Chapter\n",
            memory: &memory,
            ticks: &[],
            before: &[],
            guidance: &AuthorGuidance::default(),
            comments: &[],
            words: 900,
            tokens,
        };
        material.render_reading_prompt(&draft)
    };
    let least = ask(300).least_tokens.expect("too small");
    assert!(ask(least - 1).least_tokens.is_some());
    let prompt = ask(least);
    assert_eq!(prompt.least_tokens, None);
    for part in [
        "Elena finds the map.",
        "C0: Elena Vasquez",
        "has eyes green",
    ] {
        assert!(prompt.text.contains(part), "no `{part}`: {}", prompt.text);
    }
}

/// Defect: lore and what the author lets a character know were in no prompt.
#[test]
fn the_world_and_what_somebody_was_told_are_in_the_prompts_or_named() {
    let mut memory = story();
    let told = [
        "F0".to_owned(),
        "the map is forged".to_owned(),
        "F99".to_owned(),
    ];
    let Some(Entry::Character(elena)) = memory.get("C0").cloned() else {
        panic!("no C0");
    };
    memory.put_entry(Entry::Character(Character {
        knows: told.to_vec(),
        ..elena
    }));
    memory.add_entry(Entry::Lore(Lore {
        name: "The tide law".to_owned(),
        text: format!("No boat leaves at ebb. {}", "Old words. ".repeat(200)),
        ..Lore::default()
    }));
    let guidance = AuthorGuidance::default();
    let material = |tokens| WritingMaterial {
        novel: "The Map",
        scene: "scene-0101",
        blueprint: "# The drawer\n\n## Characters\n- Elena\n",
        parent: "",
        memory: &memory,
        ticks: &[],
        before: &[],
        guidance: &guidance,
        comments: &[],
        words: 900,
        tokens,
    };
    let write = |tokens| {
        let mut room = ContextBudget::new(tokens);
        material(tokens).render_writer_prompt(WRITER_TEMPLATE, &mut room)
    };
    let judge = material(9_000).render_reading_prompt("Elena waits.").text;
    for prompt in [write(9_000), judge] {
        for part in [
            "The tide law: No boat leaves at ebb.",
            "Knows: Elena Vasquez has eyes green; the map is forged.",
        ] {
            assert!(prompt.contains(part), "no `{part}`: {prompt}");
        }
    }
    let small = write(700);
    assert!(
        small.contains("The tide law: No boat leaves at ebb."),
        "{small}"
    );
    assert!(small.contains("not shown in full"), "{small}");
    // A template of the project that has no place for it.
    let mut room = ContextBudget::new(9_000);
    let own = material(9_000).render_writer_prompt("{blueprint}", &mut room);
    assert!(own.contains("## The world"), "{own}");
}

/// Defect: "(3 more are not shown)" did not say which.
#[test]
fn people_places_and_outcomes_that_do_not_fit_are_named() {
    let prompt = writer_prompt(0, &[]).text;
    for part in ["Elena Vasquez", "The Archive", "the clerk is warned"] {
        assert!(prompt.contains(part), "no `{part}`: {prompt}");
    }
}
