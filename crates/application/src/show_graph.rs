//! Graphs of a project: what plans need, what a change makes stale, and who is related to whom.
//!
//! Chooses nodes and edges; `domain::layered_graph` places them.

use std::collections::{BTreeSet, HashMap, HashSet};

use domain::ids::NodeId;
use domain::layered_graph::{GraphLayout, MIN_LAYER_GAP, NodeSize, draw_layers};
use domain::needs::{Needs, is_open};
use domain::node::{Node, Progress, Status};
use serde::Deserialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::memory::memory_files::{load_memory, observe_memory};
use crate::tree_cache::CachedTree;

/// Maximum number of nodes of a drawing: more cannot be read.
const MAX_NODES: usize = 250;
/// Depth of the plans that a cascade graph shows while nothing is stale.
const CALM_DEPTH: usize = 1;
/// Maximum number of characters in a line of a label.
const LINE_CHARS: usize = 26;
/// Width of a character of a label, in pixels: the average of system fonts at 16 pixels.
const CHAR_WIDTH: i32 = 9;
/// Height of a line of a label.
pub const LINE_HEIGHT: i32 = 20;

/// What a graph shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphKind {
    /// From what is needed to what needs it.
    Needs,
    /// From the plans that changed to those that are stale because of them.
    Cascade,
    /// The characters of a story.
    Relations,
}

impl GraphKind {
    /// Every kind, in the order of its links.
    pub const ALL: [Self; 3] = [Self::Needs, Self::Cascade, Self::Relations];

    /// Returns its name in addresses.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Needs => "needs",
            Self::Cascade => "cascade",
            Self::Relations => "relations",
        }
    }
}

/// Request of [`show_graph`].
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct GraphRequest {
    /// `needs`, `cascade` or `relations`; by default the first that has something to show.
    pub kind: String,
    /// Only plans below this one, by its path.
    pub under: String,
    /// Words of names to mark.
    pub text: String,
}

/// A graph with its drawing.
#[derive(Clone, Debug)]
pub struct GraphView {
    pub kind: GraphKind,
    pub nodes: Vec<GraphNodeView>,
    pub edges: Vec<GraphEdge>,
    pub layout: GraphLayout,
    /// Number of nodes that are not drawn.
    pub hidden: usize,
    /// Number of nodes whose names have the words.
    pub matches: usize,
    /// What is wrong with the `needs` of plans.
    pub problems: Vec<String>,
}

/// A node of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphNodeView {
    /// The path of a plan, or the id of a character.
    pub id: String,
    pub name: String,
    /// The name, in lines.
    pub lines: Vec<String>,
    /// The role of a character.
    pub note: Option<String>,
    pub status: Option<Status>,
    pub progress: Option<Progress>,
    pub is_match: bool,
    pub size: [i32; 2],
}

/// An edge, by the indexes of its nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphEdge {
    pub from: usize,
    pub to: usize,
    pub label: String,
    /// Whether it holds something up: what is needed is not complete, or what is below is stale.
    pub is_active: bool,
}

/// Returns a graph.
///
/// # Errors
/// When the state cannot be read.
pub fn show_graph(
    ctx: &Context<'_>,
    known: &CachedTree,
    request: &GraphRequest,
) -> Result<GraphView, Failure> {
    let needs = Needs::from_tree(&known.tree, ctx.profiles);
    let asked = GraphKind::ALL
        .into_iter()
        .find(|kind| kind.as_str() == request.kind);
    let kind = asked.unwrap_or(match needs.involved_nodes().is_empty() {
        true => GraphKind::Cascade,
        false => GraphKind::Needs,
    });
    let under = known.find_by_path(request.under.trim());
    let mut graph = match kind {
        GraphKind::Needs => draw_needs(known, &needs, under),
        GraphKind::Cascade => draw_cascade(known, under),
        GraphKind::Relations => draw_relations(ctx)?,
    };
    graph.mark_matches(&request.text);
    let sizes: Vec<NodeSize> = graph
        .nodes
        .iter()
        .map(|node| NodeSize {
            width: node.size[0],
            height: node.size[1],
        })
        .collect();
    let pairs: Vec<(usize, usize)> = graph
        .edges
        .iter()
        .map(|edge| (edge.from, edge.to))
        .collect();
    Ok(GraphView {
        kind,
        layout: draw_layers(&sizes, &pairs, label_gap(&graph.edges)),
        hidden: graph.hidden,
        matches: graph.nodes.iter().filter(|node| node.is_match).count(),
        nodes: graph.nodes,
        edges: graph.edges,
        problems: match kind {
            GraphKind::Needs => needs.problems.iter().map(ToString::to_string).collect(),
            _ => Vec::new(),
        },
    })
}

