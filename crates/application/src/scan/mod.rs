//! Scan of the plan files: which are new, changed, deleted or unreadable.
//!
//! A file is read only if its size, times or inode differ from when it was last read, so a scan of
//! ten thousand unchanged files reads none.
//!
//! The scan compares and changes nothing: its sightings become facts in `observe`. A transient read
//! error (EIO, EMFILE) is never a sighting, because it says nothing about the plan.

mod duplicates;
mod earlier_scan;
mod flat_levels;
mod misplaced;
mod named_plans;
mod presence;
mod recorded_stamps;
mod scan_cache;
mod scanner_start;
mod scope;
mod seen_head;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use domain::duplicate_ids::id_of_alias;
use domain::ids::{NodeId, VersionHash};
use domain::node::{Content, Node, NodeName};
use domain::observation::{NewNode, ObservedContent, ObservedFile, OwningNode};
use domain::ports::{
    CheckedPaths, FileReadResult, FileStamp, FileStatResult, FolderEntry, FolderEntryKind,
    LookDepth, PlanFiles, Snapshot,
};
use domain::profile::{FilePattern, Level, Profile, ReadAlias, parent_folder};

use crate::context::{Context, Notice};
use crate::decisions::{DecisionChanges, find_decision_changes};
use crate::failure::Failure;
use crate::plan_documents::{UnknownDocument, find_frozen_documents};
use crate::working_copy::is_state_shared;

pub(crate) use earlier_scan::{EarlierScan, FIRST_PLACEHOLDER_ID};
pub(crate) use misplaced::{find_place, list_misplaced_beside, report_misplaced_at_root};
pub(crate) use named_plans::{NamedPlans, NewPlanFile, scan_named_plans};
pub(crate) use presence::{AbsentPlan, ReturnedPlan};
pub(crate) use scan_cache::save_recorded_scan;
pub(crate) use scope::ScanScope;
pub(crate) use seen_head::{
    last_seen_branch, list_files_committed_here, load_unseen_history, save_seen_head,
    was_checked_out,
};

/// Minimum number of paths that a hook checks: this takes half a millisecond.
const MIN_PATHS_PER_HOOK: usize = 512;

/// Maximum number of new plans in a slice: about a tenth of a second to record.
const MAX_SLICE_NODES: u32 = 500;

/// The result of a scan.
#[derive(Debug, Default)]
pub(crate) struct ScanResult {
    /// New, changed, deleted and unreadable plans, parents first.
    pub(crate) sightings: Vec<ObservedFile>,
    /// The texts of the new and changed ones.
    pub(crate) texts: Vec<String>,
    /// Stamps of files that were read.
    pub(crate) stamps: Vec<(NodeId, FileStamp, VersionHash)>,
    /// Nodes that have another parent now.
    pub(crate) moves: Vec<(NodeId, Option<NodeId>)>,
    /// Decisions that came or went.
    pub(crate) decisions: DecisionChanges,
    /// Frozen plan documents that came with git and are not recorded yet.
    pub(crate) documents: Vec<UnknownDocument>,
    /// Nodes whose file has another name or is in another folder now.
    pub(crate) renames: Vec<(NodeId, NodeName)>,
    /// Nodes that are not in the checked-out tree, children before their parents.
    pub(crate) absent: Vec<AbsentPlan>,
    /// Records of absent nodes whose place is taken again.
    pub(crate) returned: Vec<ReturnedPlan>,
    /// Whether every file was compared.
    pub(crate) is_whole: bool,
    /// Whether the scan cache may be saved under the operation that records these changes.
    pub(crate) is_cacheable: bool,
    /// Whether new files were left out, because the slice is full.
    pub(crate) is_partial: bool,
    /// Every recorded node, if the scope includes the whole tree.
    pub(crate) nodes: Rc<Vec<Node>>,
}

impl ScanResult {
    /// Returns whether everything is as recorded.
    pub(crate) fn is_unchanged(&self) -> bool {
        self.sightings.is_empty()
            && self.moves.is_empty()
            && self.renames.is_empty()
            && self.absent.is_empty()
            && self.decisions.is_empty()
            && self.documents.is_empty()
    }
}

