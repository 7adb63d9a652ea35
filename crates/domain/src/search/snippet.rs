//! Excerpt of a text around the matches of a query.

use std::ops::Range;

use schemars::JsonSchema;
use serde::Serialize;

use super::expansion::{ExpandedQuery, PhrasePattern};
use super::folding::fold_word;
use super::{is_unspaced_script, is_word_char};

/// Number of words before the first match.
const WORDS_BEFORE: usize = 6;
/// Number of words of an excerpt.
const EXCERPT_WORDS: usize = 28;

/// A part of a text, on one line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Snippet {
    pub text: String,
    /// The matches: first character and the one after the last.
    pub matches: Vec<[usize; 2]>,
    /// The line of the first match, or of its start without one; from 1.
    pub line: usize,
}

/// Returns the part of a text with the most different matches; its start if there are none.
#[must_use]
pub fn find_snippet(text: &str, query: &ExpandedQuery) -> Snippet {
    let words = locate_words(text);
    let matches = find_matches(&words, query);
    let start = best_start(&matches);
    let end = (start + EXCERPT_WORDS).min(words.len());
    let (Some(first), Some(last)) = (
        words.get(start),
        end.checked_sub(1).and_then(|at| words.get(at)),
    ) else {
        return Snippet {
            line: 1,
            ..Snippet::default()
        };
    };
    let shown = first.place.start..last.place.end;
    let inside: Vec<Range<usize>> = matches
        .iter()
        .filter(|found| found.words.start >= start && found.words.end <= end)
        .filter_map(|found| {
            let (first, last) = (
                words.get(found.words.start)?,
                words.get(found.words.end - 1)?,
            );
            Some(first.place.start..last.place.end)
        })
        .collect();
    let mut snippet = render_line(text, &shown, &inside);
    let first = inside.first().map_or(shown.start, |found| found.start);
    snippet.line = 1 + text
        .get(..first)
        .map_or(0, |before| before.matches('\n').count());
    if end < words.len() {
        snippet.text.push('…');
    }
    snippet
}

/// A word with its place in the text.
struct LocatedWord {
    word: String,
    place: Range<usize>,
}

/// Matched words, and the group of the query they belong to.
struct Match {
    words: Range<usize>,
    group: usize,
}

/// Splits a text into words as [`super::split_words`] does, with their places.
fn locate_words(text: &str) -> Vec<LocatedWord> {
    let mut found: Vec<LocatedWord> = Vec::new();
    let mut open = false;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        let is_unspaced = is_unspaced_script(c);
        if is_unspaced || !is_word_char(c) {
            open = false;
        }
        if is_unspaced || is_word_char(c) {
            match found.last_mut().filter(|_| open) {
                Some(last) => {
                    // Lower case may have more letters than the original, so places are kept
                    // separately.
                    last.word.extend(c.to_lowercase());
                    last.place.end = end;
                }
                None => found.push(LocatedWord {
                    word: c.to_lowercase().collect(),
                    place: at..end,
                }),
            }
            open = !is_unspaced;
        }
    }
    for located in &mut found {
        located.word = fold_word(&located.word);
    }
    found
}

fn find_matches(words: &[LocatedWord], query: &ExpandedQuery) -> Vec<Match> {
    let mut found = Vec::new();
    for at in 0..words.len() {
        for (group, patterns) in query.groups.iter().enumerate() {
            // The longest, so that a phrase is highlighted as a whole and not only its first word.
            let longest = patterns
                .iter()
                .filter(|pattern| fits_at(pattern, words, at))
                .map(|pattern| pattern.words.len())
                .max();
            if let Some(length) = longest {
                found.push(Match {
                    words: at..at + length,
                    group,
                });
                // A word is highlighted once, for the first group it belongs to.
                break;
            }
        }
    }
    found
}

