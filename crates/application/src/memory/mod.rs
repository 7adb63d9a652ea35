//! A story's memory: read, search, edit, draw. [`files`] keeps the store and the memory files in
//! sync.

pub(crate) mod memory_files;
pub(crate) mod unwritten_files;

pub mod draw_graph;
pub mod edit_memory;
pub(crate) mod scene_readings;
pub mod search_memory;
pub mod show_memory;
