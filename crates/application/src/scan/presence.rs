//! Presence and identity in a scan: absent plans, plans that are there again, moved plans.
//!
//! Runs after the files were compared. What looks like a deleted plan may have gone with a branch
//! (then git does not track it any more) or to another file (then its text is there); what looks
//! like a new plan may be one of these coming back. The rules are in `domain::presence`.

use std::collections::{HashMap, HashSet};

use domain::ids::{CanonicalHash, NodeId, VersionHash};
use domain::node::{Content, Node, NodeName};
use domain::observation::{NewNode, ObservedContent, ObservedFile, OwningNode};
use domain::ports::TrackedState;
use domain::presence::{
    AbsentNode, PlanIdentity, absent_key, is_similar_text, item_place, match_moved_plans,
    text_without_own_name,
};
use domain::profile::parent_folder;
use domain::record::{read_record, read_records};
use domain::version::compute_hashes;
use domain::work::scenarios::scenario_body;

use super::seen_head::was_checked_out;
use super::{Misfit, Scanner};
use crate::context::Notice;
use crate::failure::Failure;

/// Number of new files up to which absent nodes are looked up one by one instead of all at once.
const MAX_SINGLE_LOOKUPS: usize = 8;
/// Maximum number of pairs of texts compared for an offer. Each comparison reads a stored text.
const MAX_COMPARED_PAIRS: usize = 64;
/// Maximum number of plans that are read to find those that were renumbered.
const MAX_READ_IDENTITIES: usize = 32;
/// Maximum number of offered moves.
const MAX_OFFERS: usize = 8;

/// A node that leaves the tree because its file is not in the checked-out tree.
#[derive(Clone, Debug)]
pub(crate) struct AbsentPlan {
    /// Key of its record.
    pub(crate) key: String,
    /// Its path of aliases.
    pub(crate) name: String,
    pub(crate) node: Node,
}

/// An absent node whose file is there again, or that another node has replaced.
#[derive(Clone, Debug)]
pub(crate) struct ReturnedPlan {
    pub(crate) key: String,
    pub(crate) absent: AbsentNode,
}

/// The recorded nodes of a scan, by id.
type NodesById<'n> = HashMap<NodeId, &'n Node>;

