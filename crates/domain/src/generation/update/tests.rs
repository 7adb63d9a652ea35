//! Tests of the projection: edits in any order give the memory of the last texts.

use proptest::prelude::*;

use super::*;
use crate::generation::rule_reader::{RuleReading, SceneText, read_by_rules};
use crate::ids::{NodeId, VersionHash};
use crate::memory::Character;
use crate::memory::knowledge::state_fact;

const SCENES: u32 = 4;
/// Number of scenes of the story with a judge.
const JUDGED_SCENES: usize = 9;

fn claims(fact: usize, loops: usize) -> SceneVerdict {
    let colours = ["blue", "green", "grey"];
    let colour = colours.get(fact % 3).copied().unwrap_or_default();
    SceneVerdict {
        characters: vec![format!("C{}", fact % 2)],
        facts: vec![NewFact {
            subject: format!("C{}", loops % 2),
            predicate: "has eyes".to_owned(),
            object: colour.to_owned(),
            quote: format!("{colour} eyes"),
        }],
        loops: vec![AdvancedLoop {
            loop_id: "OL0".to_owned(),
            outcome: if loops == 2 { "resolved" } else { "advanced" }.to_owned(),
            reason: "r".to_owned(),
            quote: "q".to_owned(),
        }],
        new_loops: vec![NewLoop {
            description: format!("Question {loops}"),
            importance: "high".to_owned(),
            quote: format!("asked {loops}"),
        }],
        ..SceneVerdict::default()
    }
}

fn story() -> StoryMemory {
    story_of(SCENES as usize)
}

fn story_of(scenes: usize) -> StoryMemory {
    let mut memory = StoryMemory::default();
    for name in ["Elena", "Marcus"] {
        memory.add_entry(Entry::Character(Character {
            name: name.to_owned(),
            ..Character::default()
        }));
    }
    memory.add_entry(Entry::Loop(OpenLoop {
        text: "Where is the map?".to_owned(),
        ..OpenLoop::default()
    }));
    for scene in 1..=scenes {
        memory.add_entry(Entry::Scene(Scene {
            node: Some(format!("scene-{scene}")),
            ..Scene::default()
        }));
    }
    memory
}

fn reading(scene: u32, claims: SceneVerdict) -> SceneReading {
    let version = VersionHash::of_bytes(b"");
    let id = format!("S{scene:03}");
    SceneReading::read_by_rules(NodeId(scene), id, version, RuleReading::default()).with_verdict(
        claims,
        "model".to_owned(),
        false,
        |_| true,
    )
}

/// Returns everything the memory says, without the ids.
fn told(memory: &StoryMemory) -> Vec<String> {
    let name = |id: &String| match memory.get(id) {
        Some(Entry::Fact(fact)) => state_fact(memory, fact),
        Some(other) => other.name(),
        None => id.clone(),
    };
    let facts = memory.facts().map(|it| {
        let subject = memory.display_name(&it.subject);
        format!(
            "{subject} {} {} {:?} {:?}",
            it.predicate, it.object, it.truth, it.valid_from
        )
    });
    let places = memory
        .locations()
        .map(|it| format!("place {} since {:?}", it.name, it.read_in));
    let scenes = memory.scenes().map(|it| {
        let mut cast: Vec<String> = it.characters.iter().map(name).collect();
        cast.sort();
        let place = it.location.as_ref().map(name);
        format!(
            "scene {:?} {cast:?} in {place:?}: {:?}",
            it.node, it.summary
        )
    });
    let loops = memory.loops().map(|it| {
        format!(
            "{} {:?} {:?} {:?}",
            it.text, it.status, it.created_in_scene, it.closed_in_scene
        )
    });
    let knows = memory.characters().map(|it| {
        let mut known: Vec<String> = it.knows.iter().map(name).collect();
        known.sort();
        format!("{} since {:?} knows {known:?}", it.name, it.read_in)
    });
    let mut all: Vec<String> = facts
        .chain(loops)
        .chain(knows)
        .chain(places)
        .chain(scenes)
        .collect();
    all.sort();
    all
}