#[derive(Default)]
struct Graph {
    nodes: Vec<GraphNodeView>,
    edges: Vec<GraphEdge>,
    hidden: usize,
    places: HashMap<NodeId, usize>,
}

impl Graph {
    /// Adds plans, at most as many as can be read.
    fn add_plans(&mut self, known: &CachedTree, plans: &[&Node]) {
        self.hidden = plans.len().saturating_sub(MAX_NODES);
        for node in plans.iter().take(MAX_NODES) {
            self.places.insert(node.id, self.nodes.len());
            let name = node.description.title.as_ref().unwrap_or(&node.alias);
            self.nodes.push(GraphNodeView {
                status: Some(node.status()),
                progress: Some(node.progress),
                ..build_node(known.tree.alias_path(node), name)
            });
        }
    }

    fn add_edge(&mut self, from: NodeId, to: NodeId, is_active: bool) {
        // An edge to a plan that is not drawn would end nowhere.
        if let (Some(from), Some(to)) = (self.places.get(&from), self.places.get(&to)) {
            self.edges.push(GraphEdge {
                from: *from,
                to: *to,
                label: String::new(),
                is_active,
            });
        }
    }

    /// Marks the nodes whose names or ids have the words.
    fn mark_matches(&mut self, text: &str) {
        let wanted = text.trim().to_lowercase();
        if wanted.is_empty() {
            return;
        }
        for node in &mut self.nodes {
            node.is_match = node.name.to_lowercase().contains(&wanted)
                || node.id.to_lowercase().contains(&wanted);
        }
    }
}

fn build_node(id: String, name: &str) -> GraphNodeView {
    let lines = wrap_label(name);
    // Estimated in characters: the layout is computed here, where no font is known.
    let longest = lines.iter().map(|line| line.chars().count()).max();
    let chars = i32::try_from(longest.unwrap_or_default()).unwrap_or_default();
    let count = i32::try_from(lines.len()).unwrap_or(1);
    GraphNodeView {
        id,
        name: name.to_owned(),
        lines,
        note: None,
        status: None,
        progress: None,
        is_match: false,
        // The status sign is before the name, the rest is space around it.
        size: [chars.max(6) * CHAR_WIDTH + 48, count * LINE_HEIGHT + 16],
    }
}

/// Returns the space between layers in which every label has room.
fn label_gap(edges: &[GraphEdge]) -> i32 {
    let longest = edges.iter().map(|edge| edge.label.chars().count()).max();
    let chars = i32::try_from(longest.unwrap_or_default()).unwrap_or_default();
    (chars * CHAR_WIDTH + 24).max(MIN_LAYER_GAP)
}

