//! Full-text index of everything a person may look for: derived data, which may be lost.

use super::StoreFault;
use crate::search::MatchMode;
use crate::search::documents::{
    DocumentKey, DocumentKind, IndexedDocument, ProseFolders, SearchDocument,
};
use crate::search::expansion::{ExpandedQuery, PhrasePattern};

/// An index of [`SearchDocument`]s.
///
/// Words and ranking are defined in [`crate::search`], so that every implementation returns the same
/// results. It belongs to one working copy, because copies of a shared state see different texts.
pub trait SearchIndex {
    /// Returns the state of the project up to which the index is complete; `None` for a new one.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn load_position(&self) -> Result<Option<String>, StoreFault>;

    /// Returns the indexed documents of these kinds.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn list_documents(&self, kinds: &[DocumentKind]) -> Result<Vec<IndexedDocument>, StoreFault>;

    /// Returns the next `most` folders after `after` into which prose of plans belongs.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn list_prose_folders(&self, after: &str, most: usize) -> Result<ProseFolders, StoreFault>;

    /// Returns the plans whose prose belongs into a folder.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn plans_of_prose_folder(&self, folder: &str) -> Result<Vec<IndexedDocument>, StoreFault>;

    /// Replaces and removes documents, and stores the new position.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn update_documents(
        &self,
        changed: &[SearchDocument],
        removed: &[DocumentKey],
        position: Option<&str>,
    ) -> Result<(), StoreFault>;

    /// Returns the indexed words that start with `prefix`, sorted. Some may not occur any more.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn terms_with_prefix(&self, prefix: &str) -> Result<Vec<String>, StoreFault>;

    /// Whether any document has a match.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn has_matches(&self, pattern: &PhrasePattern) -> Result<bool, StoreFault>;

    /// Returns the `most` best documents of these kinds, best first; ties are sorted by kind and
    /// key.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn rank_documents(
        &self,
        query: &ExpandedQuery,
        matching: MatchMode,
        kinds: &[DocumentKind],
        most: usize,
    ) -> Result<Vec<DocumentKey>, StoreFault>;
}