fn fits_at(pattern: &PhrasePattern, words: &[LocatedWord], at: usize) -> bool {
    let Some(window) = words.get(at..at + pattern.words.len()) else {
        return false;
    };
    let last = pattern.words.len().saturating_sub(1);
    pattern
        .words
        .iter()
        .zip(window)
        .enumerate()
        .all(|(index, (wanted, found))| {
            if index == last && pattern.is_prefix {
                found.word.starts_with(wanted.as_str())
            } else {
                found.word == *wanted
            }
        })
}

/// Returns the word at which the best excerpt starts.
fn best_start(matches: &[Match]) -> usize {
    let value = |first: usize| {
        let start = matches[first].words.start.saturating_sub(WORDS_BEFORE);
        let inside = matches
            .iter()
            .skip(first)
            .take_while(|found| found.words.end <= start + EXCERPT_WORDS);
        // Different words of the query say more than one word many times.
        let mut groups: Vec<usize> = inside.map(|found| found.group).collect();
        let all = groups.len();
        groups.sort_unstable();
        groups.dedup();
        (groups.len(), all, start)
    };
    (0..matches.len())
        .map(value)
        // The first of equal ones: `max_by_key` returns the last.
        .rev()
        .max_by_key(|(groups, all, _)| (*groups, *all))
        .map_or(0, |(_, _, start)| start)
}

/// Returns a part of a text with every run of white space as one blank.
fn render_line(text: &str, shown: &Range<usize>, matches: &[Range<usize>]) -> Snippet {
    let mut snippet = Snippet::default();
    let mut length = 0;
    let mut blank = false;
    let mut started: Option<usize> = None;
    for (at, c) in text
        .char_indices()
        .skip_while(|(at, _)| *at < shown.start)
        .take_while(|(at, _)| *at < shown.end)
    {
        if c.is_whitespace() {
            blank = true;
            continue;
        }
        if std::mem::take(&mut blank) {
            snippet.text.push(' ');
            length += 1;
        }
        // Overlapping matches are merged: the first start stays open until an end.
        if matches.iter().any(|found| found.start == at) {
            started.get_or_insert(length);
        }
        snippet.text.push(c);
        length += 1;
        let end = at + c.len_utf8();
        if matches.iter().any(|found| found.end == end)
            && let Some(start) = started.take()
        {
            snippet.matches.push([start, length]);
        }
    }
    snippet
}

#[cfg(test)]
mod tests {
    use super::super::expansion::{ExpandedQuery, PhrasePattern};
    use super::find_snippet;

    fn query(words: &[&str]) -> ExpandedQuery {
        let pattern = |word: &&str| {
            vec![PhrasePattern {
                words: word.split(' ').map(str::to_owned).collect(),
                is_prefix: true,
            }]
        };
        ExpandedQuery {
            groups: words.iter().map(pattern).collect(),
            corrections: Vec::new(),
        }
    }

    fn marked(text: &str, words: &[&str]) -> String {
        let snippet = find_snippet(text, &query(words));
        let chars: Vec<char> = snippet.text.chars().collect();
        let mut out = String::new();
        for (index, c) in chars.iter().enumerate() {
            for [start, end] in &snippet.matches {
                if *start == index {
                    out.push('[');
                }
                if *end == index {
                    out.push(']');
                }
            }
            out.push(*c);
        }
        if snippet.matches.iter().any(|[_, end]| *end == chars.len()) {
            out.push(']');
        }
        format!("{}: {out}", snippet.line)
    }

    #[test]
    fn excerpt_is_around_the_most_different_matches() {
        let filler = "word ".repeat(60);
        let text = format!("# Mill\n\n{filler}\nThe old  mill\nstands by the river. {filler}");
        assert_eq!(
            marked(&text, &["mill", "river"]),
            format!(
                "4: word word word word The old [mill] stands by the [river]. {}…",
                "word ".repeat(17).trim_end()
            )
        );
        assert_eq!(marked("Маяк\nгорит", &["гори"]), "2: Маяк [горит]");
        assert_eq!(marked("東京の塔", &["京 の"]), "1: 東[京の]塔");
        assert_eq!(marked("nothing here", &["mill"]), "1: nothing here");
        assert_eq!(marked("", &["mill"]), "1: ");
    }
}
