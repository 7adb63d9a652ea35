//! Refusal of decisions about a plan whose id another plan has too.
//!
//! An approval, a claim or a completion names its plan by id; on another clone, or after a rename,
//! the same name could mean the other plan.

use std::collections::HashSet;

use domain::duplicate_ids::{
    SharedIdFile, id_of_alias, is_duplicate, label_files, renumber_command,
};
use domain::fact::Fact;
use domain::node::{Node, NodeName};
use domain::ports::{FileStatResult, Snapshot};
use domain::profile::parent_folder;
use domain::shape::Layout;
use domain::tree::Tree;

use crate::context::Context;
use crate::failure::Failure;
use crate::locate::{load_node_path, load_parent};

/// Refuses a decision about a node whose id another plan file has too.
pub(crate) fn refuse_duplicate(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
) -> Result<(), Failure> {
    let files = list_files_with_id(ctx, state, node)?;
    // Either is enough: the files may be newer than the labels, and on a shared state the other
    // file may be in another copy.
    if files.len() < 2 && !is_duplicate(&node.alias) {
        return Ok(());
    }
    let id = id_of_alias(&node.alias);
    let what = match files.as_slice() {
        [] | [_] => format!("duplicate id `{id}`: `{}` shares it", node.alias),
        several => format!(
            "duplicate id `{id}`: it is used by {}",
            several.join(" and ")
        ),
    };
    let path = load_node_path(state, node)?;
    Err(Failure::refused(what)
        .with_step(renumber_command(&path))
        .with_step("tl tree   # which plans share it"))
}

/// Returns the plan files with the id of a node, by path. Reads the folder rather than the state:
/// a command about one node does not look at the files beside it, which a merge may just have added.
fn list_files_with_id(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
) -> Result<Vec<String>, Failure> {
    let level = ctx
        .find_profile(&node.profile)
        .and_then(|profile| profile.find_level(&node.level));
    let Some((level, pattern)) = level.and_then(|level| Some((level, level.file.as_ref()?))) else {
        return Ok(Vec::new());
    };
    // Without a slug the name of the entry is the id, and a folder has each name once.
    if !pattern.has_slug() {
        return Ok(Vec::new());
    }
    let parent = load_parent(state, node)?.filter(|_| !level.is_flat());
    let parent = parent.and_then(|parent| parent.path).unwrap_or_default();
    let folder = parent_folder(&parent);
    let id = id_of_alias(&node.alias);
    let mut found: Vec<String> = ctx
        .files
        .list_folder(&pattern.listing_folder(folder))
        .iter()
        .filter(|entry| pattern.alias_in(&entry.name) == Some(id))
        .map(|entry| pattern.file_at(folder, &entry.name, id))
        .filter(|path| matches!(ctx.files.stat_file(path), FileStatResult::Present(_)))
        .collect();
    found.sort();
    Ok(found)
}

/// Returns the facts that label the plans which shared an id with a renamed one: the first of those
/// that are left has it alone.
pub(crate) fn relabel_remaining(ctx: &Context<'_>, tree: &Tree, layout: &Layout) -> Vec<Fact> {
    let mut facts = Vec::new();
    let renamed: HashSet<_> = layout.changes.iter().map(|change| change.node).collect();
    for node in renamed.iter().filter_map(|id| tree.get(*id)) {
        let level = ctx
            .find_profile(&node.profile)
            .and_then(|profile| profile.find_level(&node.level));
        if !level.is_some_and(domain::profile::Level::is_flat) {
            continue;
        }
        let id = id_of_alias(&node.alias);
        let mut left: Vec<&Node> = tree
            .nodes()
            .filter(|other| (&other.profile, &other.level) == (&node.profile, &node.level))
            .filter(|other| id_of_alias(&other.alias) == id && !renamed.contains(&other.id))
            .collect();
        // By path, as the scan labels them: otherwise the next scan would rename them back.
        left.sort_by(|a, b| a.path.cmp(&b.path));
        let files: Vec<SharedIdFile<'_>> = left
            .iter()
            .map(|other| SharedIdFile {
                path: other.path.as_deref().unwrap_or_default(),
                is_recorded: true,
            })
            .collect();
        let labels = label_files(id, &files, &HashSet::new());
        for (other, alias) in left.into_iter().zip(labels) {
            let after = NodeName {
                alias,
                ..other.name()
            };
            if other.name() != after {
                facts.push(Fact::NodeRenamed {
                    node: other.id,
                    before: other.name(),
                    after,
                });
            }
        }
    }
    facts
}
