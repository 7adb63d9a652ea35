//! Which tickets a person's prompt speaks of: `let's work on 017b`, `continue with the threshold
//! gate`, `/ticket 017b`, `arbeite an 001`.
//!
//! Conservative: a number alone is mostly a number. The result is an offer to the agent, never a
//! change of its focus. Ids and titles count in every language; a list of words only tells what else
//! is said about a plain number.

use crate::work::ticket_title::POLITE_WORDS;

/// Words that say that work on something begins or goes on.
const WORK_WORDS: &[&str] = &[
    "back",
    "begin",
    "continue",
    "do",
    "enter",
    "finish",
    "fix",
    "focus",
    "implement",
    "next",
    "on",
    "pick",
    "resume",
    "start",
    "switch",
    "take",
    "to",
    "with",
    "work",
    // Russian.
    "вернемся",
    "возьми",
    "давай",
    "над",
    "начни",
    "продолжай",
    "продолжи",
    "продолжим",
    "работаем",
    "к",
    "с",
];

/// Words before the id of a ticket.
const TICKET_WORDS: &[&str] = &[
    "ticket",
    "tickets",
    "задача",
    "задачу",
    "задачей",
    "тикет",
    "тикету",
    "тикетом",
];

/// Maximum number of characters of a prompt that are read: what it is about is said first.
const MAX_PROMPT_CHARS: usize = 300;
/// How many words before a name may be the word that says to work on it.
const MAX_WORDS_BETWEEN: usize = 3;
/// Minimum length of a title that is looked for in a prompt.
const MIN_TITLE_CHARS: usize = 8;
/// Number of digits that the number of a new ticket is padded to.
const ID_DIGITS: usize = 3;
/// Length of random ids, of which some have no digit.
const RANDOM_ID_CHARS: usize = 5;

/// How surely a word of a prompt is the id of a ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IdCertainty {
    /// A plain number: it names no ticket, but where one has it, the prompt may be about that one.
    Number,
    /// An id if there is a ticket with it.
    Likely,
    /// An id, also if there is none with it.
    Certain,
}

/// A word of a prompt that may be the id of a ticket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdWord {
    pub word: String,
    pub certainty: IdCertainty,
    /// The id in full, where the word may be short for it: `002` for `ticket 2`.
    pub padded: Option<String>,
}

/// Returns the words of a prompt that may be ids of tickets, in their order.
#[must_use]
pub fn find_id_words(prompt: &str) -> Vec<IdWord> {
    let words = read_words(prompt);
    let has_word = |list: &[&str], word: &str| list.contains(&word.to_lowercase().as_str());
    let is_work_word = |word: &str| has_word(WORK_WORDS, word) || has_word(TICKET_WORDS, word);
    let is_command = prompt.trim_start().starts_with("/ticket");
    // Where nothing else is said, a number can only be an id: `let's do 2 now`.
    let is_bare_order = words
        .iter()
        .all(|word| is_work_word(word) || has_word(POLITE_WORDS, word) || has_digit(word));
    let mut found: Vec<IdWord> = Vec::new();
    for (index, written) in words.iter().enumerate() {
        let word = written.trim_start_matches(['#', '№']);
        if !may_be_id(word) {
            continue;
        }
        let before = &words[index.saturating_sub(MAX_WORDS_BETWEEN)..index];
        let follows_ticket = before
            .last()
            .is_some_and(|last| has_word(TICKET_WORDS, last));
        let says_work = before.iter().any(|word| is_work_word(word));
        let is_marked = word != *written;
        let is_named = is_command || follows_ticket || is_bare_order && is_plain_number(word);
        let certainty = match is_plain_number(word) {
            _ if is_named => IdCertainty::Certain,
            _ if is_padded(word) && (says_work || is_marked) => IdCertainty::Certain,
            true if !(says_work || is_marked || word.starts_with('0')) => IdCertainty::Number,
            _ => IdCertainty::Likely,
        };
        let may_be_short = (is_named || is_marked) && is_plain_number(word);
        found.push(IdWord {
            word: word.to_owned(),
            certainty,
            padded: may_be_short.then(|| format!("{word:0>ID_DIGITS$}")),
        });
    }
    found
}

/// Whether a prompt says to work on something at all.
#[must_use]
pub fn says_to_work(prompt: &str) -> bool {
    let is_work_word = |word: &String| {
        WORK_WORDS.contains(&word.as_str()) || TICKET_WORDS.contains(&word.as_str())
    };
    read_words(prompt)
        .iter()
        .map(|word| word.to_lowercase())
        .any(|word| is_work_word(&word))
}

