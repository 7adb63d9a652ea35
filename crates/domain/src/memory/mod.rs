//! Memory besides the tree: notes and anchors of the work, and the entries of a story: its
//! characters, locations, relationships, scenes, open loops, lore and facts.

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
