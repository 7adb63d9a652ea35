//! Acceptance floors of generated text: what nobody would take for a scene or a plan.
//!
//! Pure rules for refusals, degenerate text, a missing cast and placeholders, in English and Russian.
//! They say nothing about quality; that is the judge's part. Whatever they find is a MUST: the scene is
//! held for a person, and nothing of it reaches the book or the memory.

use std::collections::{HashMap, HashSet};

use super::record::{FindingSeverity, SceneFinding};
use crate::inflection::{LatinEndings, possible_stems};
use crate::memory::{EntryKind, split_name};
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
/// How an apology begins, and how the same language says that something cannot be done.
const APOLOGIES: &[(&[&str], &[&str])] = &[
    (
        &[
            "i'm sorry",
            "i am sorry",
            "i'm really sorry",
            "sorry",
            "i apologize",
            "i apologise",
            "my apologies",
        ],
        &[
            "i can't",
            "i cannot",
            "i can not",
            "i won't",
            "i will not",
            "i'm unable",
            "i am unable",
            "i'm not able",
            "i am not able",
        ],
    ),
    (
        &[
            "es tut mir leid",
            "tut mir leid",
            "leider",
            "entschuldigung",
            "ich bedaure",
        ],
        &["ich kann", "kann ich", "ich darf", "darf ich"],
    ),
    (
        &["je suis désolé", "désolé", "je regrette", "malheureusement"],
        &["je ne peux pas", "il m'est impossible"],
    ),
    (&["lo siento", "lamento"], &["no puedo", "no me es posible"]),
    (
        &["mi dispiace", "purtroppo"],
        &["non posso", "non mi è possibile"],
    ),
    (
        &["sinto muito", "desculpe", "lamento"],
        &["não posso", "não consigo"],
    ),
    (
        &["извините", "простите", "к сожалению", "прошу прощения"],
        &["не могу", "не буду", "не смогу"],
    ),
];
/// How someone declines without an apology; what; and what makes it about the task.
const DECLINES: &[&str] = &[
    "i can't",
    "i cannot",
    "i won't",
    "i will not",
    "i'm unable",
    "i am unable",
    "i'm not able",
    "i am not able",
    "i don't feel comfortable",
    "i do not feel comfortable",
    "i'm not comfortable",
    "i am not comfortable",
    "i must respectfully",
    "i have to decline",
    "i'd rather not",
    "i would rather not",
    "я не могу",
    "я не буду",
    "я отказываюсь",
];
const TASK_VERBS: &[&str] = &[
    "writ",
    "generat",
    "creat",
    "continu",
    "produc",
    "provid",
    "help",
    "assist",
    "fulfil",
    "comply",
    "complet",
    "draft",
    "depict",
    "напис",
    "писать",
    "продолж",
    "созда",
    "выполн",
];
/// Number of characters after a decline in which its verb follows.
const VERB_REACH: usize = 40;
const TASKS: &[&str] = &[
    "this scene",
    "that scene",
    "the scene",
    "a scene",
    "this story",
    "this request",
    "that request",
    "your request",
    "this content",
    "such content",
    "this prompt",
    "this text",
    "this chapter",
    "this passage",
    "content polic",
    "guidelines",
    "эту сцену",
    "этот запрос",
    "этот текст",
    "такой контент",
];
/// How a model speaks to its user, before its text and after it.
const PREAMBLES: &[&str] = &[
    "sure",
    "certainly",
    "of course",
    "absolutely",
    "okay",
    "here is",
    "here's",
    "here are",
    "below is",
    "вот",
    "конечно",
    "разумеется",
];
const POSTSCRIPTS: &[&str] = &[
    "let me know",
    "would you like",
    "i hope this",
    "i hope you",
    "feel free",
    "if you'd like",
    "if you would like",
    "дайте знать",
    "если хотите",
    "надеюсь, это",
];
/// What such words are about.
const OWN_TEXT: &[&str] = &[
    "scene",
    "version",
    "continuation",
    "revis",
    "rewrit",
    "сцен",
    "верси",
];
const OWN_OFFERS: &[&str] = &[
    "scene",
    "version",
    "draft",
    "revis",
    "changes",
    "adjust",
    "сцен",
    "вариант",
    "измен",
];
/// Words in brackets that stand for a text that is missing.
const SLOT_WORDS: &[&str] = &[
    "insert",
    "placeholder",
    "todo",
    "tbd",
    "name",
    "description",
    "continue",
    "continued",
    "rest",
    "вставить",
    "вставьте",
    "описание",
    "имя",
];
/// Maximum number of words of a slot; longer brackets are prose.
const MAX_SLOT_WORDS: usize = 8;

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
    if let Some(slot) = find_slot(text) {
        let problem = "a placeholder stands for a part of the text".to_owned();
        return Some(must("placeholder", problem, Some(slot)));
    }
    if let Some(words) = find_address(text) {
        let problem = "the model speaks about its text, in the text".to_owned();
        return Some(must("address", problem, Some(words)));
    }
    find_degeneration(text, &words)
}

