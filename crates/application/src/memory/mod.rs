//! The memory of a story: read, searched, edited and drawn. [`files`] keeps store and files of one mind.

pub(crate) mod files;
pub(crate) mod unwritten;

pub mod draw_graph;
pub mod edit_memory;
pub mod search_memory;
pub mod show_memory;
