//! Which node a person's prompt says to work on: `let's work on 017b`, `continue with the threshold
//! gate`, `/ticket 017b`.
//!
//! Conservative: a number alone is mostly a number. The result is an offer to the agent, never a
//! change of its focus.

/// Words that say that work on something begins or goes on.
const WORK_WORDS: &[&str] = &[
    "back",
    "begin",
    "continue",
    "do",
    "enter",
    "finish",
    "focus",
    "implement",
    "next",
    "on",
    "pick",
    "resume",
    "start",
    "switch",
    "take",
    "ticket",
    "to",
    "with",
    "work",
    // Russian.
    "вернемся",
    "возьми",
    "давай",
    "задача",
    "задачу",
    "над",
    "начни",
    "продолжай",
    "продолжи",
    "продолжим",
    "работаем",
    "тикет",
    "тикету",
    "к",
    "с",
];

/// Maximum number of characters of a prompt that are read: what it is about is said first.
const MAX_PROMPT_CHARS: usize = 300;
/// How many words before a name may be the word that says to work on it.
const MAX_WORDS_BETWEEN: usize = 3;
/// Minimum length of a title that is looked for in a prompt.
const MIN_TITLE_CHARS: usize = 8;

/// Returns the words of a prompt that may be the id of a node to work on, first one first.
#[must_use]
pub fn find_id_words(prompt: &str) -> Vec<String> {
    let words = read_words(prompt);
    let says_work = |index: usize| {
        words[index.saturating_sub(MAX_WORDS_BETWEEN)..index]
            .iter()
            .any(|word| WORK_WORDS.contains(&word.to_lowercase().as_str()))
    };
    let is_command = prompt.trim_start().starts_with("/ticket");
    words
        .iter()
        .enumerate()
        .filter(|(index, word)| {
            // Ids have a digit; most words of a prompt do not, and need no lookup.
            word.chars().any(|c| c.is_ascii_digit()) && (is_command || says_work(*index))
        })
        .map(|(_, word)| (*word).to_owned())
        .collect()
}

/// Whether a prompt says to work on something at all: only then titles are worth comparing.
#[must_use]
pub fn says_to_work(prompt: &str) -> bool {
    read_words(prompt)
        .iter()
        .any(|word| WORK_WORDS.contains(&word.to_lowercase().as_str()))
}

/// Returns the index of the only title that a prompt contains.
#[must_use]
pub fn find_only_title(prompt: &str, titles: &[&str]) -> Option<usize> {
    let prompt = normalise(&prompt.chars().take(MAX_PROMPT_CHARS).collect::<String>());
    let mut found = titles.iter().enumerate().filter(|(_, title)| {
        let title = normalise(title);
        title.chars().count() >= MIN_TITLE_CHARS
            && format!(" {prompt} ").contains(&format!(" {title} "))
    });
    // Two titles in one prompt compare or list plans; neither is the one to work on.
    match (found.next(), found.next()) {
        (Some((index, _)), None) => Some(index),
        _ => None,
    }
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
        .split(|c: char| c.is_whitespace() || "\"'`.,;:!?()[]“”«»/".contains(c))
        .filter(|word| !word.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{find_id_words, find_only_title};

    #[test]
    fn an_id_counts_where_work_is_spoken_of() {
        for (prompt, expected) in [
            ("let's work on 017b", &["017b"][..]),
            ("Continue with ticket 017b, please.", &["017b"]),
            ("/ticket 017b", &["017b"]),
            ("switch to `M-003`", &["M-003"]),
            ("давай над 017b", &["017b"]),
            ("Why are there 404 errors?", &[]),
            ("the limit of 400 lines is too low", &[]),
            ("fix the bug", &[]),
        ] {
            assert_eq!(find_id_words(prompt), expected, "{prompt}");
        }
    }

    #[test]
    fn a_title_counts_if_it_is_the_only_one() {
        let titles = [
            "Threshold gate",
            "Threshold gate for scenes",
            "Поиск по планам",
            "Fix",
        ];
        for (prompt, expected) in [
            ("continue with the threshold gate", Some(0)),
            ("continue with the threshold gate for scenes", None),
            ("продолжим: поиск по планам", Some(2)),
            ("fix it", None),
            ("thresholds gates", None),
        ] {
            assert_eq!(find_only_title(prompt, &titles), expected, "{prompt}");
        }
    }
}