/// Returns a text without the lines that a model puts around it: "Here is the revised scene:".
#[must_use]
pub fn strip_address(text: &str) -> &str {
    let mut text = text.trim();
    if let Some((first, rest)) = text.split_once('\n')
        && first
            .trim_end_matches(['*', '_', ' ', '\r'])
            .ends_with([':', '：'])
        && is_address(first, PREAMBLES, OWN_TEXT)
    {
        text = rest.trim_start();
    }
    if let Some((before, last)) = text.rsplit_once("\n\n")
        && !last.contains('\n')
        && is_address(last, POSTSCRIPTS, OWN_OFFERS)
    {
        text = before.trim_end();
    }
    text
}

/// Whether a line speaks to the user who asked for the text.
fn is_address(line: &str, beginnings: &[&str], about: &[&str]) -> bool {
    let folded = line
        .trim_start_matches(['*', '_', '#', '>', ' '])
        .to_lowercase();
    let folded = folded.replace('’', "'");
    let begins = |start: &&str| {
        let rest = folded.strip_prefix(start);
        rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    };
    beginnings.iter().any(begins) && about.iter().any(|word| folded.contains(word))
}

/// Returns the words with which a model speaks about its text.
fn find_address(text: &str) -> Option<String> {
    let first = text.trim().lines().next().unwrap_or_default();
    // Up to the colon: prose may begin with "Sure" as well.
    let before = first.split_once([':', '：']).map(|(before, _)| before);
    let opening = before.filter(|before| is_address(before, PREAMBLES, OWN_TEXT));
    let last = text.trim().lines().next_back().unwrap_or_default();
    let closing = Some(last).filter(|last| is_address(last, POSTSCRIPTS, OWN_OFFERS));
    opening.or(closing).map(str::to_owned)
}

/// Returns a slot that is not filled: `[insert description here]`.
fn find_slot(text: &str) -> Option<String> {
    for (open, close) in [('[', ']'), ('<', '>'), ('{', '}')] {
        for part in text.split(open).skip(1) {
            let Some((slot, _)) = part.split_once(close) else {
                continue;
            };
            let words = split_words(slot);
            let is_slot = words.len() <= MAX_SLOT_WORDS
                && words.iter().any(|word| SLOT_WORDS.contains(&word.as_str()));
            if is_slot {
                return Some(format!("{open}{slot}{close}"));
            }
        }
    }
    None
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
    let folded = folded.trim_start_matches(['*', '_', '#', '>', ' ']);
    let has = |phrases: &[&str]| phrases.iter().any(|phrase| folded.contains(phrase));
    let apologises = || {
        APOLOGIES.iter().any(|(apology, inability)| {
            apology.iter().any(|start| folded.starts_with(start)) && has(inability)
        })
    };
    let declines = || DECLINES.iter().any(|phrase| declines_task(folded, phrase)) && has(TASKS);
    let cites_policy = || has(&["violates", "against"]) && has(&["content polic", "guidelines"]);
    let refuses = words <= MAX_REFUSAL_WORDS
        && (has(REFUSALS) || apologises() || declines() || cites_policy());
    (refuses || has(SELF_DESCRIPTIONS))
        .then(|| opening.lines().next().unwrap_or_default().to_owned())
}