/// Returns the indexes of the titles that a prompt contains, without those that are a part of a longer
/// one in it.
#[must_use]
pub fn find_titles(prompt: &str, titles: &[&str]) -> Vec<usize> {
    let prompt = normalise(&prompt.chars().take(MAX_PROMPT_CHARS).collect::<String>());
    let contains = |text: &str, part: &str| format!(" {text} ").contains(&format!(" {part} "));
    let found: Vec<(usize, String)> = titles
        .iter()
        .map(|title| normalise(title))
        .enumerate()
        .filter(|(_, title)| title.chars().count() >= MIN_TITLE_CHARS && contains(&prompt, title))
        .collect();
    found
        .iter()
        .filter(|(_, title)| {
            found
                .iter()
                .all(|(_, other)| other == title || !contains(other, title))
        })
        .map(|(index, _)| *index)
        .collect()
}

/// Whether a word has the form of some id. Most words of a prompt have not, and need no lookup.
fn may_be_id(word: &str) -> bool {
    let has_no_vowel = word.len() == RANDOM_ID_CHARS
        && word.bytes().all(|byte| byte.is_ascii_lowercase())
        && !word.contains(['a', 'e', 'i', 'o', 'u', 'y']);
    has_digit(word) || has_no_vowel
}

fn has_digit(word: &str) -> bool {
    word.chars().any(|c| c.is_ascii_digit())
}

fn is_plain_number(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_digit())
}

/// Whether a word is written as the ids of tickets are: `099`, `017b`.
fn is_padded(word: &str) -> bool {
    let digits = word.chars().take_while(char::is_ascii_digit).count();
    word.starts_with('0')
        && digits == ID_DIGITS
        && word
            .chars()
            .all(|c| c.is_ascii_digit() || c.is_ascii_lowercase())
}

/// Words in lower case, with single spaces between them.
fn normalise(text: &str) -> String {
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    words.join(" ")
}

fn read_words(prompt: &str) -> Vec<&str> {
    let end = prompt
        .char_indices()
        .nth(MAX_PROMPT_CHARS)
        .map_or(prompt.len(), |(at, _)| at);
    prompt
        .get(..end)
        .unwrap_or_default()
        .split(|c: char| c.is_whitespace() || ",;()[]“”«»/".contains(c))
        // A full stop inside a word belongs to a version or a file, a quote to a word.
        .map(|word| word.trim_matches(|c| "\"'`.:!?".contains(c)))
        .filter(|word| !word.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::IdCertainty::{self, Certain, Likely, Number};
    use super::{find_id_words, find_titles};

    fn read(prompt: &str) -> Vec<(String, IdCertainty)> {
        let found = find_id_words(prompt).into_iter();
        found
            .map(|id| (id.padded.unwrap_or(id.word), id.certainty))
            .collect()
    }

    #[test]
    fn an_id_counts_in_every_language_and_a_number_where_work_is_spoken_of() {
        for (prompt, expected) in [
            ("let's work on 017b", &[("017b", Certain)][..]),
            ("let's work on 099", &[("099", Certain)]),
            ("Continue with ticket 017b, please.", &[("017b", Certain)]),
            ("/ticket 9", &[("009", Certain)]),
            ("switch to `M-003`", &[("M-003", Likely)]),
            ("fix 001 please", &[("001", Certain)]),
            ("start on #001", &[("001", Certain)]),
            ("work on ticket 2", &[("002", Certain)]),
            ("let's do 2 now", &[("2", Likely)]),
            ("let's do 2", &[("002", Certain)]),
            ("arbeite an 001", &[("001", Likely)]),
            ("sigamos con 017b", &[("017b", Likely)]),
            ("weiter mit bcdfg", &[("bcdfg", Likely)]),
            (
                "go on with 001 and 002",
                &[("001", Certain), ("002", Certain)],
            ),
            ("давай над 017b", &[("017b", Certain)]),
            ("Why are there 404 errors?", &[("404", Number)]),
            ("the limit of 400 lines is too low", &[("400", Number)]),
            ("raise the limit to 400 lines", &[("400", Likely)]),
            ("close #345 in the parser", &[("345", Likely)]),
            ("set the mode to 0600", &[("0600", Likely)]),
            ("continue with 2.0", &[("2.0", Likely)]),
            ("fix the bug", &[]),
        ] {
            let expected: Vec<(String, IdCertainty)> = expected
                .iter()
                .map(|(word, certainty)| ((*word).to_owned(), *certainty))
                .collect();
            assert_eq!(read(prompt), expected, "{prompt}");
        }
    }

    #[test]
    fn all_titles_of_a_prompt_count_and_the_longest_of_those_that_overlap() {
        let titles = [
            "Threshold gate",
            "Threshold gate for scenes",
            "Поиск по планам",
            "Fix",
        ];
        for (prompt, expected) in [
            ("continue with the threshold gate", &[0][..]),
            ("weiter mit the Threshold Gate", &[0]),
            ("continue with the threshold gate for scenes", &[1]),
            ("продолжим: поиск по планам", &[2]),
            ("threshold gate, then поиск по планам", &[0, 2]),
            ("fix it", &[]),
            ("thresholds gates", &[]),
        ] {
            assert_eq!(find_titles(prompt, &titles), expected, "{prompt}");
        }
    }
}
