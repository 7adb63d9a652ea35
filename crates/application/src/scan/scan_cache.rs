//! Cached scan of everything: compares only what may have changed since the last clean scan.
//!
//! The result of a scan depends on the files' stat data, on the recorded nodes and on the profiles.
//! While the stat data is the same, only nodes touched by operations since then have to be compared
//! again. A wrong hit would hide a change, so every doubt leads to a full scan.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use domain::ids::{Digest32, NodeId, OperationId};
use domain::node::Node;
use domain::observation::{ObservedContent, OwningNode};
use domain::ports::{CheckedPaths, ScanCacheCheck, Snapshot, StoreFault};
use domain::profile::{PlanPlace, locate_plan};

use super::{ScanResult, Scanner};
use crate::context::Context;
use crate::failure::Failure;

/// Maximum number of touched nodes compared one by one; with more, everything is scanned.
const MAX_TOUCHED_NODES: usize = 16;
/// Files per additional node that may be compared one by one.
const FILES_PER_TOUCHED_NODE: usize = 256;
/// Number of changed paths that are always compared one by one.
const MIN_COMPARED_PATHS: usize = 16;
/// Paths per additional changed one that is compared on its own: its node is looked up by its path,
/// which costs as much as a few of a scan of everything.
const PATHS_PER_CHANGED_PATH: usize = 8;
/// Number of operations that are always replayed; more are allowed the more files there are,
/// because each costs a fraction of checking a file.
const BASE_OPERATION_LIMIT: usize = 32;
/// Files per additional operation that may be replayed.
const FILES_PER_OPERATION: usize = 8;

impl Scanner<'_, '_> {
    /// Scans everything, at the lowest cost that finds every change among `extent`. Returns whether
    /// all files were compared.
    pub(super) fn scan_changed(&mut self, extent: CheckedPaths) -> Result<bool, Failure> {
        let next_node = self.next_node;
        let noticed = self.ctx.notice_count();
        if let Some(is_whole) = self.check_cache(extent)? {
            self.survey.is_cacheable = is_whole && self.is_sure(noticed);
            return Ok(is_whole);
        }
        // Starts over: the partial comparison above may have left sightings that the full scan
        // finds again.
        self.next_node = next_node;
        self.is_uncertain = false;
        self.survey = ScanResult::default();
        self.met.clear();
        self.passed_by.clear();
        self.stamps.clear();
        self.still_missing.clear();
        self.item_files.clear();
        let noticed = self.ctx.notice_count();
        self.files.start_scan_recording();
        self.scan_everything()?;
        let is_sure = self.is_sure(noticed);
        if is_sure && self.survey.is_unchanged() {
            let head = self.state.last_operation_id()?;
            let key = cache_key(self.ctx, self.state, head)?;
            self.files.save_scan_cache(&key);
        }
        // Plans that come, go or move are compared once more before the cache counts.
        self.survey.is_cacheable = is_sure && self.has_only_changed_texts();
        Ok(true)
    }

    /// Whether the stat data of this scan shows every later change, and nothing was reported since
    /// there were `noticed` notices: a misplaced file has to be reported by every command until it is
    /// fixed.
    fn is_sure(&self, noticed: usize) -> bool {
        !self.is_uncertain && self.ctx.notice_count() == noticed
    }

    /// Whether all that differs are texts of recorded plans.
    fn has_only_changed_texts(&self) -> bool {
        let is_text = |found: &ObservedContent| matches!(found, ObservedContent::Text { .. });
        let mut sightings = self.survey.sightings.iter();
        sightings.all(|one| matches!(one.place, OwningNode::Known(_)) && is_text(&one.found))
            && self.survey.moves.is_empty()
            && self.survey.renames.is_empty()
            && self.survey.absent.is_empty()
            && self.survey.returned.is_empty()
            && self.still_missing.is_empty()
    }

