//! Full-text search: tokeniser, query parser, BM25 ranking and rank fusion.
//!
//! Works for any language: words are runs of lower-case letters and digits. In scripts without
//! spaces every character is a word, and a query's run of them matches as a phrase. The last word
//! of a phrase matches as a prefix. Engines index exactly these words, so that all return the same
//! result. There is no stemming and there are no stop words: both depend on the language.

pub mod documents;
pub mod expansion;
mod folding;
pub mod memory_index;
pub mod snippet;

use std::collections::HashMap;

use serde_json::Value;

/// Kinds of records whose text can be searched.
pub const SEARCHED_KINDS: &[&str] = &[
    "anchor",
    "mem",
    "character",
    "location",
    "relationship",
    "scene",
    "loop",
    "lore",
    "fact",
];

/// Returns the searchable text of a record: `title`, `shelf` and `text` of a note, every string of
/// an entry of the story's memory.
#[must_use]
pub fn searchable_text(kind: &str, body: &Value) -> String {
    let mut found = Vec::new();
    match kind {
        "anchor" | "mem" => found.extend(
            ["title", "shelf", "text"]
                .iter()
                .filter_map(|field| body[*field].as_str()),
        ),
        _ => collect_texts(body, &mut found),
    }
    found.join(" ")
}

fn collect_texts<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect_texts(item, found)),
        Value::Object(members) => members
            .values()
            .for_each(|member| collect_texts(member, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Splits a text into words, in order.
#[must_use]
pub fn split_words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut word = String::new();
    // Lower case per character: `str::to_lowercase` handles a final sigma by its context, so a word
    // and its prefix could differ.
    for c in text.chars().flat_map(char::to_lowercase) {
        if is_unspaced_script(c) {
            found.extend(take_word(&mut word));
            found.push(c.to_string());
        } else if is_word_char(c) {
            word.push(c);
        } else {
            found.extend(take_word(&mut word));
        }
    }
    found.extend(take_word(&mut word));
    found
}

fn take_word(word: &mut String) -> Option<String> {
    (!word.is_empty()).then(|| std::mem::take(word))
}

/// Whether a character belongs to a script without spaces between words.
pub(crate) fn is_unspaced_script(c: char) -> bool {
    // Thai, Lao, Myanmar, Khmer, kana and CJK ideographs. A dictionary would segment them better,
    // but it takes megabytes, and engines with different versions of it would disagree.
    matches!(c,
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Whether a character of a script with spaces is part of a word.
pub(crate) fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || is_combining_mark(c)
}

/// Whether a character is a combining mark, which belongs to the letter before it.
fn is_combining_mark(c: char) -> bool {
    // `char::is_alphanumeric` is false for signs such as the Devanagari virama, at which Hindi
    // words would otherwise be split.
    matches!(c,
        '\u{0300}'..='\u{036f}' | '\u{0591}'..='\u{05c7}' | '\u{0610}'..='\u{061a}' | '\u{064b}'..='\u{065f}'
        | '\u{0900}'..='\u{0963}' | '\u{0966}'..='\u{0dff}')
}

/// A parsed query: phrases whose words must be adjacent; the last word of each matches as a prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchQuery {
    pub phrases: Vec<Vec<String>>,
    /// Indices of phrases in quotation marks, whose last word is no prefix.
    pub quoted: Vec<usize>,
}

/// Maximum number of phrases in a query; the rest is ignored.
const MAX_PHRASES: usize = 16;

impl SearchQuery {
    /// Parses a query; whitespace separates phrases.
    #[must_use]
    pub fn parse_query(text: &str) -> Self {
        let mut query = Self::default();
        text.split_whitespace()
            .for_each(|phrase| query.push_phrase(phrase));
        query
    }

    /// Adds a phrase; one without words is ignored.
    pub fn push_phrase(&mut self, text: &str) {
        let phrase = split_words(text);
        // A repeated phrase would count twice in the score, and a pasted page would make the
        // search slow.
        if !phrase.is_empty() && !self.phrases.contains(&phrase) && self.phrases.len() < MAX_PHRASES
        {
            self.phrases.push(phrase);
        }
    }

    /// Adds a phrase whose last word is complete.
    pub fn push_quoted(&mut self, text: &str) {
        let place = self.phrases.len();
        self.push_phrase(text);
        if self.phrases.len() > place {
            self.quoted.push(place);
        }
    }

    /// Whether the query has no phrases.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.phrases.is_empty()
    }
}

