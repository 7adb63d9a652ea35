//! What can be seen in a scene without a model.

use std::collections::{BTreeSet, HashMap};

use super::continuity::{self, Moment};
use super::record::{Finding, Severity};
use crate::memory::{EntryKind, Memory};
use crate::search::words;

/// So many words in a row that come again are noticed.
const PHRASE: usize = 8;
const SENTENCE_ENDS: [char; 8] = ['.', '!', '?', '…', '。', '！', '？', '—'];
const CLOSERS: &[char] = &[
    '"', '\'', '”', '’', '»', '“', '」', '』', ')', '*', '_', ' ', '\n',
];

/// What a scene is held against.
pub struct Expected<'a> {
    pub blueprint: &'a str,
    /// Who the blueprint names.
    pub characters: &'a [String],
    /// About so many words; 0 for any number.
    pub words: usize,
    /// The scene before, if there is one.
    pub before: Option<&'a str>,
    pub memory: &'a Memory,
    /// The scenes before this one in the plan, by their ids in the memory.
    pub earlier: &'a BTreeSet<String>,
}

/// Says whether a text comes to an end, and does not just stop.
#[must_use]
pub fn has_ending(text: &str) -> bool {
    text.trim_end_matches(CLOSERS).ends_with(SENTENCE_ENDS)
}

/// Returns the text up to the end of its last whole sentence, where there is one.
#[must_use]
pub fn trimmed_to_sentence(text: &str) -> &str {
    let end = text
        .char_indices()
        .rev()
        .find(|(_, c)| SENTENCE_ENDS.contains(c))
        .map(|(at, c)| at + c.len_utf8());
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

/// Returns what is wrong with a scene as far as it can be counted.
#[must_use]
pub fn check(text: &str, expected: &Expected<'_>) -> Vec<Finding> {
    let found = words(text);
    let mut findings = Vec::new();
    let mut add = |check: &str, severity, problem: String, quote: Option<String>| {
        findings.push(Finding {
            check: check.to_owned(),
            severity,
            problem,
            quote,
            against: None,
        });
    };
    if !has_ending(text) {
        let tail: Vec<String> = found.iter().rev().take(8).rev().cloned().collect();
        add(
            "ending",
            Severity::Must,
            "the scene stops in the middle of a sentence".to_owned(),
            Some(tail.join(" ")),
        );
    }
    let (count, wanted) = (found.len(), expected.words);
    if wanted > 0 && (count < wanted / 2 || count > wanted * 2) {
        add(
            "length",
            Severity::Should,
            format!("the scene has {count} words; about {wanted} are wanted"),
            None,
        );
    }
    if let Some(id) = ids_in(text, expected.memory) {
        add(
            "ids",
            Severity::Must,
            format!("`{id}` is an id of the memory; prose uses names"),
            Some(id),
        );
    }
    for name in expected.characters {
        let parts = words(name);
        if !parts.iter().any(|part| found.contains(part)) {
            add(
                "coverage",
                Severity::Should,
                format!("the blueprint names {name}, the scene does not"),
                None,
            );
        }
    }
    if let Some(phrase) = repeated(&found) {
        add(
            "repetition",
            Severity::Should,
            format!("the same {PHRASE} words come again"),
            Some(phrase),
        );
    }
    if let Some(phrase) = expected
        .before
        .and_then(|before| shared(&words(before), &found))
    {
        let problem =
            "words of the scene before come again; it may be the same scene twice".to_owned();
        add("repetition", Severity::Must, problem, Some(phrase));
    }
    let pov = continuity::point_of_view(expected.blueprint, expected.memory);
    findings.extend(continuity::check(
        text,
        &Moment {
            memory: expected.memory,
            pov,
            earlier: expected.earlier,
        },
    ));
    findings
}

fn ids_in(text: &str, memory: &Memory) -> Option<String> {
    let known = |word: &&str| EntryKind::of_id(word).is_some() && memory.get(word).is_some();
    let tokens = text.split(|c: char| !c.is_alphanumeric());
    tokens
        .filter(|word| word.starts_with(char::is_uppercase))
        .find(known)
        .map(str::to_owned)
}

fn repeated(words: &[String]) -> Option<String> {
    let mut seen: HashMap<&[String], usize> = HashMap::new();
    for (at, window) in words.windows(PHRASE).enumerate() {
        if seen.get(window).is_some_and(|first| at >= first + PHRASE) {
            return Some(window.join(" "));
        }
        seen.entry(window).or_insert(at);
    }
    None
}

/// Returns a run of words both texts have, when it is too long for chance.
fn shared(before: &[String], now: &[String]) -> Option<String> {
    let length = PHRASE * 3;
    let known: std::collections::HashSet<&[String]> = before.windows(length).collect();
    now.windows(length)
        .find(|window| known.contains(window))
        .map(|window| window.join(" "))
}
