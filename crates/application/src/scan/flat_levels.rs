//! Scan of flat levels and item files: tickets, whose front matter names the parent, and scenarios,
//! which are items of one file.
//!
//! In a flat level the folder says nothing about the tree, so parents, moves and cycles are
//! resolved here from the texts.

use std::collections::{BTreeMap, HashMap, HashSet};

use domain::duplicate_ids::label_alias;
use domain::ids::NodeId;
use domain::node::{Content, Description, Node, NodeName};
use domain::observation::{NewNode, ObservedContent, ObservedFile, OwningNode};
use domain::ports::{
    FileReadResult, FileStamp, FileStatResult, FolderEntry, FolderEntryKind, TrackedState,
};
use domain::presence::{AbsentNode, absent_key};
use domain::profile::{FilePattern, Level, Profile, ReadAlias, parent_folder};
use domain::record::Recorded;
use domain::version::compute_hashes;
use domain::work::scenarios;

use super::duplicates::DuplicateLabels;
use super::{Scanner, was_checked_out};
use crate::context::Notice;
use crate::failure::Failure;

/// A file that is not recorded yet.
struct NewFile {
    alias: String,
    order: i64,
    path: String,
    found: ObservedContent,
    wants: Option<String>,
}

impl Scanner<'_, '_> {
    /// Scans a flat level, whose files name their parent in the front matter.
    pub(super) fn scan_flat_level(
        &mut self,
        profile: &Profile,
        level: &Level,
    ) -> Result<(), Failure> {
        let Some(pattern) = &level.file else {
            return Ok(());
        };
        let nodes = self.survey.nodes.clone();
        let recorded: Vec<&Node> = nodes
            .iter()
            .filter(|node| node.profile == profile.name && node.level == level.name)
            .collect();
        let entries = self.files.list_folder(&pattern.listing_folder(""));
        let labels = self.label_duplicates(level, pattern, "", &entries, &recorded);
        let mut known = labels.index_nodes(recorded.into_iter());
        let fresh = self.find_new_files((profile, level), pattern, entries, &labels, &known)?;
        let mut in_order: Vec<&Node> = known.values().copied().collect();
        let recorded: HashMap<NodeId, Option<NodeId>> =
            known.values().map(|node| (node.id, node.parent)).collect();
        // Parents first, as everywhere in a scan; `HashMap` order would differ between runs.
        in_order.sort_by_cached_key(|node| (depth_of(&recorded, node.id), node.id));
        for node in &in_order {
            self.scan_known(node)?;
            // Directly after the ticket, because both files are in one folder.
            self.scan_items_of(node, &self.children_of(&nodes, node))?;
        }
        // A ticket that went with a branch is nobody's parent here.
        let gone = self.find_gone_tickets(&in_order);
        known.retain(|_, node| !gone.contains(&node.id));
        in_order.retain(|node| !gone.contains(&node.id));
        let parents = self.resolve_parents(&known, &fresh);
        self.add_new_files(profile, level, &known, fresh, &parents)?;
        // Moves are recorded from the top down: a node that swaps places with its child would
        // otherwise be moved below its own descendant for a moment, which the tree refuses as a
        // cycle.
        in_order.sort_by_cached_key(|node| {
            (depth_of(&parents, labels.of_node(node).to_owned()), node.id)
        });
        for node in in_order {
            let parent = parents.get(labels.of_node(node));
            self.note_move(node, parent.and_then(Option::as_deref), &known)?;
        }
        Ok(())
    }

    /// Returns the files of a level that are not recorded yet.
    fn find_new_files(
        &mut self,
        (profile, level): (&Profile, &Level),
        pattern: &FilePattern,
        entries: Vec<FolderEntry>,
        labels: &DuplicateLabels,
        known: &HashMap<&str, &Node>,
    ) -> Result<Vec<NewFile>, Failure> {
        let mut fresh: Vec<NewFile> = Vec::new();
        let mut renamed: BTreeMap<String, Vec<NewFile>> = BTreeMap::new();
        for entry in entries {
            let Some(alias) = pattern.alias_in(&entry.name) else {
                continue;
            };
            if !pattern.entry_is_file() && entry.kind == FolderEntryKind::File {
                continue;
            }
            let path = pattern.file_at("", &entry.name, alias);
            let label = labels.of_file(&path, alias);
            let recorded = |name: &str| known.get(name).and_then(|node| node.path.as_deref());
            if recorded(label).is_some_and(|known| known == path) {
                continue;
            }
            let Some(mut read) = level.alias.parse_exact_alias(alias, &level.numbers) else {
                continue;
            };
            // A new folder without its `ticket.md` is not a ticket yet.
            if self.unwritten.contains(&path)
                || matches!(self.files.stat_file(&path), FileStatResult::Missing)
            {
                continue;
            }
            if recorded(alias).is_some_and(|path| self.is_file_gone(path)) {
                renamed
                    .entry(read.alias.clone())
                    .or_default()
                    .extend(self.read_new_file((profile, level), read, path)?);
                continue;
            }
            read.alias = label.to_owned();
            fresh.extend(self.read_new_file((profile, level), read, path)?);
        }
        for (alias, files) in renamed {
            if let Some(node) = known.get(alias.as_str()) {
                fresh.extend(self.follow_renamed_folder(node, files)?);
            }
        }
        Ok(fresh)
    }

