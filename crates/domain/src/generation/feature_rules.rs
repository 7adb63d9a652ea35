//! Facts that rules can read with certainty: lasting features, death and kinship, in English and Russian.
//!
//! Only what does not change between scenes: the colour of eyes, not of a coat.

use super::continuity::SPEECH_MARKS;
use super::text_tokens::{NameRun, Token, sentence_at};
use super::value_classes::classify_value;
use super::verdict::NewFact;

/// Maximum number of facts of one text.
const MAX_FACTS: usize = 40;
/// Maximum length of a quotation.
const MAX_QUOTE_CHARS: usize = 280;
/// Number of words within which a feature belongs to a name.
const REACH: usize = 5;

/// Features by the beginning of their word, with the predicate of the fact.
const FEATURES: &[(&str, &str)] = &[
    ("eyes", "eyes"),
    ("hair", "hair"),
    ("beard", "beard"),
    ("moustache", "moustache"),
    ("mustache", "moustache"),
    ("глаз", "глаза"),
    ("волос", "волосы"),
    ("бород", "борода"),
];
const KINSHIP: &[&str] = &[
    "brother", "sister", "mother", "father", "son", "daughter", "wife", "husband", "uncle", "aunt",
    "cousin",
];
const DEATH_WORDS: &[&str] = &["dead", "killed", "murdered", "buried"];
const DEATH_STEMS: &[&str] = &["умер", "погиб", "мёртв", "мертв", "убит"];
/// Figures of speech: what nobody dies of, by beginnings, and what "died" means with another word.
const FIGURATIVE_CAUSES: &[&str] = &[
    "laugh",
    "embarrass",
    "shame",
    "mortif",
    "bored",
    "curios",
    "env",
    "jealous",
    "happi",
    "joy",
    "long",
    "impatien",
    "excite",
    "anticipat",
    "delight",
    "pride",
    "fright",
    "fear",
    "relief",
    "смех",
    "стыд",
    "скук",
    "любопытств",
    "завист",
    "смущен",
    "счаст",
    "страх",
    "нетерпен",
    "восторг",
    "радост",
    "тоск",
    "усталост",
];
const FIGURATIVE_PARTICLES: &[&str] = &[
    "laughing", "inside", "away", "down", "out", "little", "bit", "thousand", "every", "each",
];
/// What one is buried in without being dead.
const BURYING: &[&str] = &[
    "work", "thought", "paper", "book", "debt", "his", "her", "their",
];
/// Words that may follow "was dead". Any other word makes it a figure of speech: `tired`, `certain`, `calm`.
const AFTER_DEAD: &[&str] = &[
    "and",
    "but",
    "when",
    "while",
    "by",
    "at",
    "before",
    "after",
    "from",
    "now",
    "for",
    "since",
    "within",
    "that",
    "already",
    "too",
    "in",
    "of",
    "on",
    "as",
    "under",
    "beside",
    "there",
    "these",
    "и",
    "но",
    "когда",
    "уже",
    "в",
    "на",
    "от",
    "с",
    "со",
    "из",
    "под",
];
/// Words with which a sentence does not say that something happened.
const DOUBTS: &[&str] = &[
    "if",
    "would",
    "could",
    "might",
    "may",
    "not",
    "never",
    "nearly",
    "almost",
    "thought",
    "feared",
    "dreamed",
    "dreamt",
    "imagined",
    "believed",
    "wished",
    "until",
    "before",
    "unless",
    "если",
    "бы",
    "не",
    "чуть",
    "почти",
    "казалось",
    "думал",
    "думала",
    "боялась",
    "боялся",
];
/// Words that begin like a colour and are none.
const NO_COLOURS: &[&str] = &["серд", "серь", "серед"];

