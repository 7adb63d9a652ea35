//! Readable backups: copies of overwritten plans in `backups/` beside the plan.
//!
//! For people who look for an old text without `tl`. The store keeps every version in any case, so
//! that a backup that cannot be written is a notice and not a failure of what overwrote the plan.

use std::collections::BTreeSet;

use domain::fact::Fact;
use domain::ids::NodeId;
use domain::node::{Content, Node};
use domain::policy::BackupPolicy;
use domain::ports::{FileFault, Snapshot, TrackedState, Transaction};
use domain::secrets::mask_secrets;
use domain::time::Timestamp;
use domain::tree::Tree;
use domain::version::{BACKUP_FOLDER, backup_name};

use crate::context::{Context, Notice};
use crate::failure::Failure;
use crate::ignored_folders::keep_out_of_git;

/// Writes the readable backup of every overwritten plan, except those that a checkout replaced.
pub(crate) fn back_up_overwritten(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    tree: &Tree,
    facts: &mut Vec<Fact>,
    now: Timestamp,
    is_checkout: bool,
) -> Result<(), Failure> {
    let mut written = Vec::new();
    // Git has the replaced text, and the store keeps it as a version: a copy in the working tree
    // would only be litter that the next checkout stumbles over.
    let replaced = match is_checkout {
        true => find_replaced_by_git(ctx, tree, facts),
        false => BTreeSet::new(),
    };
    for fact in facts.iter() {
        let Fact::ContentChanged {
            node,
            before: Content::Text {
                canonical: before, ..
            },
            after,
        } = fact
        else {
            continue;
        };
        let Some(node) = tree.get(*node).filter(|node| !replaced.contains(&node.id)) else {
            continue;
        };
        let wanted = match ctx.policy.backups {
            BackupPolicy::Always => true,
            BackupPolicy::Approved => node.has_approved_text(),
            BackupPolicy::Off => false,
        };
        // Compared by canonical hash: reformatting a plan is not worth a backup.
        if wanted && after.canonical_hash().is_some_and(|after| after != *before) {
            match write_backup(ctx, tx, node, "regeneration", now) {
                Ok(fact) => written.extend(fact),
                // The text is in the store either way, and the change has to be recorded even if
                // `backups/` is not writable.
                Err(failure) => ctx.push_notice(Notice::NoBackup {
                    node: node.alias.clone(),
                    why: failure.message,
                }),
            }
        }
    }
    facts.append(&mut written);
    Ok(())
}

/// Returns the changed nodes whose files are as git wrote them.
fn find_replaced_by_git(ctx: &Context<'_>, tree: &Tree, facts: &[Fact]) -> BTreeSet<NodeId> {
    let (ids, paths): (Vec<NodeId>, Vec<String>) = facts
        .iter()
        .filter_map(|fact| match fact {
            Fact::ContentChanged { node, .. } => Some((*node, tree.get(*node)?.path.clone()?)),
            _ => None,
        })
        .unzip();
    if ids.is_empty() {
        return BTreeSet::new();
    }
    // If git cannot tell, every change counts as an edit and is backed up.
    let states = ctx.git.tracked_states(&paths).ok().flatten();
    ids.into_iter()
        .zip(states.unwrap_or_default())
        .filter(|(_, state)| *state == TrackedState::Unchanged)
        .map(|(id, _)| id)
        .collect()
}

/// Writes the recorded text of a node as a readable backup beside its file. Returns `None` if there
/// is no text.
pub(crate) fn write_backup(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    reason: &str,
    now: Timestamp,
) -> Result<Option<Fact>, Failure> {
    let (Some(path), Some(version)) = (&node.path, node.content.version_hash()) else {
        return Ok(None);
    };
    let Some(text) = state.load_text(version)? else {
        return Ok(None);
    };
    let (folder, name) = path
        .rsplit_once('/')
        .map_or(("", path.as_str()), |(folder, name)| (folder, name));
    let folder = if folder.is_empty() {
        BACKUP_FOLDER.to_owned()
    } else {
        format!("{folder}/{BACKUP_FOLDER}")
    };
    keep_out_of_git(ctx, &folder);
    // Backups are named by the second. Creating exclusively and counting up never replaces an
    // earlier copy, even if two processes write in the same second.
    for attempt in 1..1_000 {
        let backup = format!("{folder}/{}", backup_name(name, now, attempt));
        // Masked again: texts stored by versions before masking may still contain secrets. Synced
        // after the commit, without the write lock: the store has the text in any case.
        match ctx
            .files
            .create_unsynced_file(&backup, &mask_secrets(&text))
        {
            Ok(()) => {
                ctx.remember_backup(node.id, &backup);
                return Ok(Some(Fact::BackupWritten {
                    node: node.id,
                    version,
                    path: backup,
                    reason: reason.to_owned(),
                }));
            }
            Err(FileFault::Exists { .. }) => {}
            Err(fault) => return Err(fault.into()),
        }
    }
    Err(Failure::unavailable(format!(
        "cannot find a free name for a backup in `{folder}`"
    )))
}