/// Whether a text has to match all phrases or any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchMode {
    /// All phrases; if no text has all of them, any phrase.
    AllElseAny,
    /// Any phrase.
    Any,
}

/// Counts the occurrences of a phrase in a text.
#[must_use]
pub fn count_occurrences(phrase: &[String], text: &[String]) -> usize {
    let Some((last, before)) = phrase.split_last() else {
        return 0;
    };
    let fits = |window: &[String]| {
        window
            .split_last()
            .is_some_and(|(end, start)| start == before && end.starts_with(last.as_str()))
    };
    text.windows(phrase.len())
        .filter(|window| fits(window))
        .count()
}

// The values of SQLite's FTS5, whose ranking the other engines reproduce.
const BM25_K1: f64 = 1.2;
const BM25_B: f64 = 0.75;

/// Ranks texts by BM25, best first; ties keep the given order.
///
/// `of_kind` filters the result; filtered texts still count for the rarity of a word. For engines
/// without an index of their own.
#[must_use]
pub fn rank_texts(
    texts: &[Vec<String>],
    query: &SearchQuery,
    matching: MatchMode,
    of_kind: &dyn Fn(usize) -> bool,
) -> Vec<usize> {
    let words: usize = texts.iter().map(Vec::len).sum();
    let corpus = Corpus {
        texts: texts.len() as f64,
        words: words as f64,
    };
    rank_in_corpus(corpus, texts, query, matching, of_kind)
}

/// Size of the corpus, including texts that match nothing: BM25 needs it for rarity and length.
#[derive(Clone, Copy, Debug)]
pub struct Corpus {
    pub texts: f64,
    pub words: f64,
}

/// Like [`rank`], for an engine that passes only the texts matching some phrase.
#[must_use]
pub fn rank_in_corpus(
    corpus: Corpus,
    texts: &[Vec<String>],
    query: &SearchQuery,
    matching: MatchMode,
    of_kind: &dyn Fn(usize) -> bool,
) -> Vec<usize> {
    let counts: Vec<Vec<usize>> = query
        .phrases
        .iter()
        .map(|phrase| {
            texts
                .iter()
                .map(|text| count_occurrences(phrase, text))
                .collect()
        })
        .collect();
    let all = corpus.texts;
    // The kind is indexed next to the words and counts as one of them.
    let length = |index: usize| texts[index].len() as f64 + 1.0;
    let average = (corpus.words + all) / all.max(1.0);
    let rarity: Vec<f64> = counts
        .iter()
        .map(|counts| {
            let with = counts.iter().filter(|count| **count > 0).count() as f64;
            word_rarity(all, with)
        })
        .collect();
    let mut scores: HashMap<usize, f64> = HashMap::new();
    let candidates = |all_of_it: bool| -> Vec<usize> {
        let matches = |index: &usize| {
            let mut found = counts.iter().map(|counts| counts[*index] > 0);
            of_kind(*index)
                && if all_of_it {
                    found.all(|found| found)
                } else {
                    found.any(|found| found)
                }
        };
        (0..texts.len()).filter(matches).collect()
    };
    let mut found = if query.is_empty() {
        Vec::new()
    } else {
        candidates(matching == MatchMode::AllElseAny)
    };
    // Falls back to any phrase only when nothing matches all: a long question still finds
    // something.
    if found.is_empty() && matching == MatchMode::AllElseAny && query.phrases.len() > 1 {
        found = candidates(false);
    }
    for index in &found {
        let score = counts
            .iter()
            .zip(&rarity)
            .fold(0.0, |score, (counts, rarity)| {
                let often = counts[*index] as f64;
                score
                    + rarity * (often * (BM25_K1 + 1.0))
                        / (often + BM25_K1 * (1.0 - BM25_B + BM25_B * length(*index) / average))
            });
        scores.insert(*index, score);
    }
    found.sort_by(|a, b| scores[b].total_cmp(&scores[a]).then(a.cmp(b)));
    found
}

