//! Inflection of words without dictionaries: possible stems, and whether two words may be forms of
//! one.
//!
//! Used for names in plans (`consistency`) and for search. A word has several possible stems,
//! because endings overlap (`орлов` + `а`, but also `орл` + `ов`); two words match if they share
//! one. Cyrillic words use the case endings of the East and South Slavic languages. Latin ones lose
//! the possessive and the plural `s`; the endings of West Slavic languages are tried only if the
//! texts are written in one, because `Maria` and `Mario` are two people in English. Scripts without
//! endings are compared as they are.

/// Case endings of nouns and adjectives in Cyrillic; `ё` is folded to `е`.
const CYRILLIC_ENDINGS: &str = "а я о е и ы у ю ь й ї і ой ей ою ею ом ем ам ям ах ях ами ями ов ев ів ий ый ая яя ое ее ие \
    ые ую юю ого его ому ему ым им ых их ыми ими ья ью ье ьи ьев ьям ьем ові еві єю єм";

/// Case endings of Polish, Czech, Slovak and Croatian.
const WEST_SLAVIC_ENDINGS: &str = "a e ě i o u y ą ę é í ý á ů ie ia iu em om am ám ów owi ovi ach ách ami ymi ými ego emu \
    ého ému ej ou ą ie ym ím ych ích ymi iem ek ka ku kiem ce";

/// Letters that only West Slavic languages of the Latin script use.
const WEST_SLAVIC_LETTERS: &str = "ąćęłńśźżčďěňřšťůžľĺŕđ";

/// Minimum length of a stem in characters; one more if the ending has three.
const MIN_STEM_CHARS: usize = 2;

/// Which endings are tried for words in the Latin script.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LatinEndings {
    /// Possessive and plural `s`.
    #[default]
    Plain,
    /// Case endings of West Slavic languages too.
    WestSlavic,
}

impl LatinEndings {
    /// Returns the endings that fit the language of a text.
    #[must_use]
    pub fn detect(text: &str) -> Self {
        let is_telling =
            |c: &char| !c.is_ascii() && c.to_lowercase().any(|c| WEST_SLAVIC_LETTERS.contains(c));
        // Three letters: one name with a diacritic does not make a text Polish.
        match text.chars().filter(is_telling).take(3).count() {
            3 => Self::WestSlavic,
            _ => Self::Plain,
        }
    }
}

/// Returns the possible stems of a word in lower case, itself included.
#[must_use]
pub fn possible_stems(word: &str, latin: LatinEndings) -> Vec<String> {
    // Most Russian texts print `е` for `ё`.
    let word = word.replace('ё', "е");
    let mut stems = vec![word.clone()];
    if word.chars().any(is_cyrillic) {
        push_stems(&word, CYRILLIC_ENDINGS, &mut stems);
        stems.extend(without_fleeting_vowel(&word, "ео", is_cyrillic_vowel));
    } else if word.chars().all(is_latin_word_char) {
        stems.extend(without_latin_s(&word));
        if latin == LatinEndings::WestSlavic {
            push_stems(&word, WEST_SLAVIC_ENDINGS, &mut stems);
            stems.extend(without_fleeting_vowel(&word, "e", |c| {
                "aąeęěioóuyáéíýůú".contains(c)
            }));
        }
    }
    stems.dedup();
    stems
}

/// Whether two words in lower case may be forms of one word.
#[must_use]
pub fn may_be_same_word(one: &str, other: &str, latin: LatinEndings) -> bool {
    if one == other {
        return true;
    }
    let stems = possible_stems(one, latin);
    possible_stems(other, latin)
        .iter()
        .any(|stem| stems.contains(stem))
}

/// Returns the first characters that all forms of a word have in common, for range queries.
#[must_use]
pub fn common_prefix_of_forms(word: &str) -> String {
    let stems = possible_stems(word, LatinEndings::Plain);
    let shortest = stems
        .iter()
        .map(|stem| shared_chars(stem, word))
        .min()
        .unwrap_or_default();
    // One less in Cyrillic: another form may have a fleeting vowel before the last consonant.
    let fleeting = usize::from(word.chars().any(is_cyrillic) && shortest > MIN_STEM_CHARS);
    word.chars().take(shortest - fleeting).collect()
}

fn shared_chars(one: &str, other: &str) -> usize {
    one.chars()
        .zip(other.replace('ё', "е").chars())
        .take_while(|(a, b)| a == b)
        .count()
}

