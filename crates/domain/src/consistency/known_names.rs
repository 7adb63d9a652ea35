//! Names that a parent knows: listed, mentioned in its text, in another grammatical form, or under
//! another name.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use super::words::{fold_text, is_combining, is_listed, mentions_name};
use crate::inflection::{LatinEndings, may_be_same_word, possible_stems};

/// Forms of address before a name, folded: `Dr. Orlova` and `Alexa Orlova` can be one person.
const TITLES: &str = "dr doctor prof professor mr mrs ms miss sir lady lord captain capt lieutenant sergeant commander \
    major general colonel detective inspector father sister brother aunt uncle king queen prince princess \
    доктор д-р профессор проф господин госпожа капитан лейтенант сержант майор генерал полковник командир детектив \
    инспектор отец сестра брат тетя дядя король королева принц принцесса князь княгиня граф графиня \
    herr frau doktor señor señora monsieur madame";

/// What a parent knows under a facet.
pub(super) struct KnownNames {
    names: HashSet<String>,
    words: Vec<Vec<String>>,
    text: String,
    latin: LatinEndings,
    /// Positions of the text's words by their possible stems. Made on first use: most names are
    /// found as they are spelled, and this runs in a hook.
    text_stems: OnceCell<HashMap<String, Vec<usize>>>,
}

impl KnownNames {
    pub(super) fn new(names: &[String], text: &str) -> Self {
        let names: HashSet<String> = names.iter().map(|name| fold_text(name)).collect();
        let words = names
            .iter()
            .map(|name| split_name_words(name))
            .filter(|words| !words.is_empty())
            .collect();
        Self {
            names,
            words,
            latin: LatinEndings::detect(text),
            text: fold_text(text),
            text_stems: OnceCell::new(),
        }
    }

    /// Whether a name is one of the parent's, a part, a longer or an inflected form of one, or
    /// mentioned anywhere in its text.
    pub(super) fn contains_name(&self, name: &str) -> bool {
        let folded = fold_text(name);
        // Sets of words, so that `Rein, Anna` and `Dr. Anna Rein` are the same person in any order.
        let own = split_name_words(&folded);
        // A name of signs alone, such as emoji, has no words to compare.
        if own.is_empty() {
            return self.names.contains(&folded) || mentions_name(&self.text, &folded);
        }
        let is_same = |one: &str, other: &str| one == other;
        self.names.contains(&folded)
            || self
                .words
                .iter()
                // Both ways: a parent may list the full name and the child a part of it, or the
                // reverse.
                .any(|words| is_part(&own, words, is_same) || is_part(words, &own, is_same))
            || mentions_name(&self.text, &folded)
            // Last, because it needs the stems of the whole text, and most names are found as
            // spelled.
            || self.contains_form_of(&own)
    }

    /// Whether another grammatical form of a name is known, with or without a title.
    fn contains_form_of(&self, own: &[String]) -> bool {
        let own = without_titles(own);
        let is_form = |one: &str, other: &str| may_be_same_word(one, other, self.latin);
        let is_known = self.words.iter().any(|words| {
            let words = without_titles(words);
            is_part(&own, &words, is_form) || is_part(&words, &own, is_form)
        });
        is_known || self.mentions_form_of(&own)
    }

    /// Whether the words follow each other in the text, each in any form.
    fn mentions_form_of(&self, own: &[String]) -> bool {
        let stems = self.text_stems.get_or_init(|| {
            let mut stems: HashMap<String, Vec<usize>> = HashMap::new();
            for (place, word) in place_words(&self.text) {
                for stem in possible_stems(&word, self.latin) {
                    stems.entry(stem).or_default().push(place);
                }
            }
            stems
        });
        let mut ends: Option<HashSet<usize>> = None;
        for word in own {
            let places: HashSet<usize> = possible_stems(word, self.latin)
                .iter()
                .filter_map(|stem| stems.get(stem))
                .flatten()
                .copied()
                .filter(|place| {
                    ends.as_ref()
                        .is_none_or(|ends| *place > 0 && ends.contains(&(place - 1)))
                })
                .collect();
            if places.is_empty() {
                return false;
            }
            ends = Some(places);
        }
        ends.is_some()
    }
}

/// Groups of names, each of one character or place.
pub(super) struct AliasGroups {
    groups: Vec<Vec<(String, Vec<String>)>>,
}

impl AliasGroups {
    pub(super) fn new(groups: impl IntoIterator<Item = Vec<String>>) -> Self {
        let groups = groups.into_iter().map(|group| {
            group
                .into_iter()
                .map(|name| {
                    let words = split_name_words(&fold_text(&name));
                    (name, words)
                })
                .collect()
        });
        Self {
            groups: groups.collect(),
        }
    }

    /// Returns the other names of the character or place called `name`, in any grammatical form.
    pub(super) fn other_names_of<'a>(
        &'a self,
        name: &str,
    ) -> impl Iterator<Item = &'a str> + use<'a> {
        let own = split_name_words(&fold_text(name));
        let latin = LatinEndings::detect(name);
        let is_form = move |one: &str, other: &str| may_be_same_word(one, other, latin);
        self.groups
            .iter()
            .filter(move |group| {
                group.iter().any(|(_, words)| {
                    // Whole names only: a shared surname does not make two people one.
                    words.len() == own.len() && !own.is_empty() && is_part(&own, words, is_form)
                })
            })
            .flatten()
            .map(|(name, _)| name.as_str())
    }
}

/// Whether every word of `part` is among those of `whole`.
fn is_part(part: &[String], whole: &[String], is_same: impl Fn(&str, &str) -> bool) -> bool {
    part.iter()
        .all(|word| whole.iter().any(|other| is_same(word, other)))
}

/// Returns the words without forms of address, or all of them if there is nothing else.
fn without_titles(words: &[String]) -> Vec<String> {
    let is_title = |word: &String| {
        is_listed(TITLES, word)
            || TITLES.split_whitespace().any(|title| {
                // Titles are inflected in Russian; in Latin scripts they are listed as they are.
                !title.is_ascii() && may_be_same_word(title, word, LatinEndings::Plain)
            })
    };
    let names: Vec<String> = words
        .iter()
        .filter(|word| !is_title(word))
        .cloned()
        .collect();
    if names.is_empty() {
        words.to_vec()
    } else {
        names
    }
}

/// Returns the words of a folded text with their places. Only words with nothing but a blank between
/// them have adjacent places: `Kim, Lo` are two names.
fn place_words(folded: &str) -> Vec<(usize, String)> {
    let mut placed = Vec::new();
    let mut place = 0;
    for chunk in folded.split(' ') {
        let words = split_name_words(chunk);
        place += usize::from(words.is_empty() || !chunk.starts_with(is_name_char));
        for word in words {
            placed.push((place, word));
            place += 1;
        }
        place += usize::from(!chunk.ends_with(is_name_char));
    }
    placed
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || is_combining(c) || matches!(c, '-' | '\'')
}

/// Splits a folded name into words; hyphens and apostrophes are part of a word.
fn split_name_words(folded: &str) -> Vec<String> {
    folded
        .split(|c| !is_name_char(c))
        .filter(|word| word.contains(char::is_alphanumeric))
        .map(str::to_owned)
        .collect()
}
