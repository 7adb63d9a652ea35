//! The output of a plan (prose, an answer): what it was written from, and how long it is meant to be.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::front_matter::parse_front_matter;
use crate::node::{Node, ParentVersion, Status};
use crate::record::Recorded;

/// Key of the front matter with the number of words of prose a plan aims at.
const TARGET_KEY: &str = "target";

/// The version of the plan that an output was written from, by node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProseBasis {
    pub plan: ParentVersion,
}

impl Recorded for ProseBasis {
    const KIND: &'static str = "prose";
}

/// Returns why an output no longer follows from its plan, if it does not.
#[must_use]
pub fn find_stale_reason(node: &Node, basis: Option<ProseBasis>) -> Option<String> {
    if node.status() != Status::Approved {
        return Some(format!("its plan is {}", node.status()));
    }
    // By canonical hash, as the cascade judges: a reformatted plan is the same plan.
    let now = node.content.as_parent_version()?;
    let is_other = basis.is_some_and(|basis| basis.plan.canonical != now.canonical);
    is_other.then(|| "its plan was changed and approved again since it was written".to_owned())
}

/// Joins the lines of a paragraph that an editor wrapped, with a space for each line break, so that offsets stay.
///
/// Only where a sentence or a speech goes on in the next line: a line may also be a paragraph, a
/// heading, or a speech that begins with a dash.
#[must_use]
pub fn join_wrapped_lines(text: &str) -> Cow<'_, str> {
    if !text.trim().contains('\n') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut is_quoted = false;
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        for letter in line.chars() {
            match letter {
                '"' => is_quoted = !is_quoted,
                '“' | '„' | '«' => is_quoted = true,
                '”' | '»' => is_quoted = false,
                _ => {}
            }
        }
        let next = lines.peek().and_then(|next| next.chars().next());
        let is_wrapped = next.is_some_and(|next| goes_on(line, next, is_quoted));
        match line.strip_suffix('\n').filter(|_| is_wrapped) {
            Some(line) => {
                out.push_str(line);
                out.push(' ');
            }
            None => {
                out.push_str(line);
                is_quoted = false;
            }
        }
    }
    Cow::Owned(out)
}

/// Whether a line goes on in the next one, by its last letter and the first of that.
fn goes_on(line: &str, next: char, is_quoted: bool) -> bool {
    if line.starts_with(['#', '>', '|']) {
        return false;
    }
    let mut ending = line.trim_end().chars().rev();
    let last = ending.next();
    // A comma before the closing mark: `"No,"` and then `she said`.
    let last = match last {
        Some('"' | '”' | '»') => ending.next().filter(|it| *it == ','),
        last => last,
    };
    match last {
        Some(',' | ';' | '—' | '–' | '-') => {
            next.is_alphabetic() || matches!(next, '"' | '“' | '«')
        }
        Some(last) if last.is_alphanumeric() => {
            next.is_alphabetic() || matches!(next, '"' | '“' | '«')
        }
        Some('.' | '!' | '?' | '…') => is_quoted && next.is_alphabetic(),
        _ => false,
    }
}

/// Returns the number of words of prose that a plan aims at, by `target` in its front matter.
#[must_use]
pub fn find_word_target(plan: &str) -> Option<u64> {
    parse_target(&parse_front_matter(plan).get_text(TARGET_KEY)?)
}

/// Returns a `target` that is not a number of words, and so does not count.
#[must_use]
pub fn find_unreadable_target(plan: &str) -> Option<String> {
    let target = parse_front_matter(plan).get_text(TARGET_KEY)?;
    parse_target(&target).is_none().then_some(target)
}

/// Parses a number of words: `1500`, `1,500`, `90k`.
fn parse_target(text: &str) -> Option<u64> {
    let text: String = text
        .trim()
        .chars()
        .filter(|c| !matches!(c, ',' | '_' | '\'' | ' ' | '\u{a0}'))
        .collect();
    match text.strip_suffix(['k', 'K']) {
        Some(thousands) => thousands.parse::<u64>().ok()?.checked_mul(1_000),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{find_unreadable_target, find_word_target, join_wrapped_lines};
    use crate::search::split_words;

    #[test]
    fn a_target_that_is_not_a_number_of_words_is_found() {
        for target in ["lots", "-5", "1.5k"] {
            let plan = format!("---\ntarget: {target}\n---\n# Plan\n");
            assert_eq!(find_unreadable_target(&plan).as_deref(), Some(target));
        }
        for plan in ["---\ntarget: 90k\n---\n# Plan\n", "# Plan\n"] {
            assert_eq!(find_unreadable_target(plan), None);
        }
    }

    #[test]
    fn wrapped_lines_are_joined_and_paragraphs_are_not() {
        for (text, expected) in [
            (
                "Nobody,\" said\nMara, and left.",
                "Nobody,\" said Mara, and left.",
            ),
            (
                "She had green\neyes. So had\nhe.\n",
                "She had green eyes. So had he.\n",
            ),
            ("\"No,\"\nshe said.", "\"No,\" she said."),
            (
                "\"I am late.\nI know,\" said Mara.",
                "\"I am late. I know,\" said Mara.",
            ),
            ("У Мары были\nзелёные глаза.", "У Мары были зелёные глаза."),
            // One paragraph for each line, speeches, headings, lists.
            ("She left.\nHe stayed.", "She left.\nHe stayed."),
            ("— Кто там\n— Никто", "— Кто там\n— Никто"),
            ("# The drawer\nIt was empty.", "# The drawer\nIt was empty."),
            ("He took\n- a lamp", "He took\n- a lamp"),
            ("He took\n\nShe left", "He took\n\nShe left"),
        ] {
            assert_eq!(join_wrapped_lines(text), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn joining_lines_keeps_words_and_offsets(text in "([a-zа-я.,!?\"“”«»—# -]{0,12}\n?){0,12}") {
            let joined = join_wrapped_lines(&text);
            prop_assert_eq!(joined.len(), text.len());
            prop_assert_eq!(split_words(&joined), split_words(&text));
        }
    }

    #[test]
    fn targets_are_numbers_as_people_write_them() {
        for (text, expected) in [
            ("1500", Some(1500)),
            ("1,500", Some(1500)),
            ("90k", Some(90_000)),
            ("90 000", Some(90_000)),
            ("many", None),
        ] {
            let plan = format!("---\ntarget: {text}\n---\n# One\n");
            assert_eq!(find_word_target(&plan), expected, "{text}");
        }
        assert_eq!(find_word_target("# One\n"), None);
    }
}
