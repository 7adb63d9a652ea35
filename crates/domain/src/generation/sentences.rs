//! Sentences of a text with their words: who is named, what is direct speech, and which value belongs to whom.
//!
//! Grammar by position alone: what is not certain is said to be so, and a person decides.

use super::value_classes::classify_value;
use crate::search::{is_unspaced_script, is_word_char};

const SENTENCE_ENDS: &[char] = &['.', '!', '?', '…', '\n', '。'];
const DASHES: &[char] = &['—', '–'];
/// Verbs of speaking and acting, which a dead character cannot do.
pub(super) const ACTION_VERBS: &[&str] = &[
    "said",
    "says",
    "asked",
    "asks",
    "replied",
    "whispered",
    "shouted",
    "answered",
    "nodded",
    "smiled",
    "laughed",
    "walked",
    "took",
    "takes",
    "came",
    "comes",
    "sat",
    "sits",
    "ate",
    "eats",
    "drank",
    "drinks",
    "stood",
    "ran",
    "runs",
    "went",
    "gave",
    "gives",
    "shook",
    "woke",
    "drew",
    "threw",
    "caught",
    "held",
    "brought",
    "spoke",
    "sang",
    "wrote",
    "swam",
    "drove",
    "knelt",
    "wept",
    "cried",
    "kissed",
    "opened",
    "closed",
    "picked",
    "pulled",
    "pushed",
    "turned",
    "lifted",
    "poured",
    "grabbed",
    "stepped",
    "climbed",
    "jumped",
    "crossed",
    "entered",
    "hurried",
    "waited",
    "listened",
    "watched",
    "reached",
    "pointed",
    "knocked",
    "shrugged",
    "sighed",
    "frowned",
    "grinned",
    "сказал",
    "спросил",
    "ответил",
    "прошептал",
    "крикнул",
    "кивнул",
    "улыбнул",
    "засмеял",
    "взял",
    "пришёл",
    "пришел",
    "пришла",
    "вошёл",
    "вошел",
    "вошла",
    "вышел",
    "вышла",
    "сел",
    "встал",
    "съел",
    "выпил",
    "поцеловал",
    "открыл",
    "закрыл",
    "поднял",
    "побежал",
    "бросил",
    "обнял",
    "повернул",
    "подошёл",
    "подошел",
    "подошла",
    "пошёл",
    "пошел",
    "пошла",
    "шагнул",
    "протянул",
    "схватил",
    "посмотрел",
    "взглянул",
    "заплакал",
    "sagte",
    "fragte",
];
/// Beginnings of words with which a text leaves the present of the story: dreams, memories, documents.
const UNREAL_STEMS: &[&str] = &[
    "dream",
    "nightmare",
    "rememb",
    "memor",
    "recall",
    "imagin",
    "ghost",
    "letter",
    "photo",
    "portrait",
    "diary",
    "recording",
    "снил",
    "снит",
    "вспом",
    "помнил",
    "памят",
    "призрак",
    "письм",
    "фотограф",
    "дневник",
    "вообра",
    "traum",
    "träum",
    "erinner",
];
/// Words of the same kind that are too short for a beginning: `сне` is also in `снег`.
const UNREAL_WORDS: &[&str] = &["сон", "сна", "сне", "сном", "сны", "снах"];
/// Words between a thing and its value: "eyes were blue", "eyes of blue", "born in winter".
const LINKS: &[&str] = &[
    "was", "were", "is", "are", "of", "in", "on", "been", "был", "была", "было", "были", "в",
    "war", "waren", "ist", "sind",
];
/// Words after which something mostly belongs to someone else.
const TURNS: &[&str] = &[
    "into", "at", "to", "from", "in", "on", "with", "and", "but", "while", "than", "their", "your",
    "my", "our", "a", "an", "another", "someone", "в", "на", "к", "с", "из", "от", "и", "а", "но",
    "их", "ваш", "твой", "мой", "чуж", "in", "ins", "auf", "und",
];
/// Maximum number of words between a name and what belongs to it.
const MAX_OWNER_DISTANCE: usize = 3;

/// A word of a sentence.
#[derive(Clone, Debug)]
struct Word {
    is_capital: bool,
    /// Whether it is part of direct speech.
    is_spoken: bool,
    /// Whether more than spaces are between it and the word before.
    is_apart: bool,
    /// Whether an apostrophe joins it to the word before: the `s` of "Elena's".
    is_ending: bool,
}

/// A sentence with its folded words.
#[derive(Clone, Debug)]
pub(super) struct Sentence<'t> {
    pub(super) text: &'t str,
    /// The words in lower case, as [`crate::search::split_words`] has them.
    pub(super) words: Vec<String>,
    marks: Vec<Word>,
    /// Index, class and value of each word that is one of a class of values.
    values: Vec<(usize, usize, usize)>,
    /// Whether it, or one before it in its paragraph, is about a dream, a memory or a document.
    is_unreal: bool,
}

