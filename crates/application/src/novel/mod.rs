//! The story as a book: named, put together, counted.

pub mod compile_novel;
pub mod name_novel;
pub mod novel_stats;
