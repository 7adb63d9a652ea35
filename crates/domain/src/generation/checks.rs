//! Checks of a scene that need no model: ending, length, leaked ids, coverage, repetition,
//! continuity.

use std::collections::{BTreeSet, HashMap};

use super::continuity::{self, Moment};
use super::record::{Finding, Severity};
use crate::memory::{EntryKind, Memory};
use crate::search::words;

/// Number of consecutive words whose repetition is reported.
const PHRASE: usize = 8;
const SENTENCE_ENDS: [char; 8] = ['.', '!', '?', '…', '。', '！', '？', '—'];
const CLOSERS: &[char] = &[
    '"', '\'', '”', '’', '»', '“', '」', '』', ')', '*', '_', ' ', '\n',
];

/// What a scene is checked against.
pub struct Expected<'a> {
    pub blueprint: &'a str,
    /// Names of the blueprint's characters.
    pub characters: &'a [String],
    /// Target number of words; 0 for any.
    pub words: usize,
    /// Text of the scene before, if there is one.
    pub before: Option<&'a str>,
    pub memory: &'a Memory,
    /// Memory ids of the scenes that come earlier in the plan.
    pub earlier: &'a BTreeSet<String>,
}

/// Whether a text ends with a complete sentence.
#[must_use]
pub fn has_ending(text: &str) -> bool {
    text.trim_end_matches(CLOSERS).ends_with(SENTENCE_ENDS)
}

/// Returns the text up to the end of its last complete sentence, if there is one.
#[must_use]
pub fn trimmed_to_sentence(text: &str) -> &str {
    let end = text
        .char_indices()
        .rev()
        .find(|(_, c)| SENTENCE_ENDS.contains(c))
        .map(|(at, c)| at + c.len_utf8());
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

/// Returns the findings about a scene that can be computed.
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
    // A MUST: a model's output limit cuts a text without any error, and this is the only sign of
    // it.
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
    // Half and double only: models miss a word count widely, and a revision for 20 % is not worth
    // its tokens.
    if wanted > 0 && (count < wanted / 2 || count > wanted * 2) {
        add(
            "length",
            Severity::Should,
            format!("the scene has {count} words; the target is about {wanted}"),
            None,
        );
    }
    if let Some(id) = ids_in(text, expected.memory) {
        add(
            "ids",
            Severity::Must,
            format!("`{id}` is a memory id; prose uses names"),
            Some(id),
        );
    }
    for name in expected.characters {
        let parts = words(name);
        // One part of the name is enough: prose says "Elena" or "Voss", rarely both.
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
            format!("the same {PHRASE} words are repeated"),
            Some(phrase),
        );
    }
    if let Some(phrase) = expected
        .before
        .and_then(|before| shared(&words(before), &found))
    {
        let problem =
            "text of the scene before is repeated; it may be the same scene twice".to_owned();
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

/// Returns the first memory id that a text contains.
fn ids_in(text: &str, memory: &Memory) -> Option<String> {
    let known = |word: &&str| EntryKind::of_id(word).is_some() && memory.get(word).is_some();
    let tokens = text.split(|c: char| !c.is_alphanumeric());
    tokens
        // Ids are upper case; `s1` in prose may be anything.
        .filter(|word| word.starts_with(char::is_uppercase))
        .find(known)
        .map(str::to_owned)
}

/// Returns a phrase that occurs twice without overlap.
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

/// Returns a run of words common to both texts that is too long for coincidence.
fn shared(before: &[String], now: &[String]) -> Option<String> {
    // Longer than within one scene: a recap may legitimately quote a phrase of the scene before.
    let length = PHRASE * 3;
    let known: std::collections::HashSet<&[String]> = before.windows(length).collect();
    now.windows(length)
        .find(|window| known.contains(window))
        .map(|window| window.join(" "))
}
