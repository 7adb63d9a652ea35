//! Where the files of moved plans go: plan, output, backups, and everything else in their folders.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Layout, NodeChange};
use crate::ids::NodeId;
use crate::node::Node;
use crate::profile::{FilePattern, Level, Profile, parent_folder};
use crate::tree::Tree;

/// Maps the files of a project to their places after a shape change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileMoves {
    /// Plan and output files.
    exact: BTreeMap<String, String>,
    /// Starts of the names of readable backups, longest first.
    backups: Vec<(String, String)>,
    /// Folders of plans, with a trailing slash, longest first.
    folders: Vec<(String, String)>,
    /// Plan and output files of removed plans.
    removed: BTreeSet<String>,
    /// Folders of removed plans, without a slash.
    removed_folders: BTreeSet<String>,
    /// Files that cannot be moved with their folder.
    staying: BTreeSet<String>,
}

impl FileMoves {
    /// Derives the moves from a layout.
    #[must_use]
    pub fn from_layout(tree: &Tree, profile: &Profile, layout: &Layout) -> Self {
        let mut moves = Self::default();
        let after: HashMap<NodeId, &NodeChange> = layout
            .changes
            .iter()
            .map(|change| (change.node, change))
            .collect();
        let file_of = |id: Option<NodeId>| match id {
            Some(id) => match (after.get(&id), &layout.added) {
                (Some(change), _) => change.after.path.clone(),
                (None, Some(added)) if added.id == id => added.name.path.clone(),
                _ => tree.get(id).and_then(|node| node.path.clone()),
            },
            None => None,
        };
        for change in &layout.changes {
            let Some(node) = tree.get(change.node) else {
                continue;
            };
            if let Some(level) = profile.find_level(&node.level) {
                let above = file_of(change.parent_after);
                moves.add_node(tree, level, node, change, above.as_deref());
            }
        }
        for node in layout.removed.iter().filter_map(|id| tree.get(*id)) {
            moves.removed.extend(node.path.clone());
            let Some(level) = profile.find_level(&node.level) else {
                continue;
            };
            let above = folder_above(tree, node);
            let output = level.output.as_ref();
            moves
                .removed
                .extend(output.map(|output| output.file_for(&above, &node.alias)));
            let own = level.file_patterns().find_map(|pattern| {
                let folder = listed_entry(level, pattern, &above, node.path.as_deref()?)?;
                (!pattern.entry_is_file()).then(|| folder.trim_end_matches('/').to_owned())
            });
            moves.removed_folders.extend(own);
        }
        // Longest first, so that the innermost folder decides; the name only makes the order
        // definite.
        let by_length = |list: &mut Vec<(String, String)>| {
            list.sort_by(|(a, _), (b, _)| (b.len(), b).cmp(&(a.len(), a)));
        };
        by_length(&mut moves.backups);
        by_length(&mut moves.folders);
        moves
    }

    fn add_node(
        &mut self,
        tree: &Tree,
        level: &Level,
        node: &Node,
        change: &NodeChange,
        above: Option<&str>,
    ) {
        let (Some(old), Some(new)) = (&change.before.path, &change.after.path) else {
            return;
        };
        let old_above = folder_above(tree, node);
        let new_above = parent_folder(above.unwrap_or_default());
        // Before the plan is compared: prose may move although the plan's own file stays.
        if let Some(output) = &level.output {
            let was = output.file_for(&old_above, &node.alias);
            let path = output.file_for(new_above, &change.after.alias);
            self.exact.insert(was, path);
        }
        if old == new {
            return;
        }
        self.exact.insert(old.clone(), new.clone());
        let own_folder = level.file_patterns().find_map(|pattern| {
            let folders = (
                listed_entry(level, pattern, &old_above, old)?,
                listed_entry(level, pattern, new_above, new)?,
            );
            // Only a folder of its own moves as a whole; files beside a shared one belong to
            // others.
            (!pattern.entry_is_file()).then_some(folders)
        });
        match own_folder {
            Some((was, path)) => self.folders.push((was, path)),
            // The plan shares its folder with others; its backups begin with its name.
            None => self.backups.push((backup_start(old), backup_start(new))),
        }
    }

    /// Leaves a file where it is, although its folder moves; links go on leading there.
    pub fn leave_file(&mut self, path: &str) {
        self.staying.insert(path.to_owned());
    }

    /// Returns where a file goes; `None` if it stays.
    #[must_use]
    pub fn target_of(&self, path: &str) -> Option<String> {
        if self.staying.contains(path) {
            return None;
        }
        // Plan and output have names of their own, which no folder's move may decide.
        if let Some(target) = self.exact.get(path) {
            return Some(target.clone()).filter(|target| target != path);
        }
        // A backup may lie in a folder that moves itself; its own name decides where.
        let prefixed = self
            .backups
            .iter()
            .chain(&self.folders)
            .find_map(|(was, now)| {
                let rest = path.strip_prefix(was.as_str())?;
                Some(format!("{now}{rest}"))
            });
        prefixed.filter(|target| target != path)
    }

    /// Returns the folders whose files may move.
    #[must_use]
    pub fn source_folders(&self) -> BTreeSet<String> {
        let folders = self
            .folders
            .iter()
            .map(|(was, _)| was.trim_end_matches('/'));
        let backups = self.backups.iter().map(|(was, _)| parent_folder(was));
        let mut found: BTreeSet<String> = folders.chain(backups).map(str::to_owned).collect();
        // One inside another is listed with it.
        let all = found.clone();
        found.retain(|folder| {
            !all.iter().any(|other| {
                folder
                    .strip_prefix(other.as_str())
                    .is_some_and(|rest| rest.starts_with('/'))
            })
        });
        found
    }

    /// Iterates over the plan and output files that may move, whether they exist or not.
    pub fn exact_sources(&self) -> impl Iterator<Item = &str> {
        self.exact.keys().map(String::as_str)
    }

    /// Iterates over the folders of removed plans.
    pub fn removed_folders(&self) -> impl Iterator<Item = &str> {
        self.removed_folders.iter().map(String::as_str)
    }

    /// Iterates over the plan and output files of removed plans.
    pub fn removed_files(&self) -> impl Iterator<Item = &str> {
        self.removed.iter().map(String::as_str)
    }
}

/// Returns the entry with a plan in the folder where its pattern lists plans, with a trailing slash.
fn listed_entry(level: &Level, pattern: &FilePattern, above: &str, path: &str) -> Option<String> {
    let above = if level.is_flat() { "" } else { above };
    let entry = pattern.entry_of(above, path)?;
    let listing = pattern.listing_folder(above);
    Some(match listing.as_str() {
        "" => format!("{entry}/"),
        _ => format!("{listing}/{entry}/"),
    })
}

/// Returns the folder of the parent's file.
fn folder_above(tree: &Tree, node: &Node) -> String {
    let above = tree.parent_of(node).and_then(|above| above.path.as_deref());
    parent_folder(above.unwrap_or_default()).to_owned()
}

/// Returns the start of the paths of a plan's backups: `scenes/backups/scene-0204-blueprint-`.
fn backup_start(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    match folder {
        "" => format!("backups/{stem}-"),
        _ => format!("{folder}/backups/{stem}-"),
    }
}
