//! The new file and the new id of a plan whose parent or name changed.

use std::collections::HashMap;

use super::ShapeRefused;
use crate::ids::NodeId;
use crate::node::Node;
use crate::profile::{Level, parent_folder};
use crate::tree::Tree;

/// Returns the file of a node below another folder or with another alias.
pub(super) fn relocate_file(
    tree: &Tree,
    level: &Level,
    node: &Node,
    path: &str,
    parent: Option<NodeId>,
    alias: &str,
    folders: &HashMap<NodeId, String>,
) -> Result<String, ShapeRefused> {
    let folder_of = |parent: Option<NodeId>| {
        let path = parent
            .and_then(|id| tree.get(id))
            .and_then(|it| it.path.as_deref());
        parent_folder(path.unwrap_or_default()).to_owned()
    };
    // Nodes of a flat level are in one folder, whatever their parent is.
    let (old_folder, new_folder) = match level.is_flat() {
        true => (String::new(), String::new()),
        false => (
            folder_of(node.parent),
            parent
                .and_then(|parent| folders.get(&parent).cloned())
                .unwrap_or_else(|| folder_of(parent)),
        ),
    };
    // A plan at one of `other_files` stays in a file of that form; only new plans get the first
    // pattern.
    let relocated = level.file_patterns().find_map(|pattern| {
        let entry = pattern.entry_of(&old_folder, path)?;
        let renamed = match alias == node.alias {
            true => entry.to_owned(),
            false => pattern.rename_entry(entry, alias)?,
        };
        let own = pattern.alias_in(&renamed)?.to_owned();
        Some(pattern.file_at(&new_folder, &renamed, &own))
    });
    // No pattern of the level would find the file again, so it is not moved.
    relocated.ok_or_else(|| ShapeRefused::ForeignFile {
        path: path.to_owned(),
    })
}

/// Returns the id of a descendant after a change of its ancestor's: ids that continue the ancestor's
/// follow it, others stay.
pub(super) fn follow_ancestor_id(id: &str, old: &str, new: &str) -> Option<String> {
    let rest = id.strip_prefix(old).filter(|rest| !rest.is_empty())?;
    // `0171` is not below `017`: digits and letters alternate from level to level.
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    (is_digit(old.chars().next_back()) != is_digit(rest.chars().next()))
        .then(|| format!("{new}{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_that_continue_the_id_follow_it() {
        let follow = |id| follow_ancestor_id(id, "017", "018");
        assert_eq!(follow("017a").as_deref(), Some("018a"));
        assert_eq!(follow("017a1").as_deref(), Some("018a1"));
        assert_eq!(follow("017"), None);
        assert_eq!(follow("0171"), None);
        assert_eq!(follow("016"), None);
    }
}
