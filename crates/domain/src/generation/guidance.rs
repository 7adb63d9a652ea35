//! The author's guidance for writer and judge: style guide, voice samples, forbidden words and a checklist,
//! as files of the project, for the whole book and for each point of view.

use super::record::{FindingSeverity, SceneFinding};
use crate::search::split_words;

/// Folder of the author's files.
pub const GUIDANCE_FOLDER: &str = "story";
/// Folder of the files for a point of view: `story/pov/NAME/style.md`.
pub const POV_FOLDER: &str = "story/pov";
/// Maximum size of one of these files.
pub const MAX_GUIDANCE_BYTES: u64 = 64 * 1024;
/// Maximum number of forbidden words and phrases, and of points of the checklist.
const MAX_GUIDANCE_LINES: usize = 500;
/// Maximum number of findings about forbidden words in one scene.
const MAX_FORBIDDEN_FINDINGS: usize = 12;
/// Words around a forbidden one in the quote.
const QUOTED_WORDS: usize = 4;

/// The author's files, by what they say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuidanceFile {
    Style,
    Voice,
    ForbiddenWords,
    Checklist,
}

impl GuidanceFile {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Style,
        Self::Voice,
        Self::ForbiddenWords,
        Self::Checklist,
    ];

    /// Returns the file's name.
    #[must_use]
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::Style => "style.md",
            Self::Voice => "voice.md",
            Self::ForbiddenWords => "forbidden-words.md",
            Self::Checklist => "checklist.md",
        }
    }
}

/// What the author wants of a scene.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuthorGuidance {
    pub style: String,
    pub voice: String,
    pub forbidden: Vec<ForbiddenPhrase>,
    /// What the judge checks, a point each.
    pub checklist: Vec<String>,
    /// The point of view, where the scene's blueprint does not name it.
    pub pov: Option<String>,
}

/// A word or phrase that must not be in the prose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForbiddenPhrase {
    /// As the author wrote it.
    pub text: String,
    /// Its words in lower case; the last one may be a beginning.
    words: Vec<String>,
    is_beginning: bool,
    is_must: bool,
}

