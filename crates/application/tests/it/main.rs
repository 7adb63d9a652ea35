//! Tests of the use cases, with ports that need no disk; and the same deeds on a real engine.

#![allow(
    clippy::unwrap_used,
    clippy::string_slice,
    clippy::disallowed_methods,
    reason = "a failing test may panic"
)]

mod accept_operations;
mod approval_questions;
mod approvals;
mod brief_status;
mod briefings;
mod cascade;
mod claims;
mod claims_of_files;
mod comment_threads;
mod completion;
mod dashboard_views;
mod duplicates;
mod evidence;
mod fake_coordination;
mod file_writes;
mod focus;
mod guides;
mod history;
mod hooks;
mod inbox;
mod life;
mod model_leases;
mod next_work;
mod node_page;
mod observation;
mod one_decision;
mod operation_news;
mod order_of_notice;
mod outline_and_stats;
mod page_views;
mod plan_batches;
mod plan_gates;
mod presence;
mod prompts;
mod races;
mod refused_undos;
mod reviews;
mod search;
mod shape;
mod shape_attached;
mod shape_on_disk;
mod shape_references;
mod shape_tickets;
mod shared_state;
mod story_progress;
mod tick;
mod tickets;
mod trail;
mod trust;
mod unavailable_files;
mod unfinished_build;
mod work;
mod work_gates;
mod work_life;
mod workflows;
mod worktrees;
mod world;
