//! Searches the memory: full text, optionally fused with nearest vectors.

use domain::ids::VersionHash;
use domain::memory::{Entry, EntryKind};
use domain::ports::Snapshot;
use domain::record::RecordKey;
use domain::search::{MatchMode, SearchQuery, fuse_rankings, searchable_text};

use super::memory_files::{load_entry, load_memory, observe_memory};
use super::prose_files::observe_book;
use super::show_memory::EntryView;
use crate::context::Context;
use crate::failure::Failure;

/// Maximum number of characters that are embedded; embedding models read no more.
const MAX_EMBEDDED_CHARS: usize = 6_000;
/// Each search returns this many times the requested results, so that entries found by both can
/// rise in the fused ranking.
const SEARCH_DEPTH_FACTOR: usize = 4;

/// Request to search the memory.
#[derive(Clone, Debug, Default)]
pub struct SearchMemoryRequest {
    pub query: String,
    /// Only these kinds; all when empty.
    pub kinds: Vec<EntryKind>,
    pub limit: usize,
    /// Nearest entries by vector, best first, if an embedding model is configured; fused with the
    /// full-text results.
    pub nearest: Vec<RecordKey>,
}

impl SearchMemoryRequest {
    /// Returns the kinds as words.
    #[must_use]
    pub fn kind_words(&self) -> Vec<&'static str> {
        let kinds = if self.kinds.is_empty() {
            &EntryKind::ALL[..]
        } else {
            &self.kinds
        };
        kinds.iter().map(|kind| kind.as_str()).collect()
    }

    /// Returns how many nearest entries are useful.
    #[must_use]
    pub fn search_depth(&self) -> usize {
        self.limit.saturating_mul(SEARCH_DEPTH_FACTOR)
    }
}

/// Returns the entries that match best, the best first.
///
/// # Errors
/// When the query is empty, or the state cannot be read.
pub fn search_memory(
    ctx: &Context<'_>,
    request: &SearchMemoryRequest,
) -> Result<Vec<EntryView>, Failure> {
    if SearchQuery::parse_query(&request.query).is_empty() {
        return Err(Failure::invalid(
            "empty query: expected words to search for",
        ));
    }
    // Edits in files count at once: people search right after they saved.
    observe_book(ctx)?;
    search_stored(&*observe_memory(ctx)?, request)
}

/// Searches a snapshot, without looking at the files.
///
/// # Errors
/// When the state cannot be read.
pub fn search_stored(
    state: &dyn Snapshot,
    request: &SearchMemoryRequest,
) -> Result<Vec<EntryView>, Failure> {
    let words = request.kind_words();
    // Without vectors there is nothing to fuse, and deeper results would be thrown away.
    let limit = if request.nearest.is_empty() {
        request.limit
    } else {
        request.search_depth()
    };
    let by_words = state.search_records(
        &words,
        &SearchQuery::parse_query(&request.query),
        MatchMode::AllElseAny,
        limit,
    )?;
    let mut found = Vec::new();
    for key in fuse_rankings(&[&by_words, &request.nearest], request.limit) {
        // The vectors are a cache of their own: they may hold other kinds, or entries that are
        // gone.
        let Some(kind) =
            EntryKind::from_word(&key.kind).filter(|kind| words.contains(&kind.as_str()))
        else {
            continue;
        };
        found.extend(
            load_entry(state, kind, &key.key)?
                .as_ref()
                .map(EntryView::from_entry),
        );
    }
    Ok(found)
}

/// The text of an entry that is embedded.
#[derive(Clone, Debug)]
pub struct EntryText {
    pub record: RecordKey,
    pub text: String,
    /// Hash of the text, which invalidates its cached vector.
    pub mark: u64,
}

/// Returns the text of every entry.
///
/// # Errors
/// When the state cannot be read.
pub fn entry_texts(ctx: &Context<'_>) -> Result<Vec<EntryText>, Failure> {
    let memory = load_memory(&*observe_memory(ctx)?)?;
    let text = |entry: &Entry| {
        let kind = entry.kind().as_str();
        let text = format!(
            "{}\n{}",
            entry.name(),
            searchable_text(kind, &entry.to_value())
        );
        let text: String = text.chars().take(MAX_EMBEDDED_CHARS).collect();
        let hash = VersionHash::of_bytes(text.as_bytes()).to_string();
        let mark = u64::from_str_radix(hash.get(..16).unwrap_or_default(), 16).unwrap_or_default();
        EntryText {
            record: RecordKey {
                kind: kind.to_owned(),
                key: entry.id().to_owned(),
            },
            text,
            mark,
        }
    };
    Ok(memory.all_entries().map(text).collect())
}