/// Defect: after a rewrite the discarded text's eyes were canon, and the new ones disputed.
#[test]
fn a_rewrite_retracts_what_the_earlier_text_said() {
    let mut memory = story();
    let first = [reading(1, claims(0, 2))];
    project_readings(&mut memory, &[], &first, 1);
    assert!(told(&memory).contains(&"Elena has eyes blue Canon Some(\"S001\")".to_owned()));
    project_readings(&mut memory, &first, &[reading(1, claims(1, 0))], 1);
    let after = told(&memory);
    assert!(
        after.contains(&"Elena has eyes green Canon Some(\"S001\")".to_owned()),
        "{after:?}"
    );
    assert!(!after.iter().any(|line| line.contains("blue")), "{after:?}");
    assert!(
        after
            .iter()
            .any(|line| line.starts_with("Where is the map? Advanced")),
        "the words that resolved it are gone: {after:?}"
    );
}

#[test]
fn a_scene_cannot_close_what_a_later_one_opened() {
    let mut memory = story();
    let mut first = claims(0, 0);
    first.loops = vec![AdvancedLoop {
        loop_id: "OL1".to_owned(),
        outcome: "resolved".to_owned(),
        ..AdvancedLoop::default()
    }];
    first.new_loops = Vec::new();
    let second = reading(2, claims(0, 1));
    let before = [second.clone()];
    project_readings(&mut memory, &[], &before, 1);
    project_readings(&mut memory, &before, &[reading(1, first), second], 1);
    let later = memory.loops().find(|it| it.id == "OL1").cloned();
    assert!(later.is_some_and(|it| it.status.is_open()));
}

const SENTENCES: &[&str] = &[
    "Elena had green eyes.",
    "Elena's eyes were grey.",
    "“Stay,” said Ivo Marek, and Ivo Marek smiled.",
    "Ivo looked at Marcus. “No,” said Ivo.",
    "They met in the Archive again.",
    "Marcus was dead.",
    "Elena's sister Mira Vasquez laughed, and Mira Vasquez wept.",
    "“Listen,” Mira said. “Mira said it,” said Elena.",
];

fn join_sentences(sentences: &[usize]) -> String {
    let text = sentences.iter().filter_map(|at| SENTENCES.get(*at));
    text.copied().collect::<Vec<_>>().join(" ")
}

/// Returns what a judge says of a text: a fact of every second sentence, and a cast.
fn judge_text(sentences: &[usize]) -> SceneVerdict {
    let facts = sentences
        .iter()
        .filter(|at| *at % 2 == 0)
        .map(|at| NewFact {
            subject: format!("C{}", at % 2),
            predicate: format!("did {at}"),
            object: "so".to_owned(),
            quote: SENTENCES.get(*at).copied().unwrap_or_default().to_owned(),
        });
    let facts: Vec<NewFact> = facts.collect();
    SceneVerdict {
        summary: vec![join_sentences(sentences)],
        characters: vec!["C1".to_owned()],
        // The same sentence twice is said once.
        facts: facts.into_iter().fold(Vec::new(), |mut all, fact| {
            if !all.contains(&fact) {
                all.push(fact);
            }
            all
        }),
        ..SceneVerdict::default()
    }
}

/// Reads a text of numbered sentences.
fn read_text(scene: u32, sentences: &[usize]) -> SceneReading {
    let text = join_sentences(sentences);
    let found = read_by_rules(SceneText {
        text: &text,
        ..SceneText::default()
    });
    let version = VersionHash::of_bytes(text.as_bytes());
    SceneReading::read_by_rules(NodeId(scene), format!("S{scene:03}"), version, found)
}

