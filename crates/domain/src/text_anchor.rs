//! Anchors: a place in a text, kept by its words so that it is found again when the text changed.
//!
//! For plans and prose alike. Words are compared by their letters and digits alone: a quotation from a
//! rendered page has neither the Markdown of the file nor its line breaks. An anchor is never moved to
//! words that are not its own: where they are gone, it is outdated.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::VersionHash;

/// Maximum length of a quotation, in characters.
pub const MAX_QUOTE_CHARS: usize = 1_000;

/// Letters and digits kept around a quotation, to tell equal ones apart.
const CONTEXT_CHARS: usize = 32;

/// A quoted place in a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextAnchor {
    /// The words, as they were quoted.
    pub quote: String,
    /// Heading of the section they were in; empty before the first heading.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub section: String,
    /// The text they were quoted from.
    pub version: VersionHash,
    /// The letters and digits before and after the words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub before: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub after: String,
}

/// Where an anchor is in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnchoredPlace {
    /// The bytes of the words in the text.
    pub range: Range<usize>,
    /// The line, from 1.
    pub line: usize,
    /// Heading of the section.
    pub section: String,
}

/// Whether an anchor still fits its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AnchorState {
    /// The text is the one that was quoted.
    Current,
    /// The text changed, and the words are still in it.
    Moved,
    /// The words are gone.
    Outdated,
}

/// Why a quotation is no anchor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnchorProblem {
    #[error("the quotation has no words")]
    Empty,
    #[error("the quotation has {0} characters; at most {MAX_QUOTE_CHARS} are possible")]
    TooLong(usize),
    #[error("the quoted words are not in the text")]
    NotFound,
}

impl TextAnchor {
    /// Creates the anchor of a quotation. `section` prefers an occurrence below that heading.
    ///
    /// # Errors
    /// When the words are not in the text, there are none, or they are too many.
    pub fn from_quote(
        text: &str,
        version: VersionHash,
        quote: &str,
        section: Option<&str>,
    ) -> Result<Self, AnchorProblem> {
        let quote = quote.trim();
        let length = quote.chars().count();
        if length > MAX_QUOTE_CHARS {
            return Err(AnchorProblem::TooLong(length));
        }
        let wanted = Letters::of_text(quote);
        if wanted.letters.is_empty() {
            return Err(AnchorProblem::Empty);
        }
        let letters = Letters::of_text(text);
        let found = letters.find_all(&wanted.letters);
        let is_in_section = |at: &&usize| {
            section.is_some_and(|section| section_at(text, letters.offset(**at)) == section)
        };
        let at = *found
            .iter()
            .find(is_in_section)
            // A heading that was edited meanwhile must not refuse a comment whose words are there.
            .or(found.first())
            .ok_or(AnchorProblem::NotFound)?;
        let end = at + wanted.letters.len();
        Ok(Self {
            quote: quote.to_owned(),
            section: section_at(text, letters.offset(at)),
            version,
            before: letters.slice(at.saturating_sub(CONTEXT_CHARS), at),
            after: letters.slice(end, end + CONTEXT_CHARS),
        })
    }

    /// Finds the words in a text; of several occurrences the one whose surroundings and section fit
    /// best. `None` if they are gone.
    #[must_use]
    pub fn find_in(&self, text: &str) -> Option<AnchoredPlace> {
        let wanted = Letters::of_text(&self.quote).letters;
        let letters = Letters::of_text(text);
        let score = |at: &usize| {
            let end = at + wanted.len();
            let before = letters.slice(at.saturating_sub(CONTEXT_CHARS), *at);
            let after = letters.slice(end, end + CONTEXT_CHARS);
            // One point only: a section may be renamed, while the words around the quotation are
            // better evidence.
            let fits_section = section_at(text, letters.offset(*at)) == self.section;
            count_common_end(&before, &self.before)
                + count_common_start(&after, &self.after)
                + usize::from(fits_section)
        };
        let found = letters.find_all(&wanted);
        // The first of equal ones: `max_by_key` returns the last.
        let at = found.into_iter().rev().max_by_key(score)?;
        let start = letters.offset(at);
        let end = letters.end_offset(at + wanted.len().saturating_sub(1));
        Some(AnchoredPlace {
            line: text
                .get(..start)
                .map_or(1, |above| above.matches('\n').count() + 1),
            section: section_at(text, start),
            range: start..end,
        })
    }

    /// Returns whether the anchor fits a text of this version.
    #[must_use]
    pub fn state_in(&self, version: VersionHash, text: &str) -> AnchorState {
        match self.find_in(text) {
            Some(_) if version == self.version => AnchorState::Current,
            Some(_) => AnchorState::Moved,
            None => AnchorState::Outdated,
        }
    }
}

