//! Search index in memory: the reference for the ranking, and the index where no file can be kept.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::documents::{
    DocumentKey, DocumentKind, DocumentWords, IndexedDocument, ProseFolders, SearchDocument,
    folder_of,
};
use super::expansion::{ExpandedQuery, PhrasePattern};
use super::{BM25_B, BM25_K1, MatchMode, word_rarity};
use crate::ports::{SearchIndex, StoreFault};

/// How much more a word in a title counts than one in a text.
pub const TITLE_WEIGHT: f64 = 4.0;

/// An index that lives as long as the value.
#[derive(Debug, Default)]
pub struct MemorySearchIndex {
    documents: RefCell<BTreeMap<DocumentKey, (IndexedDocument, DocumentWords)>>,
    position: RefCell<Option<String>>,
}

impl SearchIndex for MemorySearchIndex {
    fn load_position(&self) -> Result<Option<String>, StoreFault> {
        Ok(self.position.borrow().clone())
    }

    fn list_documents(&self, kinds: &[DocumentKind]) -> Result<Vec<IndexedDocument>, StoreFault> {
        let documents = self.documents.borrow();
        Ok(documents
            .values()
            .map(|(indexed, _)| indexed.clone())
            .filter(|indexed| kinds.contains(&indexed.id.kind))
            .collect())
    }

    fn list_prose_folders(&self, after: &str, most: usize) -> Result<ProseFolders, StoreFault> {
        let mut folders = ProseFolders::new();
        for (indexed, _) in self.documents.borrow().values() {
            let Some(path) = &indexed.prose_path else {
                continue;
            };
            let folder = folders.entry(folder_of(path).to_owned()).or_default();
            if indexed.id.kind == DocumentKind::Prose {
                folder.insert(indexed.id.key.clone(), indexed.mark.clone());
            }
        }
        let next = folders
            .into_iter()
            .filter(|(folder, _)| folder.as_str() > after);
        Ok(next.take(most).collect())
    }

    fn plans_of_prose_folder(&self, folder: &str) -> Result<Vec<IndexedDocument>, StoreFault> {
        let is_in_folder = |indexed: &IndexedDocument| {
            indexed.id.kind == DocumentKind::Plan
                && indexed.prose_path.as_deref().map(folder_of) == Some(folder)
        };
        let documents = self.documents.borrow();
        let indexed = documents.values().map(|(indexed, _)| indexed);
        Ok(indexed
            .filter(|indexed| is_in_folder(indexed))
            .cloned()
            .collect())
    }

    fn update_documents(
        &self,
        changed: &[SearchDocument],
        removed: &[DocumentKey],
        position: Option<&str>,
    ) -> Result<(), StoreFault> {
        let mut documents = self.documents.borrow_mut();
        // Removed first: a document that is in both lists was replaced.
        for id in removed {
            documents.remove(id);
        }
        for document in changed {
            let indexed = IndexedDocument {
                id: document.id.clone(),
                mark: document.mark.clone(),
                prose_path: document.prose_path.clone(),
            };
            documents.insert(document.id.clone(), (indexed, document.to_words()));
        }
        *self.position.borrow_mut() = position.map(str::to_owned);
        Ok(())
    }

    fn terms_with_prefix(&self, prefix: &str) -> Result<Vec<String>, StoreFault> {
        let documents = self.documents.borrow();
        let terms: BTreeSet<&String> = documents
            .values()
            .flat_map(|(_, words)| words.title.iter().chain(&words.body))
            .filter(|word| word.starts_with(prefix))
            .collect();
        Ok(terms.into_iter().cloned().collect())
    }

    fn has_matches(&self, pattern: &PhrasePattern) -> Result<bool, StoreFault> {
        let documents = self.documents.borrow();
        Ok(documents
            .values()
            .any(|(_, words)| weigh_occurrences(pattern, words) > 0.0))
    }