#[test]
fn a_text_read_by_rules_introduces_people_places_and_features() {
    let mut memory = story();
    project_readings(&mut memory, &[], &[read_text(1, &[0, 2, 4, 5, 6])], 1);
    let all = told(&memory);
    for line in [
        "Elena eyes green Canon Some(\"S001\")",
        "Marcus is dead Canon Some(\"S001\")",
        "Mira Vasquez is the sister of Elena Canon Some(\"S001\")",
        "place Archive since Some(\"S001\")",
    ] {
        assert!(all.iter().any(|it| it == line), "{line}\n{all:#?}");
    }
    assert!(
        memory.characters().any(|it| it.name == "Ivo Marek"),
        "{all:#?}"
    );
    // Without the text nothing of it is left.
    let before = [read_text(1, &[0, 2, 4, 5, 6])];
    project_readings(&mut memory, &before, &[read_text(1, &[])], 1);
    let names: Vec<&str> = memory.characters().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["Elena", "Marcus"]);
    assert_eq!((memory.facts().count(), memory.locations().count()), (0, 0));
}

#[test]
fn a_contradiction_that_a_person_intended_stays_intended() {
    let mut memory = story();
    let readings = [read_text(1, &[0]), read_text(2, &[1])];
    project_readings(&mut memory, &[], &readings, 1);
    let mut second = memory.facts().nth(1).cloned().unwrap();
    assert_eq!(second.truth, Truth::Disputed);
    second.truth = Truth::Intended;
    memory.put_entry(Entry::Fact(second));
    project_readings(&mut memory, &readings, &readings, 1);
    assert_eq!(
        memory.facts().nth(1).map(|it| it.truth),
        Some(Truth::Intended)
    );
    // A person who accepts a held scene intends what it contradicts.
    let mut accepted = readings.clone();
    accepted[1].is_accepted = true;
    let mut fresh = story();
    project_readings(&mut fresh, &[], &accepted, 1);
    assert_eq!(
        fresh.facts().nth(1).map(|it| it.truth),
        Some(Truth::Intended)
    );
}

/// Defect: the author's fact about "Elena Vasquez" was about nobody, and what a scene said instead became canon
/// beside it, also where a person had accepted the scene.
#[test]
fn a_scene_is_compared_with_facts_that_name_their_subject() {
    for subject in ["Elena", "elena", "C0"] {
        for (is_accepted, truth) in [(false, Truth::Disputed), (true, Truth::Intended)] {
            let mut memory = story();
            memory.add_entry(Entry::Fact(StoryFact {
                subject: subject.to_owned(),
                predicate: "has eyes".to_owned(),
                object: "green".to_owned(),
                ..StoryFact::default()
            }));
            let mut read = reading(1, claims(0, 0));
            read.is_accepted = is_accepted;
            project_readings(&mut memory, &[], &[read], 1);
            let truths: Vec<Truth> = memory.facts().map(|it| it.truth).collect();
            assert_eq!(truths, [Truth::Canon, truth], "{subject}");
        }
    }
}

/// Defect: whatever Elena knew after the first thing she learnt was in dispute.
#[test]
fn several_facts_with_one_predicate_are_all_canon() {
    let mut memory = story();
    let knows = |object: &str| NewFact {
        subject: "Elena".to_owned(),
        predicate: "knows".to_owned(),
        object: object.to_owned(),
        quote: object.to_owned(),
    };
    let verdict = |object: &str| SceneVerdict {
        facts: vec![knows(object)],
        ..SceneVerdict::default()
    };
    let readings = [
        reading(1, verdict("the map is gone")),
        reading(2, verdict("Marcus lied")),
    ];
    project_readings(&mut memory, &[], &readings, 1);
    let truths: Vec<Truth> = memory.facts().map(|it| it.truth).collect();
    assert_eq!(truths, [Truth::Canon, Truth::Canon]);
}

