//! Text normalisation for comparisons in any language: case folding, whole words, labels of a
//! facet.

use crate::profile::Facet;

/// Maximum number of words of a heading that starts or ends with a facet's word; a longer one is a
/// sentence.
const MAX_HEADING_WORDS: usize = 6;
/// The same for labels. They occur in running text, so the limit is lower.
const MAX_LABEL_WORDS: usize = 3;

/// Normalises a text for comparison: lower case, one kind of dash, apostrophe, digit and space,
/// without emphasis and quotation marks.
pub(super) fn fold_text(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        let before = folded.len();
        word.chars()
            .filter(|c| !is_markup(*c))
            .for_each(|c| fold_char(c, &mut folded));
        if folded.len() == before {
            // A lone `*` is a list marker, which still separates the names around it.
            folded.push_str(word);
        }
    }
    folded
}

fn fold_char(c: char, folded: &mut String) {
    match c {
        _ if c.is_ascii() => folded.push(c.to_ascii_lowercase()),
        // Russian texts often write `е` for `ё`, so both are the same letter here.
        'ё' | 'Ё' => folded.push('е'),
        '‘' | '’' | 'ʼ' | 'ʹ' | '´' | '＇' => folded.push('\''),
        '‐'..='―' | '−' | '－' => folded.push('-'),
        '０'..='９' => folded.extend(char::from_digit(u32::from(c) - u32::from('０'), 10)),
        _ => folded.extend(c.to_lowercase()),
    }
}

/// Whether a character is emphasis, code or quotation markup, or invisible.
pub(super) fn is_markup(c: char) -> bool {
    matches!(
        c,
        '*' | '`' | '~' | '"' | '“' | '”' | '„' | '«' | '»' | '「' | '」' | '『' | '』'
    )
    // Soft hyphens and zero-width characters come along when text is pasted from a web page.
    || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{feff}')
}

/// Whether a word is in a list of words separated by spaces.
pub(super) fn is_listed(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|listed| listed == word)
}

/// Whether a folded text contains a folded name as whole words.
pub(super) fn mentions_name(text: &str, name: &str) -> bool {
    !name.is_empty()
        && text.match_indices(name).any(|(start, _)| {
            let before = text.get(..start).and_then(|head| head.chars().next_back());
            let after = text
                .get(start + name.len()..)
                .and_then(|tail| tail.chars().next());
            !is_one_word(before, name.chars().next())
                && !is_one_word(name.chars().next_back(), after)
        })
}

/// Whether two adjacent characters belong to one word.
///
/// Scripts without spaces do not show where a word ends, so there a neighbour never hides a name.
/// Only two adjacent katakana are certainly one word.
fn is_one_word(left: Option<char>, right: Option<char>) -> bool {
    let (Some(left), Some(right)) = (left, right) else {
        return false;
    };
    let in_words = left.is_alphanumeric() && right.is_alphanumeric();
    in_words
        && (!(is_unspaced(left) || is_unspaced(right)) || (is_katakana(left) && is_katakana(right)))
}

fn is_katakana(c: char) -> bool {
    matches!(c, '\u{30a1}'..='\u{30fa}' | '\u{30fc}' | '\u{31f0}'..='\u{31ff}')
}

/// Whether a script writes words, or words and their particles, without spaces.
pub(super) fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' // Thai, Lao, Burmese, Khmer
        | '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' // kana
        | '\u{3005}'..='\u{3007}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}' // Han
        | '\u{1100}'..='\u{11ff}' | '\u{ac00}'..='\u{d7af}') // Hangul
}

/// Whether a character belongs to the letter before it and may end a name.
pub(super) fn is_combining(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{900}'..='\u{e7f}' | '\u{3099}' | '\u{309a}')
}

/// Removes parentheses with their content; an unclosed one extends to the end.
pub(super) fn without_parentheses(text: &str) -> String {
    outside_parentheses(text).collect()
}

fn outside_parentheses(text: &str) -> impl Iterator<Item = char> {
    let mut depth = 0_usize;
    text.chars().filter(move |c| {
        match c {
            '(' | '（' => depth += 1,
            ')' | '）' => depth = depth.saturating_sub(1),
            _ => return depth == 0,
        }
        false
    })
}

