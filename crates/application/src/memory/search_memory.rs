//! Find entries of the memory by their words.

use domain::memory::EntryKind;
use domain::ports::Snapshot;
use domain::search::{Matching, Query};

use super::files::{observed, stored_entry};
use super::show_memory::EntryView;
use crate::context::Context;
use crate::failure::{Failure, FailureKind};

/// What is asked.
#[derive(Clone, Debug, Default)]
pub struct SearchMemoryRequest {
    pub query: String,
    /// Only these kinds; all when empty.
    pub kinds: Vec<EntryKind>,
    pub most: usize,
}

/// Returns the entries that fit best, the best first.
///
/// # Errors
/// When nothing is asked for, or the state cannot be read.
pub fn search_memory(ctx: &Context<'_>, request: &SearchMemoryRequest) -> Result<Vec<EntryView>, Failure> {
    if Query::read(&request.query).is_empty() {
        return Err(Failure::new(FailureKind::Invalid, "there is nothing to look for: expected words"));
    }
    search_stored(&*observed(ctx)?, request)
}

/// The same on a view of the state.
///
/// # Errors
/// When the state cannot be read.
pub fn search_stored(state: &dyn Snapshot, request: &SearchMemoryRequest) -> Result<Vec<EntryView>, Failure> {
    let kinds = if request.kinds.is_empty() { EntryKind::ALL.to_vec() } else { request.kinds.clone() };
    let words: Vec<&str> = kinds.iter().map(|kind| kind.word()).collect();
    let mut found = Vec::new();
    for key in state.search(&words, &Query::read(&request.query), Matching::AllElseAny, request.most)? {
        let Some(kind) = EntryKind::of_word(&key.kind) else { continue };
        found.extend(stored_entry(state, kind, &key.key)?.as_ref().map(EntryView::of));
    }
    Ok(found)
}