/// Returns the facts of a text, each with its sentence.
pub(super) fn find_features(
    text: &str,
    tokens: &[Token<'_>],
    runs: &[NameRun<'_>],
) -> Vec<NewFact> {
    let mut facts: Vec<NewFact> = Vec::new();
    for (at, run) in runs.iter().enumerate() {
        let sentence = SentenceTokens { tokens, run };
        let found = sentence
            .find_colour()
            .or_else(|| sentence.find_death(text))
            .or_else(|| sentence.find_kinship(runs.get(at + 1)));
        let Some((subject, predicate, object)) = found else {
            continue;
        };
        let is_known = facts.iter().any(|fact| {
            fact.subject == subject && fact.predicate == predicate && fact.object == object
        });
        if !is_known && facts.len() < MAX_FACTS {
            facts.push(NewFact {
                subject,
                predicate,
                object,
                quote: sentence_at(text, run.sentence, MAX_QUOTE_CHARS).to_owned(),
            });
        }
    }
    facts
}

/// The words around a name, within its sentence.
struct SentenceTokens<'a, 't> {
    tokens: &'a [Token<'t>],
    run: &'a NameRun<'t>,
}

/// Subject, predicate and object.
type Statement = (String, String, String);

impl SentenceTokens<'_, '_> {
    /// Returns a word after the name, in lower case, if it is in the sentence.
    fn word_after(&self, offset: usize) -> Option<String> {
        let token = self.tokens.get(self.run.last + offset)?;
        // A capital begins another name, and what follows is about that one.
        let is_here = token.sentence == self.run.sentence && !token.is_capital;
        is_here.then(|| token.text.to_lowercase())
    }

    fn word_before(&self, offset: usize) -> Option<String> {
        let token = self.tokens.get(self.run.first.checked_sub(offset)?)?;
        (token.sentence == self.run.sentence).then(|| token.text.to_lowercase())
    }

    /// Returns the colour of a lasting feature of the named person.
    fn find_colour(&self) -> Option<Statement> {
        let next = self.word_after(1);
        let says = |words: &[&str]| next.as_deref().is_some_and(|word| words.contains(&word));
        let is_owner = self.run.is_possessive
            || says(&["had", "has"])
            || self.word_before(1).as_deref() == Some("у");
        let state = |feature: &str, colour: String| {
            let subject = self.run.name.to_owned();
            Some((subject, feature.to_owned(), colour))
        };
        // "Глаза Елены были зелёные", "зелёные глаза Елены".
        if let Some(feature) = self.word_before(1).as_deref().and_then(find_feature)
            // Only in Russian the owner stands behind the feature, in the genitive.
            && !feature.is_ascii()
        {
            let before = self.word_before(2).filter(|word| is_colour(word));
            let after = || {
                (1..=3)
                    .filter_map(|at| self.word_after(at))
                    .find(|it| is_colour(it))
            };
            return state(feature, before.or_else(after)?);
        }
        if !is_owner {
            return None;
        }
        let near: Vec<String> = (1..=REACH).map_while(|at| self.word_after(at)).collect();
        let feature_at = near.iter().position(|word| find_feature(word).is_some())?;
        let colour_at = near.iter().position(|word| is_colour(word))?;
        let feature = near.get(feature_at).and_then(|word| find_feature(word))?;
        let between = near
            .get(feature_at.min(colour_at) + 1..feature_at.max(colour_at))
            .unwrap_or_default();
        // "Elena's eyes followed the green coat": the colour belongs to something else.
        let is_said = colour_at < feature_at && between.len() <= 1
            || colour_at > feature_at
                && between.first().is_some_and(|verb| {
                    ["was", "were", "is", "are", "были", "была"].contains(&verb.as_str())
                });
        state(feature, near.get(colour_at).filter(|_| is_said)?.clone())
    }

    /// Returns that the named person is dead, if the narration says so without doubt.
    fn find_death(&self, text: &str) -> Option<Statement> {
        if self.run.is_possessive {
            return None;
        }
        let [first, second, third] = [1, 2, 3].map(|at| self.word_after(at).unwrap_or_default());
        let has_stem = |word: &str| DEATH_STEMS.iter().any(|stem| word.starts_with(stem));
        let is_dead = |word: &str| DEATH_WORDS.contains(&word) || has_stem(word);
        let says = first == "died"
            || has_stem(&first)
            || ["was", "is", "lay", "был", "была"].contains(&first.as_str()) && is_dead(&second)
            || first == "had" && (second == "died" || second == "been" && is_dead(&third));
        if !says || self.is_figurative() {
            return None;
        }
        // The whole sentence: a doubt may be at its end ("… died, or so she feared").
        let sentence = sentence_at(text, self.run.sentence, usize::MAX);
        let is_doubted = crate::search::split_words(sentence)
            .iter()
            .any(|word| DOUBTS.contains(&word.as_str()));
        // A character may lie or be wrong; only the narration counts.
        let is_told = sentence.contains(SPEECH_MARKS) || sentence.ends_with('?');
        let subject = self.run.name.to_owned();
        (!is_doubted && !is_told).then(|| (subject, "is".to_owned(), "dead".to_owned()))
    }

    /// Whether a word of death after the name is a figure of speech: "died of laughter", "was dead on his feet".
    fn is_figurative(&self) -> bool {
        let clause: Vec<String> = (1..)
            .map_while(|at| {
                let token = self.tokens.get(self.run.last + at)?;
                (token.is_joined && token.sentence == self.run.sentence)
                    .then(|| token.text.to_lowercase())
            })
            .collect();
        let has_stem = |word: &String| FIGURATIVE_CAUSES.iter().any(|stem| word.starts_with(stem));
        let is_caused = clause.iter().enumerate().any(|(at, word)| {
            let from = ["of", "from", "with", "от", "с", "со"].contains(&word.as_str());
            // An adjective or a pronoun may be between: "of pure embarrassment".
            from && clause.iter().skip(at + 1).take(2).any(has_stem)
        });
        let says_died = clause.iter().any(|word| word == "died");
        let is_particle = |word: &String| FIGURATIVE_PARTICLES.contains(&word.as_str());
        if is_caused || says_died && clause.iter().any(is_particle) {
            return true;
        }
        let is_work = |it: &[String]| matches!(it, [buried, within, what] if buried == "buried" && within == "in" && BURYING.iter().any(|stem| what.starts_with(stem)));
        if clause.windows(3).any(is_work) {
            return true;
        }
        let Some(dead) = clause.iter().position(|word| word == "dead") else {
            return false;
        };
        let after = clause.get(dead + 1..).unwrap_or_default();
        match after {
            [] => false,
            [first, second, ..] if first == "on" => {
                !["the", "a", "arrival"].contains(&second.as_str())
            }
            [first, _, third, ..] if first == "in" && third == "water" => true,
            [first, ..] => !AFTER_DEAD.contains(&first.as_str()),
        }
    }

    /// Returns whose kin the next name is: "Elena's brother Marcus".
    fn find_kinship(&self, next: Option<&NameRun<'_>>) -> Option<Statement> {
        let kin = self
            .word_after(1)
            .filter(|word| KINSHIP.contains(&word.as_str()))?;
        let other = next.filter(|next| {
            self.run.is_possessive
                // Directly after the word of kinship: anything in between may change whom it means.
                && next.first == self.run.last + 2
                && next.sentence == self.run.sentence
        })?;
        let predicate = format!("is the {kin} of");
        Some((other.name.to_owned(), predicate, self.run.name.to_owned()))
    }
}

fn find_feature(word: &str) -> Option<&'static str> {
    FEATURES
        .iter()
        .find(|(stem, _)| match stem.is_ascii() {
            true => word == *stem,
            false => word.starts_with(stem),
        })
        .map(|(_, predicate)| *predicate)
}

fn is_colour(word: &str) -> bool {
    let is_other = NO_COLOURS.iter().any(|stem| word.starts_with(stem));
    // Colours are the first class of values.
    classify_value(word).is_some_and(|(class, _)| class == 0) && !is_other
}
