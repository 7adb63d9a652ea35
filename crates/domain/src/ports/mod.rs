//! Ports (hexagonal architecture): the traits the rules expect to be implemented by other crates.
//!
//! Traits and their data types only; the contracts are in the doc comments.

mod access;
mod changes;
mod clock;
mod commands;
mod files;
mod git;
mod store;

pub use access::{AccessBook, TokenEntry};
pub use changes::RepositoryChanges;
pub use clock::Clock;
pub use commands::{Commands, NoCommands, Ran};
pub use files::{
    Entry, EntryKind, FileFault, FileLook, FileStamp, LookedAgain, PlanFiles, Reading,
};
pub use git::{ChangedLines, Git, Head, HeadMove, MoveKind, NamedCommit, NoRepository};
pub use store::{
    ChildName, History, NewOperation, Recovery, SHARED_NOTES, Snapshot, Store, StoreFault,
    StoreFinding, StoreFindingKind, Transaction,
};
