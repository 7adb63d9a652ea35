//! The memory of a story as a change-tracking map of entries; changes become facts.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use super::entry::{
    Character, Entry, EntryKind, Location, Lore, OpenLoop, Relationship, Scene, StoryFact,
};
use super::name_index::NameIndex;
use crate::fact::Fact;
use crate::record::RecordKey;
use crate::search::split_words;

/// Key of an entry: its id, parsed, so that spelling does not matter and order is numeric.
type EntryKey = (EntryKind, u32);

/// All entries by kind and number, with the original of each changed one.
#[derive(Clone, Debug, Default)]
pub struct StoryMemory {
    entries: BTreeMap<EntryKey, Entry>,
    before: BTreeMap<EntryKey, Option<Entry>>,
}

impl StoryMemory {
    /// Returns a memory with these entries. Entries without a valid id are ignored.
    #[must_use]
    pub fn new(entries: impl IntoIterator<Item = Entry>) -> Self {
        let placed = entries
            .into_iter()
            .filter_map(|entry| Some((EntryKind::parse_id(entry.id())?, entry)));
        Self {
            entries: placed.collect(),
            before: BTreeMap::new(),
        }
    }

    /// Whether there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns an entry by its id, in any spelling.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Entry> {
        self.entries.get(&EntryKind::parse_id(id)?)
    }

    /// Returns the entries of a kind, ordered by number.
    pub fn entries_of_kind(&self, kind: EntryKind) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries
            .range((kind, 0)..=(kind, u32::MAX))
            .map(|(_, entry)| entry)
    }

    /// Returns the ids of a kind that a model may name, at most `limit`, by number: those among `first`, then
    /// the most important open loops or the newest entries.
    ///
    /// The protagonists are usually the oldest entries; without `first` a short list would leave out
    /// the people whom the prompt is about.
    #[must_use]
    pub fn list_nameable_ids(&self, kind: EntryKind, first: &[&str], limit: usize) -> Vec<String> {
        // Closed loops cannot be closed again; listing them would only invite mistakes.
        let is_open = |entry: &&Entry| match entry {
            Entry::Loop(it) => it.status.is_open(),
            _ => true,
        };
        let known = self.entries_of_kind(kind).filter(is_open);
        let mut known: Vec<(usize, &Entry)> = known.enumerate().collect();
        if known.len() > limit {
            let rank = |entry: &Entry| {
                let importance = match entry {
                    Entry::Loop(it) => Some(it.importance),
                    _ => None,
                };
                (!first.contains(&entry.id()), Reverse(importance))
            };
            // Among equally important loops the oldest has waited longest, as in the prompts.
            if kind != EntryKind::Loop {
                known.reverse();
            }
            known.sort_by_key(|(_, entry)| rank(entry));
            known.truncate(limit);
            known.sort_unstable_by_key(|(at, _)| *at);
        }
        let ids = known.into_iter().map(|(_, entry)| entry.id().to_owned());
        ids.collect()
    }

    /// Returns every entry, ordered by kind and number.
    pub fn all_entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    /// Returns the characters.
    pub fn characters(&self) -> impl DoubleEndedIterator<Item = &Character> {
        self.entries_of_kind(EntryKind::Character)
            .filter_map(|entry| {
                if let Entry::Character(it) = entry {
                    Some(it)
                } else {
                    None
                }
            })
    }

    /// Returns the locations.
    pub fn locations(&self) -> impl DoubleEndedIterator<Item = &Location> {
        self.entries_of_kind(EntryKind::Location)
            .filter_map(|entry| {
                if let Entry::Location(it) = entry {
                    Some(it)
                } else {
                    None
                }
            })
    }

    /// Returns the relationships.
    pub fn relationships(&self) -> impl DoubleEndedIterator<Item = &Relationship> {
        let relationships = self.entries_of_kind(EntryKind::Relationship);
        relationships.filter_map(|entry| {
            if let Entry::Relationship(it) = entry {
                Some(it)
            } else {
                None
            }
        })
    }

    /// Returns the scenes.
    pub fn scenes(&self) -> impl DoubleEndedIterator<Item = &Scene> {
        self.entries_of_kind(EntryKind::Scene).filter_map(|entry| {
            if let Entry::Scene(it) = entry {
                Some(it)
            } else {
                None
            }
        })
    }

    /// Returns all loops, closed ones included.
    pub fn loops(&self) -> impl DoubleEndedIterator<Item = &OpenLoop> {
        self.entries_of_kind(EntryKind::Loop).filter_map(|entry| {
            if let Entry::Loop(it) = entry {
                Some(it)
            } else {
                None
            }
        })
    }

    /// Returns the story facts, disputed ones included.
    pub fn facts(&self) -> impl DoubleEndedIterator<Item = &StoryFact> {
        self.entries_of_kind(EntryKind::Fact).filter_map(|entry| {
            if let Entry::Fact(it) = entry {
                Some(it)
            } else {
                None
            }
        })
    }

    /// Returns the rules and parts of the story's world.
    pub fn lore(&self) -> impl DoubleEndedIterator<Item = &Lore> {
        self.entries_of_kind(EntryKind::Lore).filter_map(|entry| {
            if let Entry::Lore(it) = entry {
                Some(it)
            } else {
                None
            }
        })
    }

    /// Returns the loops that are still open, the most important first, then the oldest.
    #[must_use]
    pub fn open_loops(&self) -> Vec<&OpenLoop> {
        let mut open: Vec<&OpenLoop> = self.loops().filter(|it| it.status.is_open()).collect();
        // Stable, and the input is ordered by number, so the oldest comes first among equals.
        open.sort_by_key(|it| Reverse(it.importance));
        open
    }

    /// Returns the display name of an entry; the id if there is no such entry.
    #[must_use]
    pub fn display_name(&self, id: &str) -> String {
        self.get(id).map_or_else(|| id.to_owned(), Entry::name)
    }

    /// Resolves a loosely written id or name to the id of an entry of that kind: `c0`, `C0: Elena`,
    /// `[C0]`, `elena`. Models write all of these.
    #[must_use]
    pub fn resolve_id(&self, kind: EntryKind, loosely: &str) -> Option<String> {
        let bare = loosely
            .trim()
            .trim_matches(|c: char| "[](){}\"'`*<>#".contains(c))
            .trim();
        let first = bare
            .split(|c: char| !c.is_ascii_alphanumeric())
            .next()
            .unwrap_or_default();
        // The whole text first: a name may begin with something that looks like an id.
        for candidate in [bare, first] {
            if let Some((found, number)) = EntryKind::parse_id(candidate)
                && found == kind
                && self.entries.contains_key(&(kind, number))
            {
                return Some(kind.format_id(number));
            }
        }
        let name = bare.to_lowercase();
        let mut named = self
            .entries_of_kind(kind)
            .filter(|entry| entry.name().to_lowercase() == name);
        if let Some(found) = named.next() {
            // Two entries of the same name: a guess would attach facts to the wrong one.
            return named.next().is_none().then(|| found.id().to_owned());
        }
        // By another name, or by one part of it that nobody else has: plans say "Elena", the memory
        // "Elena Vasquez".
        let mut matching = self.entries_of_kind(kind).filter(|entry| {
            let is_alias = |alias: &String| alias.to_lowercase() == name;
            let has_names = matches!(kind, EntryKind::Character | EntryKind::Location);
            has_names
                && (entry.other_names().iter().any(is_alias)
                    || split_words(&entry.name()).contains(&name))
        });
        let found = matching.next()?;
        matching.next().is_none().then(|| found.id().to_owned())
    }

    /// Returns what identifies the subject of a fact: the id of the character or place that it names, or its
    /// words in lower case. People write names into their facts, judges and rules write ids.
    #[must_use]
    pub fn identify_subject(&self, subject: &str) -> String {
        if let Some(entry) = self.get(subject) {
            return entry.id().to_owned();
        }
        [EntryKind::Character, EntryKind::Location]
            .into_iter()
            .find_map(|kind| self.resolve_id(kind, subject))
            .unwrap_or_else(|| subject.trim().to_lowercase())
    }

    /// Returns the characters that a text names, by full name, alias or a part of a name that only one
    /// character has, in any grammatical form.
    #[must_use]
    pub fn characters_named_in(&self, text: &str) -> Vec<&Character> {
        let index = self.character_names();
        let named: HashSet<&str> = index.find_in_text(text).into_iter().collect();
        self.characters()
            .filter(|it| named.contains(it.id.as_str()))
            .collect()
    }

    /// Returns the index of the characters' names.
    pub(crate) fn character_names(&self) -> NameIndex {
        NameIndex::new(self.characters().map(|it| (&it.id, &it.name, &it.aliases)))
    }

    /// Returns the index of the locations' names.
    pub(crate) fn location_names(&self) -> NameIndex {
        NameIndex::new(self.locations().map(|it| (&it.id, &it.name, &it.aliases)))
    }

    /// Returns the locations that a text names, like [`Self::characters_named_in`].
    #[must_use]
    pub fn locations_named_in(&self, text: &str) -> Vec<&Location> {
        let index = self.location_names();
        let named: HashSet<&str> = index.find_in_text(text).into_iter().collect();
        self.locations()
            .filter(|it| named.contains(it.id.as_str()))
            .collect()
    }

    /// Inserts or replaces an entry under its id. An entry without a valid id is ignored.
    pub fn put_entry(&mut self, entry: Entry) {
        let Some(place) = EntryKind::parse_id(entry.id()) else {
            return;
        };
        let before = self.entries.insert(place, entry);
        // Only the first change keeps the original; a fact compares with the stored state, not with
        // an intermediate one.
        self.before.entry(place).or_insert(before);
    }

    /// Adds an entry under the next free id of its kind and returns the id.
    pub fn add_entry(&mut self, entry: Entry) -> String {
        let kind = entry.kind();
        // The number of an entry removed in this change is not reused: an id never refers to two
        // things.
        let known = self
            .entries
            .keys()
            .chain(self.before.keys())
            .filter(|(found, _)| *found == kind);
        let number = known
            .map(|(_, number)| number + 1)
            .max()
            .unwrap_or(kind.first_number());
        let id = kind.format_id(number);
        self.put_entry(entry.with_id(id.clone()));
        id
    }

    /// Removes an entry.
    pub fn remove_entry(&mut self, id: &str) -> Option<Entry> {
        let place = EntryKind::parse_id(id)?;
        let entry = self.entries.remove(&place)?;
        // An entry that was changed before it is removed keeps the original of that first change.
        self.before
            .entry(place)
            .or_insert_with(|| Some(entry.clone()));
        Some(entry)
    }

    /// Returns the ids of the changed entries, each with its current state; `None` if removed.
    pub fn changed_entries(&self) -> impl Iterator<Item = (String, Option<&Entry>)> {
        // An entry that was changed back equals its original, and is no change.
        let changed = self
            .before
            .iter()
            .filter(|(place, before)| self.entries.get(place) != before.as_ref());
        changed.map(|((kind, number), _)| {
            (kind.format_id(*number), self.entries.get(&(*kind, *number)))
        })
    }

    /// Returns the changes as facts.
    #[must_use]
    pub fn change_facts(&self) -> Vec<Fact> {
        let changed = self
            .before
            .iter()
            .filter(|(place, before)| self.entries.get(place) != before.as_ref());
        changed
            .map(|((kind, number), before)| Fact::RecordChanged {
                record: RecordKey {
                    kind: kind.as_str().to_owned(),
                    key: kind.format_id(*number),
                },
                before: before.as_ref().map(Entry::to_value),
                after: self.entries.get(&(*kind, *number)).map(Entry::to_value),
            })
            .collect()
    }
}
