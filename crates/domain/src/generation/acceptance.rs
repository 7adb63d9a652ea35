//! Acceptance floors of generated text: what nobody would take for a scene or a plan.
//!
//! Pure rules for refusals, degenerate text, a missing cast and placeholders, in English and Russian.
//! They say nothing about quality; that is the judge's part. Whatever they find is a MUST: the scene is
//! held for a person, and nothing of it reaches the book or the memory.

use std::collections::{HashMap, HashSet};

use super::record::{FindingSeverity, SceneFinding};
use crate::inflection::{LatinEndings, possible_stems};
use crate::memory::EntryKind;
use crate::search::split_words;

/// Maximum number of words of a refusal. A longer text that begins like one is prose: "I'm sorry, but I
/// can't," may be how a story begins.
const MAX_REFUSAL_WORDS: usize = 120;
/// Number of characters at the beginning in which a refusal shows.
const REFUSAL_OPENING_CHARS: usize = 240;
/// Minimum number of words before repeated phrases make a text degenerate.
const MIN_DEGENERATE_WORDS: usize = 60;
/// Length of the phrases that are counted, in words. Prose repeats hardly any of this length.
const PHRASE_WORDS: usize = 4;
/// Minimum number of lines before one repeated line makes a text degenerate.
const MIN_REPEATED_LINES: usize = 6;

/// How models decline. Only phrases that name the task: "I cannot help thinking of the sea" is prose.
const REFUSALS: &[&str] = &[
    "i'm sorry, but i can",
    "i am sorry, but i can",
    "i can't help with",
    "i cannot help with",
    "i can't help you with",
    "i can't assist",
    "i cannot assist",
    "i can't write",
    "i cannot write",
    "i can't create",
    "i cannot create",
    "i can't continue with",
    "i cannot continue with",
    "i can't provide",
    "i cannot provide",
    "i can't fulfill",
    "i cannot fulfill",
    "i can't comply",
    "i cannot comply",
    "i'm unable to",
    "i am unable to",
    "i'm not able to",
    "i must decline",
    "i won't be able to",
    "я не могу помочь",
    "я не могу написать",
    "я не могу продолжить",
    "я не могу выполнить",
    "я не могу создать",
    "но я не могу",
    "к сожалению, я не",
    "не могу выполнить этот запрос",
    "не могу помочь с этим",
    "вынужден отказаться",
];
/// How models speak of themselves, in a text of any length.
const SELF_DESCRIPTIONS: &[&str] = &[
    "as an ai language model",
    "as a language model",
    "as an ai assistant",
    "i'm just an ai",
    "как языковая модель",
    "как ии-ассистент",
    "как искусственный интеллект, я",
];
/// Words that stand for a text in examples and templates.
const PLACEHOLDER_WORDS: &[&str] = &[
    "string",
    "text",
    "todo",
    "tbd",
    "placeholder",
    "example",
    "none",
    "null",
    "rationale",
    "intention",
    "scene_intention",
    "reason",
    "lorem",
    "ipsum",
    "текст",
    "пример",
];

/// Returns why a text cannot be a scene at all, whatever its blueprint says.
#[must_use]
pub fn find_unusable(text: &str) -> Option<SceneFinding> {
    let words = split_words(text);
    // First, because an empty answer has no opening and no phrases to judge.
    if !text.chars().any(char::is_alphabetic) {
        return Some(must("degenerate", "the text has no words".to_owned(), None));
    }
    if let Some(quote) = find_refusal(text, words.len()) {
        let problem = "the model refused, or speaks of itself, instead of writing".to_owned();
        return Some(must("refusal", problem, Some(quote)));
    }
    find_degeneration(text, &words)
}

/// Returns the opening of a text that is a refusal.
fn find_refusal(text: &str, words: usize) -> Option<String> {
    // A refusal says so at once; later in a text the same words are dialogue or thought.
    let opening: String = text.trim().chars().take(REFUSAL_OPENING_CHARS).collect();
    // A character may say it.
    if opening.starts_with(['"', '“', '«', '„', '—', '–', '-', '‘', '\'']) {
        return None;
    }
    let folded = opening.to_lowercase().replace('’', "'");
    let has = |phrases: &[&str]| phrases.iter().any(|phrase| folded.contains(phrase));
    let refuses = words <= MAX_REFUSAL_WORDS && has(REFUSALS);
    (refuses || has(SELF_DESCRIPTIONS))
        .then(|| opening.lines().next().unwrap_or_default().to_owned())
}

