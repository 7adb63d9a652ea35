//! Documents of the project-wide search index, and the filters of a query.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::folding::fold_words;
use super::{SearchQuery, split_words};
use crate::named_enum::named_enum;
use crate::node::Status;
use crate::suggest::nearest_hint;

named_enum! {
    /// What a document of the search index is.
    #[derive(
        Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        schemars::JsonSchema,
    )]
    pub enum DocumentKind {
        /// The text of a plan.
        Plan = "plan",
        /// Prose written from a plan.
        Prose = "prose",
        Comment = "comment",
        /// A note or an anchor of a session.
        Note = "note",
        /// An entry of the story's memory.
        Memory = "memory",
        /// The summary of an operation.
        Log = "log",
    }
}

impl DocumentKind {
    /// Parses its name, singular or plural.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        let word = word.to_lowercase();
        Self::ALL.into_iter().find(|kind| {
            word.strip_prefix(kind.as_str())
                .is_some_and(|rest| matches!(rest, "" | "s"))
        })
    }
}

/// Identity of a document: its kind, and the node, record or operation it is made from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentKey {
    pub kind: DocumentKind,
    pub key: String,
}

/// A document to be indexed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchDocument {
    pub id: DocumentKey,
    /// Changes with the text; a document with another mark is indexed again.
    pub mark: String,
    /// Of a plan and its prose: the file that holds or will hold the prose.
    pub prose_path: Option<String>,
    pub title: String,
    pub body: String,
}

/// A document that is in the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexedDocument {
    pub id: DocumentKey,
    pub mark: String,
    pub prose_path: Option<String>,
}

impl SearchDocument {
    /// Returns the folder of its prose.
    #[must_use]
    pub fn prose_folder(&self) -> Option<&str> {
        self.prose_path.as_deref().map(folder_of)
    }
}

/// Returns the folder of a path.
pub(crate) fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The next folders of prose, each with the marks of the prose in it that is in the index, by the keys of
/// its plans.
pub type ProseFolders = BTreeMap<String, BTreeMap<String, String>>;

/// The words of a document, as every index stores them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentWords {
    pub title: Vec<String>,
    pub body: Vec<String>,
}

impl SearchDocument {
    /// Returns its words.
    #[must_use]
    pub fn to_words(&self) -> DocumentWords {
        DocumentWords {
            title: fold_words(split_words(&self.title)),
            body: fold_words(split_words(&self.body)),
        }
    }
}

/// A query with its filters: `kind:plan status:draft under:act-2 lighthouse "old mill"`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilteredQuery {
    pub words: SearchQuery,
    /// All kinds if empty.
    pub kinds: Vec<DocumentKind>,
    /// All statuses if empty.
    pub statuses: Vec<Status>,
    /// Only documents of this node and of those below it.
    pub under: Option<String>,
}

/// Why a query cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidQuery {
    #[error("empty query: expected words to search for")]
    Empty,
    #[error("`{found}` is not a kind: expected {}{hint}", kind_words().join(", "))]
    Kind { found: String, hint: String },
    #[error("`{found}` is not a status: expected {}{hint}", status_words().join(", "))]
    Status { found: String, hint: String },
    #[error("`under:` needs a node, as in under:act-2 or under:act-2/chapter-03")]
    Under,
}

fn kind_words() -> Vec<&'static str> {
    DocumentKind::ALL.map(DocumentKind::as_str).to_vec()
}

fn status_words() -> Vec<&'static str> {
    Status::ALL.map(Status::label).to_vec()
}

