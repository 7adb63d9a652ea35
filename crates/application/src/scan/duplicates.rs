//! Plan files that share an id: labels for them, and renames of nodes whose label changed.
//!
//! The rule is in `domain::duplicate_ids`. Only entries with a slug can share an id; without one the
//! name of the entry is the id.

use std::collections::{BTreeMap, HashMap, HashSet};

use domain::duplicate_ids::{SharedIdFile, id_of_alias, is_duplicate, label_files, split_label};
use domain::ids::NodeId;
use domain::node::{Node, NodeName};
use domain::ports::{FolderEntry, FolderEntryKind, TrackedState};
use domain::profile::{FilePattern, Level};

use super::Scanner;
use crate::context::Notice;

/// The labels of the files that share an id; empty in nearly every folder.
#[derive(Debug, Default)]
pub(super) struct DuplicateLabels {
    by_path: HashMap<String, String>,
    /// Labels of recorded nodes that differ from their recorded alias.
    changed: HashMap<NodeId, String>,
}

impl DuplicateLabels {
    /// Returns the label of a file; its id if nothing else has it.
    pub(super) fn of_file<'l>(&'l self, path: &str, id: &'l str) -> &'l str {
        self.by_path.get(path).map_or(id, String::as_str)
    }

    /// Returns the label of a recorded node.
    pub(super) fn of_node<'l>(&'l self, node: &'l Node) -> &'l str {
        let changed = self.changed.get(&node.id);
        changed.map_or(node.alias.as_str(), String::as_str)
    }

    /// Indexes recorded nodes by the labels they have now.
    pub(super) fn index_nodes<'l>(
        &'l self,
        nodes: impl Iterator<Item = &'l Node>,
    ) -> HashMap<&'l str, &'l Node> {
        let given: HashSet<&str> = self.changed.values().map(String::as_str).collect();
        nodes
            // Another node has its label now: it leaves the tree with its file.
            .filter(|node| {
                self.changed.contains_key(&node.id) || !given.contains(node.alias.as_str())
            })
            .map(|node| (self.of_node(node), node))
            .collect()
    }
}

impl Scanner<'_, '_> {
    /// Labels the plan files of a folder that share an id. `recorded` are the nodes of the level at
    /// this place, as far as they were loaded.
    pub(super) fn label_duplicates(
        &mut self,
        level: &Level,
        pattern: &FilePattern,
        folder: &str,
        entries: &[FolderEntry],
        recorded: &[&Node],
    ) -> DuplicateLabels {
        let mut labels = DuplicateLabels::default();
        if !pattern.has_slug() {
            return labels;
        }
        let mut by_id: BTreeMap<&str, Vec<&FolderEntry>> = BTreeMap::new();
        for entry in entries {
            let is_plan = pattern.entry_is_file() || entry.kind != FolderEntryKind::File;
            if let Some(id) = pattern.alias_in(&entry.name).filter(|_| is_plan) {
                by_id.entry(id).or_default().push(entry);
            }
        }
        // Also those that shared their id before: the last one left has it alone.
        let labelled: HashSet<&str> = recorded
            .iter()
            .filter_map(|node| split_label(&node.alias))
            .map(|(id, _)| id)
            .collect();
        by_id.retain(|id, entries| {
            (entries.len() > 1 || labelled.contains(id))
                && level.alias.parse_exact_alias(id, &level.numbers).is_some()
        });
        for (id, entries) in by_id {
            let paths: Vec<String> = entries
                .iter()
                .map(|entry| pattern.file_at(folder, &entry.name, id))
                .filter(|path| !self.is_file_gone(path))
                .collect();
            let same_id: Vec<&Node> = recorded
                .iter()
                .copied()
                .filter(|node| id_of_alias(&node.alias) == id)
                .collect();
            self.label_group(id, paths, &same_id, &mut labels);
        }
        labels
    }

    /// Labels the files with one id.
    fn label_group(
        &mut self,
        id: &str,
        paths: Vec<String>,
        recorded: &[&Node],
        labels: &mut DuplicateLabels,
    ) {
        let node_at = |path: &str| {
            let mut nodes = recorded.iter();
            nodes.find(|node| node.path.as_deref() == Some(path))
        };
        // A recorded plan whose file is only missing keeps its label: another file must not inherit
        // its approval.
        let missing: HashSet<&str> = recorded
            .iter()
            .filter(|node| !paths.iter().any(|path| node.path.as_deref() == Some(path)))
            .filter(|node| !self.is_leaving(node))
            .map(|node| node.alias.as_str())
            .collect();
        let files: Vec<SharedIdFile<'_>> = paths
            .iter()
            .map(|path| SharedIdFile {
                path,
                is_recorded: node_at(path).is_some(),
            })
            .collect();
        let given = label_files(id, &files, &missing);
        let first = given.iter().position(|label| label == id);
        let first = first.map(|index| paths[index].clone());
        for (path, label) in paths.iter().zip(given) {
            let known = node_at(path);
            let is_new = known.is_none_or(|node| node.alias != label)
                // Known children are not loaded in a narrow scope, only their names.
                && self.passed_by.binary_search_by(|known| known.as_str().cmp(id)).is_err();
            if is_new && is_duplicate(&label) {
                self.ctx.push_notice(Notice::Duplicate {
                    label: label.clone(),
                    path: path.clone(),
                    other: first.clone().unwrap_or_default(),
                });
            }
            if let Some(node) = known.filter(|node| node.alias != label) {
                let after = NodeName {
                    alias: label.clone(),
                    ..node.name()
                };
                if !self.survey.renames.contains(&(node.id, after.clone())) {
                    self.survey.renames.push((node.id, after));
                }
                labels.changed.insert(node.id, label.clone());
            }
            labels.by_path.insert(path.clone(), label);
        }
    }

    /// Whether a node whose file is gone leaves the tree, because git does not track the file here.
    fn is_leaving(&self, node: &Node) -> bool {
        let path = node.path.clone().unwrap_or_default();
        let states = self.tracked_states(&[path]).unwrap_or_default();
        // On a shared state a plan that is not in this working copy stays.
        states == [TrackedState::Untracked] && self.state.working_copy_secret().is_empty()
    }
}