/// The letters and digits of a text, with their places.
struct Letters {
    letters: Vec<char>,
    /// Byte offset of each in the text.
    offsets: Vec<usize>,
}

impl Letters {
    fn of_text(text: &str) -> Self {
        let (offsets, letters) = text
            .char_indices()
            .filter(|(_, letter)| letter.is_alphanumeric())
            .unzip();
        Self { letters, offsets }
    }

    fn offset(&self, at: usize) -> usize {
        self.offsets.get(at).copied().unwrap_or_default()
    }

    fn end_offset(&self, at: usize) -> usize {
        let length = self.letters.get(at).map_or(0, |letter| letter.len_utf8());
        self.offset(at) + length
    }

    fn slice(&self, from: usize, to: usize) -> String {
        let to = to.min(self.letters.len());
        self.letters
            .get(from.min(to)..to)
            .unwrap_or_default()
            .iter()
            .collect()
    }

    fn find_all(&self, wanted: &[char]) -> Vec<usize> {
        if wanted.is_empty() {
            return Vec::new();
        }
        // Case counts: a quotation is copied, not typed.
        let windows = self.letters.windows(wanted.len()).enumerate();
        windows
            .filter(|(_, window)| *window == wanted)
            .map(|(at, _)| at)
            .collect()
    }
}

fn count_common_start(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

fn count_common_end(a: &str, b: &str) -> usize {
    let pairs = a.chars().rev().zip(b.chars().rev());
    pairs.take_while(|(a, b)| a == b).count()
}

/// Returns the heading above a place of a Markdown text; empty before the first. A heading belongs to
/// its own section.
fn section_at(text: &str, offset: usize) -> String {
    let line_end = text
        .get(offset..)
        .and_then(|rest| rest.find('\n'))
        .map_or(text.len(), |end| offset + end);
    let above = text.get(..line_end).unwrap_or(text);
    let mut in_code = false;
    let mut heading = String::new();
    for line in above.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        let stripped = line.trim_start_matches('#');
        let is_heading = stripped.len() < line.len() && stripped.starts_with(' ');
        if is_heading && !in_code {
            stripped.trim().clone_into(&mut heading);
        }
    }
    heading
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# The key\n\n## Beats\n\nThe lamp *goes out*. She says nothing.\n\n## Ending\n\nShe says nothing. The tide\nturns.\n";

    fn version(text: &str) -> VersionHash {
        VersionHash::of_bytes(text.as_bytes())
    }

    fn anchor(quote: &str, section: Option<&str>) -> TextAnchor {
        TextAnchor::from_quote(TEXT, version(TEXT), quote, section).unwrap()
    }

    #[test]
    fn a_quotation_of_the_rendered_page_is_found_in_the_markdown() {
        let anchor = anchor("lamp goes out", None);
        assert_eq!(anchor.section, "Beats");
        let place = anchor.find_in(TEXT).unwrap();
        assert_eq!(TEXT.get(place.range), Some("lamp *goes out"));
        assert_eq!(place.line, 5);
        let broken = self::anchor("The tide turns", None);
        assert_eq!(
            TEXT.get(broken.find_in(TEXT).unwrap().range),
            Some("The tide\nturns")
        );
    }

    #[test]
    fn of_equal_words_the_section_and_the_surroundings_decide() {
        let anchor = anchor("She says nothing.", Some("Ending"));
        assert_eq!(anchor.section, "Ending");
        assert_eq!(anchor.find_in(TEXT).unwrap().line, 9);
        // The section was renamed, and another sentence stands above it.
        let changed = TEXT.replace("## Ending", "## The end\n\nRain.");
        let place = anchor.find_in(&changed).unwrap();
        assert_eq!(place.section, "The end");
        assert_eq!(
            anchor.state_in(version(&changed), &changed),
            AnchorState::Moved
        );
        assert_eq!(anchor.state_in(version(TEXT), TEXT), AnchorState::Current);
    }

    #[test]
    fn words_that_are_gone_are_outdated_and_never_others() {
        let anchor = anchor("The tide turns", None);
        let changed = TEXT.replace("turns", "stands");
        assert_eq!(anchor.find_in(&changed), None);
        assert_eq!(
            anchor.state_in(version(&changed), &changed),
            AnchorState::Outdated
        );
    }

    #[test]
    fn a_quotation_needs_words_of_the_text() {
        let refused = |quote: &str| TextAnchor::from_quote(TEXT, version(TEXT), quote, None);
        assert_eq!(refused(" *** "), Err(AnchorProblem::Empty));
        assert_eq!(refused("a storm"), Err(AnchorProblem::NotFound));
        let long = "x".repeat(MAX_QUOTE_CHARS + 1);
        assert_eq!(
            refused(&long),
            Err(AnchorProblem::TooLong(MAX_QUOTE_CHARS + 1))
        );
    }
}