    /// Reads a file that is not recorded yet; `None` when it cannot be read now.
    fn read_new_file(
        &mut self,
        rules: (&Profile, &Level),
        read: ReadAlias,
        path: String,
    ) -> Result<Option<NewFile>, Failure> {
        // The node number is assigned once its parent is known; `u32::MAX` is a placeholder, and
        // the stamp that was filed under it is dropped again.
        let Some(found) = self.read_plan(NodeId(u32::MAX), None, rules, &path)? else {
            return Ok(None);
        };
        self.survey.stamps.retain(|(id, ..)| id.0 != u32::MAX);
        let wants = named_parent(&found);
        let order = read.number.map_or(0, i64::from);
        Ok(Some(NewFile {
            alias: read.alias,
            order,
            path,
            found,
            wants,
        }))
    }

    pub(super) fn is_file_gone(&self, path: &str) -> bool {
        matches!(self.files.stat_file(path), FileStatResult::Missing)
    }

    /// Decides what became of a ticket whose folder is gone while others have its id: one of them
    /// is the same ticket in a renamed folder, or they are other tickets. Returns the files of new
    /// tickets.
    fn follow_renamed_folder(
        &mut self,
        node: &Node,
        mut files: Vec<NewFile>,
    ) -> Result<Vec<NewFile>, Failure> {
        let is_equal = |file: &NewFile| {
            matches!(&file.found, ObservedContent::Text { canonical, .. }
                if node.content.canonical_hash() == Some(*canonical))
        };
        let equal: Vec<usize> = (0..files.len())
            .filter(|index| is_equal(&files[*index]))
            .collect();
        let same = match (equal.as_slice(), files.len()) {
            ([one], _) => Some(*one),
            // Edited as well. Another branch may have another ticket with this id, so a checkout is
            // no rename.
            ([], 1) if !was_checked_out(self.ctx, self.state)? => Some(0),
            _ => None,
        };
        // A file that was absent is the ticket it was before.
        let returns = |file: &NewFile| {
            let key = absent_key(&node.profile, &file.path);
            self.state.record_body(AbsentNode::KIND, &key)
        };
        let same = match same {
            Some(index) if returns(&files[index])?.is_none() => Some(index),
            _ => None,
        };
        let file = files.remove(same.unwrap_or_default());
        // Labelled by path with the next scan, when it is known which of them is the ticket.
        for (index, other) in files.iter_mut().enumerate() {
            other.alias = label_alias(&node.alias, index + 1);
        }
        if same.is_none() {
            self.replaced.insert(node.id);
            files.push(file);
            return Ok(files);
        }
        self.survey.renames.push((
            node.id,
            NodeName {
                path: Some(file.path.clone()),
                ..node.name()
            },
        ));
        self.renamed.insert(node.id, file.path);
        Ok(files)
    }

    /// Returns the tickets that are not here because git does not track them here.
    fn find_gone_tickets(&self, tickets: &[&Node]) -> HashSet<NodeId> {
        let seen = self.survey.sightings.iter();
        let missing: HashSet<NodeId> = seen
            .filter(|sighting| sighting.found == ObservedContent::Missing)
            .map(|sighting| sighting.place.node_id())
            .chain(self.still_missing.iter().copied())
            .collect();
        let missing: Vec<&&Node> = tickets
            .iter()
            .filter(|node| missing.contains(&node.id))
            .collect();
        let files: Vec<String> = missing
            .iter()
            .map(|node| node.path.clone().unwrap_or_default())
            .collect();
        let states = self.tracked_states(&files).unwrap_or_default();
        // On a shared state a ticket that is not in this working copy stays.
        let is_shared = !self.state.working_copy_secret().is_empty();
        missing
            .into_iter()
            .zip(states)
            .filter(|(_, state)| *state == TrackedState::Untracked && !is_shared)
            .map(|(node, _)| node.id)
            .chain(self.replaced.iter().copied())
            .collect()
    }