impl<'a> Scanner<'_, 'a> {
    /// Resolves what is absent, returned or moved; `whole` if every file was compared.
    pub(super) fn resolve_presence(&mut self, whole: bool) -> Result<(), Failure> {
        self.match_presence(whole)?;
        for misfit in std::mem::take(&mut self.misfits) {
            self.report_wrong_parent(misfit.path, &misfit.read.alias);
        }
        Ok(())
    }

    fn match_presence(&mut self, whole: bool) -> Result<(), Failure> {
        if self.survey.sightings.is_empty() && self.still_missing.is_empty() {
            return Ok(());
        }
        let mut ids = HashMap::new();
        self.revive_absent(&mut ids)?;
        // Planned files are the caller's own: what it deletes is deleted, and what it writes is
        // new.
        if whole && !self.ctx.has_planned_files() {
            let nodes = self.survey.nodes.clone();
            let by_id: NodesById<'_> = nodes.iter().map(|node| (node.id, node)).collect();
            let ambiguous = self.follow_moves(&by_id, &mut ids)?;
            self.offer_moves(&by_id, &ambiguous)?;
            self.note_absent(&by_id)?;
        }
        self.assign_ids(&ids);
        Ok(())
    }

    /// Whether the differences that were found can only be judged by a scan of everything.
    pub(super) fn needs_whole_scan(&self) -> Result<bool, Failure> {
        if self.ctx.has_planned_files() {
            return Ok(false);
        }
        for sighting in &self.survey.sightings {
            match (&sighting.place, &sighting.found) {
                (OwningNode::Known(_), ObservedContent::Missing) => return Ok(true),
                // A text the store has may be that of a plan that was moved here. One it does not
                // have is new, which is the common case and costs one lookup.
                (OwningNode::New(_), ObservedContent::Text { version, .. })
                    if self.state.load_text(*version)?.is_some() =>
                {
                    return Ok(true);
                }
                _ => {}
            }
        }
        let mut paths = Vec::new();
        for id in &self.still_missing {
            paths.extend(self.state.load_node(*id)?.and_then(|node| node.path));
        }
        Ok(self
            .tracked_states(&paths)
            .is_some_and(|states| states.contains(&TrackedState::Untracked)))
    }

    /// Turns new files of absent nodes into these nodes.
    fn revive_absent(&mut self, ids: &mut HashMap<NodeId, NodeId>) -> Result<(), Failure> {
        let news: Vec<(usize, NewNode)> = self
            .survey
            .sightings
            .iter()
            .enumerate()
            .filter_map(|(index, sighting)| match &sighting.place {
                OwningNode::New(new) => Some((index, new.clone())),
                _ => None,
            })
            .collect();
        if news.is_empty() {
            return Ok(());
        }
        let all: Option<HashMap<String, AbsentNode>> = if news.len() > MAX_SINGLE_LOOKUPS {
            let found: HashMap<_, _> = read_records(self.state, "")?.into_iter().collect();
            if found.is_empty() {
                return Ok(());
            }
            Some(found)
        } else {
            None
        };
        let mut paths: HashMap<NodeId, String> = HashMap::new();
        for (index, new) in news {
            if let Some(path) = &new.path {
                paths.insert(new.id, path.clone());
            }
            let Some(place) = self.place_of_new(&new, &paths)? else {
                continue;
            };
            let key = absent_key(&new.profile, &place);
            let found = match &all {
                Some(all) => all.get(&key).cloned(),
                None => read_record(self.state, &key)?,
            };
            let Some(absent) = found else { continue };
            // An id that is in use means that the node was recorded again in another way.
            let is_same =
                absent.node.level == new.level && self.state.load_node(absent.node.id)?.is_none();
            if is_same {
                ids.insert(new.id, absent.node.id);
                let mut node = absent.node.clone();
                node.parent = new.parent;
                node.set_name(NodeName {
                    alias: new.alias,
                    order: new.order,
                    path: new.path,
                });
                self.survey.sightings[index].place = OwningNode::Returned(Box::new(node));
            }
            self.survey.returned.push(ReturnedPlan { key, absent });
        }
        Ok(())
    }

    /// Returns the place of a new node: its file, or the file of items it is in.
    fn place_of_new(
        &self,
        new: &NewNode,
        paths: &HashMap<NodeId, String>,
    ) -> Result<Option<String>, Failure> {
        if new.path.is_some() {
            return Ok(new.path.clone());
        }
        let Some(parent) = new.parent else {
            return Ok(None);
        };
        let above = match (paths.get(&parent), self.renamed.get(&parent)) {
            (Some(path), _) | (None, Some(path)) => Some(path.clone()),
            (None, None) => self.state.load_node(parent)?.and_then(|node| node.path),
        };
        Ok(above
            .and_then(|above| self.item_file(&new.profile, &new.level, &above))
            .map(|file| item_place(&file, &new.alias)))
    }

    /// Returns the file whose items are the nodes of a level, below the node with file `above`.
    fn item_file(&self, profile: &str, level: &str, above: &str) -> Option<String> {
        let level = self.ctx.find_profile(profile)?.find_level(level)?;
        let file = level.items.as_ref()?;
        Some(match parent_folder(above) {
            "" => file.clone(),
            folder => format!("{folder}/{file}"),
        })
    }

    /// Turns new files with the text of a plan that is gone into moves of that plan. Returns the
    /// pairs that are ambiguous.
    fn follow_moves(
        &mut self,
        nodes: &NodesById<'_>,
        ids: &mut HashMap<NodeId, NodeId>,
    ) -> Result<Vec<(NodeId, NodeId)>, Failure> {
        let mut gone: Vec<PlanIdentity> = Vec::new();
        for node in self.gone_nodes(nodes) {
            gone.push(PlanIdentity {
                id: node.id,
                parent: node.parent,
                profile: node.profile.clone(),
                level: node.level.clone(),
                alias: node.alias.clone(),
                canonical: match (&node.path, node.content.version_hash()) {
                    (None, Some(version)) => self.hash_item_body(version)?,
                    _ => node.content.canonical_hash(),
                },
            });
        }
        if gone.is_empty() {
            return Ok(Vec::new());
        }
        let misfits = self.sight_misfits()?;
        let mut new: Vec<PlanIdentity> = Vec::new();
        for sighting in &self.survey.sightings {
            if let OwningNode::New(place) = &sighting.place
                && let ObservedContent::Text {
                    canonical, version, ..
                } = &sighting.found
            {
                new.push(PlanIdentity {
                    id: place.id,
                    parent: place.parent,
                    profile: place.profile.clone(),
                    level: place.level.clone(),
                    alias: place.alias.clone(),
                    canonical: match place.path {
                        None => self.hash_item_body(*version)?,
                        Some(_) => Some(*canonical),
                    },
                });
            }
        }
        let mut matched = match_moved_plans(&gone, &new);
        let renumbered = self.match_renumbered(gone, new, &matched.moved, nodes)?;
        matched.moved.extend(renumbered);
        for (was, now) in &matched.moved {
            let (Some(node), Some(index)) = (nodes.get(was), self.sighting_of(*now)) else {
                continue;
            };
            let OwningNode::New(new) = self.survey.sightings[index].place.clone() else {
                continue;
            };
            // The provisional id of the file becomes that of the former node, so that children
            // found below it get the right parent.
            ids.insert(new.id, node.id);
            self.survey.sightings[index].place = OwningNode::Known(node.id);
            let after = NodeName {
                alias: new.alias,
                order: new.order,
                path: new.path,
            };
            if node.name() != after {
                self.survey.renames.push((node.id, after));
            }
            self.survey.moves.push((node.id, new.parent));
        }
        let moved: HashSet<NodeId> = matched.moved.iter().map(|(was, _)| *was).collect();
        // A moved plan is not missing: reported as such, it would become invalid for one operation
        // (law 7).
        self.survey.sightings.retain(|sighting| {
            sighting.found != ObservedContent::Missing || !moved.contains(&sighting.place.node_id())
        });
        self.settle_misfits(misfits, ids);
        let is_new = |(_, now): &(NodeId, NodeId)| self.sighting_of(*now).is_some();
        Ok(matched.ambiguous.into_iter().filter(is_new).collect())
    }

    /// Matches the plans that are left by texts in which their own names do not count: one that was renumbered
    /// elsewhere names itself differently.
    fn match_renumbered(
        &self,
        mut gone: Vec<PlanIdentity>,
        mut new: Vec<PlanIdentity>,
        moved: &[(NodeId, NodeId)],
        nodes: &NodesById<'_>,
    ) -> Result<Vec<(NodeId, NodeId)>, Failure> {
        gone.retain(|one| moved.iter().all(|(was, _)| *was != one.id));
        new.retain(|one| moved.iter().all(|(_, now)| *now != one.id));
        // Every one of them is read: after the checkout of another branch there may be thousands.
        if gone.is_empty() || new.is_empty() || gone.len() + new.len() > MAX_READ_IDENTITIES {
            return Ok(Vec::new());
        }
        for one in &mut gone {
            let node = nodes.get(&one.id).filter(|node| node.path.is_some());
            if let Some(version) = node.and_then(|node| node.content.version_hash()) {
                one.canonical = self.hash_without_name(version, &one.alias)?;
            }
        }
        for one in &mut new {
            let index = self.sighting_of(one.id);
            let sighting = index.and_then(|index| self.survey.sightings.get(index));
            if let Some(ObservedFile { place, found }) = sighting
                && let OwningNode::New(NewNode { path: Some(_), .. }) = place
                && let ObservedContent::Text { version, .. } = found
            {
                one.canonical = self.hash_without_name(*version, &one.alias)?;
            }
        }
        Ok(match_moved_plans(&gone, &new).moved)
    }

    fn hash_without_name(
        &self,
        version: VersionHash,
        alias: &str,
    ) -> Result<Option<CanonicalHash>, Failure> {
        let text = self.text_of_version(version)?;
        Ok(text.map(|text| compute_hashes(&text_without_own_name(&text, alias)).1))
    }

    /// Returns the text of a version that this scan read or that is stored.
    fn text_of_version(&self, version: VersionHash) -> Result<Option<String>, Failure> {
        let is_it = |text: &&String| VersionHash::of_bytes(text.as_bytes()) == version;
        Ok(match self.survey.texts.iter().find(is_it) {
            Some(text) => Some(text.clone()),
            None => self.state.load_text(version)?,
        })
    }

    /// Reads the files whose aliases name another parent, as new plans for the time of the matching.
    fn sight_misfits(&mut self) -> Result<Vec<(NodeId, Misfit<'a>)>, Failure> {
        let mut sighted = Vec::new();
        let misfits = std::mem::take(&mut self.misfits);
        // Ids from the end of their range: nearly all of them are given back.
        for (id, misfit) in (0..=u32::MAX).rev().map(NodeId).zip(misfits) {
            let (rules, path) = ((misfit.profile, misfit.level), &misfit.path);
            if let Some(found) = self.read_plan(id, None, rules, path)? {
                let new = NewNode {
                    id,
                    parent: misfit.parent,
                    profile: misfit.profile.name.clone(),
                    level: misfit.level.name.clone(),
                    alias: misfit.read.alias.clone(),
                    order: misfit.read.order,
                    path: Some(path.clone()),
                };
                let place = OwningNode::New(new);
                self.survey.sightings.push(ObservedFile { place, found });
            }
            sighted.push((id, misfit));
        }
        Ok(sighted)
    }

    /// Reports the files whose aliases name another parent. Those of no known plan are not recorded.
    fn settle_misfits(
        &mut self,
        misfits: Vec<(NodeId, Misfit<'a>)>,
        ids: &HashMap<NodeId, NodeId>,
    ) {
        for (id, misfit) in misfits {
            if ids.contains_key(&id) {
                self.report_fitting_name(&misfit.path);
                continue;
            }
            let sightings = &mut self.survey.sightings;
            sightings.retain(|sighting| sighting.place.node_id() != id);
            self.survey.stamps.retain(|(node, ..)| *node != id);
            self.misfits.push(misfit);
        }
    }

    /// Returns a hash of what an item of a file says below its title: with another title it is the same
    /// item. `None` if it says nothing there.
    fn hash_item_body(&self, version: VersionHash) -> Result<Option<CanonicalHash>, Failure> {
        let text = self.text_of_version(version)?;
        let body = text.as_deref().map(scenario_body).unwrap_or_default();
        Ok((!body.is_empty()).then(|| compute_hashes(body).1))
    }

    /// Returns the recorded nodes whose text is gone, parents first.
    fn gone_nodes<'n>(&self, nodes: &'n NodesById<'n>) -> impl Iterator<Item = &'n Node> {
        self.survey
            .sightings
            .iter()
            .filter_map(|sighting| match (&sighting.place, &sighting.found) {
                (OwningNode::Known(id), ObservedContent::Missing) => nodes.get(id).copied(),
                _ => None,
            })
            .filter(|node| node.content.canonical_hash().is_some())
            .collect::<Vec<_>>()
            .into_iter()
    }

    fn sighting_of(&self, id: NodeId) -> Option<usize> {
        self.survey
            .sightings
            .iter()
            .position(|sighting| sighting.place.node_id() == id)
    }

    /// Offers moves that are likely but not certain. Not after a checkout: two branches often have
    /// similar plans that are different ones.
    fn offer_moves(
        &mut self,
        nodes: &NodesById<'_>,
        ambiguous: &[(NodeId, NodeId)],
    ) -> Result<(), Failure> {
        let gone: Vec<&Node> = self.gone_nodes(nodes).collect();
        let new: Vec<(NewNode, VersionHash)> = self
            .survey
            .sightings
            .iter()
            .filter_map(|sighting| match (&sighting.place, &sighting.found) {
                (OwningNode::New(new), ObservedContent::Text { version, .. }) => {
                    Some((new.clone(), *version))
                }
                _ => None,
            })
            .collect();
        if gone.is_empty() || new.is_empty() || was_checked_out(self.ctx, self.state)? {
            return Ok(());
        }
        // Similarity is quadratic in the number of plans and compares whole texts; equal ones are
        // known from their hashes.
        let compares = gone.len() * new.len() <= MAX_COMPARED_PAIRS;
        let mut offers = Vec::new();
        for node in gone {
            for (new, version) in &new {
                if (&new.profile, &new.level) != (&node.profile, &node.level) {
                    continue;
                }
                let is_equal = ambiguous.contains(&(node.id, new.id));
                if is_equal || (compares && self.is_similar(node, *version)?) {
                    offers.push(Notice::PossibleMove {
                        was: name_of(nodes, node),
                        now: new.path.clone().unwrap_or_else(|| new.alias.clone()),
                        is_equal,
                    });
                }
            }
        }
        offers.truncate(MAX_OFFERS);
        offers
            .into_iter()
            .for_each(|offer| self.ctx.push_notice(offer));
        Ok(())
    }

    fn is_similar(&self, node: &Node, new: VersionHash) -> Result<bool, Failure> {
        let Some(older) = node.content.version_hash() else {
            return Ok(false);
        };
        let newer = self
            .survey
            .texts
            .iter()
            .find(|text| VersionHash::of_bytes(text.as_bytes()) == new);
        let (Some(older), Some(newer)) = (self.state.load_text(older)?, newer) else {
            return Ok(false);
        };
        Ok(is_similar_text(&older, newer))
    }

    /// Removes from the sightings what went with a branch, and notes it as absent.
    fn note_absent(&mut self, nodes: &NodesById<'_>) -> Result<(), Failure> {
        let missing: Vec<&Node> = self
            .survey
            .sightings
            .iter()
            .filter(|sighting| sighting.found == ObservedContent::Missing)
            .filter_map(|sighting| match &sighting.place {
                OwningNode::Known(id) => nodes.get(id).copied(),
                OwningNode::New(_) | OwningNode::Returned(_) => None,
            })
            .chain(
                self.still_missing
                    .iter()
                    .filter_map(|id| nodes.get(id).copied()),
            )
            .collect();
        let missing = self.without_parents_of_present(missing);
        if missing.is_empty() {
            return Ok(());
        }
        // Several working copies share this state: what is not in this one is in another.
        let is_shared = !self.state.working_copy_secret().is_empty();
        let untracked = match self.find_untracked(nodes, &missing, is_shared) {
            Some(untracked) => {
                // Whether these are still missing or absent depends on git's index, which the scan
                // cache does not watch.
                self.is_uncertain |= missing
                    .iter()
                    .any(|node| self.still_missing.contains(&node.id));
                untracked
            }
            None if is_shared => return Ok(()),
            // Without a repository a plan that is not there was deleted, and an item is not in its
            // file any more.
            None => {
                let items = missing.iter().filter(|node| node.path.is_none());
                items.map(|node| node.id).collect()
            }
        };
        if is_shared {
            self.drop_missing(|id| untracked.contains(&id));
            return Ok(());
        }
        let absent = self.select_absent(nodes, &missing, &untracked);
        let gone: HashSet<NodeId> = absent.iter().copied().collect();
        self.drop_missing(|id| gone.contains(&id));
        self.survey.moves.retain(|(id, _)| !gone.contains(id));
        for id in absent {
            let Some(node) = nodes.get(&id) else { continue };
            let Some(place) = self.place_of_recorded(nodes, node) else {
                continue;
            };
            self.survey.absent.push(AbsentPlan {
                key: absent_key(&node.profile, &place),
                name: name_of(nodes, node),
                node: (*node).clone(),
            });
        }
        Ok(())
    }

    /// Leaves out nodes with a child that is here: a folder without its own plan stays a node, and
    /// git is not asked about it in every scan.
    fn without_parents_of_present<'n>(&self, mut missing: Vec<&'n Node>) -> Vec<&'n Node> {
        let moved: HashSet<NodeId> = self.survey.moves.iter().map(|(id, _)| *id).collect();
        loop {
            let gone: HashSet<NodeId> = missing.iter().map(|node| node.id).collect();
            let before = missing.len();
            missing.retain(|node| {
                let children = self.children.get(&Some(node.id)).into_iter().flatten();
                children
                    .filter_map(|index| self.survey.nodes.get(*index))
                    .all(|child| {
                        let is_gone_item =
                            child.path.is_none() && child.content == Content::Missing;
                        gone.contains(&child.id) || moved.contains(&child.id) || is_gone_item
                    })
            });
            // Each round can take away parents whose children the last one took away; a tree has
            // few levels.
            if missing.len() == before {
                return missing;
            }
        }
    }

    fn drop_missing(&mut self, is_dropped: impl Fn(NodeId) -> bool) {
        self.survey.sightings.retain(|sighting| {
            sighting.found != ObservedContent::Missing
                || !matches!(sighting.place, OwningNode::Known(id) if is_dropped(id))
        });
    }

    /// Returns which of the missing nodes git does not track here; `None` without a repository.
    fn find_untracked(
        &self,
        nodes: &NodesById<'_>,
        missing: &[&Node],
        is_shared: bool,
    ) -> Option<HashSet<NodeId>> {
        let files: Vec<String> = missing
            .iter()
            .map(|node| match &node.path {
                Some(path) => path.clone(),
                None => self.file_of_item(nodes, node).unwrap_or_default(),
            })
            .collect();
        let states = self.tracked_states(&files)?;
        let is_gone = |node: &Node, file: &String, state: TrackedState| match state {
            // An item that is not in its file is in another version of it: there is nothing to decide.
            // Of a shared state it was taken out here only in an edited file.
            _ if node.path.is_none() && !is_shared => true,
            TrackedState::Untracked => node.path.is_some() || !self.item_files.contains(file),
            TrackedState::Unchanged => node.path.is_none(),
            TrackedState::Changed => false,
        };
        Some(
            missing
                .iter()
                .zip(&files)
                .zip(states)
                .filter(|((node, file), state)| is_gone(node, file, *state))
                .map(|((node, _), _)| node.id)
                .collect(),
        )
    }

    /// Asks git about these files; `None` without a repository, or if its index cannot be read.
    pub(super) fn tracked_states(&self, files: &[String]) -> Option<Vec<TrackedState>> {
        if files.is_empty() || self.ctx.has_planned_files() {
            return None;
        }
        // An unreadable index counts as no repository: a missing file is then reported, which is
        // the safe side.
        self.ctx.git.tracked_states(files).ok().flatten()
    }

    /// Selects the nodes that leave the tree, children before their parents: those that are not
    /// tracked and have nothing below them that stays.
    fn select_absent(
        &self,
        nodes: &NodesById<'_>,
        missing: &[&Node],
        untracked: &HashSet<NodeId>,
    ) -> Vec<NodeId> {
        let is_missing: HashSet<NodeId> = missing.iter().map(|node| node.id).collect();
        let moved: HashMap<NodeId, Option<NodeId>> = self.survey.moves.iter().copied().collect();
        // Parents that get a new, returned or moved child have to stay.
        let mut needed: HashSet<NodeId> = moved.values().flatten().copied().collect();
        for sighting in &self.survey.sightings {
            match &sighting.place {
                OwningNode::New(new) => needed.extend(new.parent),
                OwningNode::Returned(node) => needed.extend(node.parent),
                OwningNode::Known(_) => {}
            }
        }
        let mut candidates: Vec<&Node> = nodes
            .values()
            .copied()
            .filter(|node| {
                // Items recorded as missing go with their parent.
                let follows = node.path.is_none()
                    && node
                        .parent
                        .is_some_and(|parent| untracked.contains(&parent))
                    && (is_missing.contains(&node.id) || node.content == Content::Missing);
                follows || untracked.contains(&node.id)
            })
            .collect();
        // Deepest first, so that a parent is judged after its children; by id within a depth,
        // because the nodes come from a hash map.
        candidates.sort_by_cached_key(|node| {
            (std::cmp::Reverse(ancestors_of(nodes, node).len()), node.id)
        });
        let mut absent: Vec<NodeId> = Vec::new();
        let mut gone: HashSet<NodeId> = HashSet::new();
        for node in candidates {
            let children = self.children.get(&Some(node.id)).into_iter().flatten();
            let is_left = children
                .filter_map(|index| self.survey.nodes.get(*index))
                .all(|child| {
                    gone.contains(&child.id)
                        || moved
                            .get(&child.id)
                            .is_some_and(|parent| *parent != Some(node.id))
                });
            if is_left && !needed.contains(&node.id) {
                gone.insert(node.id);
                absent.push(node.id);
            }
        }
        absent
    }

    fn file_of_item(&self, nodes: &NodesById<'_>, node: &Node) -> Option<String> {
        let parent = nodes.get(&node.parent?)?;
        let above = self
            .renamed
            .get(&parent.id)
            .or(parent.path.as_ref())?
            .clone();
        self.item_file(&node.profile, &node.level, &above)
    }

    fn place_of_recorded(&self, nodes: &NodesById<'_>, node: &Node) -> Option<String> {
        match &node.path {
            Some(path) => Some(path.clone()),
            None => self
                .file_of_item(nodes, node)
                .map(|file| item_place(&file, &node.alias)),
        }
    }

    /// Replaces provisional ids: returned and moved nodes have theirs, new ones get the next free
    /// ids without a gap.
    fn assign_ids(&mut self, known: &HashMap<NodeId, NodeId>) {
        if known.is_empty() {
            return;
        }
        let mut ids = known.clone();
        let mut next = self.first_node;
        for sighting in &self.survey.sightings {
            if let OwningNode::New(new) = &sighting.place {
                ids.insert(new.id, NodeId(next));
                next += 1;
            }
        }
        self.next_node = next;
        let replace = |id: &mut NodeId| {
            if let Some(final_id) = ids.get(id) {
                *id = *final_id;
            }
        };
        for sighting in &mut self.survey.sightings {
            match &mut sighting.place {
                OwningNode::Known(_) => {}
                OwningNode::New(new) => {
                    replace(&mut new.id);
                    new.parent.iter_mut().for_each(replace);
                }
                OwningNode::Returned(node) => node.parent.iter_mut().for_each(replace),
            }
        }
        for (id, ..) in &mut self.survey.stamps {
            replace(id);
        }
        for (_, parent) in &mut self.survey.moves {
            parent.iter_mut().for_each(replace);
        }
        let nodes = self.survey.nodes.clone();
        let parents: HashMap<NodeId, Option<NodeId>> =
            nodes.iter().map(|node| (node.id, node.parent)).collect();
        // A plan that was renamed below the same parent is listed as well, and no move is due for
        // it.
        self.survey
            .moves
            .retain(|(id, parent)| parents.get(id).is_none_or(|before| before != parent));
    }
}

/// Returns the ancestors of a recorded node, the parent first.
fn ancestors_of<'n>(nodes: &NodesById<'n>, node: &Node) -> Vec<&'n Node> {
    let mut found: Vec<&'n Node> = Vec::new();
    let mut above = node.parent;
    while let Some(parent) = above.and_then(|id| nodes.get(&id)) {
        // A cycle can only come from a damaged store.
        if found.len() > nodes.len() {
            break;
        }
        found.push(parent);
        above = parent.parent;
    }
    found
}

/// Returns the path of aliases of a recorded node.
fn name_of(nodes: &NodesById<'_>, node: &Node) -> String {
    let mut names: Vec<&str> = ancestors_of(nodes, node)
        .into_iter()
        .map(|node| node.alias.as_str())
        .collect();
    names.reverse();
    names.push(&node.alias);
    names.join("/")
}
