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

pub(super) use approve_entity::ApproveEntity;
pub(super) use cascade_invalidate::CascadeInvalidate;
pub(super) use create_backup::CreateBackup;
pub(super) use get_backup_diff::GetBackupDiff;
pub(super) use get_children_status::GetChildrenStatus;
pub(super) use get_entity_state::GetEntityState;
pub(super) use get_hierarchy_tree::GetHierarchyTree;
pub(super) use list_backups::ListBackups;
pub(super) use restore_backup::RestoreBackup;
pub(super) use update_entity_state::UpdateEntityState;
