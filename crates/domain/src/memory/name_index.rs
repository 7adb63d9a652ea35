//! Index of the names of entries: finds who or what a text names, by full name, alias or a part that only
//! one entry has, in any grammatical form.

use std::collections::{HashMap, HashSet};

use crate::inflection::{LatinEndings, possible_stems};
use crate::search::split_words;

/// Minimum length of a part of a name; shorter ones are particles and initials.
const MIN_NAME_PART_CHARS: usize = 3;
/// Articles and particles: parts of many names, and words of every text.
const NAME_PARTICLES: &[&str] = &[
    "the", "and", "der", "die", "das", "dem", "den", "des", "les", "las", "los", "del", "della",
    "von", "van",
];

/// A part of a name.
#[derive(Clone, Debug)]
struct NamePart {
    stems: Vec<String>,
    /// Whether no other entry has it. Two sisters share their surname: it names neither.
    is_unique: bool,
}

/// Names of entries, by the entry's id. Built once for many texts: a novel has hundreds of scenes.
#[derive(Clone, Debug, Default)]
pub(crate) struct NameIndex {
    entries: Vec<(String, Vec<Vec<NamePart>>)>,
}

impl NameIndex {
    /// Builds the index of entries, each with its id, name and other names.
    pub(crate) fn new<'m>(
        entries: impl Iterator<Item = (&'m String, &'m String, &'m Vec<String>)>,
    ) -> Self {
        let entries: Vec<(&String, Vec<Vec<String>>)> = entries
            .map(|(id, name, aliases)| {
                let names = std::iter::once(name).chain(aliases);
                (id, names.map(|name| split_name(name)).collect())
            })
            .collect();
        let mut holders: HashMap<&String, usize> = HashMap::new();
        for (_, names) in &entries {
            // A part that one entry has in several names is still its own.
            let own: HashSet<&String> = names.iter().flatten().collect();
            for part in own {
                *holders.entry(part).or_default() += 1;
            }
        }
        let index_part = |part: &String| NamePart {
            stems: stems_of(part),
            is_unique: holders.get(part) == Some(&1),
        };
        let entries = entries
            .iter()
            .map(|(id, names)| {
                let names = names.iter();
                let names = names.map(|parts| parts.iter().map(index_part).collect());
                ((*id).clone(), names.collect())
            })
            .collect();
        Self { entries }
    }

    /// Returns the index for these entries alone. A part of a name that another entry has too stays ambiguous.
    ///
    /// For many texts and few entries: looking for a whole cast in each of the loops of a novel took more than
    /// the rest of the prompt.
    pub(crate) fn only_entries(mut self, is_wanted: impl Fn(&str) -> bool) -> Self {
        self.entries.retain(|(id, _)| is_wanted(id));
        self
    }

    /// Returns the ids of the entries that a text names, in the order of the entries.
    pub(crate) fn find_in_text(&self, text: &str) -> Vec<&str> {
        self.find_in_words(&split_words(text))
    }

    /// As [`Self::find_in_text`], for the words of a text in lower case.
    pub(crate) fn find_in_words(&self, words: &[String]) -> Vec<&str> {
        let known: HashSet<String> = words.iter().flat_map(|word| stems_of(word)).collect();
        let is_there = |part: &NamePart| part.stems.iter().any(|stem| known.contains(stem));
        let is_named = |parts: &Vec<NamePart>| {
            parts.iter().any(|part| part.is_unique && is_there(part))
                || !parts.is_empty() && parts.iter().all(is_there)
        };
        self.entries
            .iter()
            .filter(|(_, names)| names.iter().any(is_named))
            .map(|(id, _)| id.as_str())
            .collect()
    }

    /// Returns the only entry that a name can mean.
    pub(crate) fn resolve_name(&self, name: &str) -> Option<&str> {
        // Two candidates are no answer: a wrong identity would be written into the memory.
        match self.find_in_text(name).as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }
}

fn stems_of(word: &str) -> Vec<String> {
    possible_stems(word, LatinEndings::Plain)
}

/// Returns the parts of a name that can name someone.
pub(crate) fn split_name(name: &str) -> Vec<String> {
    let parts = split_words(name).into_iter();
    let parts: Vec<String> = parts
        .filter(|part| part.chars().count() >= MIN_NAME_PART_CHARS)
        .collect();
    let is_particle = |part: &String| NAME_PARTICLES.contains(&part.as_str());
    // Someone may be called Van.
    if parts.iter().all(is_particle) {
        return parts;
    }
    parts
        .into_iter()
        .filter(|part| !is_particle(part))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Defect: with one place called "The Archive", every text with "the" in it named that place.
    #[test]
    fn an_article_names_nobody() {
        let known = [
            ("L0".to_owned(), "The Archive".to_owned(), Vec::new()),
            ("L1".to_owned(), "Van".to_owned(), Vec::new()),
        ];
        let index = NameIndex::new(known.iter().map(|(id, name, other)| (id, name, other)));
        for (text, found) in [
            ("Elena opens the drawer.", &[][..]),
            ("Dust in the archive.", &["L0"]),
            ("Van waits.", &["L1"]),
        ] {
            assert_eq!(index.find_in_text(text), found, "{text}");
        }
        assert_eq!(index.resolve_name("The Harbour"), None);
    }

    #[test]
    fn an_index_of_some_entries_finds_what_the_whole_one_finds_of_them() {
        let known = [
            ("C0", "Anna Orlova", &["Anya"][..]),
            ("C1", "Vera Orlova", &[]),
            ("C2", "Ross", &[]),
        ];
        let known = known.map(|(id, name, aliases)| {
            let aliases: Vec<String> = aliases.iter().map(|it| (*it).to_owned()).collect();
            (id.to_owned(), name.to_owned(), aliases)
        });
        let index = NameIndex::new(known.iter().map(|(id, name, other)| (id, name, other)));
        let some = index.clone().only_entries(|id| id != "C1");
        for text in [
            "Anya's map",
            "Orlova is gone",
            "Vera Orlova and Ross",
            "Anna Orlova",
        ] {
            let mut found = index.find_in_text(text);
            found.retain(|id| *id != "C1");
            assert_eq!(some.find_in_text(text), found, "{text}");
        }
    }
}