/// Returns the finding that a text repeats itself, or is markup.
fn find_degeneration(text: &str, words: &[String]) -> Option<SceneFinding> {
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let is_markup = |line: &&&str| {
        line.starts_with(['#', '|', '<', '`', '=', '~']) || !line.chars().any(char::is_alphanumeric)
    };
    let markup = lines.iter().filter(is_markup).count();
    if markup * 2 > lines.len() {
        let problem = "more than half of the lines are markup, not prose".to_owned();
        return Some(must(
            "degenerate",
            problem,
            lines.first().map(|&line| line.to_owned()),
        ));
    }
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for line in &lines {
        *counts.entry(line).or_default() += 1;
    }
    if let Some((line, count)) = counts
        .into_iter()
        .max_by_key(|(line, count)| (*count, *line))
        && lines.len() >= MIN_REPEATED_LINES
        && count * 2 > lines.len()
    {
        let problem = format!("one line is repeated {count} times");
        return Some(must("degenerate", problem, Some(line.to_owned())));
    }
    // A model in a loop repeats itself without repeating lines; phrases show it in running prose.
    let phrases = words.len().saturating_sub(PHRASE_WORDS - 1);
    let different: HashSet<&[String]> = words.windows(PHRASE_WORDS).collect();
    (words.len() >= MIN_DEGENERATE_WORDS && different.len() * 2 < phrases).then(|| {
        let problem = format!(
            "the text repeats itself: {} of {phrases} phrases are different",
            different.len()
        );
        must("degenerate", problem, None)
    })
}

/// Returns the characters of a blueprint that a text does not name, and whether nobody is there.
///
/// One part of a name is enough, in any grammatical form: prose says "Elena" or "Елене", rarely the full
/// name.
#[must_use]
pub fn find_missing_cast<'n>(words: &[String], cast: &'n [String]) -> (Vec<&'n String>, bool) {
    let stems_of = |word: &String| possible_stems(word, LatinEndings::Plain);
    let known: HashSet<String> = words.iter().flat_map(stems_of).collect();
    let is_named = |name: &&String| {
        let parts = split_words(name);
        parts
            .iter()
            .any(|part| stems_of(part).iter().any(|stem| known.contains(stem)))
    };
    let missing: Vec<&String> = cast.iter().filter(|name| !is_named(name)).collect();
    // A narrator has no name in their own scene.
    let narrator = ["i", "me", "my", "я", "мне", "меня", "мой"];
    let told_by_one = cast.len() == 1
        && words
            .iter()
            .filter(|word| narrator.contains(&word.as_str()))
            .count()
            >= 3;
    // Some missing is the judge's business; a scene without anybody of its cast is another scene.
    let nobody = !cast.is_empty() && missing.len() == cast.len() && !told_by_one;
    (missing, nobody)
}

/// Whether a text stands for one that is missing: `…`, an id, a slot of a template.
#[must_use]
pub fn is_placeholder(text: &str) -> bool {
    let text = text.trim();
    let is_slot = |open: char, close: char| {
        text.split_once(open)
            .is_some_and(|(_, rest)| rest.contains(close))
    };
    let words = split_words(text);
    words.is_empty()
        || EntryKind::parse_id(text).is_some()
        || is_slot('[', ']')
        || is_slot('<', '>')
        || words
            .iter()
            .all(|word| PLACEHOLDER_WORDS.contains(&word.as_str()))
}

