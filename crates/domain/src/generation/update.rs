//! The memory as a projection of committed text: what was read in each scene, applied in the order of the
//! plan. Drafts never reach the memory.
//!
//! Every commit retracts what earlier texts put into the memory and applies all readings again, so the
//! result does not depend on how often or in which order scenes were written. Entries that people and ticks
//! made are not touched; an entry that is read again keeps its id.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use super::continuity;
use super::record::Generation;
use super::verdict::{AdvancedLoop, NewFact, NewLoop, SceneVerdict};
use crate::ids::{NodeId, VersionHash};
use crate::memory::{
    Entry, EntryKind, Importance, LoopStatus, OpenLoop, Scene, StoryFact, StoryMemory, Truth,
};
use crate::record::Recorded;

/// What was read in a committed text. A record, keyed by node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SceneReading {
    pub node: NodeId,
    /// Memory id of the scene.
    pub scene: String,
    /// The text that was read.
    pub version: VersionHash,
    /// Characters, facts and loops, each with its quotation.
    pub claims: SceneVerdict,
}

impl Recorded for SceneReading {
    const KIND: &'static str = "scene-reading";
}

impl SceneReading {
    /// Returns the record key of a node's reading.
    #[must_use]
    pub fn record_key(node: NodeId) -> String {
        Generation::record_key(node)
    }
}

/// Facts about a committed scene besides its text.
#[derive(Clone, Copy, Debug)]
pub struct CommittedScene<'a> {
    /// The node's path.
    pub path: &'a str,
    pub title: &'a str,
    pub blueprint: &'a str,
    pub tick: u64,
    pub words: usize,
}

/// Records a committed scene in the memory, without what was read in it, and returns its id.
pub fn record_scene_entry(
    memory: &mut StoryMemory,
    claims: &SceneVerdict,
    kept: CommittedScene<'_>,
) -> String {
    let known = memory
        .scenes()
        .find(|scene| scene.node.as_deref() == Some(kept.path))
        .cloned();
    let characters = resolve_characters(memory, claims);
    let pov = continuity::find_point_of_view(kept.blueprint, memory).map(|it| it.id.clone());
    let location = memory
        .locations_named_in(kept.blueprint)
        .first()
        .map(|it| it.id.clone());
    let before = known.clone().unwrap_or_default();
    let scene = Scene {
        title: kept.title.to_owned(),
        tick: kept.tick,
        node: Some(kept.path.to_owned()),
        pov: pov.or_else(|| characters.first().cloned()),
        location: location.or(before.location.clone()),
        characters,
        summary: claims.summary.clone(),
        words: kept.words as u64,
        ..before
    };
    // A rewritten scene keeps its id, because facts and loops refer to it.
    if known.is_some() {
        let id = scene.id.clone();
        memory.put_entry(Entry::Scene(scene));
        id
    } else {
        memory.add_entry(Entry::Scene(scene))
    }
}

fn resolve_characters(memory: &StoryMemory, claims: &SceneVerdict) -> Vec<String> {
    let ids = claims.characters.iter();
    ids.filter_map(|id| memory.resolve_id(EntryKind::Character, id))
        .collect()
}

/// Applies all readings, which are in the order of the plan, in place of those that were applied before.
pub fn project_readings(
    memory: &mut StoryMemory,
    before: &[SceneReading],
    readings: &[SceneReading],
    tick: u64,
) {
    let order: BTreeMap<&str, usize> = readings
        .iter()
        .enumerate()
        .map(|(at, reading)| (reading.scene.as_str(), at))
        .collect();
    let scenes: BTreeSet<&str> = before
        .iter()
        .map(|reading| reading.scene.as_str())
        .chain(order.keys().copied())
        .collect();
    forget_witnessed_facts(memory, before);
    let mut retracted = retract_readings(memory, &scenes);
    let mut canon = CanonIndex::new(memory);
    for (at, reading) in readings.iter().enumerate() {
        let learnt = add_facts(memory, reading, &mut canon, &mut retracted.facts);
        // Only the characters who were present know the facts from now on.
        for id in resolve_characters(memory, &reading.claims) {
            if let Some(Entry::Character(mut it)) = memory.get(&id).cloned() {
                for fact in &learnt {
                    if !it.knows.contains(fact) {
                        it.knows.push(fact.clone());
                    }
                }
                memory.put_entry(Entry::Character(it));
            }
        }
        // A scene can only move what was opened before it.
        let is_open_by_now = |it: &OpenLoop| {
            let opened = it.created_in_scene.as_deref().and_then(|id| order.get(id));
            opened.is_none_or(|opened| *opened < at)
        };
        advance_loops(
            memory,
            &reading.claims.loops,
            &reading.scene,
            is_open_by_now,
        );
        add_loops(
            memory,
            &reading.claims.new_loops,
            &reading.scene,
            tick,
            &mut retracted.loops,
        );
    }
    // Knowledge that a person gave a character goes with the fact.
    let gone: BTreeSet<&str> = retracted.facts.values().map(|it| it.id.as_str()).collect();
    let knowing: Vec<_> = memory
        .characters()
        .filter(|it| it.knows.iter().any(|fact| gone.contains(fact.as_str())))
        .cloned()
        .collect();
    for mut it in knowing {
        it.knows.retain(|fact| !gone.contains(fact.as_str()));
        memory.put_entry(Entry::Character(it));
    }
}

