//! Searches notes, and lists their shelves.

use std::collections::BTreeMap;

use domain::memory::{Mem, parse_shelf_name};
use domain::record::{self, Recorded};
use domain::search::{MatchMode, SearchQuery};
use schemars::JsonSchema;
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;

/// Request to search notes.
#[derive(Clone, Debug, Default)]
pub struct RecallRequest {
    pub query: String,
    pub shelf: Option<String>,
    pub limit: usize,
}

/// A shelf.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShelfView {
    pub shelf: String,
    pub notes: usize,
}

/// Returns the notes that match best, the best first.
///
/// # Errors
/// When the query is empty, or the state cannot be read.
pub fn recall_mems(ctx: &Context<'_>, request: &RecallRequest) -> Result<Vec<Mem>, Failure> {
    let shelf = request.shelf.as_deref().map(parse_shelf_name).transpose()?;
    let query = SearchQuery::parse_query(&request.query);
    if query.is_empty() {
        return Err(empty_query());
    }
    let state = ctx.store.begin_read()?;
    // The index knows no shelves: hits are filtered afterwards, so more of them are fetched.
    let limit = if shelf.is_some() {
        request.limit.saturating_mul(20)
    } else {
        request.limit
    };
    let mut found = Vec::new();
    for key in state.search_records(&[Mem::KIND], &query, MatchMode::AllElseAny, limit)? {
        // The index may name a note that was pruned meanwhile.
        if let Some(mem) = record::read_record::<Mem>(&*state, &key.key)?
            && shelf.as_ref().is_none_or(|shelf| mem.shelf == *shelf)
        {
            found.push(mem);
        }
        if found.len() == request.limit {
            break;
        }
    }
    Ok(found)
}

pub(super) fn empty_query() -> Failure {
    Failure::invalid("empty query: expected words to search for").with_step("tl note list")
}

/// Returns the shelves, by name.
///
/// # Errors
/// When the state cannot be read.
pub fn list_shelves(ctx: &Context<'_>) -> Result<Vec<ShelfView>, Failure> {
    let state = ctx.store.begin_read()?;
    let mut shelves: BTreeMap<String, usize> = BTreeMap::new();
    for (_, mem) in record::read_records::<Mem>(&*state, "")? {
        *shelves.entry(mem.shelf).or_default() += 1;
    }
    Ok(shelves
        .into_iter()
        .map(|(shelf, notes)| ShelfView { shelf, notes })
        .collect())
}
