//! A page of the tree as a filtered list in tree order, for views that scroll through ten thousand
//! nodes.
//!
//! Works on the cached tree alone; no store access, no file scan.

use domain::duplicate_ids::is_duplicate;
use domain::node::{Node, Progress, Status};
use serde::{Deserialize, Serialize};

use crate::tree_cache::CachedTree;

/// Maximum number of rows per page.
const MAX_ROWS: usize = 500;
/// Number of rows per page without a given limit.
const DEFAULT_ROWS: usize = 100;

/// Request of [`tree_window`].
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct WindowRequest {
    /// Part of a path or title; case-insensitive.
    pub text: String,
    pub status: String,
    pub phase: String,
    pub offset: usize,
    pub limit: Option<usize>,
}

/// A page of the tree.
#[derive(Clone, Debug, Serialize)]
pub struct TreeWindow {
    /// The last operation included.
    pub head: u64,
    /// Number of matching nodes.
    pub total: usize,
    pub offset: usize,
    pub rows: Vec<RowView>,
    /// The phases to filter by.
    pub phases: Vec<String>,
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
}

impl WindowRequest {
    /// Whether the request has a filter.
    #[must_use]
    pub fn is_filtered(&self) -> bool {
        !(self.text.trim().is_empty() && self.status.is_empty() && self.phase.is_empty())
    }
}

/// Returns a page of the tree; a parent comes before its children.
#[must_use]
pub fn list_tree_window(known: &CachedTree, request: &WindowRequest) -> TreeWindow {
    let limit = request.limit.unwrap_or(DEFAULT_ROWS).clamp(1, MAX_ROWS);
    let fitting: Vec<&Node> = if request.is_filtered() {
        let filter = WindowFilter {
            request,
            text: request.text.trim().to_lowercase(),
        };
        filter.matching_nodes(known)
    } else {
        // Without a filter the page is a slice of the order: only its rows are built, whatever the
        // size of the tree.
        let wanted = known.order.iter().skip(request.offset).take(limit);
        let rows = wanted
            .filter_map(|id| known.tree.get(*id))
            .map(|node| build_row(known, node))
            .collect();
        return build_window(known, request.offset, known.order.len(), rows);
    };
    let rows = fitting
        .iter()
        .skip(request.offset)
        .take(limit)
        .map(|node| build_row(known, node))
        .collect();
    build_window(known, request.offset, fitting.len(), rows)
}

/// Builds the page.
fn build_window(known: &CachedTree, offset: usize, total: usize, rows: Vec<RowView>) -> TreeWindow {
    // Of all nodes, not of the matching ones: a filter must not remove the other choices.
    let mut phases: Vec<&str> = known.tree.nodes().filter_map(work_phase).collect();
    phases.sort_unstable();
    phases.dedup();
    let phases = phases.into_iter().map(str::to_owned).collect();
    TreeWindow {
        head: known.head().0,
        total,
        offset,
        rows,
        phases,
    }
}

/// Returns the work phase of a node.
fn work_phase(node: &Node) -> Option<&str> {
    node.description
        .work
        .as_ref()
        .and_then(|work| work.phase.as_deref())
}

/// Builds the row of a node.
fn build_row(known: &CachedTree, node: &Node) -> RowView {
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
        depth: known.tree.ancestors(node).len(),
        children: known.tree.children(node.id).count(),
    }
}

/// A filter with its text in lower case.
struct WindowFilter<'r> {
    request: &'r WindowRequest,
    /// In lower case.
    text: String,
}

impl WindowFilter<'_> {
    /// Returns the matching nodes in tree order.
    fn matching_nodes<'t>(&self, known: &'t CachedTree) -> Vec<&'t Node> {
        let mut fitting = Vec::new();
        let mut title = String::new();
        // The lower-case path of the present node and the length up to each of its ancestors. Nodes
        // come in tree order, so a path is extended from its parent's instead of being built from
        // the root for each of ten thousand nodes.
        let (mut path, mut way): (String, Vec<(domain::ids::NodeId, usize)>) = Default::default();
        for node in known.order.iter().filter_map(|id| known.tree.get(*id)) {
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
            if self.matches_node(node, &path, &mut title) {
                fitting.push(node);
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