impl FilteredQuery {
    /// Parses a query. A word with any other prefix before a colon is searched as it is.
    ///
    /// # Errors
    /// [`InvalidQuery`] for an unknown kind or status, or without words to search for.
    pub fn parse_query(text: &str) -> Result<Self, InvalidQuery> {
        let mut query = Self::default();
        for part in split_quoted(text) {
            let Part::Bare(word) = part else {
                query.words.push_quoted(part.text());
                continue;
            };
            match word.split_once(':') {
                Some(("kind", value)) => query.kinds.extend(parse_list(value, parse_kind)?),
                Some(("status", value)) => query.statuses.extend(parse_list(value, parse_status)?),
                Some(("under", "")) => return Err(InvalidQuery::Under),
                Some(("under", value)) => query.under = Some(value.to_owned()),
                _ => query.words.push_phrase(word),
            }
        }
        for phrase in &mut query.words.phrases {
            let folded = fold_words(phrase.clone());
            if !folded.is_empty() {
                *phrase = folded;
            }
        }
        if query.words.is_empty() {
            // Filters alone would return everything unranked; `tl tree` and `tl log` list such
            // things.
            return Err(InvalidQuery::Empty);
        }
        Ok(query)
    }
}

/// A part of a query: text in quotation marks, or a word outside them.
enum Part<'t> {
    Quoted(&'t str),
    Bare(&'t str),
}

impl<'t> Part<'t> {
    fn text(&self) -> &'t str {
        match self {
            Self::Quoted(text) | Self::Bare(text) => text,
        }
    }
}

fn split_quoted(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    // An unclosed quotation mark starts a phrase that ends with the query.
    for (index, piece) in text.split(['"', '“', '”', '«', '»', '„']).enumerate() {
        if index % 2 == 1 {
            parts.push(Part::Quoted(piece));
        } else {
            parts.extend(piece.split_whitespace().map(Part::Bare));
        }
    }
    parts
}

fn parse_list<T>(
    value: &str,
    parse: impl Fn(&str) -> Result<T, InvalidQuery>,
) -> Result<Vec<T>, InvalidQuery> {
    value.split(',').map(parse).collect()
}

fn parse_kind(word: &str) -> Result<DocumentKind, InvalidQuery> {
    DocumentKind::from_word(word).ok_or_else(|| InvalidQuery::Kind {
        found: word.to_owned(),
        hint: nearest_hint(word, kind_words()),
    })
}

fn parse_status(word: &str) -> Result<Status, InvalidQuery> {
    Status::ALL
        .into_iter()
        // Both spellings: people see the label, scripts the name in JSON.
        .find(|status| status.label() == word || status.as_str() == word)
        .ok_or_else(|| InvalidQuery::Status {
            found: word.to_owned(),
            hint: nearest_hint(word, status_words()),
        })
}

#[cfg(test)]
mod tests {
    use super::{DocumentKind, FilteredQuery, InvalidQuery};
    use crate::node::Status;

    #[test]
    fn filters_are_taken_out_of_the_words() {
        let query = FilteredQuery::parse_query(
            "kind:plan,comments  status:stale under:act-2 old \"salt Mill\" a:b",
        )
        .expect("valid");
        assert_eq!(query.kinds, [DocumentKind::Plan, DocumentKind::Comment]);
        assert_eq!(query.statuses, [Status::RequiresRevalidation]);
        assert_eq!(query.under.as_deref(), Some("act-2"));
        let words: Vec<Vec<String>> = query.words.phrases;
        assert_eq!(words, [vec!["old"], vec!["salt", "mill"], vec!["a", "b"]]);
    }

    #[test]
    fn wrong_filters_name_the_allowed_values() {
        let error = FilteredQuery::parse_query("kind:plam x").expect_err("unknown");
        assert_eq!(
            error.to_string(),
            "`plam` is not a kind: expected plan, prose, comment, note, memory, log; did you mean `plan`?"
        );
        assert!(matches!(
            FilteredQuery::parse_query("status:new x"),
            Err(InvalidQuery::Status { .. })
        ));
        assert_eq!(
            FilteredQuery::parse_query("kind:log \"\" ,."),
            Err(InvalidQuery::Empty)
        );
        assert_eq!(
            FilteredQuery::parse_query("under: x"),
            Err(InvalidQuery::Under)
        );
    }
}
