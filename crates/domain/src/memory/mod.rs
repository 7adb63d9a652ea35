//! Memory besides the tree: notes and anchors of the work, and the entries of a story: its
//! characters, locations, relationships, scenes, open loops, lore and facts.

mod entry;
pub mod entry_file;
pub mod graph;
pub mod identity;
pub mod knowledge;
mod name_index;
mod notes;
mod story_memory;

pub use entry::{
    Character, Entry, EntryKind, Importance, InvalidEntry, Location, LoopStatus, Lore, OpenLoop,
    Perspective, Relationship, RelationshipEvent, Scene, StoryFact, Truth, name_ids_in,
};
pub(crate) use name_index::{NameIndex, split_name};
pub use notes::{
    Anchor, DEFAULT_SHELF, MAX_ANCHOR_CHARS, MAX_MEM_CHARS, Mem, NoteRefused, parse_shelf_name,
    validate_note_text,
};
pub use story_memory::StoryMemory;
