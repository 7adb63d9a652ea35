//! Parser for points in time in one line of text: dates, clock times, `Day 3`, `3rd day`, `Дни
//! 2–4`.
//!
//! A tokenizer and a few patterns tried in order at each token. Durations (`3 days later`) are not
//! points in time and are skipped.

use std::fmt;

use super::units::Unit;
use super::words::{fold_text, is_listed};

/// Smallest number that is taken for a year; below it `3 года` is a duration.
const MIN_YEAR: i64 = 1000;

/// Words between the ends of a range; folded.
const RANGE_WORDS: &str = "to through till until по до bis à au a al do から";
/// Words between the items of a list; folded.
const LIST_WORDS: &str = "and и та und et y e i";

/// Endings of ordinal numbers: `3rd`, `3-й`, `3e`, `3º`; folded.
const ORDINAL_ENDINGS: &str = "st nd rd th й го му м е я ю ый ой ий ая er e eme ème º ª o";

/// The scale of a point in time. Only points of the same scale are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    Date,
    /// A time of an unspecified day.
    Clock,
    Unit(&'static Unit),
}

/// A point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) scale: Scale,
    /// Dates as `20310501`, clock times in minutes.
    pub(super) value: i64,
    /// Time of that day in minutes.
    pub(super) clock: Option<i64>,
}

impl Moment {
    fn new(scale: Scale, value: i64) -> Self {
        Self {
            scale,
            value,
            clock: None,
        }
    }

    /// Returns the day alone.
    pub(super) fn without_clock(self) -> Self {
        Self {
            clock: None,
            ..self
        }
    }

    /// Returns its earliest minute: a day without a clock time begins at midnight.
    pub(super) fn start_point(self) -> (i64, i64) {
        (self.value, self.clock.unwrap_or(0))
    }

    /// Returns its latest minute: a day without a clock time lasts to its end.
    pub(super) fn end_point(self) -> (i64, i64) {
        (self.value, self.clock.unwrap_or(24 * 60))
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.value;
        match self.scale {
            Scale::Date => write!(
                formatter,
                "{:04}-{:02}-{:02}",
                value / 10_000,
                value / 100 % 100,
                value % 100
            )?,
            Scale::Clock => write!(formatter, "{:02}:{:02}", value / 60, value % 60)?,
            Scale::Unit(unit) if unit.is_unspaced => write!(formatter, "{value}{}", unit.name)?,
            Scale::Unit(unit) => write!(formatter, "{} {value}", unit.name)?,
        }
        match self.clock {
            Some(clock) => write!(formatter, " {}", Self::new(Scale::Clock, clock)),
            None => Ok(()),
        }
    }
}

impl Scale {
    /// Formats two points of this scale as one span: `day 2–4`.
    pub(super) fn write_span(
        self,
        formatter: &mut fmt::Formatter<'_>,
        least: i64,
        greatest: i64,
    ) -> fmt::Result {
        match self {
            Self::Unit(unit) if unit.is_unspaced => {
                write!(formatter, "{least}–{greatest}{}", unit.name)
            }
            Self::Unit(unit) => write!(formatter, "{} {least}–{greatest}", unit.name),
            Self::Date | Self::Clock => {
                write!(
                    formatter,
                    "{} – {}",
                    Moment::new(self, least),
                    Moment::new(self, greatest)
                )
            }
        }
    }

    /// Whether a clock time can belong to a point of this scale.
    fn has_hours(self) -> bool {
        match self {
            Self::Date => true,
            Self::Clock => false,
            Self::Unit(unit) => unit.has_hours,
        }
    }
}

/// Parses the points in time of a line, in order.
pub(super) fn parse_moments(line: &str) -> Vec<Moment> {
    let line = TokenLine {
        tokens: tokenize_line(&fold_text(line)),
    };
    let mut found = Vec::new();
    let mut at = 0;
    while at < line.tokens.len() {
        // Dates and clock times first, because their numbers would otherwise be read as counts.
        let read = line
            .parse_date(at)
            .or_else(|| line.parse_clock(at))
            .or_else(|| line.parse_unit_first(at))
            .or_else(|| line.parse_number_first(at));
        match read {
            Some((moments, next)) => {
                found.extend(moments);
                at = next;
            }
            None => at += 1,
        }
    }
    assign_clock_times(&found)
}

