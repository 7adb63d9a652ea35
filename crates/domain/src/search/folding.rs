//! Folding of words for the search of a project: one form for what people type in several ways.
//!
//! Composed and decomposed letters (a Mac stores `й` as two), `ё` and `е`, `ß` and `ss`, wide and narrow
//! forms, and the marks on Latin and Greek letters, which many leave out. Marks that make another
//! letter (`й`, `ї`, those of Indic scripts) stay. The notes of a session are not folded: their index
//! is in the state.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::decompose_canonical;

use super::{is_unspaced_script, is_word_char};

/// Returns the form of a word that is indexed and searched.
pub(crate) fn fold_word(word: &str) -> String {
    if word.is_ascii() {
        return word.to_owned();
    }
    let mut folded = String::with_capacity(word.len());
    for c in word.nfkc() {
        match c {
            'ё' => folded.push('е'),
            'ς' => folded.push('σ'),
            'ß' => folded.push_str("ss"),
            // Marks without a letter of their own: of stress, of a dotted capital İ in lower case.
            '\u{300}'..='\u{36f}' => {}
            // `⑴` has brackets.
            _ if !is_word_char(c) && !is_unspaced_script(c) => {}
            _ if is_latin_or_greek(c) => folded.push(base_letter(c)),
            _ => folded.push(c),
        }
    }
    folded
}

/// Folds every word of a list.
pub(crate) fn fold_words(words: Vec<String>) -> Vec<String> {
    let folded = words.into_iter().map(|word| fold_word(&word));
    folded.filter(|word| !word.is_empty()).collect()
}

fn is_latin_or_greek(c: char) -> bool {
    matches!(c, '\u{c0}'..='\u{24f}' | '\u{370}'..='\u{3ff}' | '\u{1e00}'..='\u{1fff}')
}

/// Returns a letter without its marks.
fn base_letter(c: char) -> char {
    let mut base = None;
    decompose_canonical(c, |part| {
        base.get_or_insert(part);
    });
    base.unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use super::fold_word;

    #[test]
    fn one_word_typed_in_several_ways_is_folded_to_one() {
        for (word, folded) in [
            ("storm", "storm"),
            ("ёлка", "елка"),
            ("е\u{308}лка", "елка"),
            ("зимний", "зимний"),
            ("зимнии\u{306}", "зимний"),
            ("їжак", "їжак"),
            ("zoë", "zoe"),
            ("zoe\u{308}", "zoe"),
            ("straße", "strasse"),
            ("i\u{307}stanbul", "istanbul"),
            ("ﬁnd", "find"),
            ("за\u{301}мок", "замок"),
            ("⑴", "1"),
            ("άλφα", "αλφα"),
            ("λόγος", "λογοσ"),
            ("ｔｏｋｙｏ", "tokyo"),
            ("東", "東"),
            ("हिन्दी", "हिन्दी"),
        ] {
            assert_eq!(fold_word(word), folded, "{word}");
            assert_eq!(fold_word(folded), folded, "{word}");
        }
    }
}
