//! Storage: database engines, journal, JSON mirror, plan files and the git repository.
//!
//! Makes no decisions; the rules live in `domain`. Every engine implements the contract of
//! `domain::ports::Store`, and `testkit::store_story` runs the same tests against each.

mod account_name;
mod backup_file;
mod chosen_databases;
mod chosen_servers;
mod clock;
mod coordination;
mod dry_run;
mod durable;
mod engine;
mod file_lock;
mod git;
mod issuer_documents;
mod journal;
mod journal_verification;
mod json;
mod known_heads;
mod known_stores;
mod layout;
mod long_journal_line;
mod manuscript_files;
mod memory;
mod mirror;
mod mirror_migration;
mod network_file_system;
mod open;
mod path_resolution;
mod plan_files;
mod policy_pins;
mod postgres;
pub mod private_files;
mod quarantine;
mod recovery;
mod relocation;
mod remote;
mod replacement;
mod replayed_history;
mod run_command;
mod scan_cache;
mod search_index;
mod secret_files;
mod secret_purge;
mod signed_in_browsers;
mod sqlite;
mod ssh_signatures;
mod store_dump;
mod tables;
mod transaction_readers;
mod trusted_issuers;
mod user_files;
mod vectors;
mod webhook;

pub use account_name::account_name;
pub use backup_file::{read_backup_file, write_backup_file};
pub use chosen_databases::ChosenDatabases;
pub use chosen_servers::ChosenServers;
pub use clock::{SystemClock, local_time_zone};
pub use coordination::RepositoryCoordination;
pub use dry_run::{AdoptedDecisions, ReadOnlyFiles, copy_in_memory};
pub use durable::write_atomically;
pub use engine::EngineSettings;
pub use git::{DiskDecisions, DiskGit, GitChanges, tracks_files_below};
pub use issuer_documents::fetch_issuer_document;
pub use known_heads::KnownHeads;
pub use known_stores::KnownStores;
pub use layout::{Layout, STATE_FOLDER, SharedProject};
pub use manuscript_files::{ManuscriptFault, read_manuscript_files};
pub use memory::MemoryStore;
pub use mirror_migration::{
    FORMER_MIRROR_FOLDER, MirrorMigration, mark_migration_announced, pending_mirror_migration,
};
pub use network_file_system::{NetworkFileSystem, network_file_system_at};
pub use open::{
    Created, accept_current_head, adopt_store, create_store, create_unbuilt_store,
    empty_successor_state, find_shared_project, join_shared_project, journal_store_id,
    new_project_id, open_store, shared_project_id, state_location,
};
pub use path_resolution::resolve_links;
pub use plan_files::DiskFiles;
pub use policy_pins::PolicyPins;
pub use quarantine::{
    ChainHead, QuarantineReason, QuarantinedState, list_quarantined_states, load_quarantined_state,
};
pub use relocation::{Relocation, RelocationFault, StateLocation};
pub use remote::{FetchOutcome, ServerFault, TeamServer, open_replica_with, quarantine_replica};
pub use replacement::{ReplacementCause, finish_interrupted_swap, replace_state};
pub use run_command::ProcessRunner;
pub use search_index::{SearchFile, remove_search_file};
pub use secret_purge::{PurgeOutcome, SecretPlace, purge_secrets, scan_secrets};
pub use signed_in_browsers::SignedInBrowsers;
pub use ssh_signatures::{SigningEnvironment, SshSignatures};
pub use store_dump::{StoreDump, dump_store};
pub use trusted_issuers::TrustedIssuers;
pub use vectors::{NewVector, VectorFile};
pub use webhook::post_webhook;