/// Assigns each clock time to a day: the one before it, else the first after it.
fn assign_clock_times(found: &[Moment]) -> Vec<Moment> {
    let is_clock = |moment: &Moment| moment.scale == Scale::Clock;
    // Without any day they are compared on their own scale.
    if found.iter().all(is_clock) {
        return found.to_vec();
    }
    // A clock time may also precede its day: `14:30, Day 3`. A week or a year has none, so
    // only scales with hours are considered.
    let first_day = found.iter().position(|moment| moment.scale.has_hours());
    let mut days: Vec<(Moment, Vec<i64>)> = Vec::new();
    let mut early = Vec::new();
    let mut last_day = None;
    for (index, moment) in found.iter().enumerate() {
        if is_clock(moment) {
            match last_day.and_then(|day: usize| days.get_mut(day)) {
                Some((_, clocks)) => clocks.push(moment.value),
                None => early.push(moment.value),
            }
            continue;
        }
        if moment.scale.has_hours() {
            last_day = Some(days.len());
        }
        let clocks = if first_day == Some(index) {
            std::mem::take(&mut early)
        } else {
            Vec::new()
        };
        days.push((*moment, clocks));
    }
    days.into_iter()
        .flat_map(|(day, clocks)| combine_with_clocks(day, &clocks))
        .collect()
}

/// Combines a day with its clock times.
fn combine_with_clocks(day: Moment, clocks: &[i64]) -> Vec<Moment> {
    // Decreasing times pass midnight; then only the day is certain.
    if clocks.is_empty() || !clocks.is_sorted() {
        return vec![day];
    }
    clocks
        .iter()
        .map(|clock| Moment {
            clock: Some(*clock),
            ..day
        })
        .collect()
}

#[derive(Debug, PartialEq, Eq)]
enum Token {
    Number { value: i64, digits: usize },
    Word(String),
    Space,
    Mark(char),
}

/// Tokenizes a folded line.
fn tokenize_line(folded: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    for c in folded.chars() {
        match (tokens.last_mut(), c.to_digit(10)) {
            (Some(Token::Number { value, digits }), Some(digit)) => {
                // Saturating: a plan may contain any digits, such as a phone number.
                *value = value.saturating_mul(10).saturating_add(i64::from(digit));
                *digits += 1;
            }
            (_, Some(digit)) => tokens.push(Token::Number {
                value: i64::from(digit),
                digits: 1,
            }),
            (Some(Token::Word(word)), None) if c.is_alphanumeric() => word.push(c),
            (_, None) if c.is_alphanumeric() => tokens.push(Token::Word(c.to_string())),
            (_, None) => tokens.push(if c == ' ' {
                Token::Space
            } else {
                Token::Mark(c)
            }),
        }
    }
    tokens
}

/// The points parsed at a token, and the index of the token after them.
type ParsedMoments = Option<(Vec<Moment>, usize)>;

/// Half of a day on a clock with twelve hours.
enum DayHalf {
    Morning,
    Afternoon,
}

struct TokenLine {
    tokens: Vec<Token>,
}

impl TokenLine {
    /// Parses `2031-05-01`.
    fn parse_date(&self, at: usize) -> ParsedMoments {
        let (year, month, day) = (
            self.number_at(at)?,
            self.number_at(at + 2)?,
            self.number_at(at + 4)?,
        );
        if !(self.is_mark(at + 1, '-') && self.is_mark(at + 3, '-')) {
            return None;
        }
        // Validated as a calendar date: `2031-99-01` is a part number or the like.
        let date = jiff::civil::Date::new(
            year.try_into().ok()?,
            month.try_into().ok()?,
            day.try_into().ok()?,
        )
        .ok()?;
        let value =
            i64::from(date.year()) * 10_000 + i64::from(date.month()) * 100 + i64::from(date.day());
        (year >= MIN_YEAR).then(|| (vec![Moment::new(Scale::Date, value)], at + 5))
    }

