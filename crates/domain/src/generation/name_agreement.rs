//! Agreement of Russian names: the words of one name stand in one case, so that "крикнула Анна Олегу" names two
//! people.
//!
//! By endings alone. What may agree is one name; where an ending has several readings, the words of a name that
//! is foreign and keeps its form count too.

/// Cases, as bits; a nominative and a dative never meet in one name.
const NOMINATIVE: u16 = 1;
const GENITIVE: u16 = 2;
const DATIVE: u16 = 4;
const ACCUSATIVE: u16 = 8;
const INSTRUMENTAL: u16 = 16;
const PREPOSITIONAL: u16 = 32;
const ANY_CASE: u16 = 63;
/// Number of bits by which the cases of feminine names are shifted.
const FEMININE_SHIFT: u16 = 6;
const ANY: u16 = ANY_CASE | ANY_CASE << FEMININE_SHIFT;

/// Length up to which a word says nothing by its ending: `Ли`.
const MAX_UNDECLINED_CHARS: usize = 2;

/// Where a word stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NamePosition {
    /// First word of the name: given names such as `Гарри` keep their form, surnames of women such as `Линд` do.
    pub(super) is_first: bool,
    /// Beside a verb of speaking, which takes a nominative and a dative.
    pub(super) is_spoken: bool,
}

/// Returns the number of words at the beginning that can be one name. Words of other scripts always can.
pub(super) fn count_agreeing<'t>(words: impl Iterator<Item = &'t str>, is_spoken: bool) -> usize {
    let mut shared = ANY;
    let mut count = 0;
    for word in words {
        let position = NamePosition {
            is_first: count == 0,
            is_spoken,
        };
        shared &= possible_cases(word, position);
        if shared == 0 {
            break;
        }
        count += 1;
    }
    count
}

/// Returns the cases in which a word may stand, of masculine and of feminine names.
fn possible_cases(word: &str, position: NamePosition) -> u16 {
    let NamePosition {
        is_first,
        is_spoken,
    } = position;
    let word = word.to_lowercase();
    let is_cyrillic = word.chars().all(|c| matches!(c, 'а'..='я' | 'ё'));
    if !is_cyrillic || word.chars().count() <= MAX_UNDECLINED_CHARS {
        return ANY;
    }
    let feminine = |cases: u16| cases << FEMININE_SHIFT;
    let ends = |endings: &[&str]| endings.iter().any(|end| word.ends_with(end));
    // Women keep surnames such as `Линд` in every case.
    let undeclined = NOMINATIVE | if is_first { 0 } else { feminine(ANY_CASE) };
    let oblique = GENITIVE | DATIVE | INSTRUMENTAL | PREPOSITIONAL;
    match () {
        () if ends(&["ого", "его"]) => GENITIVE | ACCUSATIVE,
        () if ends(&["ому", "ему"]) => DATIVE,
        () if ends(&["ой", "ей", "ёй"]) => NOMINATIVE | INSTRUMENTAL | feminine(oblique),
        () if ends(&["ом", "ем", "ём", "ым", "им"]) => {
            INSTRUMENTAL | PREPOSITIONAL | undeclined
        }
        () if ends(&["а", "я"]) => NOMINATIVE | GENITIVE | ACCUSATIVE | feminine(NOMINATIVE),
        // Spoken to is a dative, and not the accusative of `Анну`.
        () if ends(&["у", "ю"]) && is_spoken => DATIVE,
        () if ends(&["у", "ю"]) => DATIVE | feminine(ACCUSATIVE),
        () if ends(&["е"]) => DATIVE | PREPOSITIONAL | feminine(DATIVE | PREPOSITIONAL),
        // `Гарри`, `Мэри`, and places such as `Верити`.
        () if ends(&["и"]) && (is_first || !is_spoken) => ANY,
        () if ends(&["и", "ы"]) => GENITIVE | feminine(GENITIVE | DATIVE | PREPOSITIONAL),
        () if ends(&["о", "э"]) => ANY,
        () if ends(&["ь"]) => NOMINATIVE | feminine(NOMINATIVE | ACCUSATIVE),
        () => undeclined,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_one_name_agree_and_those_of_two_do_not() {
        for name in [
            "Анна Сергеевна Иванова",
            "Анну Каренину",
            "Анны Карениной",
            "Анне Карениной",
            "Еленой Орловой",
            "Лев Толстой",
            "Льва Толстого",
            "Льву Толстому",
            "Иваном Петровым",
            "Мария Петрова",
            "Марии Петровой",
            "Тараса Бульбы",
            "Тарас Бульба",
            "Иван Шевченко",
            "Мара Линд",
            "Мары Линд",
            "Гарри Поттер",
            "Гарри Поттеру",
            "Брюс Ли",
            "Невском Проспекте",
            "Порт Верити",
            "Elena Vasquez",
        ] {
            let words = name.split(' ').count();
            assert_eq!(count_agreeing(name.split(' '), false), words, "{name}");
        }
        for (names, first) in [
            ("Анна Олегу", 1),
            ("Иван Марии", 1),
            ("Петру Лев", 1),
            ("Лондоне Мара", 1),
            ("Анна Сергеевна Иванову", 2),
        ] {
            assert_eq!(count_agreeing(names.split(' '), true), first, "{names}");
        }
    }
}