/// Entries that a projection removed, by what they say.
struct Retracted {
    facts: HashMap<(String, String, String, String), StoryFact>,
    loops: HashMap<String, OpenLoop>,
}

/// Returns what identifies a fact of a scene.
fn fact_identity(fact: &StoryFact) -> (String, String, String, String) {
    (
        fact.subject.clone(),
        fact.predicate.to_lowercase(),
        fact.object.to_lowercase(),
        fact.valid_from.clone().unwrap_or_default(),
    )
}

/// Removes what the readings of these scenes put into the memory.
fn retract_readings(memory: &mut StoryMemory, scenes: &BTreeSet<&str>) -> Retracted {
    let is_read = |scene: &Option<String>| scene.as_deref().is_some_and(|id| scenes.contains(id));
    // A quotation tells what was read from what a person noted.
    let facts: Vec<StoryFact> = memory
        .facts()
        .filter(|fact| fact.quote.is_some() && is_read(&fact.valid_from))
        .cloned()
        .collect();
    let loops: Vec<OpenLoop> = memory
        .loops()
        .filter(|it| it.quote.is_some() && is_read(&it.created_in_scene))
        .cloned()
        .collect();
    for id in facts
        .iter()
        .map(|it| &it.id)
        .chain(loops.iter().map(|it| &it.id))
    {
        memory.remove_entry(id);
    }
    let moved: Vec<OpenLoop> = memory
        .loops()
        .filter(|it| is_read(&it.moved_in_scene))
        .cloned()
        .collect();
    for it in moved {
        memory.put_entry(Entry::Loop(reopen_loop(it)));
    }
    Retracted {
        facts: facts
            .into_iter()
            .map(|fact| (fact_identity(&fact), fact))
            .collect(),
        loops: loops.into_iter().map(|it| (it.text.clone(), it)).collect(),
    }
}

/// Returns a loop without what scenes did to it.
fn reopen_loop(it: OpenLoop) -> OpenLoop {
    OpenLoop {
        status: LoopStatus::Open,
        closed_in_scene: None,
        moved_in_scene: None,
        reason: None,
        evidence: None,
        ..it
    }
}

/// The canon's facts in force, by subject and predicate. A linear search per fact would make rereading a
/// novel quadratic.
struct CanonIndex(HashMap<(String, String), String>);

impl CanonIndex {
    fn new(memory: &StoryMemory) -> Self {
        let mut index = Self(HashMap::new());
        for fact in memory.facts() {
            if fact.truth == Truth::Canon && fact.valid_to.is_none() {
                index.add_fact(fact);
            }
        }
        index
    }

    fn add_fact(&mut self, fact: &StoryFact) {
        let key = (fact.subject.clone(), fact.predicate.to_lowercase());
        self.0
            .entry(key)
            .or_insert_with(|| fact.object.to_lowercase());
    }
}

/// Adds the facts of a scene, and returns the ids of the new ones.
fn add_facts(
    memory: &mut StoryMemory,
    reading: &SceneReading,
    canon: &mut CanonIndex,
    retracted: &mut HashMap<(String, String, String, String), StoryFact>,
) -> Vec<String> {
    let mut learnt = Vec::new();
    for NewFact {
        subject,
        predicate,
        object,
        quote,
    } in &reading.claims.facts
    {
        // A judge writes names or ids. A subject that is no character, such as a ship, keeps its words.
        let subject = memory
            .resolve_id(EntryKind::Character, subject)
            .unwrap_or_else(|| subject.clone());
        let known = canon.0.get(&(subject.clone(), predicate.to_lowercase()));
        if known.is_some_and(|value| *value == object.to_lowercase()) {
            continue;
        }
        let mut fact = StoryFact {
            subject,
            predicate: predicate.clone(),
            object: object.clone(),
            valid_from: Some(reading.scene.clone()),
            // A fact that contradicts an earlier one is not canon until a person says so; which of the two
            // is the mistake cannot be computed.
            truth: if known.is_some() {
                Truth::Disputed
            } else {
                Truth::Canon
            },
            quote: Some(quote.clone()),
            version: Some(reading.version.to_string()),
            ..StoryFact::default()
        };
        fact.id = match retracted.remove(&fact_identity(&fact)) {
            Some(before) => {
                // What people added to it stays.
                (fact.valid_to, fact.text) = (before.valid_to, before.text);
                fact.id.clone_from(&before.id);
                memory.put_entry(Entry::Fact(fact.clone()));
                before.id
            }
            None => memory.add_entry(Entry::Fact(fact.clone())),
        };
        if fact.truth == Truth::Canon {
            canon.add_fact(&fact);
        }
        learnt.push(fact.id);
    }
    learnt
}

