//! A page of the tree as a list in tree order, folded or filtered, for views that scroll through ten
//! thousand nodes.
//!
//! Works on the cached tree alone; no store access, no file scan.

use std::collections::HashSet;

use domain::duplicate_ids::is_duplicate;
use domain::ids::NodeId;
use domain::needs::{Needs, is_open};
use domain::node::{Node, Progress, Status};
use domain::profile::Profile;
use serde::{Deserialize, Serialize};

use crate::tree_cache::{CachedTree, TreePlace};

/// Maximum number of rows per page.
const MAX_ROWS: usize = 500;
/// Number of rows per page without a given limit.
const DEFAULT_ROWS: usize = 100;

/// Request of [`list_tree_window`].
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct WindowRequest {
    /// Part of a path or title; case-insensitive.
    pub text: String,
    pub status: String,
    pub phase: String,
    /// Only plans of this profile; empty means all but the trails of sessions.
    pub profile: String,
    /// Number of levels that are open; without it, all are. A filter opens everything.
    pub fold: Option<usize>,
    /// Paths of plans that are open where their level is folded, or folded where it is open,
    /// separated by commas.
    pub toggled: String,
    pub offset: usize,
    pub limit: Option<usize>,
}

/// A page of the tree.
#[derive(Clone, Debug, Serialize)]
pub struct TreeWindow {
    /// The last operation included.
    pub head: u64,
    /// Number of rows: matching nodes, or those that no fold hides.
    pub total: usize,
    /// Number of plans, whatever is folded or filtered.
    pub plans: usize,
    pub offset: usize,
    pub rows: Vec<RowView>,
    /// The phases to filter by.
    pub phases: Vec<String>,
    /// Number of nodes in trails of sessions, which only `profile` shows.
    pub trail_nodes: usize,
}

/// A node in the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RowView {
    pub path: String,
    pub entity_id: String,
    pub entity_type: String,
    pub profile: String,
    pub title: Option<String>,
    pub status: Status,
    pub progress: Progress,
    /// The work phase, if its file names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Whether another plan has its id too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
    /// Distance from its root.
    pub depth: usize,
    pub children: usize,
    /// Position among its siblings, from 1 on, and their number.
    pub position: [u32; 2],
    /// Whether its children are shown; `None` without children, or in a filtered list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open: Option<bool>,
    /// Complete ones among the lowest plans below it, and all of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<[usize; 2]>,
    /// What must be complete first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<NeedView>,
}

/// A plan that another one needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NeedView {
    pub path: String,
    pub name: String,
    pub open: bool,
}

impl WindowRequest {
    /// Whether the request has a filter.
    #[must_use]
    pub fn is_filtered(&self) -> bool {
        !(self.text.trim().is_empty() && self.status.is_empty() && self.phase.is_empty())
    }

    fn is_of_profile(&self, node: &Node) -> bool {
        match self.profile.as_str() {
            "" => node.profile != domain::trail::PROFILE,
            wanted => node.profile == wanted,
        }
    }
}

