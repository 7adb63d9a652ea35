//! Vocabulary check: discouraged words in Rust sources and in the documents, each with its replacement.
//!
//! The list is `xtask/vocabulary.txt`. A word counts wherever it stands alone, so also as a one-word identifier, but not as part of a
//! longer one (`_` is a letter here). A parser for comments and strings would be exact and is not worth it: the list holds only words that are
//! practically always wrong. Generated pages are not checked, because their text comes from the sources.

use std::path::PathBuf;

use regex::Regex;

use crate::workspace::{files_below, relative, root};

/// The list of words, relative to the repository.
const VOCABULARY_FILE: &str = "xtask/vocabulary.txt";

/// A line that contains this may quote discouraged words.
const EXEMPTION: &str = "vocabulary: quoted";

/// Documents beside `docs` that people read.
const DOCUMENTS: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "hostlab/README.md",
    "mcplab/README.md",
    "llmlab/README.md",
];

/// Written by `cargo xtask generate`.
const GENERATED_DOCUMENTS: &str = "docs/reference/";

/// Checks all sources and documents.
pub(super) fn check_vocabulary() -> Vec<String> {
    let path = root().join(VOCABULARY_FILE);
    let vocabulary = match std::fs::read_to_string(&path) {
        Ok(text) => Vocabulary::parse(&text),
        Err(error) => Err(error.to_string()),
    };
    let vocabulary = match vocabulary {
        Ok(vocabulary) => vocabulary,
        Err(error) => return vec![format!("{VOCABULARY_FILE}: {error}")],
    };
    let mut findings = Vec::new();
    for path in checked_files() {
        let name = relative(&path);
        match std::fs::read_to_string(&path) {
            Ok(text) => findings.extend(vocabulary.check_text(&name, &text)),
            Err(error) => findings.push(format!("{name} cannot be read: {error}")),
        }
    }
    findings
}

fn checked_files() -> Vec<PathBuf> {
    let sources = ["crates", "xtask"]
        .iter()
        .flat_map(|folder| files_below(&root().join(folder), ".rs"));
    let pages = files_below(&root().join("docs"), ".md")
        .into_iter()
        .filter(|path| !relative(path).starts_with(GENERATED_DOCUMENTS));
    let documents = DOCUMENTS.iter().map(|name| root().join(name));
    sources.chain(pages).chain(documents).collect()
}

/// The discouraged words, with one regular expression for all of them.
struct Vocabulary {
    /// Word or phrase, and its replacement; longer ones first.
    entries: Vec<(String, String)>,
    any_entry: Regex,
}

impl Vocabulary {
    /// Reads lines `word<TAB>replacement`; empty lines and those that begin with `#` are comments.
    fn parse(text: &str) -> Result<Self, String> {
        let mut entries: Vec<(String, String)> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let number = index + 1;
            let (word, replacement) = line.split_once('\t').ok_or_else(|| {
                format!("line {number}: expected a word, a tab and its replacement")
            })?;
            if word.trim().is_empty() || replacement.trim().is_empty() {
                return Err(format!(
                    "line {number}: the word or its replacement is empty"
                ));
            }
            entries.push((word.trim().to_owned(), replacement.trim().to_owned()));
        }
        if entries.is_empty() {
            return Err("no words".to_owned());
        }
        // The first alternative that matches wins, so a phrase has to come before its own first word.
        entries.sort_by(|(left, _), (right, _)| {
            (right.len(), left.as_str()).cmp(&(left.len(), right.as_str()))
        });
        let alternatives: Vec<String> = entries.iter().map(|(word, _)| pattern_of(word)).collect();
        let any_entry = Regex::new(&alternatives.join("|")).map_err(|error| error.to_string())?;
        Ok(Self { entries, any_entry })
    }

    /// Returns a finding for every discouraged word in a file.
    fn check_text(&self, name: &str, text: &str) -> Vec<String> {
        let lines: Vec<&str> = text.split('\n').collect();
        let mut findings = Vec::new();
        let mut line = 0;
        let mut counted = 0;
        for found in self.any_entry.find_iter(text) {
            line += text
                .get(counted..found.start())
                .unwrap_or_default()
                .matches('\n')
                .count();
            counted = found.start();
            if lines[line].contains(EXEMPTION) {
                continue;
            }
            let (word, replacement) = self.entry_of(found.as_str());
            findings.push(format!(
                "{name}:{}: `{word}`: write {replacement}",
                line + 1
            ));
        }
        findings
    }

    fn entry_of(&self, found: &str) -> (&str, &str) {
        let words: Vec<&str> = found
            .split_whitespace()
            .filter(|word| !word.starts_with("//"))
            .collect();
        let phrase = words.join(" ");
        self.entries
            .iter()
            .find(|(word, _)| word.eq_ignore_ascii_case(&phrase))
            .map(|(word, replacement)| (word.as_str(), replacement.as_str()))
            .expect("BUG: a match is one of the entries")
    }
}

