//! The search index in a file: the same results as in memory, and what it survives.

use std::rc::Rc;

use domain::ports::{SearchIndex, StoreFault};
use domain::search::MatchMode;
use domain::search::documents::{
    DocumentKey, DocumentKind, IndexedDocument, ProseFolders, SearchDocument,
};
use domain::search::expansion::{ExpandedQuery, PhrasePattern};
use domain::search::memory_index::MemorySearchIndex;
use store::SearchFile;
use testkit::search_story::tell_search_story;

/// An index in memory that can be returned several times.
struct Shared(Rc<MemorySearchIndex>);

impl SearchIndex for Shared {
    fn load_position(&self) -> Result<Option<String>, StoreFault> {
        self.0.load_position()
    }

    fn list_documents(&self, kinds: &[DocumentKind]) -> Result<Vec<IndexedDocument>, StoreFault> {
        self.0.list_documents(kinds)
    }

    fn list_prose_folders(&self, after: &str, most: usize) -> Result<ProseFolders, StoreFault> {
        self.0.list_prose_folders(after, most)
    }

    fn plans_of_prose_folder(&self, folder: &str) -> Result<Vec<IndexedDocument>, StoreFault> {
        self.0.plans_of_prose_folder(folder)
    }

    fn update_documents(
        &self,
        changed: &[SearchDocument],
        removed: &[DocumentKey],
        position: Option<&str>,
    ) -> Result<(), StoreFault> {
        self.0.update_documents(changed, removed, position)
    }

    fn terms_with_prefix(&self, prefix: &str) -> Result<Vec<String>, StoreFault> {
        self.0.terms_with_prefix(prefix)
    }

    fn has_matches(&self, pattern: &PhrasePattern) -> Result<bool, StoreFault> {
        self.0.has_matches(pattern)
    }

    fn rank_documents(
        &self,
        query: &ExpandedQuery,
        matching: MatchMode,
        kinds: &[DocumentKind],
        most: usize,
    ) -> Result<Vec<DocumentKey>, StoreFault> {
        self.0.rank_documents(query, matching, kinds, most)
    }
}

#[test]
fn index_in_memory() {
    let index = Rc::new(MemorySearchIndex::default());
    tell_search_story(&|| Box::new(Shared(index.clone())));
}

#[test]
fn index_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("search.db");
    tell_search_story(&|| Box::new(SearchFile::new(&path)));
}

#[test]
fn damaged_or_foreign_index_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("search.db");
    std::fs::write(&path, "no database ".repeat(1_000)).unwrap();
    assert_eq!(SearchFile::new(&path).load_position().unwrap(), None);
    SearchFile::new(&path)
        .update_documents(&[], &[], Some("here"))
        .unwrap();
    assert_eq!(
        SearchFile::new(&path).load_position().unwrap().as_deref(),
        Some("here")
    );
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    assert_eq!(SearchFile::new(&path).load_position().unwrap(), None);
}