/// Normalises a heading, label or key for comparison with a facet's words.
pub(super) fn fold_label(text: &str) -> String {
    fold_label_within(text, usize::MAX, usize::MAX).unwrap_or_default()
}

/// Like [`fold_label`]; `None` once the label is longer than `max_bytes` and has more than `max_words`
/// words.
///
/// Every paragraph of a plan is compared with the words of every facet, in the hook after a write:
/// folding all of each was two thirds of what the hook computed.
fn fold_label_within(text: &str, max_bytes: usize, max_words: usize) -> Option<String> {
    let mut label = FoldedLabel::default();
    let mut separates = false;
    let mut markup = String::new();
    let mut word_start = 0;
    for c in outside_parentheses(text).map(|c| if c == '_' { ' ' } else { c }) {
        if c.is_whitespace() {
            label.end_word(word_start, &mut markup);
            separates = true;
            continue;
        }
        if std::mem::take(&mut separates) && !label.text.is_empty() {
            label.text.push(' ');
            label.words += usize::from(label.start.is_some());
            word_start = label.text.len();
        }
        match is_markup(c) {
            true => markup.push(c),
            false => label.push_folded(c),
        }
        if label.byte_length() > max_bytes && label.words_to_end > max_words {
            return None;
        }
    }
    label.end_word(word_start, &mut markup);
    // Both `2.1 Characters` and `🎭 Characters:` become `characters`.
    let range = label.start.unwrap_or_default()..label.end;
    Some(label.text.get(range).unwrap_or_default().to_owned())
}

/// A label that is being folded.
#[derive(Default)]
struct FoldedLabel {
    text: String,
    /// Where the first letter is; the label begins there.
    start: Option<usize>,
    /// Where the last letter or digit ends, or a mark of one.
    end: usize,
    /// The number of words from the first letter on.
    words: usize,
    /// The number of those up to `end`.
    words_to_end: usize,
}

impl FoldedLabel {
    fn push_folded(&mut self, c: char) {
        let before = self.text.len();
        fold_char(c, &mut self.text);
        let mut at = before;
        for folded in self.text.get(before..).unwrap_or_default().chars() {
            if self.start.is_none() && folded.is_alphabetic() {
                self.start = Some(at);
                self.words = 1;
            }
            at += folded.len_utf8();
            if self.start.is_some() && (folded.is_alphanumeric() || is_combining(folded)) {
                self.end = at;
                self.words_to_end = self.words;
            }
        }
    }

    /// Ends a word. A lone `*` is a list marker, which still separates the names around it.
    fn end_word(&mut self, word_start: usize, markup: &mut String) {
        if self.text.len() == word_start {
            self.text.push_str(markup);
        }
        markup.clear();
    }

    fn byte_length(&self) -> usize {
        self.start.map_or(0, |start| self.end.saturating_sub(start))
    }
}

/// How well a label matches a facet, from worst to best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LabelMatch {
    None,
    /// `characters of the chapter`.
    Starts,
    /// `main characters`.
    Ends,
    Exact,
}

/// The words by which one facet is recognised in headings, keys and labels.
#[derive(Debug)]
pub(super) struct FacetWords {
    words: Vec<FacetWord>,
    /// The length of the longest of them.
    max_bytes: usize,
}

/// One such word, folded.
#[derive(Debug)]
struct FacetWord {
    text: String,
    /// Whether it is an English singular: the facet also has its plural as a word.
    is_singular: bool,
}

impl FacetWords {
    pub(super) fn new(facet: &Facet) -> Self {
        let texts: Vec<String> = facet
            .words
            .iter()
            .map(|word| fold_label(word))
            .filter(|word| !word.is_empty())
            .collect();
        // Derived from the profile's own words, so that no dictionary is needed: `character`,
        // `characters`.
        let is_plural_of = |other: &str, text: &str| {
            other.strip_prefix(text).is_some_and(|ending| {
                matches!(ending.chars().count(), 1..=2) && !ending.contains(' ')
            })
        };
        let is_singular =
            |text: &str| text.is_ascii() && texts.iter().any(|other| is_plural_of(other, text));
        let words = texts
            .iter()
            .map(|text| FacetWord {
                text: text.clone(),
                is_singular: is_singular(text),
            })
            .collect();
        let max_bytes = texts.iter().map(String::len).max().unwrap_or_default();
        Self { words, max_bytes }
    }

