//! What the rules expect from outside: traits only, contracts in their doc comments.

mod clock;
mod files;
mod store;

pub use clock::Clock;
pub use files::{Entry, EntryKind, FileFault, FileLook, FileStamp, PlanFiles, Reading};
pub use store::{
    ChildName, NewOperation, Recovery, Snapshot, Store, StoreFault, StoreFinding, StoreFindingKind, Transaction,
};