    /// Returns whether all files were compared, if the cached scan is still valid and no node touched
    /// since differs from its file; `None` otherwise.
    fn check_cache(&mut self, extent: CheckedPaths) -> Result<Option<bool>, Failure> {
        let noticed = self.ctx.notice_count();
        let Some(ScanCacheCheck {
            mark,
            known,
            is_whole,
            changed,
            known_names,
        }) = self.files.check_scan_cache(extent, max_changed_paths)
        else {
            return Ok(None);
        };
        let Some(kept) = mark
            .split_once(' ')
            .and_then(|(head, _)| head.parse().ok().map(OperationId))
        else {
            return Ok(None);
        };
        let head = self.state.last_operation_id()?;
        // A smaller head means a restored backup: the subtraction fails and the cache is ignored.
        let since = head
            .0
            .checked_sub(kept.0)
            .and_then(|since| usize::try_from(since).ok());
        let most = BASE_OPERATION_LIMIT + known / FILES_PER_OPERATION;
        let Some(since) = since.filter(|since| *since <= most) else {
            return Ok(None);
        };
        // The number alone would match another history with as many operations.
        if cache_key(self.ctx, self.state, kept)? != mark {
            return Ok(None);
        }
        let mut touched: BTreeSet<NodeId> = BTreeSet::new();
        if since > 0 {
            let operations = self.state.load_operations(None, since)?;
            touched.extend(
                operations
                    .iter()
                    .flat_map(domain::operation::Operation::touched_nodes),
            );
        }
        if touched.len() > MAX_TOUCHED_NODES.max(known / FILES_PER_TOUCHED_NODE) {
            return Ok(None);
        }
        for id in touched {
            match self.state.load_node(id)? {
                // Its file may still exist; it would then be a new node.
                None => return Ok(None),
                Some(node) if node.profile == domain::trail::PROFILE => {}
                Some(_) => self.scan_lineage(id, false)?,
            }
        }
        let Some(differs) = self.compare_changed(&changed, &known_names)? else {
            return Ok(None);
        };
        let holds = !differs && self.survey.is_unchanged();
        // Moves the cache forward, so that the next scan does not replay the same operations. Only
        // after many, because each update writes a file; and when a folder has new entries, because
        // listing one of ten thousand takes longer than the update.
        // After a check of everything also with the present stamps of plans whose edits are recorded: a hook
        // compares everything after a git command until the cache says that it did.
        let is_due = match changed.is_empty() {
            true => since > BASE_OPERATION_LIMIT,
            false => is_whole && self.is_sure(noticed),
        };
        if holds && is_due {
            let key = cache_key(self.ctx, self.state, head)?;
            self.files.save_scan_cache(&key);
        }
        Ok((holds || differs).then_some(is_whole))
    }

    /// Compares the changed files with their nodes. Returns whether plans with another text are all
    /// that differs; `None` if a path is not that of a recorded plan.
    fn compare_changed(
        &mut self,
        changed: &[String],
        known_names: &BTreeMap<String, Vec<String>>,
    ) -> Result<Option<bool>, Failure> {
        let looked_at: HashSet<&String> = self.looked_at.iter().collect();
        let (mut plans, mut nodes) = (Vec::new(), RecordedPlans::default());
        for path in changed {
            let is_explained = match known_names.get(path) {
                Some(known) => self.has_only_compared_entries(path, known),
                None => looked_at.contains(path),
            };
            if is_explained {
                continue;
            }
            // In a flat level the text says where a node belongs: its whole level is compared.
            let place = locate_plan(self.ctx.profiles, path);
            let Some(place) = place.filter(|place| !place.level.is_flat()) else {
                return Ok(None);
            };
            match nodes.find_plan(self.state, &place)? {
                Some(node)
                    if node.path.as_deref() == Some(path.as_str())
                        && !self.has_items_below(&node) =>
                {
                    plans.push((place.aliases, node));
                }
                _ => return Ok(None),
            }
        }
        // What a touched node differs in is judged by a scan of everything.
        if !self.survey.is_unchanged() {
            return Ok(None);
        }
        // In the order of a scan of everything: parents first, folders by name.
        plans.sort_by(|(one, _), (other, _)| one.cmp(other));
        for (_, node) in &plans {
            self.load_stamp(node.id)?;
            self.scan_known(node)?;
        }
        // A plan that is gone may have been moved, or may have gone with a branch.
        let is_judged = self.has_only_changed_texts();
        Ok(is_judged.then_some(!self.survey.sightings.is_empty()))
    }

