//! Tools for plans in files: states, trees, approvals and versions.

pub(in crate::tools) mod approve_entity;
mod cascade_invalidate;
mod create_backup;
mod get_backup_diff;
mod get_children_status;
mod get_entity_state;
mod get_hierarchy_tree;
mod list_backups;
mod restore_backup;
mod update_entity_state;

pub(super) use approve_entity::APPROVE_ENTITY;
pub(super) use cascade_invalidate::CASCADE_INVALIDATE;
pub(super) use create_backup::CREATE_BACKUP;
pub(super) use get_backup_diff::GET_BACKUP_DIFF;
pub(super) use get_children_status::GET_CHILDREN_STATUS;
pub(super) use get_entity_state::GET_ENTITY_STATE;
pub(super) use get_hierarchy_tree::GET_HIERARCHY_TREE;
pub(super) use list_backups::LIST_BACKUPS;
pub(super) use restore_backup::RESTORE_BACKUP;
pub(super) use update_entity_state::UPDATE_ENTITY_STATE;
