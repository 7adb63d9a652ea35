//! Ports (hexagonal architecture): the traits the rules expect to be implemented by other crates.
//!
//! Traits and their data types only; the contracts are in the doc comments.

mod clock;
mod command_runner;
mod coordination;
mod decision_folder;
mod git;
mod offline_conflicts;
mod plan_files;
mod process_table;
mod repository_changes;
mod search_index;
mod signature_tool;
mod snapshot;
mod store;
mod token_store;

pub use clock::Clock;
pub use command_runner::{CommandOutput, CommandRunner, NoCommands};
pub use coordination::{
    ClaimChange, Coordination, HeldClaim, LiveSession, NodeKey, SessionActivity, StoreCoordination,
    Worktree,
};
pub use decision_folder::{DecisionFolder, DecisionListing, LookDepth, StateMark};
pub use git::{
    ChangedLines, CommitHistory, Git, GitHead, HeadMove, HeadMoveKind, HistoryCommit, NamedCommit,
    NoRepository, OpenBranch, TrackedState,
};
pub use offline_conflicts::{OfflineConflict, OfflineConflicts};
pub use plan_files::{
    CheckedPaths, FileAction, FileChange, FileFault, FileReadResult, FileStamp, FileStatResult,
    FolderEntry, FolderEntryKind, PlanFiles, ScanCacheCheck,
};
pub use process_table::{NoProcesses, ProcessTable};
pub use repository_changes::{FileCommit, RepositoryChanges};
pub use search_index::SearchIndex;
pub use signature_tool::{NoSignatures, SignatureTool, SigningFault};
pub use snapshot::{ChildName, NodeReader, OperationReader, RecordReader, Snapshot, VersionReader};
pub use store::{
    HistoryState, LEASE_NOTE_PREFIX, NewOperation, Recovery, SHARED_NOTE_PREFIXES, Store,
    StoreFault, StoreFinding, StoreFindingKind, Transaction,
};
pub use token_store::{TokenEntry, TokenStore};