/// Whether a phrase of declining is followed by a verb for what models are asked to do.
fn declines_task(folded: &str, phrase: &str) -> bool {
    folded.match_indices(phrase).any(|(at, _)| {
        let rest = folded.get(at + phrase.len()..).unwrap_or_default();
        let near: String = rest.chars().take(VERB_REACH).collect();
        TASK_VERBS.iter().any(|verb| near.contains(verb))
    })
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
    // A third of it twice: prose stays far above, and a text that is given two times is half.
    (words.len() >= MIN_DEGENERATE_WORDS && different.len() * 3 < phrases * 2).then(|| {
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
/// name. `names_of` returns all names of someone.
#[must_use]
pub fn find_missing_cast<'n>(
    words: &[String],
    cast: &'n [String],
    names_of: impl Fn(&str) -> Vec<String>,
) -> (Vec<&'n String>, bool) {
    let stems_of = |word: &String| possible_stems(word, LatinEndings::Plain);
    let known: HashSet<String> = words.iter().flat_map(stems_of).collect();
    let is_there = |name: &String| {
        let mut parts = split_name(name);
        // Short names, and those of languages with a letter for a word.
        if parts.is_empty() {
            parts = split_words(name);
        }
        parts
            .iter()
            .any(|part| stems_of(part).iter().any(|stem| known.contains(stem)))
    };
    let is_named = |name: &&String| names_of(name).iter().any(is_there);
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

/// Whether a model declines in this text, instead of doing what it was asked for.
#[must_use]
pub fn is_refusal(text: &str) -> bool {
    find_refusal(text, split_words(text).len()).is_some()
}

/// Whether a text is nothing but a slot: `[Name]`, `<description>`.
#[must_use]
pub fn is_whole_slot(text: &str) -> bool {
    let text = text.trim();
    let inner = [('[', ']'), ('<', '>'), ('{', '}')]
        .iter()
        .find_map(|(open, close)| text.strip_prefix(*open)?.strip_suffix(*close));
    // Models write ids in brackets.
    inner.is_some_and(|inner| EntryKind::parse_id(inner.trim()).is_none())
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
            "I'm sorry, I can't generate a scene in which Elena opens the drawer.",
            "I apologize, but I cannot generate this about Elena and Marcus.",
            "**Sorry**, I won't write that. Please give me another idea for Elena.",
            "Es tut mir leid, aber ich kann diese Szene mit Elena nicht schreiben.",
            "Je suis désolé, mais je ne peux pas écrire cette scène avec Elena.",
            "Lo siento, no puedo continuar con esta historia.",
            "I do not feel comfortable writing this scene with Elena.",
            "This request violates the content policy. Elena stays where she is.",
        ] {
            assert_eq!(check_of(refusal).as_deref(), Some("refusal"), "{refusal}");
        }
        for prose in [
            "“I'm sorry, but I can't,” said Elena, and shut the drawer.",
            "— Я не могу помочь, — сказала Елена и закрыла ящик.",
            "I cannot help thinking of the sea. It was grey that day.",
            "Sorry as she was, Elena shut the drawer. There was nothing that she could not bear.",
            "I can't swim. I told him so, and he laughed, and pushed me in.",
            "It is against the law to sell maps here. Elena sold three.",
            "I will not forget the scene at the harbour. The boats were on fire.",
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
    fn words_around_a_text_are_taken_off_and_words_about_it_are_found() {
        let prose = "Elena opened the drawer.\n\nIt was empty.";
        for text in [
            format!("Sure! Here is the scene:\n\n{prose}"),
            format!("**Here's the revised scene:**\n{prose}"),
            format!("{prose}\n\nLet me know if you'd like any changes!"),
            format!("  {prose}  "),
        ] {
            assert_eq!(strip_address(&text), prose, "{text}");
        }
        let kept = "Sure of herself, Elena said it:\n“No.”\n\nWould you like it? He would.";
        assert_eq!(strip_address(kept), kept);
        for (text, check) in [
            (
                "Sure! Here is the scene: Elena opened the drawer.",
                "address",
            ),
            (
                "Elena opened it. It was empty.\nLet me know if I should revise the scene.",
                "address",
            ),
            (
                "Elena opened the drawer and [insert description here] left.",
                "placeholder",
            ),
            ("Elena went to {name}, and came back.", "placeholder"),
        ] {
            assert_eq!(check_of(text).as_deref(), Some(check), "{text}");
        }
        for prose in [
            "Elena read it: the drawer was empty [she had known]. Then she left.",
            "Here is what she knew: the drawer was empty.",
            "He asked a thing. Would you like it?",
        ] {
            assert_eq!(check_of(prose), None, "{prose}");
        }
    }

    /// Defect: a text that was given twice was a complete scene, with a note.
    #[test]
    fn a_text_that_is_given_twice_is_degenerate() {
        let once = distinct_prose(90);
        assert_eq!(check_of(&once), None);
        let twice = format!("{once}.\n\n{once}.");
        assert_eq!(check_of(&twice).as_deref(), Some("degenerate"));
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
            let alone = |name: &str| vec![name.to_owned()];
            let (found, absent) = find_missing_cast(&split_words(text), &cast, alone);
            assert_eq!((found.len(), absent), (missing, nobody), "{text}");
        }
        // Defect: a scene that says "Lena" throughout was held, because nobody of it was there.
        let elena = cast(&["Elena"]);
        let also = |name: &str| vec![name.to_owned(), "Lena".to_owned()];
        let found = find_missing_cast(&split_words("Lena went alone."), &elena, also);
        assert_eq!(found, (Vec::new(), false));
        let captain = cast(&["The Captain"]);
        let alone = |name: &str| vec![name.to_owned()];
        let (_, absent) = find_missing_cast(&split_words("The rain fell."), &captain, alone);
        assert!(absent, "an article is no part of the cast");
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
