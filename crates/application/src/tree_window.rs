//! A part of the tree as a list, in the order of the tree: for who shows a window of ten thousand.

use domain::node::{Node, Progress, Status};
use serde::{Deserialize, Serialize};

use crate::known_tree::KnownTree;

/// So many rows are given at once at most.
const MOST_ROWS: usize = 500;
const USUAL_ROWS: usize = 100;

/// Which part of the tree is asked for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct WindowRequest {
    /// Part of a path or title; in small letters or capitals.
    pub text: String,
    pub status: String,
    pub phase: String,
    pub offset: usize,
    pub limit: Option<usize>,
}

/// A part of the tree.
#[derive(Clone, Debug, Serialize)]
pub struct TreeWindow {
    /// The last operation this is the state after.
    pub head: u64,
    /// How many fit what was asked for.
    pub total: usize,
    pub offset: usize,
    pub rows: Vec<RowView>,
    /// The phases there are to filter by.
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
    /// The phase the work on it is in, where its file says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// How far below its root.
    pub depth: usize,
    pub children: usize,
}

impl WindowRequest {
    /// Says whether some nodes may be left out.
    #[must_use]
    pub fn is_filtered(&self) -> bool {
        !(self.text.trim().is_empty() && self.status.is_empty() && self.phase.is_empty())
    }
}

/// Returns a part of the tree; a parent comes before its children.
#[must_use]
pub fn tree_window(known: &KnownTree, request: &WindowRequest) -> TreeWindow {
    let limit = request.limit.unwrap_or(USUAL_ROWS).clamp(1, MOST_ROWS);
    let fitting: Vec<&Node> = if request.is_filtered() {
        let filter = Filter {
            request,
            text: request.text.trim().to_lowercase(),
        };
        filter.fitting(known)
    } else {
        // Most often nothing is left out: then only what is asked for is looked at.
        let wanted = known.order.iter().skip(request.offset).take(limit);
        let rows = wanted
            .filter_map(|id| known.tree.get(*id))
            .map(|node| row(known, node))
            .collect();
        return window(known, request.offset, known.order.len(), rows);
    };
    let rows = fitting
        .iter()
        .skip(request.offset)
        .take(limit)
        .map(|node| row(known, node))
        .collect();
    window(known, request.offset, fitting.len(), rows)
}

fn window(known: &KnownTree, offset: usize, total: usize, rows: Vec<RowView>) -> TreeWindow {
    let mut phases: Vec<&str> = known.tree.nodes().filter_map(phase).collect();
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

fn phase(node: &Node) -> Option<&str> {
    node.description
        .work
        .as_ref()
        .and_then(|work| work.phase.as_deref())
}

fn row(known: &KnownTree, node: &Node) -> RowView {
    RowView {
        path: known.tree.path(node),
        entity_id: node.alias.clone(),
        entity_type: node.level.clone(),
        profile: node.profile.clone(),
        title: node.description.title.clone(),
        status: node.status(),
        progress: node.progress,
        phase: phase(node).map(str::to_owned),
        depth: known.tree.ancestors(node).len(),
        children: known.tree.children(node.id).count(),
    }
}

struct Filter<'r> {
    request: &'r WindowRequest,
    /// In small letters.
    text: String,
}

impl Filter<'_> {
    fn fitting<'t>(&self, known: &'t KnownTree) -> Vec<&'t Node> {
        let mut fitting = Vec::new();
        let mut title = String::new();
        // The path in small letters, with the nodes it leads through and how long it is up to each.
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
            push_lower(&mut path, &node.alias);
            way.push((node.id, path.len()));
            if self.fits(node, &path, &mut title) {
                fitting.push(node);
            }
        }
        fitting
    }

    /// `buffer` spares one for every title.
    fn fits(&self, node: &Node, path: &str, buffer: &mut String) -> bool {
        let WindowRequest {
            status,
            phase: wanted,
            ..
        } = self.request;
        let mut has_title = || {
            buffer.clear();
            push_lower(
                buffer,
                node.description.title.as_deref().unwrap_or_default(),
            );
            buffer.contains(&self.text)
        };
        (status.is_empty() || node.status().word() == status)
            && (wanted.is_empty() || phase(node) == Some(wanted))
            && (path.contains(&self.text) || has_title())
    }
}

/// Appends a text in small letters. Most of ten thousand names are plain, and then nothing is allocated.
fn push_lower(out: &mut String, text: &str) {
    if text.is_ascii() {
        out.extend(
            text.bytes()
                .map(|byte| char::from(byte.to_ascii_lowercase())),
        );
    } else {
        out.push_str(&text.to_lowercase());
    }
}
