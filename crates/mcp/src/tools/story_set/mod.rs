//! Tools for plans in files: states, trees, approvals and versions.

pub(in crate::tools) mod approve_entity;
mod cascade_invalidate;
mod get_backup_diff;
mod get_hierarchy_tree;
mod restore_backup;
pub(in crate::tools) mod update_entity_state;

use application::children_status::children_status;
use application::create_backup::create_backup;
use application::list_versions::list_versions;
use application::show_node::show_node;

use crate::tools::arguments::EntityOnly;
use crate::tools::{Hints, Tool};

/// The tools of this set, in listing order.
pub(super) fn list_tools() -> Vec<Tool> {
    vec![
        Hints::READS.define_tool(
            "get_entity_state",
            "Use before you rely on a plan: status, version, parent, children, file.",
            |ctx, entity: EntityOnly| show_node(ctx, &entity.words()),
        ),
        Hints::CHANGES.define_tool(
            "update_entity_state",
            "Use to approve or reject exactly the version you know; another is refused. Other statuses follow from the files.",
            update_entity_state::run,
        ),
        Hints::READS.define_tool(
            "get_hierarchy_tree",
            "Use to see how plans hang together, below one or all. Cut at depth and limit; ask for a part next.",
            get_hierarchy_tree::run,
        ),
        // Approvals below are revoked; clients should ask first.
        Hints::DESTROYS.define_tool(
            "cascade_invalidate",
            "Use when what is below a plan must be checked against it again: it becomes stale, your reason on record; the plan stays.",
            cascade_invalidate::run,
        ),
        // Counts besides the list, because models miscount.
        Hints::READS.define_tool(
            "get_children_status",
            "Use to see which children of a plan are drafts, approved or stale, with counts.",
            |ctx, entity: EntityOnly| children_status(ctx, &entity.words()),
        ),
        Hints::CHANGES.define_tool(
            "approve_entity",
            "Use when the person agreed to exactly this text. Where only people approve it asks or waits for them; then use wait.",
            approve_entity::run,
        ),
        // No version argument: a backup is always of the current text, and older versions are in the
        // store.
        Hints::CHANGES.define_tool(
            "create_backup",
            "Use before a large rewrite: a readable copy in backups/. Every version is kept in any case.",
            |ctx, entity: EntityOnly| create_backup(ctx, &entity.words()),
        ),
        // All versions, not only copies in `backups/`: each can be restored.
        Hints::READS.define_tool(
            "list_backups",
            "Use to find an earlier text of a plan: every version with time, hash and copies.",
            |ctx, entity: EntityOnly| list_versions(ctx, &entity.words()),
        ),
        // Overwrites a file that people own, even though its text is kept.
        Hints::DESTROYS.define_tool(
            "restore_backup",
            "Use to put an earlier text back into the plan's file; what is there now is kept.",
            restore_backup::run,
        ),
        Hints::READS.define_tool(
            "get_backup_diff",
            "Use to see what changed in a plan since a version, or since its approval.",
            get_backup_diff::run,
        ),
    ]
}
