//! The story as a book: name it, compile it, count it.

pub mod compile_novel;
pub mod name_novel;
pub mod novel_stats;
