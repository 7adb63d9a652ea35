//! The memory as a projection of committed text: what was read in each scene, applied in the order of the
//! plan. Drafts never reach the memory.
//!
//! Every commit retracts what earlier texts put into the memory and applies all readings again, so the
//! result does not depend on how often or in which order scenes were written. Entries that people and ticks
//! made are not touched; an entry that is read again keeps its id.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::contradiction::are_exclusive;
use super::entity_projection::{add_entities, retract_entities};
pub use super::reading::SceneReading;
use super::verdict::{AdvancedLoop, NewFact, NewLoop, SceneVerdict};
use crate::memory::{
    Entry, EntryKind, Importance, LoopStatus, NameIndex, OpenLoop, Scene, StoryFact, StoryMemory,
    Truth,
};

/// Facts about a committed scene besides what was read in it.
#[derive(Clone, Copy, Debug)]
pub struct CommittedScene<'a> {
    /// The node's path.
    pub path: &'a str,
    pub title: &'a str,
    /// The tick it was written in; `None` keeps the known one.
    pub tick: Option<u64>,
    pub words: usize,
}

/// Records a committed scene in the memory, without what was read in it, and returns its id. A scene that
/// was known before has `known_id`.
pub fn record_scene_entry(
    memory: &mut StoryMemory,
    kept: CommittedScene<'_>,
    known_id: Option<&str>,
) -> String {
    let known = memory
        .scenes()
        .find(|scene| scene.node.as_deref() == Some(kept.path))
        .cloned();
    // A rewritten scene keeps its id, because facts and loops refer to it; so does one whose text was gone.
    let before = known.unwrap_or_else(|| Scene {
        id: known_id
            // The id may have been given to another entry while the text was gone.
            .filter(|id| memory.get(id).is_none())
            .unwrap_or_default()
            .to_owned(),
        ..Scene::default()
    });
    let scene = Scene {
        title: kept.title.to_owned(),
        tick: kept.tick.unwrap_or(before.tick),
        node: Some(kept.path.to_owned()),
        words: kept.words as u64,
        ..before
    };
    if scene.id.is_empty() {
        memory.add_entry(Entry::Scene(scene))
    } else {
        let id = scene.id.clone();
        memory.put_entry(Entry::Scene(scene));
        id
    }
}

