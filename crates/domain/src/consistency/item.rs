//! Splits the text of an item into names: removes markup, notes and descriptions, and splits lists.

use super::words::{fold_text, is_combining, is_listed, is_markup, without_parentheses};

/// Maximum length of a name in characters; longer text is prose.
const MAX_NAME_CHARS: usize = 60;
/// Maximum number of words of a name.
const MAX_NAME_WORDS: usize = 6;

const SENTENCE_ENDS: [char; 7] = ['.', '!', '?', '…', '。', '！', '？'];

/// Conjunctions between names: English, Russian, German, French, Spanish, Italian, Polish,
/// Ukrainian.
const CONJUNCTIONS: &str = "and & + / и und et y e i та";

/// Placeholders instead of a name; folded.
const PLACEHOLDERS: &str = "none nobody nowhere tbd tba todo n/a na unknown etc нет никто нигде неизвестно др \
    keine aucun ninguno nessuno brak なし";

/// The kind of text, which decides how its punctuation is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A list item or heading: one name and its description.
    Item,
    /// A label's value, a cell or a paragraph: several names.
    Inline,
}

/// Returns the names in an item.
pub(super) fn names_in(text: &str, form: Form) -> Vec<String> {
    split_into_candidates(text, form)
        .into_iter()
        .filter(|part| is_name(part))
        .collect()
}

/// Returns the names in a label's value. `Place of power: she takes it.` is a sentence without
/// names.
pub(super) fn names_in_value(text: &str) -> Vec<String> {
    let is_sentence = text.starts_with(char::is_lowercase) && text.ends_with(SENTENCE_ENDS);
    if is_sentence {
        Vec::new()
    } else {
        names_in(text, Form::Inline)
    }
}

/// Returns the names in a paragraph of short names; a long part or a sentence makes all of it
/// prose.
pub(super) fn names_in_paragraph(text: &str) -> Vec<String> {
    // A warning about a name that nobody meant as one costs more trust than a missed name.
    let is_prose = text.ends_with(SENTENCE_ENDS) || has_sentence_end(text);
    let parts = split_into_candidates(text, Form::Inline);
    if is_prose || parts.iter().any(|part| is_too_long(part)) {
        return Vec::new();
    }
    parts.into_iter().filter(|part| is_name(part)).collect()
}

/// Whether a sentence ends within a text. A capitalised word before the period may be a title (`Dr.
/// Rein`), a short one an abbreviation.
fn has_sentence_end(text: &str) -> bool {
    text.split_whitespace().rev().skip(1).any(|word| {
        word.strip_suffix('.')
            .is_some_and(|word| word.chars().count() >= 3 && word.starts_with(char::is_lowercase))
    })
}

fn is_name(part: &str) -> bool {
    part.contains(char::is_alphabetic)
        && !is_too_long(part)
        && !is_listed(PLACEHOLDERS, &fold_text(part))
}

fn is_too_long(part: &str) -> bool {
    part.chars().count() > MAX_NAME_CHARS || part.split_whitespace().count() > MAX_NAME_WORDS
}

/// Splits a text into candidate names, without markup and descriptions.
fn split_into_candidates(text: &str, form: Form) -> Vec<String> {
    let text = without_parentheses(text);
    let pieces: Vec<&str> = match form {
        Form::Item => vec![text.as_str()],
        Form::Inline => text.split([';', '；', '\n']).collect(),
    };
    let mut parts: Vec<String> = Vec::new();
    for piece in pieces {
        let piece = without_brackets(without_list_mark(piece));
        // A link next to a name is a source, and its path would be split into words.
        if piece.contains("://") {
            continue;
        }
        let first = parts.len();
        for part in without_description(&piece).split([',', '，', '、', ';', '；', '→']) {
            // `Alice, captain of the ship`: in an item, a lower-case part after a capitalised name
            // describes it.
            let is_told = form == Form::Item
                && parts
                    .get(first)
                    .is_some_and(|first| is_apposition(first, part));
            if !is_told {
                parts.extend(
                    split_by_conjunctions(part)
                        .iter()
                        .filter_map(|part| strip_punctuation(part)),
                );
            }
        }
    }
    parts
}

/// Whether a part describes the first name instead of being another one.
fn is_apposition(first: &str, part: &str) -> bool {
    let is_told =
        |word: &str| word.starts_with(char::is_lowercase) && !is_listed(CONJUNCTIONS, word);
    first.starts_with(char::is_uppercase) && part.split_whitespace().next().is_some_and(is_told)
}

fn split_by_conjunctions(part: &str) -> Vec<String> {
    let words: Vec<&str> = part.split_whitespace().collect();
    words
        .split(|word| is_listed(CONJUNCTIONS, word))
        .map(|words| words.join(" "))
        .collect()
}

/// Returns a part without surrounding punctuation and markup, if anything is left.
fn strip_punctuation(part: &str) -> Option<String> {
    let visible: String = part.chars().filter(|c| !is_markup(*c)).collect();
    let start = visible.trim_start_matches(|c: char| !c.is_alphanumeric());
    let name = start.trim_end_matches(|c: char| !c.is_alphanumeric() && !is_combining(c));
    (!name.is_empty()).then(|| name.to_owned())
}

/// Removes `- `, `1. `, `[x] ` where Markdown did not: in front matter, cells and code blocks.
fn without_list_mark(text: &str) -> &str {
    let text = text.trim_start();
    let unmarked = text.trim_start_matches(['-', '*', '+', '•', '–', '—']);
    let text = if unmarked.starts_with(char::is_whitespace) {
        unmarked.trim_start()
    } else {
        text
    };
    let after_number = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = after_number
        .strip_prefix(['.', ')'])
        .filter(|rest| rest.starts_with(' ') && after_number != text);
    let text = numbered.map_or(text, str::trim_start);
    ["[ ] ", "[x] ", "[X] "]
        .iter()
        .find_map(|mark| text.strip_prefix(mark))
        .unwrap_or(text)
}

/// Removes notes such as ` [POV]`; a text that starts with a bracket keeps its words.
fn without_brackets(text: &str) -> String {
    // `[[Anna]]` and `[Anna](anna.md)` are links: there the brackets hold the name itself.
    if text.starts_with('[') {
        return text.replace(['[', ']'], "");
    }
    without_parentheses(&text.replace('[', "(").replace(']', ")"))
}

/// Returns the text before a colon or a dash.
fn without_description(text: &str) -> &str {
    // A hyphen needs spaces on both sides: `Jean-Luc` is one name.
    let cuts = [":", "：", "—", " – ", "– ", " - ", " -- "];
    let end = cuts
        .iter()
        .filter_map(|cut| text.find(cut))
        .min()
        .unwrap_or(text.len());
    text.get(..end).unwrap_or(text)
}
