//! Reader of definitions written by hand in TOML (profiles, workflows): every problem names file,
//! line, key and the allowed values.
//!
//! Stops at the first problem: one mistake in a definition often causes the next. Settings have
//! their own reader, because they also come from the environment, where there are no lines.

use serde::de::DeserializeOwned;
use toml::Spanned;

use crate::suggest::with_suggestion;

/// A problem in a definition and its location.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct TomlProblem {
    pub file: String,
    pub line: usize,
    pub message: String,
}

/// A definition's text; the file name is only used in messages.
#[derive(Clone, Copy)]
pub(crate) struct TomlReader<'a> {
    pub(crate) file: &'a str,
    pub(crate) text: &'a str,
    /// Maximum length of a name.
    pub(crate) max_word_bytes: usize,
}

impl TomlReader<'_> {
    /// Deserialises the text; an unknown key is a problem, with the nearest known one.
    pub(crate) fn parse<T: DeserializeOwned>(&self) -> Result<T, TomlProblem> {
        toml::from_str(self.text).map_err(|error| TomlProblem {
            file: self.file.to_owned(),
            line: self.line_number(error.span().map_or(0, |span| span.start)),
            message: with_suggestion(error.message()),
        })
    }

    /// Returns the problem of a value.
    pub(crate) fn problem_at(&self, at: &Spanned<String>, key: &str, why: &str) -> TomlProblem {
        TomlProblem {
            file: self.file.to_owned(),
            line: self.line_number(at.span().start),
            message: format!("`{key}`: {why}"),
        }
    }

    /// Returns a name. Names are typed in commands and are parts of file names, hence neither
    /// blanks nor separators.
    pub(crate) fn parse_word(
        &self,
        at: &Spanned<String>,
        key: &str,
    ) -> Result<String, TomlProblem> {
        let word = at.get_ref();
        let is_word = !word.is_empty()
            && word.len() <= self.max_word_bytes
            && word
                .chars()
                .all(|c| c.is_alphanumeric() || c == '-' || c == '_');
        if !is_word {
            let why = "expected one word of letters, digits, `-` or `_`";
            return Err(self.problem_at(at, key, why));
        }
        Ok(word.clone())
    }

    /// Checks that a word is one of the known names of its kind.
    pub(crate) fn check_known(
        &self,
        at: &Spanned<String>,
        key: &str,
        kind: &str,
        known: &[&str],
    ) -> Result<(), TomlProblem> {
        if known.contains(&at.get_ref().as_str()) {
            return Ok(());
        }
        let why = format!(
            "no {kind} `{}`: expected one of {}",
            at.get_ref(),
            quote_words(known)
        );
        Err(self.problem_at(at, key, &why))
    }

    /// Returns the value of a word; without a word the default, which is the first choice.
    pub(crate) fn parse_choice<T: Copy>(
        &self,
        at: Option<&Spanned<String>>,
        key: &str,
        choices: &[(&str, T)],
    ) -> Result<T, TomlProblem> {
        let word = at.map_or(choices[0].0, |at| at.get_ref().as_str());
        match (choices.iter().find(|(known, _)| *known == word), at) {
            (Some((_, value)), _) => Ok(*value),
            (None, None) => Ok(choices[0].1),
            (None, Some(at)) => {
                let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
                let why = format!(
                    "`{word}` is not allowed: expected one of {}",
                    quote_words(&words)
                );
                Err(self.problem_at(at, key, &why))
            }
        }
    }

    /// Returns the values of a list of words.
    pub(crate) fn parse_choices<T: Copy>(
        &self,
        list: &[Spanned<String>],
        key: &str,
        choices: &[(&str, T)],
    ) -> Result<Vec<T>, TomlProblem> {
        list.iter()
            .map(|word| self.parse_choice(Some(word), key, choices))
            .collect()
    }

    fn line_number(&self, offset: usize) -> usize {
        // Bytes, not a slice: an offset within a character would panic.
        let before = self.text.bytes().take(offset);
        1 + before.filter(|byte| *byte == b'\n').count()
    }
}

fn quote_words(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    quoted.join(", ")
}

/// Returns the texts of a list without their locations.
pub(crate) fn unspan_words(words: &[Spanned<String>]) -> Vec<String> {
    words.iter().map(|word| word.get_ref().clone()).collect()
}
