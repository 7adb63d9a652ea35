//! The story as a book: import it, name it, compile it, count it.

pub mod compile_novel;
pub mod follow_character;
pub mod import_manuscript;
pub mod name_novel;
pub mod novel_stats;
pub(crate) mod prose_basis;
pub mod show_prose;