/// Applies all readings, which are in the order of the plan, in place of those that were applied before.
pub fn project_readings(
    memory: &mut StoryMemory,
    before: &[SceneReading],
    readings: &[SceneReading],
    tick: u64,
) {
    let readings: Vec<SceneReading> = readings.iter().filter(|it| !it.is_gone).cloned().collect();
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
    // Before anything is retracted: who witnessed what follows from the scenes and facts as they
    // are now.
    forget_witnessed_facts(memory);
    let mut retracted = retract_readings(memory, before, &scenes);
    let gone = scenes.iter().filter(|scene| !order.contains_key(*scene));
    for scene in gone {
        memory.remove_entry(scene);
    }
    // After witnessed facts are forgotten: a character who knows something is not bare.
    let entities = retract_entities(memory);
    add_entities(memory, &readings, &entities, tick);
    // Only now: names are resolved against all entities of this projection, whichever scene
    // introduces them.
    let mut names = ResolvedNames::new(memory);
    let mut canon = CanonIndex::new(memory);
    let mut learnt: HashMap<String, Vec<String>> = HashMap::new();
    for (at, reading) in readings.iter().enumerate() {
        let present = set_scene_cast(memory, reading, &names);
        let facts = add_facts(
            memory,
            reading,
            &mut names,
            &mut canon,
            &mut retracted.facts,
        );
        // Only the characters who were present know the facts from now on.
        for id in present {
            learnt.entry(id).or_default().extend(facts.iter().cloned());
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
    // Last: what is left in `retracted` was not read again, so it is gone for good.
    add_knowledge(memory, learnt, &retracted);
}

/// Lets the characters know what they witnessed, and forgets facts that are gone.
fn add_knowledge(
    memory: &mut StoryMemory,
    mut learnt: HashMap<String, Vec<String>>,
    retracted: &Retracted,
) {
    // Knowledge that a person gave a character goes with the fact.
    let gone: BTreeSet<&str> = retracted.facts.values().map(|it| it.id.as_str()).collect();
    let knowing: Vec<_> = memory.characters().cloned().collect();
    for mut it in knowing {
        let before = it.knows.len();
        it.knows.retain(|fact| !gone.contains(fact.as_str()));
        let new = learnt.remove(&it.id).unwrap_or_default();
        let known: BTreeSet<String> = it.knows.iter().cloned().collect();
        it.knows
            .extend(new.into_iter().filter(|fact| !known.contains(fact)));
        if it.knows.len() != before || !gone.is_empty() {
            memory.put_entry(Entry::Character(it));
        }
    }
}

/// Names of the memory while readings are projected. Each name is resolved once: a novel has thousands of
/// facts about the same few people.
struct ResolvedNames {
    people: NameIndex,
    places: NameIndex,
    subjects: HashMap<String, Option<String>>,
}

impl ResolvedNames {
    fn new(memory: &StoryMemory) -> Self {
        Self {
            people: memory.character_names(),
            places: memory.location_names(),
            subjects: HashMap::new(),
        }
    }

    /// Returns the character that a judge or a text means.
    fn resolve_subject(&mut self, memory: &StoryMemory, subject: &str) -> Option<String> {
        if let Some(known) = self.subjects.get(subject) {
            return known.clone();
        }
        let by_name = || self.people.resolve_name(subject).map(str::to_owned);
        let found = memory
            .resolve_id(EntryKind::Character, subject)
            .or_else(by_name);
        self.subjects.insert(subject.to_owned(), found.clone());
        found
    }
}

/// Sets cast, point of view, place and summary of a scene from its reading, and returns the ids of the
/// characters who are present.
fn set_scene_cast(
    memory: &mut StoryMemory,
    reading: &SceneReading,
    names: &ResolvedNames,
) -> Vec<String> {
    let (claims, found) = (&reading.claims, &reading.found);
    let mut present = resolve_characters(memory, claims);
    let mut add = |id: String| {
        if !present.contains(&id) {
            present.push(id);
        }
    };
    let resolve = |name: &str| {
        let by_name = || names.people.resolve_name(name).map(str::to_owned);
        memory
            .resolve_id(EntryKind::Character, name)
            .or_else(by_name)
    };
    let pov = found.pov.as_deref().and_then(resolve);
    if reading.is_judged() && !claims.characters.is_empty() {
        // A judge tells who is there from who is only spoken of. It cannot name those whom the memory did not
        // have yet, and the plan says who is there.
        let certain = found.cast.iter().chain(&reading.unlisted);
        certain.filter_map(|name| resolve(name)).for_each(&mut add);
    } else {
        let named = names.people.find_in_words(&found.names).into_iter();
        named.map(str::to_owned).for_each(&mut add);
    }
    // A point of view is there even where the text never names it.
    pov.iter().cloned().for_each(&mut add);
    let planned = names.places.find_in_words(&found.planned_names);
    let read = || {
        let named = found.places.iter();
        named
            .filter_map(|it| names.places.resolve_name(&it.name))
            .next()
    };
    let location = planned.first().copied().or_else(read).map(str::to_owned);
    if let Some(Entry::Scene(scene)) = memory.get(&reading.scene).cloned() {
        let summary = if claims.summary.is_empty() {
            &found.summary
        } else {
            &claims.summary
        };
        memory.put_entry(Entry::Scene(Scene {
            pov: pov.or_else(|| present.first().cloned()),
            location,
            characters: present.clone(),
            summary: summary.clone(),
            ..scene
        }));
    }
    present
}

fn resolve_characters(memory: &StoryMemory, claims: &SceneVerdict) -> Vec<String> {
    let ids = claims.characters.iter();
    ids.filter_map(|id| memory.resolve_id(EntryKind::Character, id))
        .collect()
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

/// Returns what the readings say: quotation, predicate and object of each fact, by scene.
fn claims_of_readings(readings: &[SceneReading]) -> BTreeSet<(&str, &str, String, String)> {
    let claims = readings.iter().flat_map(|reading| {
        let facts = reading.claims.facts.iter().chain(&reading.found.facts);
        facts.map(|fact| {
            let (predicate, object) = (fact.predicate.to_lowercase(), fact.object.to_lowercase());
            (
                reading.scene.as_str(),
                fact.quote.as_str(),
                predicate,
                object,
            )
        })
    });
    claims.collect()
}

/// Removes what the readings of these scenes put into the memory.
fn retract_readings(
    memory: &mut StoryMemory,
    before: &[SceneReading],
    scenes: &BTreeSet<&str>,
) -> Retracted {
    let is_read = |scene: &Option<String>| scene.as_deref().is_some_and(|id| scenes.contains(id));
    let claims = claims_of_readings(before);
    // A quotation tells what was read from what a person noted; other words than were read are a person's
    // correction.
    let is_claim = |fact: &&StoryFact| {
        let (predicate, object) = (fact.predicate.to_lowercase(), fact.object.to_lowercase());
        let (Some(scene), Some(quote)) = (&fact.valid_from, &fact.quote) else {
            return false;
        };
        claims.contains(&(scene.as_str(), quote.as_str(), predicate, object))
    };
    let facts: Vec<StoryFact> = memory
        .facts()
        .filter(|fact| is_read(&fact.valid_from) && is_claim(fact))
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
        memory.put_entry(Entry::Loop(it.without_moves()));
    }
    Retracted {
        facts: facts
            .into_iter()
            .map(|fact| (fact_identity(&fact), fact))
            .collect(),
        loops: loops.into_iter().map(|it| (it.text.clone(), it)).collect(),
    }
}

/// The objects of the canon's facts in force, by subject and predicate. A linear search per fact would make
/// rereading a novel quadratic.
struct CanonIndex(HashMap<(String, String), Vec<String>>);

impl CanonIndex {
    fn new(memory: &StoryMemory) -> Self {
        let mut index = Self(HashMap::new());
        for fact in memory.facts() {
            if fact.truth == Truth::Canon && fact.valid_to.is_none() {
                index.add_fact(memory, fact);
            }
        }
        index
    }

    fn add_fact(&mut self, memory: &StoryMemory, fact: &StoryFact) {
        let subject = memory.identify_subject(&fact.subject);
        let key = (subject, fact.predicate.to_lowercase());
        self.0.entry(key).or_default().push(fact.object.clone());
    }
}

/// Returns the facts of a reading with whether the rules read them: a judge's, and those of the rules that no
/// judge took from the same words. A poor answer of a model so deletes nothing that the rules read.
fn facts_of_reading(reading: &SceneReading) -> impl Iterator<Item = (&NewFact, bool)> {
    let judged = &reading.claims.facts;
    let is_new = |fact: &&NewFact| !judged.iter().any(|it| it.has_same_sentence(fact));
    let ruled = reading.found.facts.iter().filter(is_new);
    judged
        .iter()
        .map(|fact| (fact, false))
        .chain(ruled.map(|fact| (fact, true)))
}

/// Adds the facts of a scene, and returns the ids of the new ones.
fn add_facts(
    memory: &mut StoryMemory,
    reading: &SceneReading,
    names: &mut ResolvedNames,
    canon: &mut CanonIndex,
    retracted: &mut HashMap<(String, String, String, String), StoryFact>,
) -> Vec<String> {
    let mut learnt = Vec::new();
    for (new, is_by_rules) in facts_of_reading(reading) {
        // A judge writes names or ids. A subject that is no character, such as a ship, keeps its words;
        // rules would take too much for a name.
        let subject = match names.resolve_subject(memory, &new.subject) {
            Some(id) => id,
            None if is_by_rules => continue,
            None => new.subject.clone(),
        };
        let key = (
            memory.identify_subject(&subject),
            new.predicate.to_lowercase(),
        );
        let known = canon.0.get(&key).map(Vec::as_slice).unwrap_or_default();
        // Said again, it is no new fact; it stays with the scene that said it first.
        let object = new.object.to_lowercase();
        if known.iter().any(|value| value.to_lowercase() == object) {
            continue;
        }
        // The first fact stays the canon. One that contradicts it is not canon until a person says so;
        // which of the two is the mistake cannot be computed.
        let contradicts = known
            .iter()
            .any(|value| are_exclusive(&new.predicate, value, &new.object));
        let truth = match (contradicts, reading.is_accepted) {
            (true, true) => Truth::Intended,
            (true, false) => Truth::Disputed,
            (false, _) => Truth::Canon,
        };
        let mut fact = StoryFact {
            subject,
            predicate: new.predicate.clone(),
            object: new.object.clone(),
            valid_from: Some(reading.scene.clone()),
            truth,
            quote: Some(new.quote.clone()),
            version: Some(reading.version.to_string()),
            ..StoryFact::default()
        };
        fact.id = match retracted.remove(&fact_identity(&fact)) {
            Some(before) => {
                // What people added to it stays.
                (fact.valid_to, fact.text) = (before.valid_to, before.text);
                // A person accepted this contradiction once; projecting again must not ask for it
                // again.
                if before.truth == Truth::Intended && fact.truth == Truth::Disputed {
                    fact.truth = Truth::Intended;
                }
                fact.id.clone_from(&before.id);
                memory.put_entry(Entry::Fact(fact.clone()));
                before.id
            }
            None => memory.add_entry(Entry::Fact(fact.clone())),
        };
        if fact.truth == Truth::Canon {
            canon.add_fact(memory, &fact);
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
        // Two scenes may raise the same question; it is one loop.
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
                    before.without_moves()
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
fn forget_witnessed_facts(memory: &mut StoryMemory) {
    let cast: HashMap<&str, &Vec<String>> = memory
        .scenes()
        .map(|scene| (scene.id.as_str(), &scene.characters))
        .collect();
    let mut witnessed: HashMap<&str, BTreeSet<&str>> = HashMap::new();
    for fact in memory.facts().filter(|fact| fact.quote.is_some()) {
        let present = fact.valid_from.as_deref().and_then(|scene| cast.get(scene));
        for id in present.into_iter().copied().flatten() {
            witnessed.entry(id).or_default().insert(&fact.id);
        }
    }
    let forgetting: Vec<_> = memory
        .characters()
        .filter_map(|it| {
            let facts = witnessed.get(it.id.as_str())?;
            let mut it = it.clone();
            it.knows.retain(|fact| !facts.contains(fact.as_str()));
            Some(it)
        })
        .collect();
    for it in forgetting {
        memory.put_entry(Entry::Character(it));
    }
}

#[cfg(test)]
mod tests;