    fn rank_documents(
        &self,
        query: &ExpandedQuery,
        matching: MatchMode,
        kinds: &[DocumentKind],
        most: usize,
    ) -> Result<Vec<DocumentKey>, StoreFault> {
        let documents = self.documents.borrow();
        let (ids, words): (Vec<&DocumentKey>, Vec<&DocumentWords>) =
            // The map's order is by kind and key, which is the order the port promises for ties.
            documents.iter().map(|(id, (_, words))| (id, words)).unzip();
        let is_wanted = |index: usize| kinds.contains(&ids[index].kind);
        Ok(rank_documents(&words, query, matching, &is_wanted)
            .into_iter()
            .take(most)
            .map(|index| ids[index].clone())
            .collect())
    }
}

/// Returns how often a pattern occurs in a document, with titles weighted.
fn weigh_occurrences(pattern: &PhrasePattern, words: &DocumentWords) -> f64 {
    let count = |text: &[String]| count_pattern(pattern, text) as f64;
    count(&words.title) * TITLE_WEIGHT + count(&words.body)
}

fn count_pattern(pattern: &PhrasePattern, text: &[String]) -> usize {
    let Some((last, before)) = pattern.words.split_last() else {
        return 0;
    };
    text.windows(pattern.words.len())
        .filter(|window| {
            window.split_last().is_some_and(|(end, start)| {
                start == before
                    && match pattern.is_prefix {
                        true => end.starts_with(last.as_str()),
                        false => end == last,
                    }
            })
        })
        .count()
}

/// Ranks documents by BM25, best first; ties keep the given order. Documents that `is_wanted`
/// rejects still count for the rarity of a word.
fn rank_documents(
    documents: &[&DocumentWords],
    query: &ExpandedQuery,
    matching: MatchMode,
    is_wanted: &dyn Fn(usize) -> bool,
) -> Vec<usize> {
    let all = documents.len() as f64;
    let length = |words: &DocumentWords| (words.title.len() + words.body.len()) as f64;
    let average = documents.iter().map(|words| length(words)).sum::<f64>() / all.max(1.0);
    // Weighted occurrences by group, pattern and document.
    let weights: Vec<Vec<Vec<f64>>> = query
        .groups
        .iter()
        .map(|group| {
            let of_pattern = |pattern| {
                documents
                    .iter()
                    .map(|words| weigh_occurrences(pattern, words))
                    .collect()
            };
            group.iter().map(of_pattern).collect()
        })
        .collect();
    let has_group =
        |group: &[Vec<f64>], index: usize| group.iter().any(|pattern| pattern[index] > 0.0);
    let candidates = |needs_all: bool| -> Vec<usize> {
        let fits = |index: &usize| {
            let mut groups = weights.iter().map(|group| has_group(group, *index));
            is_wanted(*index)
                && if needs_all {
                    groups.all(|has| has)
                } else {
                    groups.any(|has| has)
                }
        };
        (0..documents.len()).filter(fits).collect()
    };
    let mut found = candidates(matching == MatchMode::AllElseAny);
    // With one group, all and any are the same.
    if found.is_empty() && matching == MatchMode::AllElseAny && weights.len() > 1 {
        found = candidates(false);
    }
    let score = |index: usize| -> f64 {
        weights
            .iter()
            .flatten()
            .map(|pattern| {
                let with = pattern.iter().filter(|weight| **weight > 0.0).count();
                let weight = pattern[index];
                let norm = 1.0 - BM25_B + BM25_B * length(documents[index]) / average;
                // The formula of FTS5's `bm25()`, so that both indexes rank alike.
                word_rarity(all, with as f64) * (weight * (BM25_K1 + 1.0))
                    / (weight + BM25_K1 * norm)
            })
            .sum()
    };
    let mut scored: Vec<(usize, f64)> = found
        .into_iter()
        .map(|index| (index, score(index)))
        .collect();
    scored.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    scored.into_iter().map(|(index, _)| index).collect()
}
