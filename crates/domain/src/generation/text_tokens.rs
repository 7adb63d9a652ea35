//! Words of a text with their capitals and sentences, for reading it by rules. One pass, no allocation for
//! each word: a novel has a million of them.

use std::collections::HashSet;
use std::ops::Range;

use super::name_agreement::count_agreeing;
use super::sentences::ACTION_VERBS;

/// A word of a text.
#[derive(Clone, Debug)]
pub(super) struct Token<'t> {
    /// Without a possessive `'s`.
    pub(super) text: &'t str,
    pub(super) is_possessive: bool,
    /// Begins with a capital and goes on in lower case.
    pub(super) is_capital: bool,
    /// First of a sentence or of a speech.
    pub(super) is_start: bool,
    /// Whether only a space or a hyphen is between it and the word before.
    pub(super) is_joined: bool,
    at: usize,
    pub(super) sentence: usize,
}

/// Consecutive capitalised words.
#[derive(Clone, Debug)]
pub(super) struct NameRun<'t> {
    pub(super) name: &'t str,
    /// Indices of its first and last token.
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) is_start: bool,
    pub(super) is_possessive: bool,
    /// After a title, such as `Mr`.
    pub(super) has_title: bool,
    /// Byte offset, to find the sentence.
    pub(super) sentence: usize,
}

const SENTENCE_ENDS: &[char] = &['.', '!', '?', '…', '\n', '。', '！', '？'];
const OPENERS: &[char] = &['"', '“', '„', '«', '‘', '—', '–', '('];
const APOSTROPHES: &[char] = &['\'', '’'];

/// Words that begin sentences and are no names; also days, months and languages.
const STOP_WORDS: &[&str] = &[
    "the",
    "and",
    "but",
    "she",
    "her",
    "his",
    "him",
    "they",
    "them",
    "their",
    "you",
    "your",
    "our",
    "its",
    "this",
    "that",
    "these",
    "those",
    "there",
    "here",
    "then",
    "than",
    "now",
    "not",
    "nor",
    "yet",
    "for",
    "from",
    "with",
    "without",
    "what",
    "when",
    "where",
    "which",
    "while",
    "who",
    "whom",
    "whose",
    "why",
    "how",
    "all",
    "any",
    "both",
    "each",
    "every",
    "everyone",
    "everything",
    "some",
    "someone",
    "something",
    "nobody",
    "nothing",
    "none",
    "one",
    "two",
    "three",
    "four",
    "five",
    "once",
    "only",
    "just",
    "even",
    "still",
    "again",
    "after",
    "before",
    "above",
    "below",
    "behind",
    "between",
    "beyond",
    "outside",
    "inside",
    "perhaps",
    "maybe",
    "suddenly",
    "finally",
    "slowly",
    "later",
    "soon",
    "yes",
    "well",
    "okay",
    "oh",
    "god",
    "had",
    "has",
    "have",
    "was",
    "were",
    "are",
    "did",
    "does",
    "don",
    "can",
    "could",
    "would",
    "should",
    "will",
    "may",
    "might",
    "must",
    "let",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "english",
    "french",
    "german",
    "russian",
    "chapter",
    "scene",
    "act",
    "part",
    "into",
    "upon",
    "across",
    "along",
    "though",
    "because",
    "until",
    "since",
    "another",
    "other",
    "more",
    "most",
    "many",
    "few",
    "never",
    "always",
    "near",
    "over",
    "under",
    "она",
    "они",
    "оно",
    "его",
    "её",
    "ее",
    "мне",
    "мой",
    "моя",
    "вот",
    "что",
    "как",
    "где",
    "так",
    "это",
    "эта",
    "этот",
    "тут",
    "там",
    "тогда",
    "потом",
    "только",
    "если",
    "когда",
    "пока",
    "может",
    "надо",
    "нет",
    "все",
    "всё",
    "никто",
    "кто",
    "вы",
    "мы",
    "ты",
    "затем",
    "после",
    "перед",
    "уже",
    "ещё",
    "еще",
    "для",
    "или",
    "глава",
    "сцена",
    // Prepositions, pronouns and adverbs at the beginning of a sentence: "In London", "Однажды".
    "in",
    "at",
    "on",
    "by",
    "to",
    "of",
    "as",
    "if",
    "so",
    "no",
    "or",
    "it",
    "he",
    "we",
    "my",
    "up",
    "is",
    "do",
    "me",
    "us",
    "am",
    "an",
    "be",
    "off",
    "out",
    "down",
    "about",
    "against",
    "among",
    "around",
    "beneath",
    "beside",
    "besides",
    "despite",
    "during",
    "like",
    "through",
    "toward",
    "towards",
    "unlike",
    "within",
    "today",
    "tonight",
    "tomorrow",
    "yesterday",
    "meanwhile",
    "afterwards",
    "eventually",
    "sometimes",
    "often",
    "instead",
    "however",
    "christmas",
    "easter",
    "halloween",
    "на",
    "по",
    "за",
    "из",
    "от",
    "до",
    "во",
    "ко",
    "со",
    "об",
    "не",
    "ни",
    "но",
    "да",
    "он",
    "их",
    "ей",
    "им",
    "под",
    "над",
    "при",
    "про",
    "без",
    "через",
    "около",
    "возле",
    "между",
    "среди",
    "против",
    "вместо",
    "кроме",
    "однажды",
    "вчера",
    "сегодня",
    "завтра",
    "наконец",
    "вдруг",
    "внезапно",
    "теперь",
    "сейчас",
    "иногда",
    "снова",
    "опять",
    "здесь",
    "утром",
    "днём",
    "днем",
    "вечером",
    "ночью",
    "весной",
    "летом",
    "осенью",
    "зимой",
    "сначала",
    "скоро",
    "вскоре",
    "даже",
    "лишь",
];

