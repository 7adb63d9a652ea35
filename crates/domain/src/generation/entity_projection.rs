//! Characters and places that only texts introduce: they exist as long as a committed text names them.
//!
//! Whatever a person or a tick added to one of them makes it theirs, and it stays.

use std::collections::HashMap;

use super::rule_reader::NamedEntity;
use super::update::SceneReading;
use crate::inflection::{LatinEndings, possible_stems};
use crate::memory::{Character, Entry, EntryKind, Location, StoryMemory, split_name};

/// Entities that were removed, by name in lower case, to give them the same id again.
#[derive(Debug, Default)]
pub(super) struct RetractedEntities {
    ids: HashMap<(EntryKind, String), (String, u64)>,
}

/// Removes the entities that only texts introduced.
pub(super) fn retract_entities(memory: &mut StoryMemory) -> RetractedEntities {
    let mut retracted = RetractedEntities::default();
    // A relationship was made by a person or a tick, and would be left without one of its ends.
    let is_related = |id: &str| {
        memory
            .relationships()
            .any(|tie| tie.character_a == id || tie.character_b == id)
    };
    let people = memory
        .characters()
        .filter(|it| is_bare_character(it) && !is_related(&it.id))
        .map(|it| (EntryKind::Character, &it.name, &it.id, it.created_tick));
    let places = memory
        .locations()
        .filter(|it| is_bare_location(it))
        .map(|it| (EntryKind::Location, &it.name, &it.id, it.created_tick));
    for (kind, name, id, tick) in people.chain(places) {
        let key = (kind, name.to_lowercase());
        retracted.ids.insert(key, (id.clone(), tick));
    }
    for (id, _) in retracted.ids.values() {
        memory.remove_entry(id);
    }
    retracted
}

/// Whether nothing is known of a character but that a text names them.
fn is_bare_character(it: &Character) -> bool {
    // Compared as a whole: a field that is added later counts as something known by itself.
    let bare = Character {
        id: it.id.clone(),
        name: it.name.clone(),
        created_tick: it.created_tick,
        read_in: it.read_in.clone(),
        ..Character::default()
    };
    it.read_in.is_some() && *it == bare
}

fn is_bare_location(it: &Location) -> bool {
    let bare = Location {
        id: it.id.clone(),
        name: it.name.clone(),
        created_tick: it.created_tick,
        read_in: it.read_in.clone(),
        ..Location::default()
    };
    it.read_in.is_some() && *it == bare
}

/// Adds the entities that the readings name and the memory does not have.
pub(super) fn add_entities(
    memory: &mut StoryMemory,
    readings: &[SceneReading],
    retracted: &RetractedEntities,
    tick: u64,
) {
    // Characters before places: a name that is both (`Georgia`) is a person once someone acts
    // under it.
    let mut known = KnownNames::new(memory);
    for (kind, new) in [
        (
            EntryKind::Character,
            known.choose_new(readings, |it| &it.found.people),
        ),
        (
            EntryKind::Location,
            known.choose_new(readings, |it| &it.found.places),
        ),
    ] {
        for (name, scene) in new {
            // The id it had before: facts and scenes name it.
            let before = retracted.ids.get(&(kind, name.to_lowercase()));
            let (id, created_tick) = before.cloned().unwrap_or((String::new(), tick));
            let read_in = Some(scene.to_owned());
            let (is_new, name) = (id.is_empty(), name.to_owned());
            let entry = match kind {
                EntryKind::Character => Entry::Character(Character {
                    id,
                    name,
                    created_tick,
                    read_in,
                    ..Character::default()
                }),
                _ => Entry::Location(Location {
                    id,
                    name,
                    created_tick,
                    read_in,
                    ..Location::default()
                }),
            };
            if is_new {
                memory.add_entry(entry);
            } else {
                memory.put_entry(entry);
            }
        }
    }
}

/// The stems of each part of a name.
pub(super) type NameStems = Vec<Vec<String>>;

/// Names of characters and places, to tell new ones from known ones.
struct KnownNames(Vec<NameStems>);

impl KnownNames {
    fn new(memory: &StoryMemory) -> Self {
        let people = memory.characters().map(|it| (&it.name, &it.aliases));
        let places = memory.locations().map(|it| (&it.name, &it.aliases));
        let names = people.chain(places);
        let names = names.flat_map(|(name, aliases)| std::iter::once(name).chain(aliases));
        Self(names.map(|name| stems_of_name(name)).collect())
    }

    /// Returns the names that are not known yet, each with the first scene that has it or a part of it, in
    /// the order of the story.
    fn choose_new<'r>(
        &mut self,
        readings: &'r [SceneReading],
        entities: impl Fn(&'r SceneReading) -> &'r [NamedEntity],
    ) -> Vec<(&'r str, &'r str)> {
        let mut mentions: Vec<(&str, usize)> = Vec::new();
        let mut at_name: HashMap<String, usize> = HashMap::new();
        for (at, reading) in readings.iter().enumerate() {
            for entity in entities(reading) {
                at_name
                    .entry(entity.name.to_lowercase())
                    .or_insert_with(|| {
                        mentions.push((&entity.name, at));
                        mentions.len()
                    });
            }
        }
        // Full names first: "Elena" of the first scene is Elena Vasquez of the second.
        let mut by_length = mentions;
        by_length.sort_by_key(|(name, at)| (std::cmp::Reverse(split_name(name).len()), *at));
        let mut new: Vec<(&str, usize, NameStems)> = Vec::new();
        for (name, at) in by_length {
            let stems = stems_of_name(name);
            if stems.is_empty() {
                continue;
            }
            if let Some(same) = new.iter_mut().find(|(_, _, it)| is_same_name(it, &stems)) {
                // The entity is introduced where any form of its name first occurs.
                same.1 = same.1.min(at);
            } else if !self.0.iter().any(|it| is_same_name(it, &stems)) {
                new.push((name, at, stems));
            }
        }
        new.sort_by_key(|(_, at, _)| *at);
        let scene = |at: usize| {
            readings
                .get(at)
                .map_or("", |reading| reading.scene.as_str())
        };
        let chosen = new
            .iter()
            .map(|(name, at, _)| (*name, scene(*at)))
            .collect();
        self.0.extend(new.into_iter().map(|(_, _, stems)| stems));
        chosen
    }
}

pub(super) fn stems_of_name(name: &str) -> NameStems {
    let parts = split_name(name);
    parts
        .iter()
        .map(|part| possible_stems(part, LatinEndings::Plain))
        .collect()
}

/// Whether all parts of the shorter name are in the longer one, in any form.
pub(super) fn is_same_name(one: &NameStems, other: &NameStems) -> bool {
    let (short, long) = if one.len() <= other.len() {
        (one, other)
    } else {
        (other, one)
    };
    let has = |part: &Vec<String>| {
        long.iter()
            .any(|word| word.iter().any(|stem| part.contains(stem)))
    };
    !short.is_empty() && short.iter().all(has)
}
