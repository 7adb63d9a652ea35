//! Details of the book besides its text: title, author and language, which the author keeps in a file.

use crate::front_matter::{parse_front_matter, set_key, split_front_matter};

/// The file with the book's details: YAML front matter, and the author's own notes below it.
pub const BOOK_DETAILS_PATH: &str = "story/book.md";
/// Maximum size of that file.
pub const MAX_BOOK_DETAILS_BYTES: u64 = 256 * 1024;

/// Details of the book.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BookDetails {
    pub title: Option<String>,
    pub subtitle: Option<String>,
    pub author: Option<String>,
    /// Name and address for the first page of a manuscript, a line each.
    pub contact: Vec<String>,
    /// BCP 47, as `en-GB`.
    pub language: Option<String>,
    pub rights: Option<String>,
}

impl BookDetails {
    /// Parses the file.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let about = parse_front_matter(text);
        let get = |key: &str| {
            let value = about.get_text(key).map(|it| it.trim().to_owned());
            value.filter(|value| !value.is_empty())
        };
        let authors = about.get_list("author").join(", ");
        let contact = get("contact").unwrap_or_else(|| about.get_list("contact").join("\n"));
        Self {
            title: get("title"),
            subtitle: get("subtitle"),
            author: get("author").or_else(|| Some(authors).filter(|it| !it.is_empty())),
            contact: contact.lines().map(|line| line.trim().to_owned()).collect(),
            language: get("language").filter(|tag| is_language_tag(tag)),
            rights: get("rights"),
        }
    }
}

/// Whether a text has the form of a language tag; another one would make an EPUB invalid.
fn is_language_tag(tag: &str) -> bool {
    let is_part = |part: &str| {
        (1..=8).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphanumeric())
    };
    let first = tag.split('-').next().unwrap_or_default();
    (2..=3).contains(&first.len())
        && first.bytes().all(|b| b.is_ascii_alphabetic())
        && tag.split('-').all(is_part)
}

/// Composes the file of an imported book.
#[must_use]
pub fn compose_book_details(title: Option<&str>, author: Option<&str>, notes: &str) -> String {
    let mut text = match notes.trim() {
        "" => String::new(),
        notes => format!("{notes}\n"),
    };
    for (key, value) in [("author", author), ("title", title)] {
        if let Some(value) = value {
            // A JSON string is a YAML string.
            text = set_key(&text, key, &serde_json::Value::from(value).to_string());
        }
    }
    debug_assert!(split_front_matter(&text).0.is_some() || title.or(author).is_none());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_are_read_back_as_composed() {
        let text =
            compose_book_details(Some("Salt: a \"novel\""), Some("Ann Bo"), "For my mother.");
        let read = BookDetails::parse(&text);
        assert_eq!(read.title.as_deref(), Some("Salt: a \"novel\""));
        assert_eq!(read.author.as_deref(), Some("Ann Bo"));
        assert!(text.ends_with("For my mother.\n"), "{text}");
    }

    #[test]
    fn only_language_tags_are_languages() {
        let read =
            |value: &str| BookDetails::parse(&format!("---\nlanguage: {value}\n---\n")).language;
        assert_eq!(read("en-GB").as_deref(), Some("en-GB"));
        assert_eq!(read("English <b>"), None);
    }
}
