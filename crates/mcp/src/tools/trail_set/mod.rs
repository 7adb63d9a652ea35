//! Tools for the trail of a session, for projects with a trail profile.

mod check_drift;
mod compact_session;
mod declare_intent;
mod hierarchy_migrate;
mod hierarchy_prune;
mod list_shelves;
mod map_context;
mod recall_mems;
mod save_anchor;
mod save_mem;
mod scan_hierarchy;
mod self_rate;
mod think_back;

pub(super) use check_drift::CHECK_DRIFT;
pub(super) use compact_session::COMPACT_SESSION;
pub(super) use declare_intent::DECLARE_INTENT;
pub(super) use hierarchy_migrate::HIERARCHY_MIGRATE;
pub(super) use hierarchy_prune::HIERARCHY_PRUNE;
pub(super) use list_shelves::LIST_SHELVES;
pub(super) use map_context::MAP_CONTEXT;
pub(super) use recall_mems::RECALL_MEMS;
pub(super) use save_anchor::SAVE_ANCHOR;
pub(super) use save_mem::SAVE_MEM;
pub(super) use scan_hierarchy::SCAN_HIERARCHY;
pub(super) use self_rate::SELF_RATE;
pub(super) use think_back::THINK_BACK;

/// Returns the result schema of tools that move the cursor of the trail.
fn place() -> serde_json::Value {
    super::schema::result(&[
        ("stamp", "string"),
        ("cursor", "string"),
        ("content", "string"),
        ("session_file", "string"),
        ("tree", "string"),
    ])
}
