//! Checks of a scene that need no model: ending, length, leaked ids, coverage, repetition,
//! continuity, and the acceptance floors.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::acceptance;
use super::continuity::{self, SceneContext};
use super::guidance::{ForbiddenPhrase, find_forbidden_words};
use super::record::{FindingSeverity, SceneFinding};
use crate::memory::{EntryKind, StoryMemory};
use crate::search::split_words;

/// Number of consecutive words whose repetition is reported.
const REPEATED_PHRASE_WORDS: usize = 8;
/// Length of the phrases that a revision keeps, in words.
const KEPT_PHRASE_WORDS: usize = 3;
/// Number of letters by which two words are forms of one; longer words show what a text is about.
const KEPT_STEM_CHARS: usize = 4;
const SENTENCE_ENDS: [char; 8] = ['.', '!', '?', '…', '。', '！', '？', '—'];
const CLOSERS: &[char] = &[
    '"', '\'', '”', '’', '»', '“', '」', '』', ')', '*', '_', ' ', '\n',
];

/// What a scene is checked against.
pub struct SceneExpectations<'a> {
    pub blueprint: &'a str,
    /// The point of view, named by the blueprint or a plan above it.
    pub pov: Option<&'a str>,
    /// Names of the blueprint's characters.
    pub characters: &'a [String],
    /// Target number of words; 0 for any.
    pub words: usize,
    /// Text of the scene before, if there is one.
    pub before: Option<&'a str>,
    pub memory: &'a StoryMemory,
    /// Memory ids of the scenes that come earlier in the plan.
    pub earlier: &'a BTreeSet<String>,
    /// Words the author does not want.
    pub forbidden: &'a [ForbiddenPhrase],
}

impl<'a> SceneExpectations<'a> {
    /// Returns the place of the scene in the story.
    #[must_use]
    pub fn story_context(&self) -> SceneContext<'a> {
        let id = |name: &str| self.memory.resolve_id(EntryKind::Character, name);
        let pov = self.pov.and_then(id);
        SceneContext {
            memory: self.memory,
            pov: pov.and_then(|id| self.memory.characters().find(|it| it.id == id)),
            earlier: self.earlier,
        }
    }

    /// Returns every name of someone whom the blueprint names.
    fn names_of(&self, name: &str) -> Vec<String> {
        let id = self.memory.resolve_id(EntryKind::Character, name);
        let entry = id.and_then(|id| self.memory.get(&id));
        let known = entry.into_iter().flat_map(|entry| {
            let others = entry.other_names().iter().cloned();
            others.chain(std::iter::once(entry.name()))
        });
        std::iter::once(name.to_owned()).chain(known).collect()
    }
}

/// Whether a text ends with a complete sentence.
#[must_use]
pub fn has_ending(text: &str) -> bool {
    // Quotation marks and emphasis may follow the full stop.
    text.trim_end_matches(CLOSERS).ends_with(SENTENCE_ENDS)
}

