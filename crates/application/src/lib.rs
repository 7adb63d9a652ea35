//! Use cases, one verb per file: gather, decide, commit, report.
//!
//! No use case prints, reads the environment or knows which edge called it. They return the plain
//! types of [`views`], the one JSON vocabulary of the product.

mod context;
mod failure;
pub mod file_writes;
mod follow_commits;
mod ignored_folders;
mod locate;
mod observe;
mod precise_cascade;
mod scan;
mod session_position;
mod status_cascade;
mod transitions;
mod uncommitted;
mod unmask_version;
pub mod views;
mod workspace;

pub mod accept_operations;
pub mod approve;
pub mod brief;
pub mod check_state;
pub mod children_status;
pub mod claim_node;
pub mod comment;
pub mod create_backup;
pub mod decisions;
pub mod diff_version;
pub mod evidence;
pub mod explain;
pub mod generation;
pub mod handle_host_event;
pub mod history;
pub mod invalidate;
pub mod list_changes;
pub mod list_versions;
pub mod memory;
pub mod move_focus;
pub mod next_work;
pub mod node_page;
pub mod novel;
pub mod open_gates;
pub mod override_gate;
pub mod plan_documents;
pub mod plan_node;
pub mod poll_decision;
pub mod project_status;
pub mod rebuild_state;
pub mod record_event;
pub mod record_policy;
pub mod repair_state;
pub mod restore_version;
pub mod revalidate;
pub mod reviews;
pub mod send_operations;
pub mod sessions;
pub mod set_progress;
pub mod show_node;
pub mod show_now;
pub mod show_ticks;
pub mod show_tree;
pub mod sync_hashes;
pub mod tick;
pub mod tickets;
pub mod tokens;
pub mod tree_cache;
pub mod tree_window;
pub mod undo;
pub mod where_am_i;
pub mod workflows;

pub use context::{Context, Notice};
pub use failure::{Failure, FailureKind, Interruption};
pub use workspace::{UseCase, Workspace, run_for_value};