/// Titles before a name.
const TITLES: &[&str] = &[
    "mr",
    "mrs",
    "ms",
    "miss",
    "dr",
    "sir",
    "lady",
    "lord",
    "captain",
    "professor",
    "inspector",
    "господин",
    "госпожа",
];

/// Verbs of speaking: who stands beside one is a person.
const SPEECH_VERBS: &[&str] = &[
    "said",
    "says",
    "asked",
    "asks",
    "replied",
    "whispered",
    "shouted",
    "answered",
    "сказал",
    "спросил",
    "ответил",
    "прошептал",
    "крикнул",
    "sagte",
    "fragte",
];

/// Verbs in the past without a regular ending.
const PAST_VERBS: &[&str] = &[
    "was", "had", "went", "took", "knew", "saw", "felt", "thought", "stood", "sat", "ran", "held",
    "told", "came", "left", "kept", "put", "let", "found", "got", "gave", "made", "began", "woke",
    "fell", "drew", "shook", "rose", "is", "has",
];

/// Words before a place. In Russian the case separates it from a person.
const PLACE_WORDS: &[&str] = &["in", "into", "inside", "at", "within", "through", "across"];

/// Whether a word in lower case is never a name.
pub(super) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.contains(&word)
}

fn is_title(word: &str) -> bool {
    let word = word.to_lowercase();
    TITLES.contains(&word.as_str())
}

/// Splits a text into words.
pub(super) fn split_tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens: Vec<Token<'_>> = Vec::with_capacity(text.len() / 6);
    let mut gap = 0..0;
    let mut sentence = 0;
    let mut letters = text.char_indices().peekable();
    while let Some((start, first)) = letters.next() {
        if !first.is_alphanumeric() {
            continue;
        }
        let mut end = start + first.len_utf8();
        while let Some(&(at, letter)) = letters.peek() {
            // `don't` is one word, but the closing mark of `'Go'` is not part of one.
            let is_inner = APOSTROPHES.contains(&letter)
                && text
                    .get(at + letter.len_utf8()..)
                    .is_some_and(|rest| rest.starts_with(char::is_alphanumeric));
            if !letter.is_alphanumeric() && !is_inner {
                break;
            }
            end = at + letter.len_utf8();
            letters.next();
        }
        gap.end = start;
        let between = text.get(gap.clone()).unwrap_or_default();
        // "Mr. Thorne" is one sentence.
        let is_after_title = between == ". " && tokens.last().is_some_and(|it| is_title(it.text));
        let is_new = between.contains(SENTENCE_ENDS) && !is_after_title;
        if is_new {
            sentence = start;
        }
        let is_start = tokens.is_empty() || is_new || between.contains(OPENERS);
        let whole = text.get(start..end).unwrap_or_default();
        let bare = strip_possessive(whole);
        tokens.push(Token {
            text: bare,
            is_possessive: bare.len() < whole.len(),
            is_capital: is_name_shaped(bare),
            is_start,
            // Only these join the words of a name: a comma separates two people.
            is_joined: !tokens.is_empty() && (matches!(between, " " | "-") || is_after_title),
            at: start,
            sentence,
        });
        gap = end..end;
    }
    tokens
}

