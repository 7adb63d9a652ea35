//! Storage: database engines, journal, JSON mirror, plan files and the git repository.
//!
//! Makes no decisions; the rules live in `domain`. Every engine implements the contract of
//! `domain::ports::Store`, and `testkit::store_story` runs the same tests against each.

mod backup_file;
mod chosen_databases;
mod chosen_servers;
mod clock;
mod durable;
mod engine;
mod git;
mod journal;
mod json;
mod known_heads;
mod known_stores;
mod layout;
mod looks;
mod memory;
mod mirror;
mod network_file_system;
mod open;
mod path_lead;
mod plan_files;
mod policy_pins;
mod postgres;
pub mod private;
mod quarantine;
mod recovery;
mod rehearsal;
mod relocation;
mod remote;
mod replacement;
mod revertible_files;
mod run_command;
mod secret_files;
mod secret_purge;
mod sqlite;
mod tables;
mod transfer;
mod user_files;
mod vectors;

pub use backup_file::{read_backup, write_backup};
pub use chosen_databases::ChosenDatabases;
pub use chosen_servers::ChosenServers;
pub use clock::{SystemClock, local_zone};
pub use durable::write_whole;
pub use engine::EngineSettings;
pub use git::{DiskGit, GitChanges};
pub use known_heads::KnownHeads;
pub use known_stores::KnownStores;
pub use layout::{Layout, Shared};
pub use memory::MemoryStore;
pub use network_file_system::{NetworkFileSystem, network_file_system_at};
pub use open::{
    Created, adopt, create, empty_successor, find_shared_project, join_shared_project,
    journal_store, main_place, new_project_id, open, record_head, shared_project_id,
};
pub use path_lead::lead;
pub use plan_files::DiskFiles;
pub use policy_pins::PolicyPins;
pub use quarantine::{
    ChainHead, QuarantineReason, QuarantinedState, list_quarantine, load_quarantined,
};
pub use rehearsal::{ReadOnlyFiles, copy_in_memory};
pub use relocation::{Place, Relocation, RelocationFault};
pub use remote::{Fetched, TeamServer, Trouble, open_replica, put_replica_aside};
pub use replacement::{ReplacementCause, finish_interrupted, replace_state};
pub use revertible_files::RevertibleFiles;
pub use run_command::DiskCommands;
pub use secret_purge::{Purged, SecretPlace, purge_secrets, scan_secrets};
pub use transfer::{Cargo, load};
pub use vectors::{NewVector, VectorFile};