    /// Returns every file's parent, by alias.
    ///
    /// A parent that does not exist, or that would close a cycle, is reported and left out.
    fn resolve_parents(
        &self,
        known: &HashMap<&str, &Node>,
        fresh: &[NewFile],
    ) -> HashMap<String, Option<String>> {
        let mut wants: HashMap<String, (Option<String>, String)> = HashMap::new();
        let sightings = self.survey.sightings.iter();
        let seen: HashMap<NodeId, &ObservedContent> = sightings
            .filter_map(|sighting| match &sighting.place {
                OwningNode::Known(id) => Some((*id, &sighting.found)),
                _ => None,
            })
            .collect();
        for (alias, node) in known {
            // The text on disk counts before the recorded one: this scan may just have read it.
            let parent = match seen.get(&node.id).copied() {
                Some(found @ ObservedContent::Text { .. }) => named_parent(found),
                _ => node
                    .description
                    .work
                    .as_ref()
                    .and_then(|work| work.parent.clone()),
            };
            wants.insert(
                (*alias).to_owned(),
                (parent, node.path.clone().unwrap_or_default()),
            );
        }
        for one in fresh {
            wants.insert(one.alias.clone(), (one.wants.clone(), one.path.clone()));
        }
        let mut parents: HashMap<String, Option<String>> = HashMap::new();
        let mut aliases: Vec<&String> = wants.keys().collect();
        // A stable order of the notices: `HashMap` iterates differently in every process.
        aliases.sort();
        for alias in aliases {
            let (parent, path) = &wants[alias];
            let broken = parent.as_ref().and_then(|parent| {
                if !wants.contains_key(parent) {
                    return Some(format!(
                        "its front matter names the parent `{parent}`, which does not exist"
                    ));
                }
                let mut above = Some(parent);
                let mut steps = 0;
                while let Some(one) = above {
                    // The step limit ends a walk into a cycle that `alias` is not part of.
                    if one == alias || steps > wants.len() {
                        return Some(format!(
                            "its front matter names the parent `{parent}`, which creates a cycle"
                        ));
                    }
                    steps += 1;
                    above = wants.get(one).and_then(|(parent, _)| parent.as_ref());
                }
                None
            });
            if let Some(why) = &broken {
                self.ctx.push_notice(Notice::Misplaced {
                    path: path.clone(),
                    why: why.clone(),
                });
            }
            parents.insert(alias.clone(), parent.clone().filter(|_| broken.is_none()));
        }
        parents
    }

    /// Adds the new nodes, each after its parent.
    fn add_new_files(
        &mut self,
        profile: &Profile,
        level: &Level,
        known: &HashMap<&str, &Node>,
        mut fresh: Vec<NewFile>,
        parents: &HashMap<String, Option<String>>,
    ) -> Result<(), Failure> {
        let mut added: HashMap<String, NodeId> = HashMap::new();
        while !fresh.is_empty() && !self.is_slice_full() {
            let parent_of = |one: &NewFile| parents.get(&one.alias).cloned().flatten();
            let ready = fresh.iter().position(|one| match parent_of(one) {
                None => true,
                Some(parent) => known.contains_key(parent.as_str()) || added.contains_key(&parent),
            });
            // Cycles were removed by `resolve_parents`, so one is always ready.
            let one = fresh.remove(ready.unwrap_or_default());
            let parent = parent_of(&one).and_then(|parent| {
                known
                    .get(parent.as_str())
                    .map(|node| node.id)
                    .or_else(|| added.get(&parent).copied())
            });
            let id = NodeId(self.next_node);
            self.next_node += 1;
            added.insert(one.alias.clone(), id);
            let new = NewNode {
                id,
                parent,
                profile: profile.name.clone(),
                level: level.name.clone(),
                alias: one.alias,
                order: one.order,
                path: Some(one.path.clone()),
            };
            self.survey.sightings.push(ObservedFile {
                place: OwningNode::New(new),
                found: one.found,
            });
            self.scan_item_files(profile, level, id, &one.path, &[])?;
        }
        Ok(())
    }