fn strip_possessive(word: &str) -> &str {
    let bare = word.strip_suffix("'s").or_else(|| word.strip_suffix("’s"));
    bare.unwrap_or(word)
}

/// Whether a word begins with a capital and goes on in lower case.
fn is_name_shaped(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next().is_some_and(char::is_uppercase) && letters.next().is_some_and(char::is_lowercase)
}

/// Returns the names of a text: runs of capitalised words, without articles before and titles. A place and a
/// person that no comma separates are two, as are two people in different cases. `planned` are names that the
/// blueprint has.
pub(super) fn find_runs<'t>(
    text: &'t str,
    tokens: &[Token<'t>],
    planned: impl Iterator<Item = &'t str>,
) -> Vec<NameRun<'t>> {
    let runs = find_capital_runs(text, tokens);
    let named = runs
        .iter()
        .filter(|run| run.is_after_place_word(tokens).is_none());
    let known: HashSet<&str> = named.map(|run| run.name).chain(planned).collect();
    let mut names = Vec::with_capacity(runs.len());
    for run in runs {
        match run.split_place(text, tokens, &known) {
            Some(both) => names.extend(both),
            None => names.push(run),
        }
    }
    names
}

/// Returns the runs of capitalised words that can be one name.
fn find_capital_runs<'t>(text: &'t str, tokens: &[Token<'t>]) -> Vec<NameRun<'t>> {
    let mut runs = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        if !token.is_capital {
            at += 1;
            continue;
        }
        let mut end = at + 1;
        // A possessive ends a name: "Elena's Marcus" are two.
        while tokens
            .get(end)
            .is_some_and(|next| next.is_capital && next.is_joined)
            && tokens.get(end - 1).is_some_and(|it| !it.is_possessive)
        {
            end += 1;
        }
        let whole = trim_run(text, tokens, at..end);
        at = end;
        let Some(run) = whole else {
            continue;
        };
        let is_spoken = run.is_speaker(tokens);
        let words = tokens.get(run.first..=run.last).unwrap_or_default();
        let agreeing = count_agreeing(words.iter().map(|it| it.text), is_spoken);
        if agreeing == words.len() {
            runs.push(run);
        } else {
            // "Анна Олегу": the second name begins a run of its own.
            at = run.first + agreeing.max(1);
            let name = NameRun::of_tokens(text, tokens, run.first, at - 1);
            let has_title = run.has_title;
            runs.extend(name.map(|name| NameRun { has_title, ..name }));
        }
    }
    runs
}