/// Called with each known node whose file has the recorded text, and that text.
type InspectText<'i> = &'i mut dyn FnMut(&Node, &str);

/// Scans the files in `scope` and compares them with the recorded nodes.
pub(crate) fn scan_plan_files(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    scope: ScanScope,
    next_node: NodeId,
) -> Result<ScanResult, Failure> {
    scan_and_inspect(ctx, state, scope, next_node, &mut |_, _| {})
}

/// Reads every file, whatever its stamp, and passes on those that are as recorded.
pub(crate) fn scan_every_text(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    inspect: InspectText<'_>,
) -> Result<ScanResult, Failure> {
    let scope = ScanScope::EverythingAnew;
    scan_and_inspect(ctx, state, scope, FIRST_PLACEHOLDER_ID, inspect)
}

fn scan_and_inspect(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    scope: ScanScope,
    next_node: NodeId,
    inspect: InspectText<'_>,
) -> Result<ScanResult, Failure> {
    let is_whole = scope.is_whole();
    let depth = match scope {
        ScanScope::EverythingAnew => LookDepth::Files,
        // Folders although only a part of the plans is compared: a decision file that is written or
        // deleted by hand does not change git's index.
        ScanScope::NextPart => LookDepth::Folders,
        _ if is_whole => LookDepth::FileTimes,
        _ => LookDepth::Index,
    };
    let decisions = match scope {
        // Decisions are about plans that may not be recorded yet: the scan after the last slice
        // finds them.
        ScanScope::Slice => DecisionChanges::default(),
        _ => find_decision_changes(ctx, state, depth)?,
    };
    let scope = match scope {
        // Decisions come with the texts they are about, so the other plans are scanned too.
        _ if !is_whole && !decisions.is_empty() => ScanScope::Everything,
        // The overlay of a shared state shows all files.
        ScanScope::NextPart if ctx.store.is_shared() => ScanScope::Everything,
        scope => scope,
    };
    let mut scan = |scope| run_scan(ctx, state, scope, next_node, &mut *inspect);
    let (mut found, needs_more) = scan(scope)?;
    if needs_more {
        // Rare: a plan went away or may have come from elsewhere. Its other place can be anywhere.
        (found, _) = scan(ScanScope::WholeTree)?;
    }
    found.decisions = decisions;
    // In a shared state they are documents of the state, whichever working copy came first.
    if is_whole && !is_state_shared(ctx, state)? {
        found.documents = find_frozen_documents(ctx, state)?;
    }
    Ok(found)
}

/// Scans the files in `scope`, and returns whether everything has to be scanned to judge the
/// result.
fn run_scan(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    scope: ScanScope,
    next_node: NodeId,
    inspect: InspectText<'_>,
) -> Result<(ScanResult, bool), Failure> {
    let mut surveyor = Scanner::new(ctx, state, next_node, inspect)?;
    surveyor.trust_stamps = scope != ScanScope::EverythingAnew;
    if scope == ScanScope::Slice {
        surveyor.max_new_nodes = MAX_SLICE_NODES;
    }
    let mut is_whole = scope.is_whole();
    match scope {
        ScanScope::Lineage(id) | ScanScope::Family(id) => {
            surveyor.scan_lineage(id, matches!(scope, ScanScope::Family(_)))?;
            // Before presence is resolved: a file that is gone from the lineage may be a plan that
            // moved, and its new place is outside of the scope.
            // A text that came with a checkout may be that of a plan which was at another place.
            let has_new_texts = !surveyor.survey.texts.is_empty();
            if surveyor.needs_whole_scan()? || has_new_texts && was_checked_out(ctx, state)? {
                return Ok((surveyor.survey, true));
            }
            surveyor.resolve_presence(false)?;
        }
        ScanScope::NextPart => {
            let extent = CheckedPaths::NextPart {
                least: MIN_PATHS_PER_HOOK,
                index: ctx.git.index_stamp(),
            };
            is_whole = surveyor.scan_changed(extent)?;
        }
        ScanScope::Everything => is_whole = surveyor.scan_changed(CheckedPaths::All)?,
        ScanScope::WholeTree | ScanScope::EverythingAnew | ScanScope::Slice => {
            surveyor.scan_everything()?;
        }
    }
    surveyor.survey.is_whole = is_whole;
    Ok((surveyor.survey, false))
}