    /// Checks whether a node's file names another parent now.
    pub(super) fn detect_move(&mut self, node: &Node) -> Result<(), Failure> {
        if !self
            .level_of(node)
            .is_some_and(|(_, level)| level.is_flat())
        {
            return Ok(());
        }
        let seen = self
            .survey
            .sightings
            .iter()
            .find(|sighting| sighting.place == OwningNode::Known(node.id));
        let Some(ObservedContent::Text { description, .. }) = seen.map(|sighting| &sighting.found)
        else {
            return Ok(());
        };
        let wanted = description
            .work
            .as_ref()
            .and_then(|work| work.parent.clone());
        if wanted
            == node
                .description
                .work
                .as_ref()
                .and_then(|work| work.parent.clone())
        {
            return Ok(());
        }
        let Some(alias) = wanted else {
            return self.note_move(node, None, &HashMap::new());
        };
        let candidates = self.state.nodes_by_alias(&alias)?;
        let fits = |one: &&Node| one.profile == node.profile && one.level == node.level;
        let Some(parent) = candidates.iter().find(fits) else {
            return Ok(());
        };
        // A cycle is reported by the full scan; here it only has to be avoided.
        let mut above = Some(parent.id);
        while let Some(id) = above {
            if id == node.id {
                return Ok(());
            }
            above = self.state.load_node(id)?.and_then(|node| node.parent);
        }
        self.note_move(
            node,
            Some(&alias),
            &HashMap::from([(alias.as_str(), parent)]),
        )
    }

    fn note_move(
        &mut self,
        node: &Node,
        parent: Option<&str>,
        known: &HashMap<&str, &Node>,
    ) -> Result<(), Failure> {
        let after = match parent {
            None => None,
            Some(alias) => match known.get(alias) {
                Some(parent) => Some(parent.id),
                None => self
                    .survey
                    .sightings
                    .iter()
                    .find_map(|sighting| match &sighting.place {
                        OwningNode::New(new) if new.alias == alias && new.level == node.level => {
                            Some(new.id)
                        }
                        _ => None,
                    }),
            },
        };
        if after != node.parent {
            self.survey.moves.push((node.id, after));
        }
        Ok(())
    }

    /// Returns whether the level below a node comes from the items of a file next to its own.
    pub(super) fn has_items_below(&self, node: &Node) -> bool {
        let profile = self.ctx.find_profile(&node.profile);
        profile.is_some_and(|profile| {
            profile
                .levels_under(&node.level)
                .any(|level| level.items.is_some())
        })
    }

