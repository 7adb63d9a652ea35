//! Search over plans, prose, comments, notes, memory and the log.
//!
//! The index is a cache of this working copy. A search brings it up to date first, so that no hook
//! and no other command pays for it.

mod document_sources;
mod search_project;
mod update_index;

pub use search_project::{SearchHitView, SearchOutcome, SearchRequest, search_project};