/// Where a reader of characters is in the speech of a paragraph.
#[derive(Clone, Debug, Default)]
struct Speech {
    /// The marks that end the quotation.
    closers: &'static [char],
    /// Whether a dash began the paragraph; each further one changes between speech and narration.
    has_dash: bool,
    is_after_dash: bool,
    has_begun: bool,
}

impl Speech {
    fn read_mark(&mut self, c: char) {
        if c == '\n' {
            *self = Self::default();
        } else if DASHES.contains(&c) && (self.has_dash || !self.has_begun) {
            self.has_dash = true;
            self.is_after_dash = !self.is_after_dash;
        } else if self.closers.contains(&c) {
            self.closers = &[];
        } else if self.closers.is_empty() {
            self.closers = match c {
                '"' => &['"'],
                '“' => &['”'],
                '«' => &['»'],
                '„' => &['“', '”'],
                _ => &[],
            };
        }
        self.has_begun |= !c.is_whitespace();
    }

    fn is_spoken(&self) -> bool {
        !self.closers.is_empty() || self.is_after_dash
    }
}

/// Splits a text into sentences; a line break ends one too.
pub(super) fn split_sentences(text: &str) -> Vec<Sentence<'_>> {
    let mut sentences: Vec<Sentence<'_>> = Vec::new();
    let (mut speech, mut is_unreal) = (Speech::default(), false);
    for part in text.split_inclusive(SENTENCE_ENDS) {
        let sentence = read_sentence(part, &mut speech, is_unreal);
        is_unreal = sentence.is_unreal && !part.ends_with('\n');
        if !sentence.text.is_empty() {
            sentences.push(sentence);
        }
    }
    sentences
}