/// Advances or resolves the loops that a scene moved.
fn advance_loops(
    memory: &mut StoryMemory,
    moves: &[AdvancedLoop],
    scene: &str,
    is_open_by_now: impl Fn(&OpenLoop) -> bool,
) {
    for moved in moves {
        let Some(Entry::Loop(mut it)) = memory.get(&moved.loop_id).cloned() else {
            continue;
        };
        // A loop that was closed meanwhile is not reopened by a judge that saw an older list.
        if !it.status.is_open() || !is_open_by_now(&it) {
            continue;
        }
        it.status = LoopStatus::Advanced;
        it.evidence = Some(moved.quote.clone());
        it.reason = Some(moved.reason.clone());
        it.moved_in_scene = Some(scene.to_owned());
        if moved.outcome == "resolved" {
            it.status = LoopStatus::Resolved;
            it.closed_in_scene = Some(scene.to_owned());
        }
        memory.put_entry(Entry::Loop(it));
    }
}

/// Adds the loops that a scene opened.
fn add_loops(
    memory: &mut StoryMemory,
    loops: &[NewLoop],
    scene: &str,
    tick: u64,
    retracted: &mut HashMap<String, OpenLoop>,
) {
    for new in loops {
        if memory.loops().any(|it| it.text == new.description) {
            continue;
        }
        let importance = match new.importance.as_str() {
            "low" => Importance::Low,
            "high" => Importance::High,
            "critical" => Importance::Critical,
            _ => Importance::Medium,
        };
        let opened = OpenLoop {
            importance,
            text: new.description.clone(),
            quote: Some(new.quote.clone()),
            created_in_scene: Some(scene.to_owned()),
            created_tick: tick,
            ..OpenLoop::default()
        };
        match retracted.remove(&new.description) {
            Some(before) => {
                // A decision that no scene made, such as a person's, stays.
                let before = if before.moved_in_scene.is_some() {
                    reopen_loop(before)
                } else {
                    before
                };
                memory.put_entry(Entry::Loop(OpenLoop {
                    quote: opened.quote,
                    created_in_scene: opened.created_in_scene,
                    ..before
                }));
            }
            None => {
                memory.add_entry(Entry::Loop(opened));
            }
        }
    }
}

/// Removes what characters know because they were in a scene. What a person let them know stays.
fn forget_witnessed_facts(memory: &mut StoryMemory, before: &[SceneReading]) {
    let mut by_scene: HashMap<&str, Vec<&str>> = HashMap::new();
    for fact in memory.facts().filter(|fact| fact.quote.is_some()) {
        if let Some(scene) = &fact.valid_from {
            by_scene.entry(scene).or_default().push(&fact.id);
        }
    }
    let mut witnessed: HashMap<String, BTreeSet<String>> = HashMap::new();
    for reading in before {
        let Some(facts) = by_scene.get(reading.scene.as_str()) else {
            continue;
        };
        for id in resolve_characters(memory, &reading.claims) {
            witnessed
                .entry(id)
                .or_default()
                .extend(facts.iter().map(|&id| id.to_owned()));
        }
    }
    for (id, facts) in witnessed {
        if let Some(Entry::Character(mut it)) = memory.get(&id).cloned() {
            it.knows.retain(|fact| !facts.contains(fact));
            memory.put_entry(Entry::Character(it));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::memory::Character;

    const SCENES: u32 = 4;

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
        for scene in 1..=SCENES {
            memory.add_entry(Entry::Scene(Scene {
                node: Some(format!("scene-{scene}")),
                ..Scene::default()
            }));
        }
        memory
    }

    fn reading(scene: u32, claims: SceneVerdict) -> SceneReading {
        SceneReading {
            node: NodeId(scene),
            scene: format!("S{scene:03}"),
            version: VersionHash::of_bytes(b""),
            claims,
        }
    }

    /// Returns everything the memory says, without the ids.
    fn told(memory: &StoryMemory) -> Vec<String> {
        let name = |id: &String| memory.get(id).map_or_else(|| id.clone(), Entry::name);
        let facts = memory.facts().map(|it| {
            format!(
                "{} {} {} {:?} {:?}",
                it.subject, it.predicate, it.object, it.truth, it.valid_from
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
            format!("{} knows {known:?}", it.name)
        });
        let mut all: Vec<String> = facts.chain(loops).chain(knows).collect();
        all.sort();
        all
    }

    /// Defect: after a rewrite the discarded text's eyes were canon, and the new ones disputed.
    #[test]
    fn a_rewrite_retracts_what_the_earlier_text_said() {
        let mut memory = story();
        let first = [reading(1, claims(0, 2))];
        project_readings(&mut memory, &[], &first, 1);
        assert!(told(&memory).contains(&"C0 has eyes blue Canon Some(\"S001\")".to_owned()));
        project_readings(&mut memory, &first, &[reading(1, claims(1, 0))], 1);
        let after = told(&memory);
        assert!(
            after.contains(&"C0 has eyes green Canon Some(\"S001\")".to_owned()),
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

    proptest! {
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
}
