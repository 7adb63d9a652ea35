//! List the versions of a node's text.

use domain::ids::VersionHash;
use domain::node::Node;
use domain::ports::{FileStatResult, Snapshot, StoreFault};
use domain::secrets::MaskedText;
use domain::time::Timestamp;
use domain::version::{VersionEntry, backup_path_beside};
use schemars::JsonSchema;
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::locate::{load_node, load_node_path, reject_extra_words};
use crate::observe::observe_node;
use crate::scan::ScanScope;

/// The versions of a node, newest first.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct VersionsView {
    pub entity_id: String,
    pub path: String,
    pub versions: Vec<VersionView>,
}

/// One version.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct VersionView {
    /// `-1`, `-2` …; `None` for the present version.
    pub back: Option<String>,
    pub version_hash: VersionHash,
    pub at: Timestamp,
    /// The time in the format of backup names.
    pub timestamp: String,
    pub size: Option<u64>,
    /// Whether the stored text has masks in place of secrets.
    pub masked: bool,
    pub current: bool,
    pub approved: bool,
    /// Summary of the operation that recorded it.
    pub operation: String,
    pub backups: Vec<String>,
}

/// Returns a node's versions.
///
/// # Errors
/// When there is no such node, or the state cannot be read.
pub fn list_versions(ctx: &Context<'_>, words: &[String]) -> Result<VersionsView, Failure> {
    let seen = observe_node(ctx, words, ScanScope::Lineage)?;
    reject_extra_words(seen.rest)?;
    let state = &*seen.state;
    let node = load_node(state, seen.id)?;
    Ok(VersionsView {
        entity_id: node.alias.clone(),
        path: load_node_path(state, &node)?,
        versions: load_version_views(ctx, state, &node)?,
    })
}

/// Returns the versions of a node, newest first, the present one at the top.
pub(crate) fn load_version_views(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
) -> Result<Vec<VersionView>, StoreFault> {
    let mut back = 0;
    let mut versions = Vec::new();
    for entry in load_version_entries(ctx, state, node)? {
        // The head has the summary; the facts of a large operation would be read for nothing.
        let operation = state.operation_head(entry.version.operation)?;
        if !entry.current {
            back += 1;
        }
        versions.push(VersionView {
            back: (!entry.current).then(|| format!("-{back}")),
            version_hash: entry.version.hash,
            at: entry.version.at,
            timestamp: entry.version.at.format_for_file_name(),
            size: entry.version.size,
            masked: MaskedText::read_record(state, entry.version.hash)?.is_some(),
            current: entry.current,
            approved: node
                .approval
                .as_ref()
                // By canonical hash: a version that differs from the approved one in formatting
                // only is approved too.
                .is_some_and(|approval| approval.canonical == entry.version.canonical),
            operation: operation
                .map(|operation| operation.summary)
                .unwrap_or_default(),
            backups: entry.backups,
        });
    }
    Ok(versions)
}

/// Returns the versions of a node with their backups, newest first, the present one at the top.
pub(crate) fn load_version_entries(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
) -> Result<Vec<VersionEntry>, StoreFault> {
    let backups = state.load_backups(node.id)?;
    let current = node.content.version_hash();
    let mut entries: Vec<VersionEntry> = state
        .load_versions(node.id)?
        .into_iter()
        .map(|version| VersionEntry {
            backups: backup_paths(ctx, &backups, node, version.hash),
            current: Some(version.hash) == current,
            version,
        })
        .collect();
    // After a restore the present version is not the newest. A stable sort moves it to the top and
    // keeps the others by age, so that `-1` is the newest of the others.
    entries.sort_by_key(|entry| !entry.current);
    Ok(entries)
}

/// Returns the paths of the backups of a version, as they are now.
fn backup_paths(
    ctx: &Context<'_>,
    backups: &[domain::fact::Backup],
    node: &Node,
    version: VersionHash,
) -> Vec<String> {
    let is_there = |path: &String| matches!(ctx.files.stat_file(path), FileStatResult::Present(_));
    backups
        .iter()
        .filter(|backup| backup.node == node.id && backup.version == version)
        .map(|backup| {
            // A change of shape moves and renames backups with their plan. The recorded path is then
            // that of another plan's.
            let file = node.path.as_deref();
            let moved = file.and_then(|file| backup_path_beside(file, &backup.path));
            moved
                .filter(is_there)
                .unwrap_or_else(|| backup.path.clone())
        })
        .collect()
}