impl ForbiddenPhrase {
    /// Parses a line: `suddenly`, `must: in order to`, `very *` for every word that begins so.
    fn parse(line: &str) -> Option<Self> {
        let (text, is_must) = match line.strip_prefix("must:") {
            Some(rest) => (rest.trim(), true),
            None => (line.trim(), false),
        };
        let (bare, is_beginning) = match text.strip_suffix('*') {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        // Words, not letters: "very" must not be found in "every".
        let words = split_words(bare);
        (!words.is_empty()).then(|| Self {
            text: text.to_owned(),
            words,
            is_beginning,
            is_must,
        })
    }

    /// Returns the place of its first occurrence.
    fn find_in(&self, text: &[String]) -> Option<usize> {
        let (last, before) = self.words.split_last()?;
        let is_last = |word: &String| match self.is_beginning {
            true => word.starts_with(last.as_str()),
            false => word == last,
        };
        text.windows(self.words.len()).position(|window| {
            let (end, start) = window
                .split_last()
                .map_or((None, window), |(end, start)| (Some(end), start));
            start == before && end.is_some_and(is_last)
        })
    }
}

impl AuthorGuidance {
    /// Adds a file. Those of a point of view come after those of the book.
    pub fn add_file(&mut self, file: GuidanceFile, text: &str) {
        match file {
            GuidanceFile::Style => push_text(&mut self.style, text),
            GuidanceFile::Voice => push_text(&mut self.voice, text),
            GuidanceFile::ForbiddenWords => {
                // The same phrase in the book's list and a point of view's would be reported twice.
                let known: Vec<String> = self.forbidden.iter().map(|it| it.text.clone()).collect();
                let room = MAX_GUIDANCE_LINES.saturating_sub(known.len());
                let lines = list_lines(text);
                let phrases = lines.iter().filter_map(|line| ForbiddenPhrase::parse(line));
                let new = phrases.filter(|phrase| !known.contains(&phrase.text));
                self.forbidden.extend(new.take(room));
            }
            GuidanceFile::Checklist => {
                let room = MAX_GUIDANCE_LINES.saturating_sub(self.checklist.len());
                self.checklist
                    .extend(list_lines(text).into_iter().take(room));
            }
        }
    }
}

fn push_text(text: &mut String, more: &str) {
    let (_, more) = crate::front_matter::split_front_matter(more);
    if !text.is_empty() && !more.trim().is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(more.trim());
}

/// Returns the lines of a list, without its marks; headings and empty lines are not part of it.
fn list_lines(text: &str) -> Vec<String> {
    let (_, body) = crate::front_matter::split_front_matter(text);
    let lines = body.lines().map(|line| {
        let line = line.trim();
        let line = line
            .strip_prefix("- ")
            .or_else(|| line.strip_prefix("* "))
            .unwrap_or(line);
        // A checklist may be written as a task list.
        let line = line.strip_prefix("[ ] ").unwrap_or(line);
        line.trim()
    });
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(str::to_owned).collect()
}

/// Returns the findings about forbidden words in a scene.
#[must_use]
pub fn find_forbidden_words(words: &[String], forbidden: &[ForbiddenPhrase]) -> Vec<SceneFinding> {
    let found = forbidden.iter().filter_map(|phrase| {
        let at = phrase.find_in(words)?;
        let from = at.saturating_sub(QUOTED_WORDS);
        let to = (at + phrase.words.len() + QUOTED_WORDS).min(words.len());
        let quote = words.get(from..to).map(|words| words.join(" "));
        Some(SceneFinding {
            check: "forbidden-words".to_owned(),
            severity: match phrase.is_must {
                true => FindingSeverity::Must,
                false => FindingSeverity::Should,
            },
            problem: format!(
                "“{}” is on the author's list of forbidden words",
                phrase.text
            ),
            quote,
            against: None,
        })
    });
    // More at once would turn the revision into a rewrite; the next check reports the rest.
    found.take(MAX_FORBIDDEN_FINDINGS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guidance(list: &str) -> AuthorGuidance {
        let mut guidance = AuthorGuidance::default();
        guidance.add_file(GuidanceFile::ForbiddenWords, list);
        guidance
    }

    #[test]
    fn forbidden_words_are_found_in_any_case_and_as_phrases() {
        let list = guidance("# Not in this book\n\n- suddenly\n- must: in order to\n- orb*\n");
        let found = |text: &str| {
            let findings = find_forbidden_words(&split_words(text), &list.forbidden);
            findings
                .into_iter()
                .map(|it| (it.problem, it.severity))
                .collect::<Vec<_>>()
        };
        assert_eq!(found("She left at once, in no order."), []);
        assert_eq!(found("Suddenly she left.").len(), 1);
        assert_eq!(found("Her orbs shone; she came in order to stay.").len(), 2);
        let musts = found("In order to stay.");
        assert_eq!(musts.first().map(|it| it.1), Some(FindingSeverity::Must));
    }

    #[test]
    fn files_of_a_point_of_view_add_to_those_of_the_book() {
        let mut all = guidance("suddenly\n");
        all.add_file(GuidanceFile::ForbiddenWords, "suddenly\nmoreover\n");
        assert_eq!(all.forbidden.len(), 2);
        all.add_file(GuidanceFile::Style, "Short sentences.\n");
        all.add_file(GuidanceFile::Style, "---\nx: y\n---\nMara notices hands.\n");
        assert_eq!(all.style, "Short sentences.\n\nMara notices hands.");
        all.add_file(GuidanceFile::Checklist, "- [ ] The weather is right.\n");
        assert_eq!(all.checklist, ["The weather is right."]);
    }
}