/// Splits a name into lines at its spaces; a word is never cut.
fn wrap_label(name: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in name.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= LINE_CHARS => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn is_at_or_below(known: &CachedTree, node: &Node, under: Option<&Node>) -> bool {
    let Some(under) = under else { return true };
    let ancestors = known.tree.ancestors(node);
    node.id == under.id || ancestors.iter().any(|above| above.id == under.id)
}

fn draw_needs(known: &CachedTree, needs: &Needs, under: Option<&Node>) -> Graph {
    let mut graph = Graph::default();
    let involved: BTreeSet<NodeId> = needs.involved_nodes();
    let plans: Vec<&Node> = known
        .order
        .iter()
        .filter(|id| involved.contains(id))
        .filter_map(|id| known.tree.get(*id))
        .filter(|node| is_at_or_below(known, node, under))
        .collect();
    graph.add_plans(known, &plans);
    for node in &plans {
        for needed in needs.needs_of_node(node.id) {
            let is_active = known.tree.get(*needed).is_some_and(is_open);
            graph.add_edge(*needed, node.id, is_active);
        }
    }
    graph
}

/// Draws the stale plans with everything above them; while nothing is stale, the upper levels.
fn draw_cascade(known: &CachedTree, under: Option<&Node>) -> Graph {
    let is_stale = |node: &Node| {
        matches!(
            node.status(),
            Status::RequiresRevalidation | Status::Invalid
        )
    };
    let plans = || {
        known
            .order
            .iter()
            .filter_map(|id| known.tree.get(*id))
            .filter(|node| node.profile != domain::trail::PROFILE)
            .filter(|node| is_at_or_below(known, node, under))
    };
    let mut wanted: HashSet<NodeId> = HashSet::new();
    for node in plans().filter(|node| is_stale(node)) {
        wanted.insert(node.id);
        // A stale plan without the way to its origin would be an unconnected dot.
        wanted.extend(known.tree.ancestors(node).iter().map(|above| above.id));
    }
    let is_calm = wanted.is_empty();
    let top = under.map_or(0, |node| known.tree.ancestors(node).len());
    let shown: Vec<&Node> = plans()
        .filter(|node| match is_calm {
            true => known.tree.ancestors(node).len() <= top + CALM_DEPTH,
            false => wanted.contains(&node.id),
        })
        .collect();
    let mut graph = Graph::default();
    graph.add_plans(known, &shown);
    for node in shown {
        if let Some(parent) = node.parent {
            graph.add_edge(parent, node.id, is_stale(node));
        }
    }
    graph
}

fn draw_relations(ctx: &Context<'_>) -> Result<Graph, Failure> {
    let memory = load_memory(&*observe_memory(ctx)?)?;
    let mut graph = Graph::default();
    let mut places: HashMap<&str, usize> = HashMap::new();
    let related: HashSet<&str> = memory
        .relationships()
        .flat_map(|tie| [tie.character_a.as_str(), tie.character_b.as_str()])
        .collect();
    // People without a relation are in the list of the memory; here they would be dots.
    let people: Vec<_> = memory
        .characters()
        .filter(|character| related.contains(character.id.as_str()))
        .collect();
    graph.hidden = people.len().saturating_sub(MAX_NODES);
    for character in people.iter().take(MAX_NODES) {
        places.insert(&character.id, graph.nodes.len());
        graph.nodes.push(GraphNodeView {
            note: Some(character.role.clone()).filter(|role| !role.is_empty()),
            ..build_node(character.id.clone(), &character.name)
        });
    }
    for tie in memory.relationships() {
        let ends = (
            places.get(tie.character_a.as_str()),
            places.get(tie.character_b.as_str()),
        );
        if let (Some(from), Some(to)) = ends {
            graph.edges.push(GraphEdge {
                from: *from,
                to: *to,
                label: tie.relationship_type.clone(),
                is_active: false,
            });
        }
    }
    Ok(graph)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_wrapped_at_spaces_and_never_cut() {
        assert_eq!(wrap_label("The second key"), ["The second key"]);
        let long = "A title that is much longer than a line of the drawing";
        let lines = wrap_label(long);
        assert_eq!(lines.join(" "), long);
        assert!(lines.len() > 1);
        assert_eq!(wrap_label("Donaudampfschifffahrtsgesellschaft").len(), 1);
    }
}
