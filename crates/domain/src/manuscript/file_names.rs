//! Names of chapter files: their order, and whether a name is that of a chapter.
//!
//! Numbers are compared as numbers, also Roman ones and those that are spelled out: `Глава вторая`
//! comes after `Глава первая`, and `chapter-10` after `chapter-9`.

use std::cmp::Ordering;

use super::heading_words::{
    is_chapter_word, is_opening_chapter, number_of_word, rank_of_heading, rank_of_word,
};

/// A piece of a name. Numbers come before letters.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum NamePiece {
    /// A chapter before the first one.
    Opening,
    Number(u64),
    Letters(String),
}

/// Compares two paths in the order in which a person numbers files.
#[must_use]
pub fn compare_file_names(one: &str, other: &str) -> Ordering {
    let pieces = |path: &str| -> Vec<Vec<NamePiece>> { path.split('/').map(split_name).collect() };
    pieces(one)
        .cmp(&pieces(other))
        // Names such as `1` and `01` are equal to a reader, and the order still has to be one.
        .then_with(|| one.cmp(other))
}

/// Whether the name of a file is that of a chapter: `chapter-01.md`, `Глава первая.txt`, `Epilogue.md`.
#[must_use]
pub fn is_chapter_name(name: &str) -> bool {
    let title = title_of_name(name).to_lowercase();
    let mut words = title.split_whitespace();
    let first = words.next().unwrap_or_default();
    let word = first.trim_end_matches(|c: char| c.is_ascii_digit());
    is_chapter_word(word) && (word.len() < first.len() || words.next().is_some())
}

/// Returns the name of a file as the words of a title: without extension, dashes and underscores.
pub(super) fn title_of_name(name: &str) -> String {
    let stem = match name.rsplit_once('.') {
        Some((stem, extension)) if is_extension(extension) && !stem.is_empty() => stem,
        _ => name,
    };
    let words: Vec<&str> = stem
        .split(|c: char| c.is_whitespace() || "-_".contains(c))
        .filter(|word| !word.is_empty())
        .collect();
    words.join(" ")
}

/// Whether a name has a place in the order of a book: it begins with a number, or as a heading does.
pub(super) fn is_numbered_name(name: &str) -> bool {
    let title = title_of_name(name);
    title.starts_with(|c: char| c.is_ascii_digit())
        || is_chapter_name(name)
        || rank_of_heading(&title).is_some()
}

fn is_extension(text: &str) -> bool {
    // `1. The gate` has no extension.
    !text.is_empty() && text.len() <= 8 && text.chars().all(|c| c.is_ascii_alphanumeric())
}

fn split_name(name: &str) -> Vec<NamePiece> {
    let title = title_of_name(name).to_lowercase();
    let mut pieces = Vec::new();
    let mut follows_heading_word = false;
    for word in title.split(|c: char| c.is_whitespace() || ".,:;()".contains(c)) {
        let number = number_of_word(word)
            .or_else(|| follows_heading_word.then(|| read_roman(word)).flatten());
        follows_heading_word = rank_of_word(word).is_some();
        match number {
            Some(number) => pieces.push(NamePiece::Number(number)),
            None if pieces.is_empty() && is_opening_chapter(word) => {
                pieces.push(NamePiece::Opening);
            }
            None => split_digits(word, &mut pieces),
        }
    }
    pieces
}

/// Splits `chapter10` into letters and a number.
fn split_digits(word: &str, pieces: &mut Vec<NamePiece>) {
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        let is_number = first.is_ascii_digit();
        let end = rest
            .find(|c: char| c.is_ascii_digit() != is_number)
            .unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        pieces.push(match is_number {
            // More digits than fit are larger than any number of a chapter.
            true => NamePiece::Number(piece.parse().unwrap_or(u64::MAX)),
            false => NamePiece::Letters(piece.to_owned()),
        });
        rest = after;
    }
}

/// Reads a Roman number below 400, which no book needs.
fn read_roman(word: &str) -> Option<u64> {
    let value = |letter: char| match letter {
        'i' => Some(1),
        'v' => Some(5),
        'x' => Some(10),
        'l' => Some(50),
        'c' => Some(100),
        _ => None,
    };
    let values: Vec<u64> = word.chars().map(value).collect::<Option<_>>()?;
    // From the right: a smaller one before a larger one is subtracted, as in `iv`.
    let mut largest = 0;
    let mut total = 0_u64;
    for value in values.iter().rev() {
        if *value < largest {
            total = total.saturating_sub(*value);
        } else {
            total = total.saturating_add(*value);
            largest = *value;
        }
    }
    (!values.is_empty()).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ordered_by_their_numbers() {
        for sorted in [
            &["chapter-1.md", "chapter-2.md", "chapter-010.md"][..],
            &["Prologue.md", "Chapter 1.md", "Chapter 2.md", "Epilogue.md"],
            &[
                "Глава первая.md",
                "Глава вторая.md",
                "Глава третья.md",
                "Глава десятая.md",
            ],
            &[
                "Chapter I.md",
                "Chapter IV.md",
                "Chapter IX.md",
                "Chapter XI.md",
            ],
            &[
                "Chapter Two.md",
                "Chapter Twenty-One.md",
                "The Last Chapter.md",
            ],
            &["chapter2.md", "chapter10.md"],
            &[
                "part-1/chapter-9.md",
                "part-2/chapter-1.md",
                "part-10/chapter-2.md",
            ],
        ] {
            let mut names = sorted.to_vec();
            names.reverse();
            names.sort_by(|one, other| compare_file_names(one, other));
            assert_eq!(names, sorted);
        }
    }

    #[test]
    fn chapters_are_told_by_their_names() {
        for name in [
            "chapter-01.md",
            "Chapter 3: Rain.txt",
            "Глава первая.md",
            "Kapitel_2.md",
            "chapter07.md",
        ] {
            assert!(is_chapter_name(name), "{name}");
        }
        for name in [
            "chapter.md",
            "chapters-of-accounts.md",
            "README.md",
            "01.md",
            "",
        ] {
            assert!(!is_chapter_name(name), "{name}");
        }
    }
}
