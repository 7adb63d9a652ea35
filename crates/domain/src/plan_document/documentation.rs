//! Planned documentation in the repository: which of a milestone's texts its files do not have.
//!
//! A text is found by its words, not by its wording: who brings it in compares each sentence with the
//! code and corrects it.

use std::collections::BTreeSet;

use super::model::{Documentation, Milestone};

/// Share of a text's words, in percent, that the files must have.
const MIN_FOUND_PERCENT: usize = 50;

/// Words below this length are in every file.
const MIN_WORD_CHARS: usize = 4;

/// A planned text that is not in the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingText {
    pub milestone: String,
    /// `module comment`, `docstring of f` and so on.
    pub place: String,
    /// The files that were read.
    pub files: Vec<String>,
}

impl MissingText {
    /// Describes the gap with the command that shows the text.
    #[must_use]
    pub fn render_line(&self) -> String {
        let Self {
            milestone, place, ..
        } = self;
        let files = match self.files.as_slice() {
            [] => "any file".to_owned(),
            files => files.join(", "),
        };
        format!("the planned {place} of {milestone} is not in {files}: tl doc show {milestone}")
    }
}

/// Returns the planned texts of a milestone that its files do not have. `read` returns the text of a
/// file.
#[must_use]
pub fn find_missing_documentation(
    milestone: &Milestone,
    read: impl Fn(&str) -> Option<String>,
) -> Vec<MissingText> {
    let mut missing = Vec::new();
    for (place, target, text) in list_texts(&milestone.documentation) {
        let mut files = milestone.files.clone();
        // The target may name a file of its own: `src/index.rs:12`.
        let named = target.split([':', '#', ' ']).next().unwrap_or_default();
        if named.contains(['/', '.']) && !files.iter().any(|file| file == named) {
            files.push(named.to_owned());
        }
        let contents: Vec<String> = files.iter().filter_map(|file| read(file)).collect();
        if !has_text(&contents, text) {
            missing.push(MissingText {
                milestone: milestone.id.clone(),
                place,
                files,
            });
        }
    }
    missing
}

/// Words that stand where a text is still to be written.
const PLACEHOLDER_WORDS: [&str; 8] = [
    "todo",
    "tbd",
    "fixme",
    "xxx",
    "wip",
    "placeholder",
    "lorem",
    "ipsum",
];

/// Whether a text says nothing: no word at all, or only words that stand for one.
#[must_use]
pub fn is_placeholder(text: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .all(|word| PLACEHOLDER_WORDS.contains(&word.to_lowercase().as_str()))
}

impl Documentation {
    /// Whether one of its texts is more than a placeholder.
    #[must_use]
    pub fn says_something(&self) -> bool {
        list_texts(self)
            .iter()
            .any(|(_, _, text)| !is_placeholder(text))
    }
}

/// Lists planned texts with where each belongs.
pub(super) fn list_texts(planned: &Documentation) -> Vec<(String, &str, &str)> {
    let module = planned
        .module_comment
        .iter()
        .map(|text| ("module comment".to_owned(), "", text.as_str()));
    let mut texts: Vec<(String, &str, &str)> = module.collect();
    for (kind, list) in [
        ("docstring", &planned.docstrings),
        ("algorithm block", &planned.algorithm_blocks),
        ("inline comment", &planned.inline_comments),
    ] {
        texts.extend(list.iter().map(|one| {
            let place = format!("{kind} of {}", one.target);
            (place, one.target.as_str(), one.text.as_str())
        }));
    }
    texts
}

/// Whether the contents have most words of a text.
fn has_text(contents: &[String], text: &str) -> bool {
    let wanted = collect_words(text);
    let found: BTreeSet<String> = contents
        .iter()
        .flat_map(|text| collect_words(text))
        .collect();
    let present = wanted.iter().filter(|word| found.contains(*word)).count();
    present * 100 >= wanted.len() * MIN_FOUND_PERCENT
}

/// Returns the words of a text that say something; of a text of short words, all.
fn collect_words(text: &str) -> BTreeSet<String> {
    let words: BTreeSet<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let long: BTreeSet<String> = words
        .iter()
        .filter(|word| word.chars().count() >= MIN_WORD_CHARS)
        .cloned()
        .collect();
    match long.is_empty() {
        true => words,
        false => long,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn milestone(json: serde_json::Value) -> Milestone {
        let mut whole = serde_json::json!({ "id": "M-001", "number": 1, "name": "Index" });
        let fields = json.as_object().cloned().unwrap_or_default();
        whole.as_object_mut().expect("an object").extend(fields);
        serde_json::from_value(whole).expect("a milestone")
    }

    fn missing(milestone: &Milestone, content: &str) -> Vec<String> {
        let read = |_: &str| Some(content.to_owned());
        let found = find_missing_documentation(milestone, read);
        found.iter().map(MissingText::render_line).collect()
    }

    #[test]
    fn a_placeholder_says_nothing() {
        for text in ["…", "TODO", "tbd.", "(fixme: TODO)", "  ", "---"] {
            assert!(is_placeholder(text), "{text}");
            let documented = milestone(serde_json::json!({
                "documentation": { "module_comment": text },
            }));
            assert!(!documented.documentation.says_something(), "{text}");
        }
        for text in ["An index.", "TODO list of the user", "索引"] {
            assert!(!is_placeholder(text), "{text}");
        }
    }

    #[test]
    fn a_corrected_sentence_is_found_and_an_absent_one_named() {
        let index = milestone(serde_json::json!({
            "files": ["src/index.rs"],
            "documentation": {
                "module_comment": "Maps every word to the plans that contain it.",
                "docstrings": [{ "target": "build", "text": "Строит индекс за один проход." }],
                "algorithm_blocks": [], "inline_comments": [],
            },
        }));
        let code = "//! Maps each word to those plans which contain it, sorted.\n\
                    /// Строит индекс за один проход по словам.\nfn build() {}\n";
        assert!(missing(&index, code).is_empty());
        assert_eq!(
            missing(&index, "fn build() {}\n"),
            [
                "the planned module comment of M-001 is not in src/index.rs: tl doc show M-001",
                "the planned docstring of build of M-001 is not in src/index.rs: tl doc show M-001",
            ]
        );
        assert!(missing(&milestone(serde_json::json!({})), "").is_empty());
    }
}
