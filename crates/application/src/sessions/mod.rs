//! Sessions with an intent: the trail, its files, signals, compaction, notes and anchors. One use
//! case per file.
//!
//! [`trail_state`] loads a session's position on the trail, [`change`] records one step of it,
//! [`files`] renders its files.

mod session_change;
mod session_files;
mod ticket_trail;
mod trail_briefing;
mod trail_state;

pub mod archive_session;
pub mod check_drift;
pub mod compact_session;
pub mod declare_intent;
pub mod keep_anchor;
pub mod keep_mem;
pub mod list_sessions;
pub mod list_signals;
pub mod map_context;
pub mod migrate_trail;
pub mod notes;
pub mod prune_trail;
pub mod recall_mems;
pub mod scan_hierarchy;
pub mod self_rate;
pub mod think_back;
pub mod trace_stamp;

pub(crate) use compact_session::record_conversation_compaction;
pub(crate) use session_files::render_session;
pub(crate) use trail_briefing::{
    compaction_material, gather_trail_briefing, log_with_earlier, trail_places,
};
pub(crate) use trail_state::{
    detect_signals, load_current_trail, load_ticket_intent, own_session, session_before,
};
