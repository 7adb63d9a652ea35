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

pub(super) use check_drift::CheckDrift;
pub(super) use compact_session::CompactSession;
pub(super) use declare_intent::DeclareIntent;
pub(super) use hierarchy_migrate::HierarchyMigrate;
pub(super) use hierarchy_prune::HierarchyPrune;
pub(super) use list_shelves::ListShelves;
pub(super) use map_context::MapContext;
pub(super) use recall_mems::RecallMems;
pub(super) use save_anchor::SaveAnchor;
pub(super) use save_mem::SaveMem;
pub(super) use scan_hierarchy::ScanHierarchy;
pub(super) use self_rate::SelfRate;
pub(super) use think_back::ThinkBack;