fn push_stems(word: &str, endings: &str, stems: &mut Vec<String>) {
    for ending in endings.split_whitespace() {
        let Some(stem) = word.strip_suffix(ending) else {
            continue;
        };
        // A long ending on a short word is more likely part of the stem.
        let min = MIN_STEM_CHARS + usize::from(ending.chars().count() > 2);
        if stem.chars().count() >= min {
            stems.push(stem.to_owned());
        }
    }
}

/// Returns a word without the vowel that disappears in its other forms: `Павел`, `Павла`.
fn without_fleeting_vowel(
    word: &str,
    fleeting: &str,
    is_vowel: impl Fn(char) -> bool,
) -> Option<String> {
    let mut chars: Vec<char> = word.chars().collect();
    let [.., before, vowel, last] = chars.as_slice() else {
        return None;
    };
    let fits = fleeting.contains(*vowel) && !is_vowel(*before) && !is_vowel(*last);
    // A stem of three letters and more: `Лев` would become two consonants.
    (fits && chars.len() > 4).then(|| {
        chars.remove(chars.len() - 2);
        chars.into_iter().collect()
    })
}

/// Returns an English or German word without its possessive or plural `s`.
fn without_latin_s(word: &str) -> Option<String> {
    let stem = word
        .strip_suffix("'s")
        .or_else(|| word.strip_suffix("s'"))
        .or_else(|| word.strip_suffix('\''))
        // `Ross` and `glass` keep their double `s`.
        .or_else(|| word.strip_suffix('s').filter(|stem| !stem.ends_with('s')))?;
    (stem.chars().count() > MIN_STEM_CHARS).then(|| stem.to_owned())
}

fn is_cyrillic(c: char) -> bool {
    matches!(c, '\u{400}'..='\u{52f}')
}

fn is_cyrillic_vowel(c: char) -> bool {
    "аеиоуыэюяіїє".contains(c)
}

fn is_latin_word_char(c: char) -> bool {
    c.is_ascii_alphabetic() || matches!(c, '\'' | '-' | '\u{c0}'..='\u{24f}')
}

#[cfg(test)]
mod tests {
    use super::{LatinEndings, common_prefix_of_forms, may_be_same_word, possible_stems};

    #[test]
    fn case_forms_of_a_word_match() {
        let groups = [
            "медпалата медпалаты медпалате медпалату медпалатой медпалат",
            "рейн рейна рейну рейном рейне",
            "орлов орлова орлову орловым орлове",
            "орлова орловой орлову",
            "алекса алексы алексе алексу алексой",
            "сергей сергея сергею сергеем сергее",
            "мария марии марию марией",
            "павел павла павлу павлом павле",
            "северная северной северную",
            "башня башни башне башню башней башен",
            "ян яна яну яном",
            "пётр петра петру петром",
            "олексій олексія олексію олексієм",
        ];
        for group in groups {
            let forms: Vec<&str> = group.split_whitespace().collect();
            for form in &forms {
                assert!(
                    may_be_same_word(forms[0], form, LatinEndings::Plain),
                    "{} {form}",
                    forms[0]
                );
            }
        }
        for (one, other) in [("rein's", "rein"), ("guards", "guard"), ("james'", "james")] {
            assert!(may_be_same_word(one, other, LatinEndings::Plain), "{one}");
        }
        for form in "warszawa warszawy warszawie warszawę warszawą".split_whitespace() {
            assert!(
                may_be_same_word("warszawa", form, LatinEndings::WestSlavic),
                "{form}"
            );
        }
    }

    #[test]
    fn different_names_do_not_match() {
        let pairs = [
            ("рейн", "рейнджер"),
            ("виктор", "виктория"),
            ("анна", "антон"),
            ("марк", "мария"),
            ("олег", "ольга"),
            ("maria", "mario"),
            ("alex", "alexa"),
            ("anna", "anne"),
            ("ross", "ro"),
            ("東京", "東"),
        ];
        for (one, other) in pairs {
            assert!(
                !may_be_same_word(one, other, LatinEndings::Plain),
                "{one} {other}"
            );
        }
    }

    #[test]
    fn all_forms_start_with_the_common_prefix() {
        for word in ["медпалата", "павла", "rein's", "северной", "東京"] {
            let prefix = common_prefix_of_forms(word);
            assert!(word.starts_with(&prefix) && !prefix.is_empty());
            for stem in possible_stems(word, LatinEndings::Plain) {
                assert!(stem.starts_with(&prefix), "{word} {stem}");
            }
        }
        assert!("павел".starts_with(&common_prefix_of_forms("павлом")));
        assert_eq!(
            LatinEndings::detect("Zażółć gęślą"),
            LatinEndings::WestSlavic
        );
        assert_eq!(LatinEndings::detect("Žižek spoke"), LatinEndings::Plain);
    }
}
