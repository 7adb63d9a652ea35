//! A story's memory: read, search, edit, draw. [`files`] keeps the store and the memory files in
//! sync.

pub(crate) mod memory_files;
pub(crate) mod unwritten_files;

pub mod browse_memory;
pub mod change_identity;
pub mod draw_graph;
pub mod edit_memory;
pub mod memory_at;
pub(crate) mod prose_files;
pub mod reread_prose;
pub(crate) mod scene_readings;
pub mod search_memory;
pub mod show_memory;