    /// Returns how well a heading matches.
    pub(super) fn match_heading(&self, heading: &str) -> LabelMatch {
        self.match_within(heading, MAX_HEADING_WORDS)
    }

    /// Whether a label in running text, a key or a table header names the facet.
    pub(super) fn fits_label(&self, label: &str) -> bool {
        self.match_within(label, MAX_LABEL_WORDS) > LabelMatch::None
    }

    /// Whether a text is one of the facet's words and nothing else.
    pub(super) fn is_word(&self, text: &str) -> bool {
        fold_label_within(text, self.max_bytes, 0)
            .is_some_and(|folded| self.words.iter().any(|word| word.text == folded))
    }

    fn match_within(&self, label: &str, max_words: usize) -> LabelMatch {
        let Some(folded) = fold_label_within(label, self.max_bytes, max_words) else {
            return LabelMatch::None;
        };
        let fit = self
            .words
            .iter()
            .map(|word| word.match_label(&folded))
            .max()
            .unwrap_or(LabelMatch::None);
        match fit {
            LabelMatch::Starts | LabelMatch::Ends
                if folded.split_whitespace().count() > max_words =>
            {
                LabelMatch::None
            }
            _ => fit,
        }
    }
}

impl FacetWord {
    fn match_label(&self, folded: &str) -> LabelMatch {
        if folded == self.text {
            return LabelMatch::Exact;
        }
        let (first, last) = (self.text.chars().next(), self.text.chars().next_back());
        if let Some(head) = folded.strip_suffix(self.text.as_str())
            && !continues_word(head.chars().next_back(), first)
        {
            return LabelMatch::Ends;
        }
        match folded.strip_prefix(self.text.as_str()) {
            Some(tail) if continues_word(tail.chars().next(), last) => LabelMatch::None,
            // In English a noun before another one modifies it: `Character arcs` and `Setting the
            // trap` do not list characters and settings, `Location of the scene` does.
            Some(tail) if self.is_singular && starts_with_noun(tail) => LabelMatch::None,
            Some(_) => LabelMatch::Starts,
            None => LabelMatch::None,
        }
    }
}

fn continues_word(outside: Option<char>, inside: Option<char>) -> bool {
    matches!(outside, Some('-' | '\'')) || is_one_word(outside, inside)
}

fn starts_with_noun(tail: &str) -> bool {
    let next = tail
        .strip_prefix(' ')
        .and_then(|rest| rest.split_whitespace().next())
        .unwrap_or_default();
    next.starts_with(char::is_alphabetic) && !is_listed("of in for at on and", next)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The definition of a folded label, step by step over the whole text.
    fn fold_in_steps(text: &str) -> String {
        let folded = fold_text(&without_parentheses(text).replace('_', " "));
        let start = folded.trim_start_matches(|c: char| !c.is_alphabetic());
        start
            .trim_end_matches(|c: char| !c.is_alphanumeric() && !is_combining(c))
            .to_owned()
    }

    proptest! {
        #[test]
        fn a_label_is_folded_in_one_pass_as_in_steps(
            text in "([ _*`(（)）.:1２aÀİßЁё人\u{301}\u{ad}\u{200b}—-]|word| and ){0,24}",
            max_bytes in 0_usize..20,
            max_words in 0_usize..4,
        ) {
            let whole = fold_in_steps(&text);
            prop_assert_eq!(&fold_label(&text), &whole);
            let words = whole.split_whitespace().count();
            let within = fold_label_within(&text, max_bytes, max_words);
            if whole.len() <= max_bytes || words <= max_words {
                prop_assert_eq!(within, Some(whole));
            } else {
                prop_assert_eq!(within, None);
            }
        }
    }
}
