//! The rules of Throughline: plans as trees, approval bound to content, cascades, versions.
//!
//! No I/O, no clock, no environment, no async, no SQL. State in, decision out. Where the rules need
//! the world they name a trait in [`ports`] and let others implement it.

pub mod access;
pub mod approval;
pub mod audit;
pub mod briefing;
pub mod cascade;
pub mod comment;
pub mod compaction;
pub mod consistency;
pub mod detection;
pub mod diff;
pub mod exchange;
pub mod fact;
pub mod front_matter;
pub mod gates;
pub mod generation;
pub mod host_event;
pub mod ids;
pub mod memory;
pub mod needs;
pub mod node;
pub mod novel;
pub mod observation;
pub mod operation;
pub mod plan_document;
pub mod planning_prompt;
pub mod policy;
pub mod ports;
pub mod profile;
pub mod record;
pub mod reference;
pub mod revalidation;
pub mod review;
pub mod search;
pub mod secrets;
pub mod section;
pub mod session;
pub mod session_log;
pub mod session_memory;
pub mod settings;
pub mod stamp;
pub mod status;
pub mod suggest;
pub mod tick;
pub mod time;
pub mod token;
pub mod trail;
pub mod tree;
pub mod typed_command;
pub mod undo;
pub mod version;
pub mod work;
pub mod workflow;