    /// Returns the recorded children of a node.
    fn children_of<'n>(&self, nodes: &'n [Node], node: &Node) -> Vec<&'n Node> {
        self.children
            .get(&Some(node.id))
            .into_iter()
            .flatten()
            .map(|index| &nodes[*index])
            .collect()
    }

    /// Scans the items below a recorded node.
    pub(super) fn scan_items_of(&mut self, node: &Node, children: &[&Node]) -> Result<(), Failure> {
        let path = self.renamed.get(&node.id).or(node.path.as_ref()).cloned();
        let (Some(profile), Some(path)) = (self.ctx.find_profile(&node.profile), path) else {
            return Ok(());
        };
        let Some(level) = profile.find_level(&node.level) else {
            return Ok(());
        };
        self.scan_item_files(profile, level, node.id, &path, children)
    }

    /// Scans the files next to `path` whose items are nodes below `parent`.
    pub(super) fn scan_item_files(
        &mut self,
        profile: &Profile,
        level: &Level,
        parent: NodeId,
        path: &str,
        children: &[&Node],
    ) -> Result<(), Failure> {
        for level in profile.levels_under(&level.name) {
            let Some(file) = &level.items else { continue };
            let file = match parent_folder(path) {
                "" => file.clone(),
                folder => format!("{folder}/{file}"),
            };
            let recorded: Vec<&Node> = children
                .iter()
                .copied()
                .filter(|child| child.level == level.name)
                .collect();
            self.scan_item_file(profile, level, parent, &file, &recorded)?;
        }
        Ok(())
    }

    fn scan_item_file(
        &mut self,
        profile: &Profile,
        level: &Level,
        parent: NodeId,
        file: &str,
        recorded: &[&Node],
    ) -> Result<(), Failure> {
        let look = self.check_file(file);
        if let FileStatResult::Unavailable(why) = look {
            self.note_unavailable(file, why);
            return Ok(());
        }
        if !matches!(look, FileStatResult::Missing) {
            self.item_files.insert(file.to_owned());
        }
        let FileStatResult::Present(stamp) = look else {
            self.note_missing_items(recorded.iter().copied());
            return Ok(());
        };
        // All items share the file's stamp: if every recorded one has the current stamp, the file
        // is unchanged and can have no new item.
        let unchanged = |node: &&Node| {
            self.stamp_index(node.id).is_ok_and(|at| {
                let (_, known, version) = &self.stamps[at];
                *known == stamp && node.content.version_hash() == Some(*version)
            })
        };
        if self.trust_stamps && !recorded.is_empty() && recorded.iter().all(unchanged) {
            return Ok(());
        }
        let looked = stamp;
        let Some((text, stamp)) = self.read_item_file(file) else {
            return Ok(());
        };
        // A stamp that differs from the one checked means the file changed while it was read, so
        // the scan must not be cached. A file without items has no node to keep its stamp and is
        // read by every scan.
        self.is_uncertain |= stamp != Some(looked);
        let items = scenarios::parse_scenarios(&text);
        let is_there = |node: &Node| items.iter().any(|item| item.slug == node.alias);
        self.note_missing_items(recorded.iter().copied().filter(|node| !is_there(node)));
        for (index, item) in items.into_iter().enumerate() {
            let (version, canonical) = compute_hashes(&item.text);
            let node = recorded.iter().find(|node| node.alias == item.slug);
            let id = node.map_or(NodeId(self.next_node), |node| node.id);
            self.survey
                .stamps
                .extend(stamp.map(|stamp| (id, stamp, version)));
            if node.is_some_and(|node| node.content.version_hash() == Some(version)) {
                continue;
            }
            let found = ObservedContent::Text {
                version,
                canonical,
                description: Description {
                    title: Some(item.title),
                    ..Description::default()
                },
            };
            let place = match node {
                Some(node) => OwningNode::Known(node.id),
                None => {
                    let order = i64::try_from(index + 1).unwrap_or_default();
                    self.new_item(profile, level, parent, item.slug, order)
                }
            };
            self.survey.texts.push(item.text);
            self.survey.sightings.push(ObservedFile { place, found });
        }
        Ok(())
    }

    /// Reports items that are no longer in their file.
    fn note_missing_items<'n>(&mut self, gone: impl Iterator<Item = &'n Node>) {
        for node in gone.filter(|node| node.content != Content::Missing) {
            self.survey.sightings.push(ObservedFile {
                place: OwningNode::Known(node.id),
                found: ObservedContent::Missing,
            });
        }
    }

    /// Reads the file of items; a problem is reported, and the recorded items stay as they are.
    fn read_item_file(&mut self, file: &str) -> Option<(String, Option<FileStamp>)> {
        match self.files.read_file(file, self.ctx.policy.max_plan_bytes) {
            FileReadResult::Text { text, stamp } => return Some((text, stamp)),
            FileReadResult::Missing => {}
            FileReadResult::Unreadable {
                why,
                transient: true,
            } => self.note_unavailable(file, why),
            FileReadResult::Unreadable {
                why,
                transient: false,
            } => self.ctx.push_notice(Notice::Misplaced {
                path: file.to_owned(),
                why,
            }),
        }
        None
    }

    /// Returns the place of an item that is not recorded yet.
    fn new_item(
        &mut self,
        profile: &Profile,
        level: &Level,
        parent: NodeId,
        alias: String,
        order: i64,
    ) -> OwningNode {
        let id = NodeId(self.next_node);
        self.next_node += 1;
        OwningNode::New(NewNode {
            id,
            parent: Some(parent),
            profile: profile.name.clone(),
            level: level.name.clone(),
            alias,
            order,
            path: None,
        })
    }
}

/// Returns the number of nodes from `one` up to its root; cycles end after as many steps as there
/// are nodes.
fn depth_of<K: Clone + Eq + std::hash::Hash>(parents: &HashMap<K, Option<K>>, one: K) -> usize {
    let above = std::iter::successors(Some(one), |one| parents.get(one).cloned().flatten());
    above.take(parents.len() + 1).count()
}

/// Returns the parent that a text's front matter names.
fn named_parent(found: &ObservedContent) -> Option<String> {
    match found {
        ObservedContent::Text { description, .. } => description
            .work
            .as_ref()
            .and_then(|work| work.parent.clone()),
        ObservedContent::Missing | ObservedContent::Unreadable { .. } => None,
    }
}
