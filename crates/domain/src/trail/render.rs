//! Renders a trail as a text tree, with a mark at the cursor.

use super::{HierarchyNode, HierarchyTree};
use crate::node::Progress;
use crate::text::clean_line;

/// Mark of the cursor's line.
const CURSOR_MARK: &str = "◀ you are here";

/// Renders the whole tree.
#[must_use]
pub fn render_trail_tree(tree: &HierarchyTree) -> String {
    render_limited_tree(tree, usize::MAX)
}

/// Renders a tree with at most `most` children of each node: those around the cursor, or the last
/// ones; the others are counted.
#[must_use]
pub fn render_limited_tree(tree: &HierarchyTree, max_children: usize) -> String {
    let mut lines = Vec::new();
    if let Some(root) = &tree.root {
        let mut drawing = TreeRenderer {
            cursor: tree.cursor.as_deref(),
            max_children,
            lines: &mut lines,
        };
        drawing.render_node(root, "", "");
    }
    lines.join("\n")
}

/// State of the rendering: the cursor, the limit, the lines so far.
struct TreeRenderer<'a> {
    cursor: Option<&'a str>,
    max_children: usize,
    lines: &'a mut Vec<String>,
}

impl TreeRenderer<'_> {
    /// Renders a node and everything below it; `branch` precedes its own line, `indent` those of
    /// its children.
    fn render_node(&mut self, node: &HierarchyNode, branch: &str, indent: &str) {
        let mark = match node.status {
            Progress::Pending => "○",
            Progress::Active => "●",
            Progress::Complete => "✓",
            Progress::Blocked => "✗",
        };
        let here = if self.cursor == Some(&node.id) {
            format!("  {CURSOR_MARK}")
        } else {
            String::new()
        };
        self.lines.push(format!(
            "{branch}{mark} {} — {} ({}){here}",
            node.stamp,
            clean_line(&node.content),
            node.status
        ));
        let (first, last) = self.visible_range(&node.children);
        let shown = &node.children[first..last];
        if first > 0 {
            self.lines.push(format!(
                "{indent}├── … {}",
                summarize_hidden(&node.children[..first], "earlier")
            ));
        }
        for (index, child) in shown.iter().enumerate() {
            // If later children are hidden, their count is the last line, and this child is not.
            let is_last = last == node.children.len() && index + 1 == shown.len();
            let (branch, below) = if is_last {
                ("└── ", "    ")
            } else {
                ("├── ", "│   ")
            };
            self.render_node(
                child,
                &format!("{indent}{branch}"),
                &format!("{indent}{below}"),
            );
        }
        if last < node.children.len() {
            self.lines.push(format!(
                "{indent}└── … {}",
                summarize_hidden(&node.children[last..], "later")
            ));
        }
        for line in node
            .summary
            .iter()
            .flat_map(|summary| summary.lines())
            .take(self.max_children)
        {
            self.lines
                .push(format!("{indent}    done: {}", clean_line(line)));
        }
    }

    /// Returns the range of children that are shown.
    fn visible_range(&self, children: &[HierarchyNode]) -> (usize, usize) {
        let all = children.len();
        if all <= self.max_children {
            return (0, all);
        }
        let wanted = children
            .iter()
            .position(|child| self.leads_to_cursor(child))
            .unwrap_or(all - 1);
        // Centred on the child that leads to the cursor, shifted at the edges so that the window
        // stays full.
        let last = (wanted + self.max_children / 2 + 1).clamp(self.max_children, all);
        (last - self.max_children, last)
    }

    /// Whether the cursor is at a node or below it.
    fn leads_to_cursor(&self, node: &HierarchyNode) -> bool {
        self.cursor == Some(&node.id)
            || node
                .children
                .iter()
                .any(|child| self.leads_to_cursor(child))
    }
}

/// Summarises children that are not shown.
fn summarize_hidden(nodes: &[HierarchyNode], which: &str) -> String {
    let complete = nodes
        .iter()
        .filter(|node| node.status == Progress::Complete)
        .count();
    format!("{} {which}, {complete} of them complete", nodes.len())
}