/// Defect: the schema of the judge lists only known people, so those whom a scene introduces were never in it.
#[test]
fn a_judged_scene_has_its_point_of_view_its_cast_and_whom_it_introduces() {
    let text = "Marcus waited. “Stay,” said Ines, and Ines smiled. Elena and Pavel were far away.";
    let characters = ["Marcus".to_owned(), "Teo".to_owned()];
    let found = read_by_rules(SceneText {
        text,
        characters: &characters,
        pov: Some("Elena"),
        ..SceneText::default()
    });
    let version = VersionHash::of_bytes(text.as_bytes());
    let mut memory = story();
    memory.add_entry(Entry::Character(Character {
        name: "Pavel".to_owned(),
        ..Character::default()
    }));
    let known = memory.clone();
    let is_known = |name: &str| known.resolve_id(EntryKind::Character, name).is_some();
    let verdict = SceneVerdict {
        characters: vec!["C0".to_owned()],
        ..SceneVerdict::default()
    };
    let reading = SceneReading::read_by_rules(NodeId(1), "S001".to_owned(), version, found)
        .with_verdict(verdict, "model".to_owned(), false, is_known);
    assert_eq!(reading.unlisted, ["Ines"]);
    project_readings(&mut memory, &[], &[reading], 1);
    let scene = memory.scenes().next().cloned().expect("a scene");
    let cast: Vec<String> = scene
        .characters
        .iter()
        .map(|id| memory.display_name(id))
        .collect();
    assert_eq!(cast, ["Elena", "Marcus", "Ines"]);
    assert_eq!(scene.pov.as_deref(), Some("C0"));
}

/// Defect: one other fact of a model deleted the green eyes that the rules had read.
#[test]
fn a_poor_answer_of_a_model_deletes_nothing_that_the_rules_read() {
    let judged = |object: &str, quote: &str| {
        let verdict = SceneVerdict {
            facts: vec![NewFact {
                subject: "Elena".to_owned(),
                predicate: "has".to_owned(),
                object: object.to_owned(),
                quote: quote.to_owned(),
            }],
            ..SceneVerdict::default()
        };
        read_text(1, &[0, 5]).with_verdict(verdict, "model".to_owned(), false, |_| true)
    };
    let objects = |reading: SceneReading| -> Vec<String> {
        let mut memory = story();
        project_readings(&mut memory, &[], &[reading], 1);
        memory.facts().map(|it| it.object.clone()).collect()
    };
    let poor = judged("a corpse", "Marcus was dead.");
    assert_eq!(objects(poor), ["a corpse", "green"]);
    // What both read in the same words is one fact.
    let rich = judged("eyes of green", "“Elena had green eyes”");
    assert_eq!(objects(rich), ["eyes of green", "dead"]);
}

/// Defect: a fact that a person had corrected was green again after the next edit of any scene.
#[test]
fn a_persons_correction_stays_and_the_text_is_in_dispute() {
    let mut memory = story();
    let readings = [read_text(1, &[0]), read_text(2, &[5])];
    project_readings(&mut memory, &[], &readings, 1);
    let read = memory.facts().next().cloned().expect("a fact");
    memory.put_entry(Entry::Fact(StoryFact {
        object: "olive".to_owned(),
        ..read
    }));
    project_readings(&mut memory, &readings, &readings, 1);
    let after = told(&memory);
    for line in [
        "Elena eyes olive Canon Some(\"S001\")",
        "Elena eyes green Disputed Some(\"S001\")",
    ] {
        assert!(after.iter().any(|it| it == line), "{line}\n{after:#?}");
    }
}