    /// Parses `14:30`, `2:30 pm` and `12:30 am`; of `14:30:15` the seconds are ignored.
    fn parse_clock(&self, at: usize) -> ParsedMoments {
        let (hour, minute) = (self.number_at(at)?, self.number_at(at + 2)?);
        // Minutes have two digits; a ratio such as 1:3 has not.
        let has_two_digits = matches!(
            self.tokens.get(at + 2),
            Some(Token::Number { digits: 2, .. })
        );
        // A day ends at 24:00; 24:59 is a score or a ratio.
        let is_time = matches!((hour, minute), (0..24, 0..60) | (24, 0));
        if !self.is_mark(at + 1, ':') || !has_two_digits || !is_time {
            return None;
        }
        let hour = match (self.parse_day_half(self.skip_space(at + 3)), hour) {
            (Some(DayHalf::Morning), 12) => 0,
            (Some(DayHalf::Afternoon), 0..12) => hour + 12,
            _ => hour,
        };
        Some((vec![Moment::new(Scale::Clock, hour * 60 + minute)], at + 3))
    }

    /// Parses `am`, `a.m.`, `pm` and `p.m.`, of which the tokenizer leaves three tokens.
    fn parse_day_half(&self, at: usize) -> Option<DayHalf> {
        let is_dotted = self.is_mark(at + 1, '.') && self.word_at(at + 2) == Some("m");
        match self.word_at(at)? {
            "am" => Some(DayHalf::Morning),
            // `12:30 a guard` has an article.
            "a" if is_dotted => Some(DayHalf::Morning),
            "pm" | "p" => Some(DayHalf::Afternoon),
            _ => None,
        }
    }

    /// Parses `Day 3`, `Days 2–4`, `Дни 2, 3 и 5`.
    fn parse_unit_first(&self, at: usize) -> ParsedMoments {
        let word = self.word_at(at)?;
        let unit = Unit::from_word(word)?;
        // Inflected forms count as plural. For languages with cases that is generous, but it only
        // allows a list to follow.
        let is_plural = word != unit.name;
        let mut next = self.skip_space(at + 1);
        // `Day: 3` is a label only at the start of a line.
        if self.is_mark(next, '#')
            || self.is_mark(next, '№')
            || self.is_mark(next, '.')
            || (at == 0 && self.is_mark(next, ':'))
        {
            next = self.skip_space(next + 1);
        }
        let (mut last, mut end) = self.parse_number(next)?;
        let mut values = vec![last];
        while let Some((value, after)) = self.parse_next_number(end, last, is_plural) {
            values.push(value);
            (last, end) = (value, after);
        }
        Some((
            values
                .into_iter()
                .map(|value| Moment::new(Scale::Unit(unit), value))
                .collect(),
            end,
        ))
    }

    /// Parses the continuation of `Day 2`: `-4`, ` to 4`, and for the plural ` and 4`.
    fn parse_next_number(&self, at: usize, last: i64, is_plural: bool) -> Option<(i64, usize)> {
        let separator = self.skip_space(at);
        let is_range = self.is_range(separator);
        let is_list = self.is_mark(separator, ',')
            || self.is_mark(separator, '&')
            || self
                .word_at(separator)
                .is_some_and(|word| is_listed(LIST_WORDS, word));
        let (value, end) = self.parse_number(self.skip_space(separator + 1))?;
        // `Day 2 - 3 guards arrive` is not a range.
        let is_glued = separator == at;
        let counts_something = !is_glued && self.word_at(self.skip_space(end)).is_some();
        let is_believed = is_plural || (is_range && !counts_something);
        // A smaller number does not continue a range; it counts something else.
        ((is_range || is_list) && is_believed && value >= last).then_some((value, end))
    }