struct Scanner<'c, 'a> {
    ctx: &'c Context<'a>,
    files: &'c dyn PlanFiles,
    state: &'c dyn Snapshot,
    /// Indexes of a node's known children in `survey.nodes`, sorted by alias.
    children: HashMap<Option<NodeId>, Vec<usize>>,
    /// Sorted by node.
    stamps: Vec<(NodeId, FileStamp, VersionHash)>,
    trust_stamps: bool,
    /// The first id for a new node; ids of this scan are provisional until presence is resolved.
    first_node: u32,
    next_node: u32,
    max_new_nodes: u32,
    survey: ScanResult,
    /// Bit set of visited nodes, by node number.
    met: Vec<u64>,
    /// Aliases of known children to skip, sorted.
    passed_by: Vec<String>,
    /// Whether a later change might not show in the stat data of this scan: then it must not be
    /// cached.
    is_uncertain: bool,
    /// The paths that were checked.
    looked_at: Vec<String>,
    /// Files of a recorded operation that are still to be written: they count as recorded.
    unwritten: BTreeSet<String>,
    /// Files of nodes that are known to have been moved, by node.
    renamed: HashMap<NodeId, String>,
    /// Nodes whose id another file has now, which is not theirs.
    replaced: HashSet<NodeId>,
    /// Files of items that exist.
    item_files: HashSet<String>,
    /// Nodes recorded as missing that still are.
    still_missing: Vec<NodeId>,
    /// Files in new folders of plans whose aliases name another parent.
    misfits: Vec<Misfit<'a>>,
    inspect: InspectText<'c>,
}

/// A file in the new folder of a plan, whose alias names another parent: of a plan whose parent's
/// folder was renamed, or misplaced.
struct Misfit<'a> {
    profile: &'a Profile,
    level: &'a Level,
    parent: Option<NodeId>,
    read: ReadAlias,
    path: String,
}

/// The parent whose folder is searched for a level's nodes.
#[derive(Clone, Debug)]
struct ParentFolder {
    id: Option<NodeId>,
    /// Its alias, which the aliases below it may contain.
    alias: String,
    number: Option<u32>,
    folder: String,
}

impl ParentFolder {
    /// The project's own folder.
    fn project_root() -> Self {
        Self {
            id: None,
            alias: String::new(),
            number: None,
            folder: String::new(),
        }
    }
}

