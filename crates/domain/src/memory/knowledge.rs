//! Who knows what at a scene, and since when: the memory as of a moment of the story.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{Entry, OpenLoop, Scene, StoryFact, StoryMemory, Truth};

/// The story right before a scene.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StoryMoment {
    pub characters: Vec<CharacterMoment>,
    /// What is true, and who knows nothing of it.
    pub facts: Vec<FactMoment>,
    pub open_loops: Vec<LoopMoment>,
}

/// A character at a moment of the story.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CharacterMoment {
    pub id: String,
    pub name: String,
    /// The last scene they were in.
    pub last_seen: Option<String>,
    /// Name of the place of that scene.
    pub location: Option<String>,
    pub knows: Vec<KnownFact>,
}

/// A fact that a character knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KnownFact {
    pub fact: String,
    pub statement: String,
    /// The scene in which they learnt it; none if a person noted it.
    pub since: Option<String>,
}

/// A fact at a moment of the story.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FactMoment {
    pub fact: String,
    pub statement: String,
    pub since: Option<String>,
    /// Whether it contradicts another fact on purpose.
    pub is_intended: bool,
    pub quote: Option<String>,
}

/// A loop that is open at a moment of the story.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LoopMoment {
    pub id: String,
    pub text: String,
    /// The scene that opened it.
    pub since: Option<String>,
    /// The tick it was opened in; none if a person noted it.
    pub tick: Option<u64>,
}

/// Returns the memory as it is right before a scene: without facts and loops of this text and of later ones,
/// and with the loops open that only they moved. A scene that is written again is neither written nor judged by
/// the text it replaces.
///
/// `earlier` are the memory ids of the scenes before it, `here` is its own. A contradiction that a person
/// intended in this scene stays, and so does what no scene of the plan says.
#[must_use]
pub fn memory_before(
    memory: &StoryMemory,
    earlier: &BTreeSet<String>,
    here: Option<&str>,
) -> StoryMemory {
    let is_planned =
        |scene: &str| matches!(memory.get(scene), Some(Entry::Scene(it)) if it.node.is_some());
    let is_later = |scene: &Option<String>| {
        let later = |scene: &String| !earlier.contains(scene) && is_planned(scene);
        scene.as_ref().is_some_and(later)
    };
    let next_tick = first_later_tick(memory, |scene| {
        earlier.contains(scene) || here == Some(scene)
    });
    let is_meant = |fact: &StoryFact| {
        fact.truth == Truth::Intended && here.is_some() && fact.valid_from.as_deref() == here
    };
    let entries = memory.all_entries().filter_map(|entry| match entry {
        Entry::Fact(fact) if is_later(&fact.valid_from) && !is_meant(fact) => None,
        Entry::Fact(fact) if is_later(&fact.valid_to) => Some(Entry::Fact(StoryFact {
            valid_to: None,
            ..fact.clone()
        })),
        Entry::Loop(it) if is_later(&it.created_in_scene) || is_of_later_tick(it, next_tick) => {
            None
        }
        Entry::Loop(it) if is_later(&it.moved_in_scene) => {
            Some(Entry::Loop(OpenLoop::clone(it).without_moves()))
        }
        other => Some(other.clone()),
    });
    StoryMemory::new(entries)
}

/// Returns the first tick in which a scene of the plan was written that is not `before` a moment.
fn first_later_tick(memory: &StoryMemory, is_before: impl Fn(&str) -> bool) -> Option<u64> {
    let later = memory
        .scenes()
        .filter(|it| it.node.is_some() && !is_before(&it.id));
    later.map(|it| it.tick).min()
}

/// Whether a tick opened a loop when a later scene was written already: the tick continued the story after that
/// one, so an earlier scene that is written again does not know the loop.
fn is_of_later_tick(it: &OpenLoop, next_tick: Option<u64>) -> bool {
    it.created_in_scene.is_none() && next_tick.is_some_and(|next| it.created_tick > next)
}