    /// Parses `3rd day`, `3 день`, `2–4 день`, `第3天`, `2031 год`.
    fn parse_number_first(&self, at: usize) -> ParsedMoments {
        let (first, mut end) = self.parse_number(at)?;
        let mut values = vec![first];
        // Chinese marks an ordinal before the number (`第3天`), the other languages after it.
        let mut is_ordinal = self.is_ordinal(at)
            || self
                .word_before(at)
                .is_some_and(|word| word.ends_with('第'));
        let separator = self.skip_space(end);
        if self.is_range(separator)
            && let start = self.skip_space(separator + 1)
            && let Some((value, after)) = self.parse_number(start)
            && value >= first
        {
            is_ordinal = is_ordinal || self.is_ordinal(start);
            values.push(value);
            end = after;
        }
        let at_word = self.skip_space(end);
        let word = self.word_at(at_word)?;
        let unit = Unit::from_word(word)?;
        let is_bare_point = unit.after_number && (word == unit.name || unit.is_unspaced);
        // Otherwise it is a duration: `3 days later`.
        let is_point = is_ordinal || is_bare_point || first >= MIN_YEAR;
        is_point.then(|| {
            (
                values
                    .into_iter()
                    .map(|value| Moment::new(Scale::Unit(unit), value))
                    .collect(),
                at_word + 1,
            )
        })
    }

    /// Parses a number that is not part of a date or a clock time, with its ordinal ending.
    fn parse_number(&self, at: usize) -> Option<(i64, usize)> {
        let value = self.number_at(at)?;
        if self.parse_date(at).is_some() || self.parse_clock(at).is_some() {
            return None;
        }
        Some((value, at + 1 + self.ordinal_length(at + 1)))
    }

    fn is_ordinal(&self, at: usize) -> bool {
        self.ordinal_length(at + 1) > 0
    }

    /// Returns the number of tokens of the ordinal ending at a token; 0 if there is none.
    fn ordinal_length(&self, at: usize) -> usize {
        let is_ending = |at: usize| {
            self.word_at(at)
                .is_some_and(|word| is_listed(ORDINAL_ENDINGS, word))
        };
        let is_before_word =
            matches!(self.tokens.get(at + 1), Some(Token::Space)) && self.word_at(at + 2).is_some();
        match self.tokens.get(at) {
            Some(Token::Word(_)) if is_ending(at) => 1,
            Some(Token::Mark('-')) if is_ending(at + 1) => 2,
            // German and Polish write `3. Tag`; at the end of a sentence the period ends it.
            Some(Token::Mark('.')) if is_before_word => 1,
            Some(Token::Mark('°')) => 1,
            _ => 0,
        }
    }

    fn is_range(&self, at: usize) -> bool {
        self.is_mark(at, '-')
            || self.is_mark(at, '〜')
            || self.is_mark(at, '～')
            || self
                .word_at(at)
                .is_some_and(|word| is_listed(RANGE_WORDS, word))
    }

    fn number_at(&self, at: usize) -> Option<i64> {
        match self.tokens.get(at) {
            Some(Token::Number { value, .. }) => Some(*value),
            _ => None,
        }
    }

    fn word_at(&self, at: usize) -> Option<&str> {
        match self.tokens.get(at) {
            Some(Token::Word(word)) => Some(word),
            _ => None,
        }
    }

    fn word_before(&self, at: usize) -> Option<&str> {
        self.word_at(at.checked_sub(1)?)
    }

    fn is_mark(&self, at: usize, mark: char) -> bool {
        self.tokens.get(at) == Some(&Token::Mark(mark))
    }

    fn skip_space(&self, at: usize) -> usize {
        at + usize::from(self.tokens.get(at) == Some(&Token::Space))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(line: &str) -> Vec<String> {
        parse_moments(line).iter().map(Moment::to_string).collect()
    }

    #[test]
    fn the_hour_after_midnight_is_the_first_of_its_day() {
        assert_eq!(rendered("Day 3, 12:30 am"), ["day 3 00:30"]);
        assert_eq!(rendered("Day 3, 12:30 a.m."), ["day 3 00:30"]);
        assert_eq!(rendered("Day 3, 12:30 pm"), ["day 3 12:30"]);
        assert_eq!(rendered("Day 3, 1:30 p.m."), ["day 3 13:30"]);
        assert_eq!(rendered("Day 3, 12:30 a guard comes"), ["day 3 12:30"]);
    }

    #[test]
    fn a_day_ends_at_twenty_four() {
        assert_eq!(rendered("24:00"), ["24:00"]);
        assert_eq!(rendered("24:59"), Vec::<String>::new());
        // Any digits may be in a plan; the tokenizer saturates.
        assert_eq!(rendered("99999999999999999999:30"), Vec::<String>::new());
    }
}
