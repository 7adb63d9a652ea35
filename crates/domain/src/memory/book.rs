//! The whole memory of a story, and what a change of it means as facts.

use std::collections::BTreeMap;

use super::entry::{
    Character, Entry, EntryKind, Location, OpenLoop, Relationship, Scene, StoryFact,
};
use crate::fact::Fact;
use crate::record::RecordKey;

type Place = (EntryKind, u32);

/// Every entry, by kind and number; and how those were that changed.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    entries: BTreeMap<Place, Entry>,
    before: BTreeMap<Place, Option<Entry>>,
}

impl Memory {
    /// Returns a memory with these entries. One without a proper id is left out.
    #[must_use]
    pub fn new(entries: impl IntoIterator<Item = Entry>) -> Self {
        let placed = entries
            .into_iter()
            .filter_map(|entry| Some((EntryKind::of_id(entry.id())?, entry)));
        Self {
            entries: placed.collect(),
            before: BTreeMap::new(),
        }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns an entry, however its id is written.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Entry> {
        self.entries.get(&EntryKind::of_id(id)?)
    }

    /// Returns the entries of a kind, in the order of their numbers.
    pub fn of(&self, kind: EntryKind) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries
            .range((kind, 0)..=(kind, u32::MAX))
            .map(|(_, entry)| entry)
    }

    pub fn all(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    pub fn characters(&self) -> impl DoubleEndedIterator<Item = &Character> {
        self.of(EntryKind::Character).filter_map(|entry| {
            if let Entry::Character(it) = entry {
                Some(it)
            } else {
                None
            }
        })
    }

    pub fn locations(&self) -> impl DoubleEndedIterator<Item = &Location> {
        self.of(EntryKind::Location).filter_map(|entry| {
            if let Entry::Location(it) = entry {
                Some(it)
            } else {
                None
            }
        })
    }

    pub fn relationships(&self) -> impl DoubleEndedIterator<Item = &Relationship> {
        let relationships = self.of(EntryKind::Relationship);
        relationships.filter_map(|entry| {
            if let Entry::Relationship(it) = entry {
                Some(it)
            } else {
                None
            }
        })
    }

    pub fn scenes(&self) -> impl DoubleEndedIterator<Item = &Scene> {
        self.of(EntryKind::Scene).filter_map(|entry| {
            if let Entry::Scene(it) = entry {
                Some(it)
            } else {
                None
            }
        })
    }

    pub fn loops(&self) -> impl DoubleEndedIterator<Item = &OpenLoop> {
        self.of(EntryKind::Loop).filter_map(|entry| {
            if let Entry::Loop(it) = entry {
                Some(it)
            } else {
                None
            }
        })
    }

    pub fn facts(&self) -> impl DoubleEndedIterator<Item = &StoryFact> {
        self.of(EntryKind::Fact).filter_map(|entry| {
            if let Entry::Fact(it) = entry {
                Some(it)
            } else {
                None
            }
        })
    }

    /// Returns the loops the reader still waits for, the most important first, then the oldest.
    #[must_use]
    pub fn open_loops(&self) -> Vec<&OpenLoop> {
        let mut open: Vec<&OpenLoop> = self.loops().filter(|it| it.status.is_open()).collect();
        open.sort_by_key(|it| std::cmp::Reverse(it.importance));
        open
    }

    /// Returns what a character or location is called; the id where nothing is known.
    #[must_use]
    pub fn name_of(&self, id: &str) -> String {
        self.get(id).map_or_else(|| id.to_owned(), Entry::name)
    }

    /// Returns the id of the entry of a kind that is meant by an id or a name, loosely written: `c0`, `C0: Elena`,
    /// `[C0]`, `elena`.
    #[must_use]
    pub fn meant(&self, kind: EntryKind, loosely: &str) -> Option<String> {
        let bare = loosely
            .trim()
            .trim_matches(|c: char| "[](){}\"'`*<>#".contains(c))
            .trim();
        let first = bare
            .split(|c: char| !c.is_ascii_alphanumeric())
            .next()
            .unwrap_or_default();
        for candidate in [bare, first] {
            if let Some((found, number)) = EntryKind::of_id(candidate)
                && found == kind
                && self.entries.contains_key(&(kind, number))
            {
                return Some(kind.id(number));
            }
        }
        let name = bare.to_lowercase();
        let mut named = self
            .of(kind)
            .filter(|entry| entry.name().to_lowercase() == name);
        let found = named.next()?;
        named.next().is_none().then(|| found.id().to_owned())
    }

    /// Puts an entry under the id it has, over what is there. One without a proper id is not taken.
    pub fn put(&mut self, entry: Entry) {
        let Some(place) = EntryKind::of_id(entry.id()) else {
            return;
        };
        let before = self.entries.insert(place, entry);
        self.before.entry(place).or_insert(before);
    }

    /// Adds an entry under the next free id of its kind, and returns the id.
    pub fn add(&mut self, entry: Entry) -> String {
        let kind = entry.kind();
        // What is about to be taken out keeps its number: an id never means two things.
        let known = self
            .entries
            .keys()
            .chain(self.before.keys())
            .filter(|(found, _)| *found == kind);
        let number = known
            .map(|(_, number)| number + 1)
            .max()
            .unwrap_or(kind.first());
        let id = kind.id(number);
        self.put(entry.with_id(id.clone()));
        id
    }

    /// Takes an entry out.
    pub fn forget(&mut self, id: &str) -> Option<Entry> {
        let place = EntryKind::of_id(id)?;
        let entry = self.entries.remove(&place)?;
        self.before
            .entry(place)
            .or_insert_with(|| Some(entry.clone()));
        Some(entry)
    }

    /// Returns the ids of the entries that are not as they were, each with what it is now.
    pub fn changed(&self) -> impl Iterator<Item = (String, Option<&Entry>)> {
        let changed = self
            .before
            .iter()
            .filter(|(place, before)| self.entries.get(place) != before.as_ref());
        changed.map(|((kind, number), _)| (kind.id(*number), self.entries.get(&(*kind, *number))))
    }

    /// Returns what happened as facts.
    #[must_use]
    pub fn changes(&self) -> Vec<Fact> {
        let changed = self
            .before
            .iter()
            .filter(|(place, before)| self.entries.get(place) != before.as_ref());
        changed
            .map(|((kind, number), before)| Fact::RecordChanged {
                record: RecordKey {
                    kind: kind.word().to_owned(),
                    key: kind.id(*number),
                },
                before: before.as_ref().map(Entry::value),
                after: self.entries.get(&(*kind, *number)).map(Entry::value),
            })
            .collect()
    }
}