/// Returns a page of the tree; a parent comes before its children.
#[must_use]
pub fn list_tree_window(
    known: &CachedTree,
    profiles: &[Profile],
    request: &WindowRequest,
) -> TreeWindow {
    // At least one row: with none, a client that pages would request the same page forever.
    let limit = request.limit.unwrap_or(DEFAULT_ROWS).clamp(1, MAX_ROWS);
    let mut plans = 0;
    let visible: Vec<usize> = if request.is_filtered() {
        let filter = WindowFilter {
            request,
            text: request.text.trim().to_lowercase(),
        };
        filter.matching_nodes(known, &mut plans)
    } else {
        list_unfolded(known, request, &mut plans)
    };
    let shown: Vec<(&Node, TreePlace, usize)> = visible
        .iter()
        .skip(request.offset)
        .take(limit)
        .filter_map(|index| {
            let node = known.tree.get(*known.order.get(*index)?)?;
            Some((node, *known.places.get(*index)?, *index))
        })
        .collect();
    // Resolving names needs an index of all nodes; most windows have no `needs`.
    let has_needs = shown
        .iter()
        .any(|(node, ..)| !node.description.needs.is_empty());
    let needs = match has_needs {
        true => Needs::from_tree(&known.tree, profiles),
        false => Needs::default(),
    };
    let folds = FoldState::new(known, request);
    let rows = shown.into_iter().map(|(node, place, index)| {
        let mut row = build_row(known, node, place);
        if row.children > 0 {
            row.branch = Some(count_branch(known, index, place));
            row.open =
                (!request.is_filtered()).then(|| folds.is_open(node.id, place.depth as usize));
        }
        row.needs = list_needs(known, &needs, node);
        row
    });
    TreeWindow {
        head: known.head().0,
        total: visible.len(),
        plans,
        offset: request.offset,
        rows: rows.collect(),
        phases: list_phases(known),
        trail_nodes: known
            .tree
            .nodes()
            .filter(|node| node.profile == domain::trail::PROFILE)
            .count(),
    }
}

/// Returns the phases of all nodes, not of the shown ones: a filter must not remove the other
/// choices.
fn list_phases(known: &CachedTree) -> Vec<String> {
    let mut phases: Vec<&str> = Vec::new();
    for phase in known.tree.nodes().filter_map(work_phase) {
        if !phases.contains(&phase) {
            phases.push(phase);
        }
    }
    phases.sort_unstable();
    phases.into_iter().map(str::to_owned).collect()
}

/// Which nodes are open.
struct FoldState {
    /// Number of open levels.
    levels: usize,
    /// The nodes that differ from their level.
    toggled: HashSet<NodeId>,
}

impl FoldState {
    fn new(known: &CachedTree, request: &WindowRequest) -> Self {
        let toggled = request.toggled.split(',').filter(|path| !path.is_empty());
        Self {
            levels: request.fold.unwrap_or(usize::MAX),
            toggled: toggled
                .filter_map(|path| known.find_by_path(path))
                .map(|node| node.id)
                .collect(),
        }
    }

    fn is_open(&self, id: NodeId, depth: usize) -> bool {
        (depth < self.levels) != self.toggled.contains(&id)
    }
}

/// Returns the indexes in the order of the nodes that no fold hides.
fn list_unfolded(known: &CachedTree, request: &WindowRequest, plans: &mut usize) -> Vec<usize> {
    let folds = FoldState::new(known, request);
    let mut visible = Vec::new();
    // Nodes before this index are below a folded one.
    let mut hidden_until = 0;
    let nodes = known.order.iter().zip(known.places.iter()).enumerate();
    for (index, (id, place)) in nodes {
        let is_wanted = known
            .tree
            .get(*id)
            .is_some_and(|node| request.is_of_profile(node));
        if !is_wanted {
            continue;
        }
        *plans += 1;
        if index < hidden_until {
            continue;
        }
        visible.push(index);
        if !folds.is_open(*id, place.depth as usize) {
            // The order is preorder, so a subtree is one range and is skipped without a walk
            // through it.
            hidden_until = index + place.size as usize;
        }
    }
    visible
}

/// Counts the complete ones among the lowest plans below a node, and all of these.
fn count_branch(known: &CachedTree, index: usize, place: TreePlace) -> [usize; 2] {
    let (mut complete, mut all) = (0, 0);
    let below = index + 1..index + place.size as usize;
    let ids = known.order.get(below.clone()).unwrap_or_default();
    let places = known.places.get(below).unwrap_or_default();
    for (id, place) in ids.iter().zip(places) {
        // Only the lowest plans: an act that is half done would otherwise count beside its own
        // chapters.
        let Some(node) = known.tree.get(*id).filter(|_| place.size == 1) else {
            continue;
        };
        if !node.is_dropped() {
            all += 1;
            complete += usize::from(node.progress == Progress::Complete);
        }
    }
    [complete, all]
}