/// Returns the text up to the end of its last complete sentence, if there is one.
#[must_use]
pub fn trim_to_sentence(text: &str) -> &str {
    let end = text
        .char_indices()
        .rev()
        .find(|(_, c)| SENTENCE_ENDS.contains(c))
        .map(|(at, c)| at + c.len_utf8());
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

/// Returns the findings about a scene that can be computed.
#[must_use]
pub fn check_scene(text: &str, expected: &SceneExpectations<'_>) -> Vec<SceneFinding> {
    let found = split_words(text);
    let mut findings = Vec::new();
    let mut add = |check: &str, severity, problem: String, quote: Option<String>| {
        findings.push(SceneFinding {
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
            FindingSeverity::Must,
            "the scene stops in the middle of a sentence".to_owned(),
            Some(tail.join(" ")),
        );
    }
    let (count, wanted) = (found.len(), expected.words);
    // Wide limits: models miss a word count widely, and a revision for 20 % is not worth its tokens.
    // Beyond them it is no longer the scene that was planned.
    let length = if count * 5 < wanted * 2 || count > wanted * 2 {
        Some(FindingSeverity::Must)
    } else {
        (count < wanted / 2).then_some(FindingSeverity::Should)
    };
    if let Some(severity) = length.filter(|_| wanted > 0) {
        let problem = format!("the scene has {count} words; the target is about {wanted}");
        add("length", severity, problem, None);
    }
    if let Some(id) = find_memory_id(text, expected.memory) {
        add(
            "ids",
            FindingSeverity::Must,
            format!("`{id}` is a memory id; prose uses names"),
            Some(id),
        );
    }
    let (missing, nobody) =
        acceptance::find_missing_cast(&found, expected.characters, |name| expected.names_of(name));
    // One finding instead of one for each name: the scene is about something else as a whole.
    if nobody {
        let cast = expected.characters.join(", ");
        let problem = format!("nobody of the blueprint is in the scene: {cast}");
        add("cast", FindingSeverity::Must, problem, None);
    } else {
        for name in missing {
            let problem = format!("the blueprint names {name}, the scene does not");
            add("coverage", FindingSeverity::Should, problem, None);
        }
    }
    if let Some(phrase) = find_repetition(&found) {
        add(
            "repetition",
            FindingSeverity::Should,
            format!("the same {REPEATED_PHRASE_WORDS} words are repeated"),
            Some(phrase),
        );
    }
    if let Some(phrase) = expected
        .before
        .and_then(|before| find_shared_run(&split_words(before), &found))
    {
        let problem =
            "text of the scene before is repeated; it may be the same scene twice".to_owned();
        add("repetition", FindingSeverity::Must, problem, Some(phrase));
    }
    findings.extend(acceptance::find_unusable(text));
    findings.extend(find_forbidden_words(&found, expected.forbidden));
    findings.extend(continuity::check_continuity(
        text,
        &expected.story_context(),
    ));
    findings
}

/// Returns the first memory id that a text contains.
fn find_memory_id(text: &str, memory: &StoryMemory) -> Option<String> {
    let known = |word: &&str| EntryKind::parse_id(word).is_some() && memory.get(word).is_some();
    let tokens = text.split(|c: char| !c.is_alphanumeric());
    tokens
        // Ids are upper case; `s1` in prose may be anything.
        .filter(|word| word.starts_with(char::is_uppercase))
        .find(known)
        .map(str::to_owned)
}

/// Returns a phrase that occurs twice without overlap.
fn find_repetition(words: &[String]) -> Option<String> {
    let mut seen: HashMap<&[String], usize> = HashMap::new();
    for (at, window) in words.windows(REPEATED_PHRASE_WORDS).enumerate() {
        if seen
            .get(window)
            // Overlapping windows ("no, no, no …") are one phrase that goes on, not one that
            // returns.
            .is_some_and(|first| at >= first + REPEATED_PHRASE_WORDS)
        {
            return Some(window.join(" "));
        }
        seen.entry(window).or_insert(at);
    }
    None
}

/// Whether a text goes on from the one it revises: a tenth of the phrases is kept, or half of the longer
/// words in any form, as where tense or point of view change. Unrelated texts share neither.
#[must_use]
pub(super) fn is_revision_of(before: &[String], now: &[String]) -> bool {
    let known: HashSet<&[String]> = now.windows(KEPT_PHRASE_WORDS).collect();
    let phrases = before.windows(KEPT_PHRASE_WORDS);
    let (total, kept) = (
        phrases.len(),
        phrases.filter(|phrase| known.contains(phrase)).count(),
    );
    if total == 0 || kept * 10 >= total {
        return true;
    }
    // By their first letters: endings carry tense, case and number in most languages.
    let stem_of = |word: &String| word.chars().take(KEPT_STEM_CHARS).collect::<String>();
    let stems: HashSet<String> = now.iter().map(stem_of).collect();
    let is_long = |word: &&String| word.chars().count() > KEPT_STEM_CHARS;
    let long: HashSet<&String> = before.iter().filter(is_long).collect();
    let kept = long.iter().filter(|word| stems.contains(&stem_of(word)));
    !long.is_empty() && kept.count() * 2 >= long.len()
}

/// Returns a run of words common to both texts that is too long for coincidence.
fn find_shared_run(before: &[String], now: &[String]) -> Option<String> {
    // Longer than within one scene: a recap may legitimately quote a phrase of the scene before.
    let length = REPEATED_PHRASE_WORDS * 3;
    let known: std::collections::HashSet<&[String]> = before.windows(length).collect();
    now.windows(length)
        .find(|window| known.contains(window))
        .map(|window| window.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_shares_phrases_or_words_with_its_text() {
        let text = "Elena pulled at the drawer until it gave. Inside there was only dust. The map, drawn by her \
                    father, was gone. She shut the drawer and listened to the stairs.";
        for (now, expected) in [
            // One sentence is another, and most of it is cut.
            (
                "Elena pulled at the drawer until it gave. Inside lay cold ash.",
                true,
            ),
            // Another point of view and another tense.
            (
                "I pull at my drawer. It gives. Nothing inside, just dust. My father's map isn't there. I listen.",
                true,
            ),
            (
                "Marcus walked along the harbour all night. The boats were burning, and nobody came to \
                 help him. By dawn the pier was ash, and he counted the masts that were left.",
                false,
            ),
            ("Elena went.", false),
        ] {
            let is_revision = is_revision_of(&split_words(text), &split_words(now));
            assert_eq!(is_revision, expected, "{now}");
        }
        let russian = split_words("Елена дёрнула ящик. Внутри была только пыль, и карта исчезла.");
        let present = split_words("Елена дёргает ящик. Внутри пыль. Карта исчезла.");
        assert!(is_revision_of(&russian, &present));
        assert!(!is_revision_of(
            &russian,
            &split_words("Марк шёл вдоль берега до утра.")
        ));
        assert!(is_revision_of(&split_words("No."), &split_words("Never.")));
    }
}
