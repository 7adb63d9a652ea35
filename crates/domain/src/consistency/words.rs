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
    let mut depth = 0_usize;
    let mut rest = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '(' | '（' => depth += 1,
            ')' | '）' => depth = depth.saturating_sub(1),
            _ if depth == 0 => rest.push(c),
            _ => {}
        }
    }
    rest
}

/// Normalises a heading, label or key for comparison with a facet's words.
pub(super) fn fold_label(text: &str) -> String {
    let folded = fold_text(&without_parentheses(text).replace('_', " "));
    // Both `2.1 Characters` and `🎭 Characters:` become `characters`.
    let start = folded.trim_start_matches(|c: char| !c.is_alphabetic());
    start
        .trim_end_matches(|c: char| !c.is_alphanumeric() && !is_combining(c))
        .to_owned()
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
        Self { words }
    }

    /// Returns how well a heading matches.
    pub(super) fn match_heading(&self, heading: &str) -> LabelMatch {
        self.match_within(&fold_label(heading), MAX_HEADING_WORDS)
    }

    /// Whether a label in running text, a key or a table header names the facet.
    pub(super) fn fits_label(&self, label: &str) -> bool {
        self.match_within(&fold_label(label), MAX_LABEL_WORDS) > LabelMatch::None
    }

    /// Whether a text is one of the facet's words and nothing else.
    pub(super) fn is_word(&self, text: &str) -> bool {
        let folded = fold_label(text);
        self.words.iter().any(|word| word.text == folded)
    }

    fn match_within(&self, folded: &str, max_words: usize) -> LabelMatch {
        let fit = self
            .words
            .iter()
            .map(|word| word.match_label(folded))
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