/// Returns the story before a scene. `earlier` are the memory ids of the scenes before it, in order.
#[must_use]
pub fn moment_of_story(memory: &StoryMemory, earlier: &[String]) -> StoryMoment {
    let order: BTreeMap<&str, usize> = earlier
        .iter()
        .enumerate()
        .map(|(at, scene)| (scene.as_str(), at))
        .collect();
    let is_before = |scene: &Option<String>| {
        scene
            .as_deref()
            .is_some_and(|scene| order.contains_key(scene))
    };
    let holds = |fact: &&StoryFact| {
        // Of two facts that contradict each other by mistake neither is known to be true.
        fact.truth != Truth::Disputed
            // Without a scene it is background and holds from the beginning.
            && (fact.valid_from.is_none() || is_before(&fact.valid_from))
            && !is_before(&fact.valid_to)
    };
    let facts: Vec<&StoryFact> = memory.facts().filter(holds).collect();
    let scenes: Vec<&Scene> = {
        let mut scenes: Vec<&Scene> = memory
            .scenes()
            .filter(|scene| order.contains_key(scene.id.as_str()))
            .collect();
        scenes.sort_by_key(|scene| order.get(scene.id.as_str()).copied());
        scenes
    };
    let name = |id: &str| memory.display_name(id);
    let characters = memory.characters().map(|it| {
        let is_there = |scene: &&&Scene| {
            scene.characters.contains(&it.id) || scene.pov.as_ref() == Some(&it.id)
        };
        let seen: BTreeSet<&str> = scenes
            .iter()
            .filter(is_there)
            .map(|scene| scene.id.as_str())
            .collect();
        let last = scenes.iter().rev().find(is_there);
        let told: BTreeSet<&str> = it.knows.iter().map(String::as_str).collect();
        let learnt = |fact: &&&StoryFact| {
            let scene = fact.valid_from.as_deref();
            // A character who was in the scene that established a fact has witnessed it; others have to be
            // told.
            told.contains(fact.id.as_str()) || scene.is_some_and(|scene| seen.contains(scene))
        };
        let known = facts.iter().filter(learnt).map(|fact| KnownFact {
            fact: fact.id.clone(),
            statement: state_fact(memory, fact),
            since: fact
                .valid_from
                .clone()
                .filter(|scene| seen.contains(scene.as_str())),
        });
        CharacterMoment {
            id: it.id.clone(),
            name: it.name.clone(),
            last_seen: last.map(|scene| scene.id.clone()),
            location: last.and_then(|scene| scene.location.as_deref()).map(name),
            knows: known.collect(),
        }
    });
    let next_tick = first_later_tick(memory, |scene| order.contains_key(scene));
    let open_loops = memory.loops().filter(|it| {
        let is_opened = match &it.created_in_scene {
            Some(_) => is_before(&it.created_in_scene),
            None => !is_of_later_tick(it, next_tick),
        };
        // A loop without a scene that closed it was closed by a person: then its status counts.
        let is_closed = match &it.closed_in_scene {
            Some(_) => is_before(&it.closed_in_scene),
            None => !it.status.is_open(),
        };
        is_opened && !is_closed
    });
    StoryMoment {
        characters: characters.collect(),
        facts: facts
            .iter()
            .map(|fact| FactMoment {
                fact: fact.id.clone(),
                statement: state_fact(memory, fact),
                since: fact.valid_from.clone(),
                is_intended: fact.truth == Truth::Intended,
                quote: fact.quote.clone(),
            })
            .collect(),
        open_loops: open_loops
            .map(|it| LoopMoment {
                id: it.id.clone(),
                text: it.text.clone(),
                since: it.created_in_scene.clone(),
                tick: Some(it.created_tick).filter(|tick| *tick > 0),
            })
            .collect(),
    }
}