impl<'a> Scanner<'_, 'a> {
    fn scan_everything(&mut self) -> Result<(), Failure> {
        // Trail nodes live in the store alone and have no files.
        self.index_nodes(self.state.nodes_outside(&[domain::trail::PROFILE])?);
        self.stamps = self.state.file_stamps()?;
        self.stamps.sort_by_key(|(node, ..)| *node);
        for profile in self.ctx.profiles {
            for level in profile.levels.iter().filter(|level| level.root) {
                if level.is_flat() {
                    self.scan_flat_level(profile, level)?;
                    continue;
                }
                let above = ParentFolder::project_root();
                self.scan_entries(profile, level, &above, ScanDepth::All)?;
            }
        }
        // Nodes whose directory entry is gone were not visited above.
        self.scan_unvisited()?;
        self.resolve_presence(true)
    }

    fn index_nodes(&mut self, nodes: Vec<Node>) {
        self.children.clear();
        for (index, node) in nodes.iter().enumerate() {
            self.children.entry(node.parent).or_default().push(index);
        }
        for siblings in self.children.values_mut() {
            // Sorted once for binary search: a folder with thousands of entries looks up each of
            // them.
            siblings.sort_unstable_by_key(|index| &nodes[*index].alias);
        }
        self.survey.nodes = Rc::new(nodes);
    }

    fn scan_unvisited(&mut self) -> Result<(), Failure> {
        let nodes = self.survey.nodes.clone();
        nodes.iter().try_for_each(|node| self.scan_known(node))
    }

    fn scan_lineage(&mut self, id: NodeId, with_children: bool) -> Result<(), Failure> {
        let mut chain = Vec::new();
        let mut above = Some(id);
        while let Some(id) = above {
            let Some(node) = self.state.load_node(id)? else {
                break;
            };
            above = node.parent;
            chain.push(node);
        }
        // Parents first: a child's sighting is judged against its parent's.
        chain.reverse();
        for node in &chain {
            self.load_stamp(node.id)?;
            self.scan_known(node)?;
            let children = self
                .has_items_below(node)
                .then(|| self.state.load_children(node.id))
                .transpose()?;
            for child in children.iter().flatten() {
                self.load_stamp(child.id)?;
            }
            self.scan_items_of(node, &children.iter().flatten().collect::<Vec<_>>())?;
            self.detect_move(node)?;
        }
        let Some(node) = chain.pop() else {
            return Ok(());
        };
        let (Some(profile), Some(path)) =
            (self.ctx.find_profile(&node.profile), node.path.as_deref())
        else {
            return Ok(());
        };
        if with_children {
            self.index_nodes(self.state.load_children(node.id)?);
            let children = self.survey.nodes.clone();
            children
                .iter()
                .try_for_each(|child| self.load_stamp(child.id))?;
        } else {
            // Only names: known children are skipped in this scope, new files are what matters.
            self.passed_by = self
                .state
                .child_names(node.id)?
                .into_iter()
                // By id: a label differs from what the entry's name says.
                .map(|child| id_of_alias(&child.alias).to_owned())
                .collect();
            self.passed_by.sort_unstable();
        }
        let above = ParentFolder {
            id: Some(node.id),
            number: self
                .level_of(&node)
                .and_then(|(_, level)| level.number_of(&node.alias)),
            folder: parent_folder(path).to_owned(),
            alias: node.alias.clone(),
        };
        let levels: Vec<&Level> = profile.levels_under(&node.level).collect();
        for level in levels {
            self.scan_entries(profile, level, &above, ScanDepth::One)?;
        }
        if with_children {
            self.scan_unvisited()
        } else {
            Ok(())
        }
    }

    fn load_stamp(&mut self, id: NodeId) -> Result<(), Failure> {
        if let (Some((stamp, version)), Err(at)) =
            (self.state.file_stamp(id)?, self.stamp_index(id))
        {
            self.stamps.insert(at, (id, stamp, version));
        }
        Ok(())
    }

    fn stamp_index(&self, id: NodeId) -> Result<usize, usize> {
        self.stamps.binary_search_by_key(&id, |(node, ..)| *node)
    }

    /// Goes through the entries of the folder in which a level's nodes lie.
    fn scan_entries(
        &mut self,
        profile: &'a Profile,
        level: &'a Level,
        above: &ParentFolder,
        depth: ScanDepth,
    ) -> Result<(), Failure> {
        // A level that can be its own parent is flat: its files are found once, as roots.
        if level.is_flat() && above.id.is_some() {
            return Ok(());
        }
        let mut listed: Option<(String, Vec<FolderEntry>)> = None;
        for pattern in level.file_patterns() {
            let folder = pattern.listing_folder(&above.folder);
            // Two layouts usually share one folder.
            let entries = match listed.take().filter(|(known, _)| *known == folder) {
                Some((_, entries)) => entries,
                None => self.files.list_folder(&folder),
            };
            self.scan_pattern(profile, level, pattern, above, &entries, depth)?;
            listed = Some((folder, entries));
        }
        Ok(())
    }

    /// Goes through the entries of the folder in which the files of a pattern lie.
    fn scan_pattern(
        &mut self,
        profile: &'a Profile,
        level: &'a Level,
        pattern: &FilePattern,
        above: &ParentFolder,
        entries: &[FolderEntry],
        depth: ScanDepth,
    ) -> Result<(), Failure> {
        let nodes = self.survey.nodes.clone();
        let siblings = self.recorded_siblings(&nodes, above.id, level, pattern);
        let labels = self.label_duplicates(level, pattern, &above.folder, entries, &siblings);
        for entry in entries {
            let Some(alias) = pattern.alias_in(&entry.name) else {
                self.report_misplaced(level, pattern, above, entry);
                continue;
            };
            // A stray file whose name looks like a node's folder. At the top, beside no plan, it is a
            // manuscript.
            if !pattern.entry_is_file() && entry.kind == FolderEntryKind::File {
                let is_of_level = |index: &usize| nodes[*index].level == level.name;
                let mut siblings = self.children.get(&above.id).into_iter().flatten();
                if above.id.is_some() || siblings.any(is_of_level) {
                    self.report_misplaced(level, pattern, above, entry);
                }
                continue;
            }
            if depth == ScanDepth::One
                && self
                    .passed_by
                    .binary_search_by(|known| known.as_str().cmp(alias))
                    .is_ok()
            {
                continue;
            }
            let path = pattern.file_at(&above.folder, &entry.name, alias);
            // With a slug or several patterns the path decides: another entry may have the same alias.
            let by_path = pattern.has_slug() || !level.other_files.is_empty();
            let namesake = self.find_recorded(&nodes, above.id, level, alias);
            let recorded = namesake
                .filter(|node| !by_path || self.is_file_of(node, &path))
                .or_else(|| {
                    let mut siblings = siblings.iter().copied();
                    siblings.find(|node| node.path.as_deref() == Some(path.as_str()))
                });
            if let Some(node) = recorded {
                self.scan_known(node)?;
                self.report_misfit(level, above, &path, alias);
                if depth == ScanDepth::All && profile.levels_under(&level.name).next().is_some() {
                    let below = ParentFolder {
                        id: Some(node.id),
                        alias: node.alias.clone(),
                        number: level.number_of(&node.alias),
                        folder: parent_folder(&path).to_owned(),
                    };
                    self.scan_below(profile, level, &below, depth)?;
                    // Of those at the top, which are few; `tl check` looks beside all.
                    if above.id.is_none() {
                        self.report_misplaced_beside(&below.folder);
                    }
                }
                continue;
            }
            if self.is_second_file(pattern, namesake, &path, above, level, alias) {
                continue;
            }
            let Some(mut read) = level.alias.parse_exact_alias(alias, &level.numbers) else {
                self.report_misplaced(level, pattern, above, entry);
                continue;
            };
            // Recorded but not on disk yet, or the reverse: the redo log decides, not the scan.
            if self.unwritten.contains(&path) {
                continue;
            }
            // Recorded, it would get an id that names another parent, and a command by that id
            // would mean the wrong plan.
            if above.id.is_some() && !read.belongs_to(&above.alias, above.number) {
                self.note_misfit(profile, level, above, read, path);
                continue;
            }
            read.alias = labels.of_file(&path, alias).to_owned();
            self.add_entry(profile, level, above, &read, path, depth)?;
        }
        Ok(())
    }

    /// Returns the recorded nodes of a level below a parent, if several of them can have one id.
    fn recorded_siblings<'n>(
        &self,
        nodes: &'n [Node],
        parent: Option<NodeId>,
        level: &Level,
        pattern: &FilePattern,
    ) -> Vec<&'n Node> {
        let siblings = self.children.get(&parent).filter(|_| pattern.has_slug());
        siblings
            .into_iter()
            .flatten()
            .map(|index| &nodes[*index])
            .filter(|node| node.level == level.name)
            .collect()
    }

    /// Whether a file belongs to a node: it is its file, or its file is gone and this is where it
    /// may have been moved.
    fn is_file_of(&self, node: &Node, path: &str) -> bool {
        let own = node.path.as_deref().unwrap_or_default();
        own == path || self.is_file_gone(own)
    }

    /// Returns the recorded child with that alias.
    fn find_recorded<'n>(
        &self,
        nodes: &'n [Node],
        parent: Option<NodeId>,
        level: &Level,
        alias: &str,
    ) -> Option<&'n Node> {
        let siblings = self.children.get(&parent)?;
        let place = siblings
            .binary_search_by_key(&alias, |index| &nodes[*index].alias)
            .ok()?;
        let node = &nodes[siblings[place]];
        Some(node).filter(|node| node.level == level.name)
    }

    fn add_entry(
        &mut self,
        profile: &'a Profile,
        level: &'a Level,
        above: &ParentFolder,
        read: &ReadAlias,
        path: String,
        depth: ScanDepth,
    ) -> Result<(), Failure> {
        if self.is_slice_full() {
            return Ok(());
        }
        let mut below = ParentFolder {
            id: None,
            alias: read.alias.clone(),
            number: read.number.filter(|_| level.alias.is_numbered()),
            folder: parent_folder(&path).to_owned(),
        };
        let new = NewNode {
            id: NodeId(self.next_node),
            parent: above.id,
            profile: profile.name.clone(),
            level: level.name.clone(),
            alias: read.alias.clone(),
            order: read.order,
            path: Some(path.clone()),
        };
        match self.files.stat_file(&path) {
            // A folder without its own plan counts only if there are plans below it: empty folders
            // are no nodes. The sighting is added first, because those below name it as their
            // parent.
            FileStatResult::Missing => {
                let (sightings, next_node) = (self.survey.sightings.len(), self.next_node);
                self.survey.sightings.push(ObservedFile {
                    place: OwningNode::New(new),
                    found: ObservedContent::Missing,
                });
                self.next_node += 1;
                below.id = Some(NodeId(next_node));
                self.scan_below(profile, level, &below, depth)?;
                // Nothing was found below: the id is given back, so that ids stay without gaps.
                if self.survey.sightings.len() == sightings + 1 {
                    self.survey.sightings.pop();
                    self.next_node = next_node;
                }
                self.report_misplaced_in(&below.folder);
                Ok(())
            }
            // Not recorded yet and not readable now: it becomes a new node once it can be read.
            FileStatResult::Unavailable(why) => {
                self.note_unavailable(&path, why);
                Ok(())
            }
            FileStatResult::Present(_) | FileStatResult::Refused(_) => {
                let id = new.id;
                let Some(found) = self.read_plan(id, None, (profile, level), &path)? else {
                    return Ok(());
                };
                self.next_node += 1;
                self.survey.sightings.push(ObservedFile {
                    place: OwningNode::New(new),
                    found,
                });
                below.id = Some(id);
                self.scan_below(profile, level, &below, depth)
            }
        }
    }

    /// Whether no more new nodes may be added; then the result is partial.
    pub(super) fn is_slice_full(&mut self) -> bool {
        let is_full = self.next_node - self.first_node >= self.max_new_nodes;
        self.survey.is_partial |= is_full;
        is_full
    }

    fn scan_below(
        &mut self,
        profile: &'a Profile,
        level: &'a Level,
        above: &ParentFolder,
        depth: ScanDepth,
    ) -> Result<(), Failure> {
        if depth == ScanDepth::One {
            return Ok(());
        }
        for level in profile.levels_under(&level.name) {
            self.scan_entries(profile, level, above, depth)?;
        }
        Ok(())
    }

    /// Checks a known node's file and reads it if it may have changed.
    fn scan_known(&mut self, node: &Node) -> Result<(), Failure> {
        // A bit set instead of a `HashSet`: one test per node, for every node of the project.
        let (word, bit) = (node.id.0 as usize / 64, 1 << (node.id.0 % 64));
        if self.met.len() <= word {
            self.met.resize(word + 1, 0);
        }
        if self.met[word] & bit != 0 {
            return Ok(());
        }
        self.met[word] |= bit;
        let Some(path) = self.renamed.get(&node.id).or(node.path.as_ref()).cloned() else {
            return Ok(());
        };
        let path = path.as_str();
        if self.unwritten.contains(path) {
            return Ok(());
        }
        let look = self.check_file(path);
        if let FileStatResult::Present(stamp) = &look
            && self.trust_stamps
            && let Ok(at) = self.stamp_index(node.id)
            && let (_, known, version) = &self.stamps[at]
            && known == stamp
            && node.content.version_hash() == Some(*version)
        {
            return Ok(());
        }
        let found = match look {
            FileStatResult::Present(_) => match self.level_of(node) {
                Some(rules) => match self.read_plan(node.id, Some(node), rules, path)? {
                    Some(found) => found,
                    None => return Ok(()),
                },
                // Its profile is not enabled here, so there are no rules to read its text by.
                None => return Ok(()),
            },
            FileStatResult::Missing => ObservedContent::Missing,
            FileStatResult::Refused(why) => ObservedContent::Unreadable { why },
            FileStatResult::Unavailable(why) => {
                self.note_unavailable(path, why);
                return Ok(());
            }
        };
        let same = match (&found, &node.content) {
            (
                ObservedContent::Text {
                    version,
                    description,
                    ..
                },
                Content::Text { version: known, .. },
            ) => version == known && *description == node.description,
            (ObservedContent::Missing, Content::Missing) => {
                self.still_missing.push(node.id);
                true
            }
            (ObservedContent::Unreadable { why }, Content::Unreadable { why: known }) => {
                why == known
            }
            _ => false,
        };
        if !same {
            self.survey.sightings.push(ObservedFile {
                place: OwningNode::Known(node.id),
                found,
            });
        }
        Ok(())
    }

    /// Reports a file that cannot be read now. Its recorded state is kept.
    pub(super) fn note_unavailable(&mut self, path: &str, why: String) {
        // Keeps this scan out of the cache, so that the next one tries again.
        self.is_uncertain = true;
        self.ctx.push_notice(Notice::Unavailable {
            path: path.to_owned(),
            why,
        });
    }

    fn check_file(&mut self, path: &str) -> FileStatResult {
        self.looked_at.push(path.to_owned());
        self.files.stat_file(path)
    }

    fn level_of(&self, node: &Node) -> Option<(&'a Profile, &'a Level)> {
        let profile = self.ctx.find_profile(&node.profile)?;
        Some((profile, profile.find_level(&node.level)?))
    }

    /// Reads a plan file; `None` when it cannot be read now.
    fn read_plan(
        &mut self,
        id: NodeId,
        known: Option<&Node>,
        (profile, level): (&Profile, &Level),
        path: &str,
    ) -> Result<Option<ObservedContent>, Failure> {
        let read = self.files.read_file(path, self.ctx.policy.max_plan_bytes);
        // Without a stamp the file may change once more within the tick of its clock.
        self.is_uncertain |= !matches!(&read, FileReadResult::Text { stamp: Some(_), .. });
        Ok(Some(match read {
            FileReadResult::Missing => ObservedContent::Missing,
            FileReadResult::Unreadable {
                why,
                transient: true,
            } => {
                self.note_unavailable(path, why);
                return Ok(None);
            }
            FileReadResult::Unreadable {
                why,
                transient: false,
            } => ObservedContent::Unreadable { why },
            FileReadResult::Text { text, stamp } => {
                let version = VersionHash::of_bytes(text.as_bytes());
                if let Some(stamp) = stamp {
                    self.survey.stamps.push((id, stamp, version));
                }
                // Same bytes, e.g. after `touch` or a checkout back and forth: parsing is
                // skipped.
                if let Some(node) = known
                    && let Content::Text {
                        version: same,
                        canonical,
                        ..
                    } = &node.content
                    && *same == version
                {
                    (self.inspect)(node, &text);
                    return Ok(Some(ObservedContent::Text {
                        version,
                        canonical: *canonical,
                        description: node.description.clone(),
                    }));
                }
                let (canonical, description) = profile.read_text(level, &text);
                let found = ObservedContent::Text {
                    version,
                    canonical,
                    description,
                };
                self.survey.texts.push(text);
                found
            }
        }))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScanDepth {
    One,
    All,
}
