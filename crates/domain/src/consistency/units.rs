//! Units of time that plans count in: days, weeks, years, in many languages.
//!
//! A closed list on purpose: `scene 3` or `deck 7` in a timeline is not a point in time.

use super::words::is_listed;

/// A unit in one language. Units of different languages are not compared: a plan and its parent are
/// normally in the same one, and a wrong equation would warn falsely.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unit {
    /// The dictionary form, used in messages; folded.
    pub(super) name: &'static str,
    /// Other forms, folded, separated by spaces.
    forms: &'static str,
    /// Whether a clock time can belong to it.
    pub(super) has_hours: bool,
    /// Whether a bare number before the dictionary form is a point in time (`3 день` is one, `3
    /// day` is not).
    pub(super) after_number: bool,
    /// Whether the script has no spaces, so that the unit is matched as a prefix.
    pub(super) is_unspaced: bool,
}

impl Unit {
    const fn new(name: &'static str, forms: &'static str) -> Self {
        Self {
            name,
            forms,
            has_hours: false,
            after_number: false,
            is_unspaced: false,
        }
    }

    const fn with_hours(self) -> Self {
        Self {
            has_hours: true,
            ..self
        }
    }

    const fn after_number(self) -> Self {
        Self {
            after_number: true,
            ..self
        }
    }

    const fn without_spaces(self) -> Self {
        Self {
            is_unspaced: true,
            ..self
        }
    }

    /// Returns the unit that a folded word is a form of.
    pub(super) fn from_word(word: &str) -> Option<&'static Self> {
        UNITS.iter().find(|unit| {
            let is_form = unit.name == word || is_listed(unit.forms, word);
            is_form || (unit.is_unspaced && word.starts_with(unit.name))
        })
    }
}

/// All units, by language.
static UNITS: [Unit; 47] = [
    // English.
    Unit::new("day", "days").with_hours(),
    Unit::new("sol", "sols").with_hours(),
    Unit::new("night", "nights"),
    Unit::new("week", "weeks"),
    Unit::new("month", "months"),
    Unit::new("year", "years"),
    Unit::new("cycle", "cycles"),
    // Russian and Ukrainian, which share some.
    Unit::new("день", "дня дню дне дни дней дням днем днями днях дні днів")
        .with_hours()
        .after_number(),
    Unit::new("сутки", "суток суткам сутками сутках")
        .with_hours()
        .after_number(),
    Unit::new("ночь", "ночи ночей ночью ночам").after_number(),
    Unit::new(
        "неделя",
        "недели неделе неделю неделей недель неделям неделями неделях",
    )
    .after_number(),
    Unit::new(
        "месяц",
        "месяца месяцу месяце месяцем месяцы месяцев месяцам",
    )
    .after_number(),
    Unit::new("год", "года году годе годом годы годов годам лет").after_number(),
    Unit::new("цикл", "цикла циклу цикле циклы циклов").after_number(),
    Unit::new("ніч", "ночі").after_number(),
    Unit::new("тиждень", "тижня тижні тижнів").after_number(),
    Unit::new("місяць", "місяця місяці місяців").after_number(),
    Unit::new("рік", "року роки років").after_number(),
    // German.
    Unit::new("tag", "tage tagen tages").with_hours(),
    Unit::new("nacht", "nächte nächten"),
    Unit::new("woche", "wochen"),
    Unit::new("monat", "monate monaten"),
    Unit::new("jahr", "jahre jahren jahres"),
    // French.
    Unit::new("jour", "jours").with_hours(),
    Unit::new("nuit", "nuits"),
    Unit::new("semaine", "semaines"),
    Unit::new("année", "années an ans"),
    // Spanish and Portuguese, which share some.
    Unit::new("día", "días").with_hours(),
    Unit::new("dia", "dias").with_hours(),
    Unit::new("noche", "noches"),
    Unit::new("semana", "semanas"),
    Unit::new("mes", "meses"),
    Unit::new("año", "años"),
    Unit::new("ano", "anos"),
    // Italian.
    Unit::new("giorno", "giorni").with_hours(),
    Unit::new("settimana", "settimane"),
    Unit::new("anno", "anni"),
    // Polish.
    Unit::new("dzień", "dnia dni dniu")
        .with_hours()
        .after_number(),
    Unit::new("tydzień", "tygodnia tygodnie tygodni").after_number(),
    Unit::new("rok", "roku").after_number(),
    // Japanese, Chinese, Korean: `3日目`, `第3天`, `3일차`.
    Unit::new("日目", "")
        .with_hours()
        .after_number()
        .without_spaces(),
    Unit::new("週目", "").after_number().without_spaces(),
    Unit::new("天", "").with_hours().without_spaces(),
    Unit::new("周", "").without_spaces(),
    Unit::new("年", "").without_spaces(),
    Unit::new("일차", "")
        .with_hours()
        .after_number()
        .without_spaces(),
    Unit::new("주차", "").after_number().without_spaces(),
];