/// Returns a fact as a sentence with names.
#[must_use]
pub fn state_fact(memory: &StoryMemory, fact: &StoryFact) -> String {
    let name = |id: &str| memory.display_name(id);
    format!(
        "{} {} {}",
        name(&fact.subject),
        fact.predicate,
        name(&fact.object)
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::memory::{Entry, EntryKind};

    /// Defect: a scene that was written again was judged against the text it replaces, and could not resolve a loop
    /// that its earlier text had resolved.
    #[test]
    fn before_a_scene_nothing_of_it_and_of_later_ones_is_known() {
        let entry = |kind, value| Entry::from_value(kind, value).unwrap();
        let scene = |id: &str| {
            let value = json!({ "id": id, "node": format!("scene-{id}") });
            entry(EntryKind::Scene, value)
        };
        let fact = |id: &str, from: &str, truth: &str| {
            let value = json!({ "id": id, "subject": "C0", "predicate": "p", "object": id,
                "valid_from": from, "valid_to": "S003", "truth": truth });
            entry(EntryKind::Fact, value)
        };
        let memory = StoryMemory::new([
            scene("S001"),
            scene("S002"),
            scene("S003"),
            fact("F0", "S001", "canon"),
            fact("F1", "S002", "canon"),
            fact("F2", "S002", "intended"),
            fact("F3", "S003", "canon"),
            entry(
                EntryKind::Loop,
                json!({ "id": "OL0", "text": "Who?", "status": "resolved", "created_in_scene": "S001",
                    "moved_in_scene": "S002", "closed_in_scene": "S002" }),
            ),
            entry(
                EntryKind::Loop,
                json!({ "id": "OL1", "text": "Why?", "created_in_scene": "S002" }),
            ),
            entry(EntryKind::Loop, json!({ "id": "OL2", "text": "Where?" })),
        ]);
        let earlier = BTreeSet::from(["S001".to_owned()]);
        let before = memory_before(&memory, &earlier, Some("S002"));
        let facts: Vec<&str> = before.facts().map(|it| it.id.as_str()).collect();
        assert_eq!(facts, ["F0", "F2"], "what a person intended here stays");
        assert!(before.facts().all(|it| it.valid_to.is_none()));
        let open = before.open_loops();
        let open: Vec<&str> = open.iter().map(|it| it.id.as_str()).collect();
        assert_eq!(open, ["OL0", "OL2"]);
    }

    /// Defect: what the tenth tick opened was open "since before the story" in a scene 1 that was written again.
    #[test]
    fn a_scene_written_again_does_not_know_the_loops_of_later_ticks() {
        let entry = |kind, value| Entry::from_value(kind, value).unwrap();
        let scene = |id: &str, tick: u64| {
            let value = json!({ "id": id, "node": format!("scene-{id}"), "tick": tick });
            entry(EntryKind::Scene, value)
        };
        let of_tick = |id: &str, tick: u64| {
            let value = json!({ "id": id, "text": id, "created_tick": tick });
            entry(EntryKind::Loop, value)
        };
        let memory = StoryMemory::new([
            // Written again after the third scene.
            scene("S001", 3),
            scene("S002", 2),
            scene("S003", 3),
            of_tick("OL0", 0),
            of_tick("OL1", 1),
            of_tick("OL2", 2),
            of_tick("OL3", 3),
        ]);
        let open = |earlier: &[&str], here: &str| -> Vec<Vec<String>> {
            let earlier: Vec<String> = earlier.iter().map(|it| (*it).to_owned()).collect();
            let moment = moment_of_story(&memory, &earlier).open_loops;
            let before = memory_before(&memory, &earlier.into_iter().collect(), Some(here));
            let before = before.loops().map(|it| it.id.clone()).collect();
            vec![moment.into_iter().map(|it| it.id).collect(), before]
        };
        for known in open(&[], "S001") {
            assert_eq!(known, ["OL0", "OL1", "OL2"]);
        }
        for known in open(&["S001", "S002"], "S003") {
            assert_eq!(known, ["OL0", "OL1", "OL2", "OL3"]);
        }
    }

    #[test]
    fn knowledge_grows_with_the_scenes_a_character_was_in() {
        let entry = |kind, value| Entry::from_value(kind, value).unwrap();
        let memory = StoryMemory::new([
            entry(
                EntryKind::Character,
                json!({ "id": "C0", "name": "Elena", "knows": ["F0", "F2"] }),
            ),
            entry(
                EntryKind::Character,
                json!({ "id": "C1", "name": "Ivo", "knows": ["F1"] }),
            ),
            entry(
                EntryKind::Location,
                json!({ "id": "L0", "name": "The Archive" }),
            ),
            entry(
                EntryKind::Scene,
                json!({ "id": "S001", "characters": ["C0"], "location": "L0" }),
            ),
            entry(
                EntryKind::Scene,
                json!({ "id": "S002", "characters": ["C1"] }),
            ),
            entry(
                EntryKind::Fact,
                json!({ "id": "F0", "subject": "C0", "predicate": "has", "object": "the key", "valid_from": "S001" }),
            ),
            entry(
                EntryKind::Fact,
                json!({ "id": "F1", "subject": "C1", "predicate": "is", "object": "dead", "valid_from": "S002" }),
            ),
            entry(
                EntryKind::Fact,
                json!({ "id": "F2", "subject": "The city", "predicate": "burned", "object": "once" }),
            ),
            entry(
                EntryKind::Loop,
                json!({ "id": "OL0", "text": "Who?", "status": "resolved", "created_in_scene": "S001", "closed_in_scene": "S002" }),
            ),
        ]);
        let first = moment_of_story(&memory, &["S001".to_owned()]);
        let elena = &first.characters[0];
        assert_eq!(elena.location.as_deref(), Some("The Archive"));
        let known: Vec<_> = elena
            .knows
            .iter()
            .map(|it| (it.statement.as_str(), it.since.as_deref()))
            .collect();
        assert_eq!(
            known,
            [
                ("Elena has the key", Some("S001")),
                ("The city burned once", None)
            ]
        );
        assert!(
            first.characters[1].knows.is_empty(),
            "the scene comes later"
        );
        assert_eq!((first.facts.len(), first.open_loops.len()), (2, 1));
        let second = moment_of_story(&memory, &["S001".to_owned(), "S002".to_owned()]);
        assert_eq!((second.facts.len(), second.open_loops.len()), (3, 0));
        assert_eq!(second.characters[1].knows.len(), 1);
    }
}
