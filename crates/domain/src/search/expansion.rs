//! Expansion of a query by the words an index has: grammatical forms and, for words that occur
//! nowhere, corrected spelling.
//!
//! Decided here from the vocabulary alone, so that every index returns the same results.

use super::SearchQuery;
use crate::inflection::{LatinEndings, common_prefix_of_forms, possible_stems};
use crate::ports::{SearchIndex, StoreFault};

/// Maximum number of other forms of one word.
const MAX_FORMS: usize = 24;
/// Maximum number of corrections of one word.
const MAX_CORRECTIONS: usize = 6;
/// Minimum length of a word that is corrected; shorter ones resemble too many others.
const MIN_CORRECTED_CHARS: usize = 4;
/// Length from which two wrong letters are corrected.
const TWO_ERRORS_CHARS: usize = 8;

/// One way to match a word or phrase of a query: adjacent words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhrasePattern {
    pub words: Vec<String>,
    /// Whether the last word matches as a prefix.
    pub is_prefix: bool,
}

/// A query with the alternatives of each of its words. Never empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpandedQuery {
    pub groups: Vec<Vec<PhrasePattern>>,
    /// Words that occur nowhere, with what was searched instead.
    pub corrections: Vec<Correction>,
}

/// A word that was corrected.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Correction {
    pub word: String,
    pub searched: Vec<String>,
}

/// Expands a query by the vocabulary of an index.
///
/// # Errors
/// [`StoreFault`] of the index.
pub fn expand_query(
    query: &SearchQuery,
    index: &dyn SearchIndex,
) -> Result<ExpandedQuery, StoreFault> {
    let mut expanded = ExpandedQuery::default();
    for (place, phrase) in query.phrases.iter().enumerate() {
        let is_quoted = query.quoted.contains(&place);
        let last = phrase.last().map_or(0, |word| word.chars().count());
        let own = PhrasePattern {
            words: phrase.clone(),
            // A single letter begins a tenth of all words: 0.3 s with 20 MB of text.
            is_prefix: !is_quoted && last > 1,
        };
        let ([word], true) = (phrase.as_slice(), own.is_prefix) else {
            expanded.groups.push(vec![own]);
            continue;
        };
        let mut group = find_forms(word, index)?;
        if group.is_empty() && !index.has_matches(&own)? {
            let found = find_corrections(word, index)?;
            if !found.is_empty() {
                expanded.corrections.push(Correction {
                    word: word.clone(),
                    searched: found.clone(),
                });
            }
            group.extend(found.into_iter().map(exact_word));
        }
        // Always there, also when it matches nothing: a group without alternatives would match
        // every document.
        group.insert(0, own);
        expanded.groups.push(group);
    }
    Ok(expanded)
}

fn exact_word(word: String) -> PhrasePattern {
    PhrasePattern {
        words: vec![word],
        is_prefix: false,
    }
}

/// Returns the other grammatical forms of a word; those that start with it match as prefixes.
fn find_forms(word: &str, index: &dyn SearchIndex) -> Result<Vec<PhrasePattern>, StoreFault> {
    let stems = possible_stems(word, LatinEndings::Plain);
    if stems.len() == 1 {
        return Ok(Vec::new());
    }
    let is_form = |term: &String| {
        !term.starts_with(word)
            && possible_stems(term, LatinEndings::Plain)
                .iter()
                .any(|stem| stems.contains(stem))
    };
    let mut forms = Vec::new();
    for term in index.terms_with_prefix(&common_prefix_of_forms(word))? {
        if forms.len() == MAX_FORMS {
            break;
        }
        if is_form(&term) {
            let pattern = exact_word(term);
            // A vocabulary may keep words whose documents are gone.
            if index.has_matches(&pattern)? {
                forms.push(pattern);
            }
        }
    }
    Ok(forms)
}

/// Returns the words that a misspelt word may mean, the most similar first.
fn find_corrections(word: &str, index: &dyn SearchIndex) -> Result<Vec<String>, StoreFault> {
    let length = word.chars().count();
    if length < MIN_CORRECTED_CHARS {
        return Ok(Vec::new());
    }
    let most = if length >= TWO_ERRORS_CHARS { 2 } else { 1 };
    // The first letter is rarely wrong; with its neighbour exchanged, the second one is first.
    let mut starts: Vec<String> = word.chars().take(2).map(String::from).collect();
    starts.dedup();
    let mut similar: Vec<(usize, String)> = Vec::new();
    for start in starts {
        for term in index.terms_with_prefix(&start)? {
            similar.extend(find_distance(word, &term, most).map(|distance| (distance, term)));
        }
    }
    similar.sort();
    let mut found = Vec::new();
    // In order, so that no more words are looked up than are returned.
    for (_, term) in similar {
        if found.len() == MAX_CORRECTIONS {
            break;
        }
        if index.has_matches(&exact_word(term.clone()))? {
            found.push(term);
        }
    }
    Ok(found)
}

/// Returns the edit distance of two words; `None` if it is more than `most`.
fn find_distance(one: &str, other: &str, most: usize) -> Option<usize> {
    // The distance itself is a hundred times as much work, and a vocabulary has thousands of words
    // with the same first letter.
    if min_distance(one, other) > most {
        return None;
    }
    let distance = strsim::damerau_levenshtein(one, other);
    (distance <= most).then_some(distance)
}

/// Returns a lower bound of the edit distance: how many letters one word has more than the other. An
/// edit adds, takes or replaces one letter, and an exchange none.
fn min_distance(one: &str, other: &str) -> usize {
    let mut counts = [0_i32; 128];
    // Letters that share a place can only make the words look more alike.
    let place = |letter: char| (u32::from(letter) % 128) as usize;
    one.chars().for_each(|letter| counts[place(letter)] += 1);
    other.chars().for_each(|letter| counts[place(letter)] -= 1);
    let surplus: i32 = counts.iter().filter(|count| **count > 0).sum();
    let lack: i32 = counts.iter().filter(|count| **count < 0).sum();
    usize::try_from(surplus.max(-lack)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::find_distance;

    proptest! {
        #[test]
        fn the_distance_with_a_limit_is_the_full_distance(
            one in "[abcя\u{101}1]{0,9}",
            other in "[abcя\u{101}1]{0,9}",
            most in 0..4_usize,
        ) {
            let full = strsim::damerau_levenshtein(&one, &other);
            prop_assert_eq!(find_distance(&one, &other, most), (full <= most).then_some(full));
        }
    }
}