fn list_needs(known: &CachedTree, needs: &Needs, node: &Node) -> Vec<NeedView> {
    let needed = needs.needs_of_node(node.id).iter();
    let needed = needed.filter_map(|id| known.tree.get(*id));
    needed
        .map(|needed| NeedView {
            path: known.tree.alias_path(needed),
            name: needed
                .description
                .title
                .clone()
                .unwrap_or_else(|| needed.alias.clone()),
            open: is_open(needed),
        })
        .collect()
}

/// Returns the work phase of a node.
fn work_phase(node: &Node) -> Option<&str> {
    node.description
        .work
        .as_ref()
        .and_then(|work| work.phase.as_deref())
}

/// Builds the row of a node.
fn build_row(known: &CachedTree, node: &Node, place: TreePlace) -> RowView {
    RowView {
        path: known.tree.alias_path(node),
        entity_id: node.alias.clone(),
        entity_type: node.level.clone(),
        profile: node.profile.clone(),
        title: node.description.title.clone(),
        status: node.status(),
        progress: node.progress,
        phase: work_phase(node).map(str::to_owned),
        duplicate: is_duplicate(&node.alias),
        depth: place.depth as usize,
        children: known.tree.children(node.id).count(),
        position: [place.position, place.siblings],
        open: None,
        branch: None,
        needs: Vec::new(),
    }
}

/// A filter with its text in lower case.
struct WindowFilter<'r> {
    request: &'r WindowRequest,
    /// In lower case.
    text: String,
}

impl WindowFilter<'_> {
    /// Returns the indexes of the matching nodes, in tree order.
    fn matching_nodes(&self, known: &CachedTree, plans: &mut usize) -> Vec<usize> {
        let mut fitting = Vec::new();
        let mut title = String::new();
        // The lower-case path of the present node and the length up to each of its ancestors. Nodes
        // come in tree order, so a path is extended from its parent's instead of being built from
        // the root for each of ten thousand nodes.
        let (mut path, mut way): (String, Vec<(NodeId, usize)>) = Default::default();
        for (index, id) in known.order.iter().enumerate() {
            let Some(node) = known.tree.get(*id) else {
                continue;
            };
            while way
                .last()
                .is_some_and(|(above, _)| node.parent != Some(*above))
            {
                way.pop();
            }
            path.truncate(way.last().map_or(0, |(_, length)| *length));
            if !way.is_empty() {
                path.push('/');
            }
            push_lowercase(&mut path, &node.alias);
            way.push((node.id, path.len()));
            let is_wanted = self.request.is_of_profile(node);
            *plans += usize::from(is_wanted);
            if is_wanted && self.matches_node(node, &path, &mut title) {
                fitting.push(index);
            }
        }
        fitting
    }

    /// Whether a node matches. `buffer` is reused, so that no title needs an allocation.
    fn matches_node(&self, node: &Node, path: &str, buffer: &mut String) -> bool {
        let WindowRequest {
            status,
            phase: wanted,
            ..
        } = self.request;
        let mut has_title = || {
            buffer.clear();
            push_lowercase(
                buffer,
                node.description.title.as_deref().unwrap_or_default(),
            );
            buffer.contains(&self.text)
        };
        // Cheapest comparison first; the title is only lowered if the path does not match.
        (status.is_empty() || node.status().as_str() == status)
            && (wanted.is_empty() || work_phase(node) == Some(wanted))
            && (path.contains(&self.text) || has_title())
    }
}

/// Appends a text in lower case, without an allocation for the usual ASCII names.
fn push_lowercase(out: &mut String, text: &str) {
    if text.is_ascii() {
        out.extend(
            text.bytes()
                .map(|byte| char::from(byte.to_ascii_lowercase())),
        );
    } else {
        out.push_str(&text.to_lowercase());
    }
}