fn read_sentence<'t>(text: &'t str, speech: &mut Speech, is_unreal: bool) -> Sentence<'t> {
    let (mut words, mut marks) = (Vec::new(), Vec::new());
    let (mut word, mut gap) = (String::new(), String::new());
    for c in text.chars() {
        let is_single = is_unspaced_script(c);
        if !is_single && !is_word_char(c) {
            words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
            speech.read_mark(c);
            gap.push(c);
            continue;
        }
        if is_single {
            words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
        }
        if word.is_empty() {
            marks.push(Word {
                is_capital: c.is_uppercase(),
                is_spoken: speech.is_spoken(),
                is_apart: !gap.chars().all(char::is_whitespace),
                is_ending: gap == "'" || gap == "’",
            });
            gap.clear();
            speech.has_begun = true;
        }
        word.extend(c.to_lowercase());
        if is_single {
            words.push(std::mem::take(&mut word));
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    let leaves_story = |word: &String| {
        UNREAL_WORDS.contains(&word.as_str()) || begins_with_any(word, UNREAL_STEMS)
    };
    let is_unreal = is_unreal || words.iter().any(leaves_story);
    let classified = words.iter().enumerate();
    let values = classified
        .filter_map(|(at, word)| classify_value(word).map(|(class, value)| (at, class, value)));
    Sentence {
        text: text.trim(),
        values: values.collect(),
        words,
        marks,
        is_unreal,
    }
}

impl Sentence<'_> {
    /// Returns the words that are values of a class: the index of each, and the value.
    pub(super) fn values_of(&self, class: usize) -> impl Iterator<Item = (usize, usize)> {
        let here = self.values.iter().filter(move |(_, it, _)| *it == class);
        here.map(|(at, _, value)| (*at, *value))
    }

    pub(super) fn has_word_starting(&self, beginning: &str) -> bool {
        self.words.iter().any(|word| word.starts_with(beginning))
    }

    /// Whether it has one of these names, in any form.
    pub(super) fn has_name(&self, names: &[String]) -> bool {
        self.words.iter().any(|word| is_name(word, names))
    }

    /// Returns whether a person with one of these names acts in the narration; `Some(false)` if it may be a dream,
    /// a memory or a document.
    pub(super) fn find_action(&self, names: &[String]) -> Option<bool> {
        let acts = (0..self.words.len()).any(|at| self.is_acting_name(at, names));
        acts.then_some(!self.is_unreal)
    }

    fn is_acting_name(&self, at: usize, names: &[String]) -> bool {
        // The name itself: another form of it is an object ("она спросила Ивана") or an owner.
        let is_exact = |word: &String| names.contains(word);
        let is_verb = |at: usize| {
            let word = self.words.get(at);
            word.is_some_and(|word| begins_with_any(word, ACTION_VERBS))
        };
        let mark = |at: usize| self.marks.get(at);
        let is_narrated = |it: &&Word| !it.is_spoken;
        if !self.words.get(at).is_some_and(is_exact) || mark(at).filter(is_narrated).is_none() {
            return false;
        }
        let next = mark(at + 1).filter(|it| !it.is_apart && !it.is_spoken);
        if next.is_some() && is_verb(at + 1) {
            return true;
        }
        // "“Stop,” said Ivo": only where the verb has no subject of its own before it, and nothing is Ivo's.
        let Some(before) = at.checked_sub(1).filter(|before| is_verb(*before)) else {
            return false;
        };
        let is_first = before == 0 || mark(before - 1).is_some_and(|it| it.is_spoken);
        let is_joined = mark(at).is_some_and(|it| !it.is_apart);
        let is_owner = mark(at + 1).is_some_and(|it| it.is_ending);
        is_first && is_joined && !is_owner && mark(before).is_some_and(|it| !it.is_spoken)
    }

    /// Whether the narration says of a person with one of these names that one of these things has the value at a
    /// position. `stated` are the words of the fact, which separate nothing.
    pub(super) fn gives_value(
        &self,
        names: &[String],
        things: &[usize],
        value: usize,
        stated: &[String],
    ) -> bool {
        let is_narrated = self.marks.get(value).is_some_and(|it| !it.is_spoken);
        let is_of_thing = |thing: &&usize| {
            self.has_value(**thing, value, names) && !self.is_of_another(**thing, names)
        };
        let is_owned = |thing: &usize| {
            (0..self.words.len())
                .any(|at| self.is_owner(at, (*thing).min(value), *thing, names, stated))
        };
        is_narrated && things.iter().filter(is_of_thing).any(is_owned)
    }

    /// Whether a value belongs to a thing: "blue eyes", "eyes were blue", "room 7".
    fn has_value(&self, thing: usize, value: usize, names: &[String]) -> bool {
        if value < thing {
            return thing - value <= 2;
        }
        // "Глаза Маркуса были синие": the owner is between.
        let between = self.words.get(thing + 1..value).unwrap_or_default();
        let mut between = between.iter().filter(|word| !is_name(word, names));
        match between.next() {
            None => true,
            Some(first) => LINKS.contains(&first.as_str()) && between.count() <= 1,
        }
    }

    /// Whether another name directly behind a thing says whose it is: "глаза Ивана", "the eyes of Ivo".
    fn is_of_another(&self, thing: usize, names: &[String]) -> bool {
        let owner = thing + 1 + usize::from(self.has_of_behind(thing));
        let (Some(word), Some(mark)) = (self.words.get(owner), self.marks.get(owner)) else {
            return false;
        };
        mark.is_capital && !mark.is_apart && !is_name(word, names)
    }

    fn has_of_behind(&self, thing: usize) -> bool {
        self.words.get(thing + 1).is_some_and(|word| word == "of")
    }

    /// Whether the name at a position is whose a thing is that begins at another one.
    fn is_owner(
        &self,
        at: usize,
        begin: usize,
        thing: usize,
        names: &[String],
        stated: &[String],
    ) -> bool {
        if !self.words.get(at).is_some_and(|word| is_name(word, names)) {
            return false;
        }
        if at > begin {
            // Only in inflected languages the owner is directly behind.
            let is_genitive = self.words.get(at).is_some_and(|word| !word.is_ascii());
            return at == thing + 1 && is_genitive || at == thing + 2 && self.has_of_behind(thing);
        }
        let between = at + 1..begin;
        let is_near = |at: usize| {
            let (Some(word), Some(mark)) = (self.words.get(at), self.marks.get(at)) else {
                return false;
            };
            let is_of_fact = stated.contains(word) || is_name(word, names);
            is_of_fact
                || mark.is_ending
                || !mark.is_capital && !mark.is_apart && !TURNS.contains(&word.as_str())
        };
        let has_break = self.marks.get(begin).is_some_and(|it| it.is_apart);
        let words = between
            .clone()
            .filter(|at| self.marks.get(*at).is_some_and(|it| !it.is_ending));
        !has_break && words.count() <= MAX_OWNER_DISTANCE && between.clone().all(is_near)
    }
}

fn is_name(word: &str, names: &[String]) -> bool {
    names.iter().any(|name| share_stem(name, word))
}

fn begins_with_any(word: &str, stems: &[&str]) -> bool {
    stems.iter().any(|stem| word.starts_with(stem))
}

/// Minimum length of a significant word; the beginnings of shorter ones are too ambiguous.
pub(super) const MIN_SIGNIFICANT_CHARS: usize = 4;

/// Whether two words differ only in their endings.
pub(super) fn share_stem(one: &str, other: &str) -> bool {
    // Most pairs end here; a book has a million words to compare with each name.
    if one.chars().next() != other.chars().next() {
        return false;
    }
    let common = one
        .chars()
        .zip(other.chars())
        .take_while(|(a, b)| a == b)
        .count();
    let longest = one.chars().count().max(other.chars().count());
    // Suffixes of up to three letters cover the inflections of the supported languages; the ratio
    // keeps short words from matching by one syllable.
    common >= MIN_SIGNIFICANT_CHARS.min(longest)
        && longest <= common + 3
        && common * 3 >= longest * 2
}