/// Returns the weight of a word that `with` of `all` texts have (inverse document frequency).
fn word_rarity(all: f64, with: f64) -> f64 {
    let rarity = ((all - with + 0.5) / (with + 0.5)).ln();
    // A word in more than half of the texts would get a negative weight and push its texts down;
    // FTS5 clamps to the same small value.
    if rarity <= 0.0 { 1e-6 } else { rarity }
}

/// The constant `k` of reciprocal rank fusion; 60 is the value of the original paper.
const RRF_RANK_OFFSET: f64 = 60.0;

/// Merges ranked lists by reciprocal rank fusion, best first.
///
/// Uses ranks only, because scores of full-text and vector search cannot be compared. Ties keep the
/// order of the first list they are in.
#[must_use]
pub fn fuse_rankings<T: Clone + Eq + std::hash::Hash>(lists: &[&[T]], most: usize) -> Vec<T> {
    let mut order: Vec<&T> = Vec::new();
    let mut scores: HashMap<&T, f64> = HashMap::new();
    for list in lists {
        for (rank, item) in list.iter().enumerate() {
            let score = scores.entry(item).or_insert_with(|| {
                order.push(item);
                0.0
            });
            *score += 1.0 / (RRF_RANK_OFFSET + rank as f64 + 1.0);
        }
    }
    order.sort_by(|a, b| scores[b].total_cmp(&scores[a]));
    order.into_iter().take(most).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::{MatchMode, SearchQuery, fuse_rankings, rank_texts, split_words};

    #[test]
    fn what_several_lists_have_comes_first() {
        assert_eq!(
            fuse_rankings(&[&["a", "b", "c"], &["d", "c", "b"]], 9),
            ["b", "c", "a", "d"]
        );
        assert_eq!(fuse_rankings(&[&["a", "b"], &[]], 1), ["a"]);
        assert!(fuse_rankings::<u8>(&[], 3).is_empty());
    }

    #[test]
    fn words_of_any_language() {
        let cases = [
            (
                "Build the auth-system!",
                vec!["build", "the", "auth", "system"],
            ),
            ("Сделать ЧТО-то", vec!["сделать", "что", "то"]),
            ("Straße, naïve", vec!["straße", "naïve"]),
            (
                "東京タワー 2026",
                vec!["東", "京", "タ", "ワ", "ー", "2026"],
            ),
            ("हिन्दी में", vec!["हिन्दी", "में"]),
            ("  ,. ", vec![]),
        ];
        for (text, expected) in cases {
            assert_eq!(split_words(text), expected, "{text}");
        }
    }

    #[track_caller]
    fn check(notes: &[&str], query: &str, expected: &[usize]) {
        let notes: Vec<Vec<String>> = notes.iter().map(|note| split_words(note)).collect();
        assert_eq!(
            rank_texts(
                &notes,
                &SearchQuery::parse_query(query),
                MatchMode::AllElseAny,
                &|_| true
            ),
            expected,
            "{query}"
        );
    }

    #[test]
    fn rare_words_short_notes_and_prefixes() {
        let notes = [
            "jwt tokens and more about many other matters",
            "jwt",
            "sessions",
            "東京の塔",
            "京東商城",
            "решили взять jose",
        ];
        check(&notes, "jwt", &[1, 0]);
        check(&notes, "sess", &[2]);
        check(&notes, "JWT token", &[0]);
        check(&notes, "東京", &[3]);
        check(&notes, "реш", &[5]);
        check(&notes, "jwt sessions", &[2, 1, 0]);
        check(&notes, "essions", &[]);
        check(&notes, "", &[]);
        check(&notes, "\"*( ", &[]);
    }
}
