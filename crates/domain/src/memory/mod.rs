//! What is remembered besides the tree: notes and anchors of the work, and the memory of a story: who is in it, where
//! it happens, what was said to be true and what is still open.

mod book;
mod entry;
pub mod file;
pub mod graph;
mod notes;

pub use book::Memory;
pub use entry::{
    Character, Entry, EntryKind, Importance, Location, LoopStatus, Lore, NoEntry, OpenLoop,
    Perspective, Relationship, RelationshipEvent, Scene, StoryFact, Truth,
};
pub use notes::{Anchor, LONGEST_ANCHOR, LONGEST_MEM, Mem, NotKept, SHELF, kept_text, shelf_name};