/// Returns a run without what is not part of the name.
fn trim_run<'t>(text: &'t str, tokens: &[Token<'t>], range: Range<usize>) -> Option<NameRun<'t>> {
    let mut first = range.start;
    let mut has_title = false;
    while first < range.end {
        let word = tokens.get(first)?.text.to_lowercase();
        let is_titled = TITLES.contains(&word.as_str());
        if !is_titled && !is_stop_word(&word) {
            break;
        }
        // A title is evidence of a person, but not part of the name that the memory knows.
        has_title |= is_titled;
        first += 1;
    }
    let last = range.end.checked_sub(1)?;
    let run = NameRun::of_tokens(text, tokens, first, last)?;
    Some(NameRun { has_title, ..run })
}

impl<'t> NameRun<'t> {
    fn of_tokens(text: &'t str, tokens: &[Token<'t>], first: usize, last: usize) -> Option<Self> {
        let head = tokens.get(first).filter(|_| first <= last)?;
        let tail = tokens.get(last)?;
        Some(Self {
            name: text.get(head.at..tail.at + tail.text.len())?,
            first,
            last,
            is_start: head.is_start,
            is_possessive: tail.is_possessive,
            has_title: false,
            sentence: head.sentence,
        })
    }

    /// Returns the place and the person of "In the Archive Marcus waited", which no comma separates: the person is
    /// the name that the text has elsewhere, or else the last word, if it acts.
    fn split_place(
        &self,
        text: &'t str,
        tokens: &[Token<'t>],
        known: &HashSet<&str>,
    ) -> Option<[Self; 2]> {
        self.is_after_place_word(tokens)?;
        if self.first == self.last || known.contains(self.name) {
            return None;
        }
        let is_known = |from: &usize| {
            let end = Self::of_tokens(text, tokens, *from, self.last);
            end.is_some_and(|end| known.contains(end.name))
        };
        let acting = || self.is_acting(tokens).then_some(self.last);
        // The longest name first: "Elena Vasquez" before "Vasquez".
        let person = (self.first + 1..=self.last)
            .find(is_known)
            .or_else(acting)?;
        Some([
            Self::of_tokens(text, tokens, self.first, person - 1)?,
            Self::of_tokens(text, tokens, person, self.last)?,
        ])
    }
}

impl NameRun<'_> {
    /// Returns the word after the name, if it is in the same sentence and nothing is between.
    pub(super) fn next<'a, 't>(&self, tokens: &'a [Token<'t>]) -> Option<&'a Token<'t>> {
        tokens.get(self.last + 1).filter(|next| next.is_joined)
    }

    /// Returns the word before the name, likewise.
    pub(super) fn previous<'a, 't>(&self, tokens: &'a [Token<'t>]) -> Option<&'a Token<'t>> {
        let head = tokens.get(self.first)?;
        let before = tokens.get(self.first.checked_sub(1)?)?;
        head.is_joined.then_some(before)
    }

    /// Whether the name stands beside a verb of speaking.
    pub(super) fn is_speaker(&self, tokens: &[Token<'_>]) -> bool {
        let speaks = |token: &Token<'_>| starts_with_any(token.text, SPEECH_VERBS);
        !self.is_possessive
            && (self.next(tokens).is_some_and(speaks) || self.previous(tokens).is_some_and(speaks))
    }

    /// Whether a verb follows the name.
    pub(super) fn is_acting(&self, tokens: &[Token<'_>]) -> bool {
        !self.is_possessive
            && self.next(tokens).is_some_and(|next| {
                let word = next.text;
                // Shorter words with these endings are mostly no verbs: `red`, `bed`, `зал`.
                let long = word.chars().count() >= 4;
                PAST_VERBS.contains(&word)
                    || long && word.ends_with("ed")
                    || long
                        && ["л", "ла", "ли", "лся", "лась"]
                            .iter()
                            .any(|end| word.ends_with(end))
                    || starts_with_any(word, ACTION_VERBS)
            })
    }

    /// Whether the name follows a word of place, and then whether an article is between.
    pub(super) fn is_after_place_word(&self, tokens: &[Token<'_>]) -> Option<bool> {
        let is_place_word = |token: &Token<'_>| {
            let word = token.text.to_lowercase();
            PLACE_WORDS.contains(&word.as_str())
        };
        let before = self.previous(tokens)?;
        if before.text != "the" {
            return is_place_word(before).then_some(false);
        }
        let at = self.first.checked_sub(2)?;
        let is_place = before.is_joined && tokens.get(at).is_some_and(is_place_word);
        is_place.then_some(true)
    }
}

/// Whether a word is one of these or begins with one that is not ASCII, and so inflected.
fn starts_with_any(word: &str, verbs: &[&str]) -> bool {
    verbs.iter().any(|verb| match verb.is_ascii() {
        true => word == *verb,
        false => word.starts_with(verb),
    })
}

/// Returns the sentence that begins at an offset, shortened to whole characters.
pub(super) fn sentence_at(text: &str, offset: usize, max_chars: usize) -> &str {
    let rest = text.get(offset..).unwrap_or_default();
    let mut end = rest.len();
    for (at, letter) in rest.char_indices() {
        let is_title_dot = letter == '.'
            && rest
                .get(..at)
                .and_then(|before| before.rsplit(|c: char| !c.is_alphanumeric()).next())
                .is_some_and(is_title);
        if SENTENCE_ENDS.contains(&letter) && !is_title_dot {
            end = at + if letter == '\n' { 0 } else { letter.len_utf8() };
            break;
        }
    }
    let sentence = rest.get(..end).unwrap_or_default();
    let cut = sentence.char_indices().nth(max_chars).map(|(at, _)| at);
    cut.and_then(|at| sentence.get(..at))
        .unwrap_or(sentence)
        .trim()
}
