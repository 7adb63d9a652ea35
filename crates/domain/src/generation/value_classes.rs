//! Classes of values of which only one can be true: colours, numbers and the like.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Classes of mutually exclusive values. Entries that are not ASCII are stems.
const VALUE_CLASSES: &[&[&str]] = &[
    // Colours. Stems for inflected languages: `чёрн` covers чёрный, чёрная, чёрного.
    &[
        "black",
        "white",
        "red",
        "blue",
        "green",
        "brown",
        "grey",
        "gray",
        "yellow",
        "golden",
        "blond",
        "blonde",
        "silver",
        "violet",
        "hazel",
        "amber",
        "чёрн",
        "черн",
        "бел",
        "красн",
        "син",
        "голуб",
        "зелён",
        "зелен",
        "карих",
        "кари",
        "сер",
        "рыж",
        "светл",
        "schwarz",
        "weiß",
        "rot",
        "blau",
        "grün",
        "braun",
        "grau",
    ],
    // Days of the week.
    &[
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
    ],
    // Seasons.
    &[
        "spring", "summer", "autumn", "winter", "весн", "лет", "осен", "зим",
    ],
    // Numbers from two on: `one` is mostly a pronoun.
    &[
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "twenty",
        "thirty",
        "forty",
        "fifty",
        "sixty",
        "seventy",
        "eighty",
        "ninety",
        "hundred",
        "два",
        "три",
        "четыре",
        "пять",
        "шесть",
        "семь",
        "восемь",
        "девять",
        "десять",
        "двадцать",
        "тридцать",
        "сорок",
        "пятьдесят",
    ],
    // Sides.
    &["left", "right", "лев", "прав"],
];

/// The class of a value, and its number in that class.
type ValuePlace = (usize, usize);

/// The ASCII values, which are whole words: `red` is not in `reddish`, nor `ten` in `tender`.
static WHOLE_WORDS: LazyLock<HashMap<&str, ValuePlace>> = LazyLock::new(|| {
    let mut places = HashMap::new();
    for (word, place) in list_values().filter(|(word, _)| word.is_ascii()) {
        places.entry(word).or_insert(place);
    }
    places
});

/// The other values, which are stems.
static STEMS: LazyLock<Vec<(&str, ValuePlace)>> =
    LazyLock::new(|| list_values().filter(|(word, _)| !word.is_ascii()).collect());

fn list_values() -> impl Iterator<Item = (&'static str, ValuePlace)> {
    let classes = VALUE_CLASSES.iter().enumerate();
    classes.flat_map(|(class, values)| {
        let values = values.iter().enumerate();
        values.map(move |(value, word)| (*word, (class, value)))
    })
}

/// Returns the class of a word and the value within it; digits are a class of their own.
///
/// Asked for every word of a book, so a word is looked up and not compared with every value.
pub(super) fn classify_value(word: &str) -> Option<ValuePlace> {
    if word.bytes().all(|byte| byte.is_ascii_digit()) {
        return word
            .parse()
            .ok()
            .map(|number| (VALUE_CLASSES.len(), number));
    }
    if word.is_ascii() {
        return WHOLE_WORDS.get(word).copied();
    }
    let found = STEMS.iter().find(|(stem, _)| word.starts_with(stem));
    found.map(|(_, place)| *place)
}

#[cfg(test)]
mod tests {
    use super::classify_value;

    #[test]
    fn whole_words_stems_and_digits_have_their_class() {
        let class = |word: &str| classify_value(word).map(|(class, _)| class);
        assert_eq!(class("green"), Some(0));
        assert_eq!(class("green"), class("зелёные"));
        assert_ne!(classify_value("12"), classify_value("13"));
        assert_eq!(class("12"), class("7"));
        assert!(class("12") != class("green") && class("12").is_some());
        for word in ["reddish", "tender", "door", "дверь"] {
            assert_eq!(class(word), None, "{word}");
        }
    }
}