/// Returns the pattern of one entry: whole words, also when a phrase is wrapped over two lines of text or comment.
///
/// An entry with upper-case letters is matched as it is written, one that ends with `_` as the beginning of an identifier.
fn pattern_of(entry: &str) -> String {
    let words: Vec<String> = entry.split_whitespace().map(regex::escape).collect();
    let phrase = words.join(r"\s+(?://[/!]?\s*)?");
    let flags = if entry.chars().any(char::is_uppercase) {
        "(?-u:"
    } else {
        "(?i-u:"
    };
    let end = if entry.ends_with('_') { "" } else { r"\b" };
    format!(r"{flags}\b{phrase}{end})")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> Vec<String> {
        let list = "# comment\n\nfrobnicate\tadjust\nold lamp\tlantern\nold lamp oil\tkerosene\nLEAST_\t`MIN_`\n";
        Vocabulary::parse(list).unwrap().check_text("a.rs", text)
    }

    #[test]
    fn a_word_is_found_in_any_case_with_its_line_and_replacement() {
        assert_eq!(
            findings("fn f() {}\n// Frobnicate it.\n"),
            ["a.rs:2: `frobnicate`: write adjust"]
        );
    }

    #[test]
    fn parts_of_words_and_identifiers_are_not_found() {
        let text = "frobnicated refrobnicate do_frobnicate frobnicate_it old lamps";
        assert_eq!(findings(text), Vec::<String>::new());
    }

    #[test]
    fn a_phrase_is_found_across_a_line_break_in_a_comment() {
        assert_eq!(
            findings("/// Lights the old\n/// lamp.\nold\n  lamp\n"),
            [
                "a.rs:1: `old lamp`: write lantern",
                "a.rs:3: `old lamp`: write lantern"
            ]
        );
    }

    #[test]
    fn the_longer_of_two_phrases_is_reported() {
        assert_eq!(
            findings("old lamp oil"),
            ["a.rs:1: `old lamp oil`: write kerosene"]
        );
    }

    #[test]
    fn a_prefix_with_capitals_is_found_as_it_is_written() {
        assert_eq!(
            findings("const LEAST_LINES: u8; fn least_lines(); AT_LEAST_ONE"),
            ["a.rs:1: `LEAST_`: write `MIN_`"]
        );
    }

    #[test]
    fn an_exempt_line_may_quote() {
        assert_eq!(
            findings("frobnicate // vocabulary: quoted\nfrobnicate\n"),
            ["a.rs:2: `frobnicate`: write adjust"]
        );
    }

    #[test]
    fn a_line_without_a_replacement_is_an_error() {
        let error = Vocabulary::parse("one\ttwo\nthree\n").err();
        assert_eq!(
            error.as_deref(),
            Some("line 2: expected a word, a tab and its replacement")
        );
    }

    #[test]
    fn the_list_of_the_repository_can_be_read() {
        let text = std::fs::read_to_string(root().join(VOCABULARY_FILE)).unwrap();
        assert_eq!(Vocabulary::parse(&text).err(), None);
    }
}
