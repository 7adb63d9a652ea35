//! All that touches disk: the database, the journal, the JSON mirror, the plan files, the repository.
//!
//! The rules live in `domain`; nothing here decides. Every engine keeps the contract of
//! `domain::ports::Store`, and the same story in `testkit` is told to each.

mod chosen_databases;
mod chosen_servers;
mod clock;
mod durable;
mod engine;
mod git;
mod git_changes;
mod journal;
mod json;
mod known_stores;
mod layout;
mod looks;
mod memory;
mod mirror;
mod open;
mod path_lead;
mod plan_files;
mod postgres;
mod recovery;
mod rehearsal;
mod remote;
mod revertible_files;
mod run_command;
mod secret_files;
mod secret_purge;
mod sqlite;
mod tables;
mod transfer;
mod vectors;

pub use chosen_databases::ChosenDatabases;
pub use chosen_servers::ChosenServers;
pub use clock::{SystemClock, local_zone};
pub use durable::write_whole;
pub use engine::EngineSettings;
pub use git::DiskGit;
pub use git_changes::GitChanges;
pub use known_stores::KnownStores;
pub use layout::{Layout, Shared};
pub use memory::MemoryStore;
pub use open::{Created, adopt, create, main_place, open, start_afresh};
pub use path_lead::lead;
pub use plan_files::DiskFiles;
pub use rehearsal::{ReadOnlyFiles, copy_in_memory};
pub use remote::{Fetched, TeamServer, Trouble, open_replica, put_replica_aside};
pub use revertible_files::RevertibleFiles;
pub use run_command::DiskCommands;
pub use secret_purge::{Purged, SecretPlace, purge_secrets, scan_secrets};
pub use transfer::{
    Cargo, Held, Sealed, check_unloaded, hold, load, put_state_aside, read_backup, take_over, unload, write_backup,
};
pub use vectors::{NewVector, VectorFile};