proptest! {
    /// The same for texts that rules read: people and places come and go with them.
    #[test]
    fn texts_edited_thirty_times_give_the_memory_read_from_scratch(
        edits in prop::collection::vec(
            (1..=SCENES, prop::collection::vec(0usize..SENTENCES.len(), 0..5)),
            30,
        )
    ) {
        let mut texts: BTreeMap<u32, SceneReading> = BTreeMap::new();
        let mut memory = story();
        for (scene, sentences) in edits {
            let before: Vec<SceneReading> = texts.values().cloned().collect();
            texts.insert(scene, read_text(scene, &sentences));
            let readings: Vec<SceneReading> = texts.values().cloned().collect();
            project_readings(&mut memory, &before, &readings, 1);
        }
        let mut fresh = story();
        let readings: Vec<SceneReading> = texts.into_values().collect();
        project_readings(&mut fresh, &[], &readings, 1);
        prop_assert_eq!(told(&memory), told(&fresh));
    }

    /// The memory after thirty edits is the memory read from scratch.
    #[test]
    fn edits_in_any_order_give_the_memory_of_the_last_texts(
        edits in prop::collection::vec((1..=SCENES, 0usize..6, 0usize..3), 1..30)
    ) {
        let mut texts: BTreeMap<u32, SceneReading> = BTreeMap::new();
        let mut memory = story();
        for (scene, fact, loops) in edits {
            let before: Vec<SceneReading> = texts.values().cloned().collect();
            texts.insert(scene, reading(scene, claims(fact, loops)));
            let readings: Vec<SceneReading> = texts.values().cloned().collect();
            project_readings(&mut memory, &before, &readings, 1);
        }
        let mut fresh = story();
        let readings: Vec<SceneReading> = texts.into_values().collect();
        project_readings(&mut fresh, &[], &readings, 1);
        prop_assert_eq!(told(&memory), told(&fresh));
    }

    #[test]
    fn reading_the_same_texts_again_changes_nothing(fact in 0usize..6, loops in 0usize..3) {
        let mut memory = story();
        let readings = [reading(1, claims(fact, loops)), reading(2, claims(fact + 1, loops))];
        project_readings(&mut memory, &[], &readings, 1);
        let before: Vec<Entry> = memory.all_entries().cloned().collect();
        project_readings(&mut memory, &readings, &readings, 1);
        let after: Vec<Entry> = memory.all_entries().cloned().collect();
        prop_assert_eq!(before, after);
    }
}

proptest! {
    // Each case projects the memory thirty times.
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Judged texts too: whatever was written between, the last texts have the claims of what was judged.
    #[test]
    fn edits_of_judged_texts_give_the_memory_of_the_last_texts(
        judged in prop::collection::vec(
            (prop::collection::vec(0usize..SENTENCES.len(), 0..5), prop::collection::vec(0usize..SENTENCES.len(), 0..5)),
            JUDGED_SCENES,
        ),
        edits in prop::collection::vec(
            (0..JUDGED_SCENES, prop::collection::vec(0usize..SENTENCES.len(), 0..5)),
            30,
        )
    ) {
        let follow = |reading: &SceneReading, sentences: &[usize]| {
            let text = join_sentences(sentences);
            let new = read_text(reading.node.0, sentences);
            reading.follow_edit(new.version, &text, new.found)
        };
        let judge = |reading: SceneReading, sentences: &[usize]| {
            reading.with_verdict(judge_text(sentences), "model".to_owned(), false, |_| true)
        };
        // Two texts of each scene were judged.
        let judge = |(at, (one, other)): (usize, &(Vec<usize>, Vec<usize>))| {
            let scene = u32::try_from(at).unwrap_or_default() + 1;
            let first = judge(read_text(scene, one), one);
            judge(follow(&first, other), other)
        };
        let first: Vec<SceneReading> = judged.iter().enumerate().map(judge).collect();
        let mut memory = story_of(JUDGED_SCENES);
        project_readings(&mut memory, &[], &first, 1);
        let mut now = first.clone();
        let mut last: Vec<Option<Vec<usize>>> = vec![None; JUDGED_SCENES];
        for (scene, sentences) in edits {
            let before = now.clone();
            now[scene] = follow(&now[scene], &sentences);
            last[scene] = Some(sentences);
            project_readings(&mut memory, &before, &now, 1);
        }
        let direct: Vec<SceneReading> = first.iter().zip(&last).map(|(reading, last)| match last {
            Some(sentences) => follow(reading, sentences),
            None => reading.clone(),
        }).collect();
        let mut fresh = story_of(JUDGED_SCENES);
        project_readings(&mut fresh, &[], &direct, 1);
        prop_assert_eq!(told(&memory), told(&fresh));
    }
}