    /// Whether a folder has lost no entry, and every new one is of a plan that was just compared: of
    /// a ticket that an operation since then created.
    fn has_only_compared_entries(&self, folder: &str, known: &[String]) -> bool {
        let entries = self.files.list_folder(folder.trim_end_matches('/'));
        // Both are sorted: a folder of ten thousand tickets is gone through once.
        let (mut known, mut new) = (known.iter().peekable(), Vec::new());
        for entry in entries {
            if known.next_if(|name| **name == entry.name).is_none() {
                new.push(format!("{folder}{}/", entry.name));
            }
        }
        known.next().is_none()
            && new.iter().all(|entry| {
                let mut compared = self.looked_at.iter();
                compared.any(|path| path.starts_with(entry.as_str()))
            })
    }
}

/// Saves the scan cache under the operation that recorded the changes of a scan.
///
/// Before the commit: without it, no operation has this number and time, and the cache is ignored.
pub(crate) fn save_recorded_scan(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    recorded: OperationId,
) -> Result<(), Failure> {
    let key = cache_key(ctx, state, recorded)?;
    ctx.files.save_scan_cache(&key);
    Ok(())
}

/// Returns the cache key: everything but the files that a scan at `head` depends on.
fn cache_key(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    head: OperationId,
) -> Result<String, Failure> {
    // The operation's time distinguishes histories that branched after a restored backup.
    let at = state
        .operation_head(head)?
        .map(|operation| operation.at.to_string())
        .unwrap_or_default();
    let levels: Vec<_> = ctx
        .profiles
        .iter()
        .map(|profile| (&profile.name, &profile.levels))
        .collect();
    let depends = format!(
        "{} {at} {} {levels:?}",
        state.store_id()?,
        ctx.policy.max_plan_bytes
    );
    Ok(format!("{head} {}", Digest32::of_bytes(depends.as_bytes())))
}

/// Returns the number of changed paths up to which they are compared one by one.
fn max_changed_paths(known: usize) -> usize {
    MIN_COMPARED_PATHS.max(known / PATHS_PER_CHANGED_PATH)
}

/// Lookup of recorded plans by the places of their files; every ancestor is read once.
#[derive(Default)]
struct RecordedPlans {
    /// By profile and path of aliases.
    parents: BTreeMap<(String, String), Option<NodeId>>,
}

impl RecordedPlans {
    /// Returns the node whose plan is at a place of a level that is not flat.
    fn find_plan(
        &mut self,
        state: &dyn Snapshot,
        place: &PlanPlace<'_>,
    ) -> Result<Option<Node>, StoreFault> {
        let Some((alias, above)) = place.aliases.split_last() else {
            return Ok(None);
        };
        let parent = self.find_parent(state, place, above)?;
        let candidates = match parent {
            Some(parent) => state.children_by_alias(parent, alias)?,
            None if above.is_empty() => state.nodes_by_alias(alias)?,
            None => return Ok(None),
        };
        let fits = |node: &Node| {
            node.profile == place.profile.name
                && node.level == place.level.name
                && node.parent == parent
        };
        Ok(candidates.into_iter().find(fits))
    }

    fn find_parent(
        &mut self,
        state: &dyn Snapshot,
        place: &PlanPlace<'_>,
        aliases: &[String],
    ) -> Result<Option<NodeId>, StoreFault> {
        let Some((alias, above)) = aliases.split_last() else {
            return Ok(None);
        };
        let key = (place.profile.name.clone(), aliases.join("/"));
        if let Some(known) = self.parents.get(&key) {
            return Ok(*known);
        }
        let parent = self.find_parent(state, place, above)?;
        let candidates = match parent {
            Some(parent) => state.children_by_alias(parent, alias)?,
            None if above.is_empty() => state.nodes_by_alias(alias)?,
            None => Vec::new(),
        };
        let fits = |node: &&Node| node.profile == place.profile.name && node.parent == parent;
        let found = candidates.iter().find(fits).map(|node| node.id);
        self.parents.insert(key, found);
        Ok(found)
    }
}