fn must(check: &str, problem: String, quote: Option<String>) -> SceneFinding {
    SceneFinding {
        check: check.to_owned(),
        severity: FindingSeverity::Must,
        problem,
        quote,
        against: None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check_of(text: &str) -> Option<String> {
        find_unusable(text).map(|finding| finding.check)
    }

    #[test]
    fn refusals_are_no_scenes_in_english_and_russian() {
        for refusal in [
            "I'm sorry, but I can't help with planning this story.",
            "I’m sorry, but I can’t continue with this.",
            "I cannot assist with that request. Is there something else?",
            "As an AI language model, I have no opinions. Elena opened the drawer.",
            "К сожалению, я не могу написать эту сцену.",
            "Извините, но я не могу помочь с этим.",
        ] {
            assert_eq!(check_of(refusal).as_deref(), Some("refusal"), "{refusal}");
        }
        for prose in [
            "“I'm sorry, but I can't,” said Elena, and shut the drawer.",
            "— Я не могу помочь, — сказала Елена и закрыла ящик.",
            "I cannot help thinking of the sea. It was grey that day.",
            "Elena opened the drawer. There was only dust.",
        ] {
            assert_eq!(check_of(prose), None, "{prose}");
        }
        let long = format!("I'm sorry, but I can say it now. {}", distinct_prose(200));
        assert_eq!(check_of(&long), None, "a story may begin like this");
    }

    #[test]
    fn markup_and_repetition_are_no_scenes() {
        let hashes = "##\n".repeat(2_000);
        let headings = "## Blueprint\n## Who is who\n## What is true\nElena.";
        let lines = format!("It began.\n{}", "The door was shut.\n".repeat(12));
        let looped = "and then he went on and ".repeat(30);
        for text in ["", "…", "***", &hashes, headings, &lines, &looped] {
            assert_eq!(check_of(text).as_deref(), Some("degenerate"), "{text:.40}");
        }
        assert_eq!(
            check_of("# The drawer\n\nElena opened it. It was empty."),
            None
        );
    }

    #[test]
    fn a_cast_is_found_by_any_part_and_form_of_a_name() {
        let cast = |names: &[&str]| {
            names
                .iter()
                .map(|&name| name.to_owned())
                .collect::<Vec<_>>()
        };
        for (text, names, missing, nobody) in [
            (
                "Elena went. Marcus stayed.",
                &["Elena Vasquez", "Marcus"][..],
                0,
                false,
            ),
            ("Письмо отдали Елене и Анне.", &["Елена", "Анна"], 0, false),
            ("Elena went alone.", &["Elena", "Marcus"], 1, false),
            ("It rained on the roofs.", &["Elena", "Marcus"], 2, true),
            (
                "I took my coat. It cost me dearly, I knew.",
                &["Elena"],
                1,
                false,
            ),
            ("It rained.", &[], 0, false),
        ] {
            let cast = cast(names);
            let (found, absent) = find_missing_cast(&split_words(text), &cast);
            assert_eq!((found.len(), absent), (missing, nobody), "{text}");
        }
    }

    #[test]
    fn placeholders_are_told_from_short_texts() {
        for text in [
            "",
            "…",
            "...",
            "C0",
            "OL12",
            "string",
            "<why>",
            "[genre1] or [genre2]",
            "TODO",
        ] {
            assert!(is_placeholder(text), "{text}");
        }
        for text in [
            "because",
            "Elena opens the drawer",
            "Она уходит",
            "Why not?",
        ] {
            assert!(!is_placeholder(text), "{text}");
        }
    }

    /// Returns prose in which no phrase occurs twice.
    fn distinct_prose(words: usize) -> String {
        let names: Vec<String> = (0..words).map(|at| format!("word{at}")).collect();
        names.join(" ")
    }

    proptest! {
        #[test]
        fn text_without_repetition_is_never_degenerate(words in 1usize..400) {
            prop_assert_eq!(check_of(&distinct_prose(words)), None);
        }

        #[test]
        fn a_repeated_passage_is_degenerate_however_long(words in 5usize..60, times in 13usize..40) {
            let text = format!("{} ", distinct_prose(words)).repeat(times);
            prop_assert_eq!(check_of(&text), Some("degenerate".to_owned()));
        }

        #[test]
        fn no_text_panics(text in ".{0,400}") {
            let _ = find_unusable(&text);
            let _ = is_placeholder(&text);
        }
    }
}
