//! Find entries of the memory by their words.

use domain::ids::VersionHash;
use domain::memory::{Entry, EntryKind};
use domain::ports::Snapshot;
use domain::record::RecordKey;
use domain::search::{Matching, Query, fuse, text_of};

use super::files::{observed, stored, stored_entry};
use super::show_memory::EntryView;
use crate::context::Context;
use crate::failure::{Failure, FailureKind};

/// So much of a text is turned into a vector; embedding models read no more.
const MOST_EMBEDDED: usize = 6_000;
/// So much deeper than asked for each search looks, so that what both have can rise.
const DEPTH: usize = 4;

/// What is asked.
#[derive(Clone, Debug, Default)]
pub struct SearchMemoryRequest {
    pub query: String,
    /// Only these kinds; all when empty.
    pub kinds: Vec<EntryKind>,
    pub most: usize,
    /// What is nearest in meaning, the nearest first, where somebody can tell: fused with what has the words.
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
        kinds.iter().map(|kind| kind.word()).collect()
    }

    /// Returns how many of the nearest are worth knowing.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.most.saturating_mul(DEPTH)
    }
}

/// Returns the entries that fit best, the best first.
///
/// # Errors
/// When nothing is asked for, or the state cannot be read.
pub fn search_memory(
    ctx: &Context<'_>,
    request: &SearchMemoryRequest,
) -> Result<Vec<EntryView>, Failure> {
    if Query::read(&request.query).is_empty() {
        return Err(Failure::new(
            FailureKind::Invalid,
            "there is nothing to look for: expected words",
        ));
    }
    search_stored(&*observed(ctx)?, request)
}

/// The same on a view of the state.
///
/// # Errors
/// When the state cannot be read.
pub fn search_stored(
    state: &dyn Snapshot,
    request: &SearchMemoryRequest,
) -> Result<Vec<EntryView>, Failure> {
    let words = request.kind_words();
    let most = if request.nearest.is_empty() {
        request.most
    } else {
        request.depth()
    };
    let by_words = state.search(
        &words,
        &Query::read(&request.query),
        Matching::AllElseAny,
        most,
    )?;
    let mut found = Vec::new();
    for key in fuse(&[&by_words, &request.nearest], request.most) {
        let Some(kind) = EntryKind::of_word(&key.kind).filter(|kind| words.contains(&kind.word()))
        else {
            continue;
        };
        found.extend(
            stored_entry(state, kind, &key.key)?
                .as_ref()
                .map(EntryView::of),
        );
    }
    Ok(found)
}

/// An entry's text as it is turned into a vector.
#[derive(Clone, Debug)]
pub struct EntryText {
    pub record: RecordKey,
    pub text: String,
    /// Tells this text from another one.
    pub mark: u64,
}

/// Returns the text of every entry.
///
/// # Errors
/// When the state cannot be read.
pub fn entry_texts(ctx: &Context<'_>) -> Result<Vec<EntryText>, Failure> {
    let memory = stored(&*observed(ctx)?)?;
    let text = |entry: &Entry| {
        let kind = entry.kind().word();
        let text = format!("{}\n{}", entry.name(), text_of(kind, &entry.value()));
        let text: String = text.chars().take(MOST_EMBEDDED).collect();
        let hash = VersionHash::of(text.as_bytes()).to_string();
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
    Ok(memory.all().map(text).collect())
}
