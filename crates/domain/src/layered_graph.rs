//! Layered drawing of a directed graph: nodes in columns by their longest path, ordered so that few
//! lines cross.
//!
//! The method of Sugiyama: lines that would go back are turned, nodes are put into layers, lines over
//! several layers get a bend in each, and a few sweeps order every layer by the average of its
//! neighbours. Parts that no line connects are drawn one below the other: placed together, the layers
//! of one would push those of the other apart. Deterministic: the same graph is drawn the same way.

use std::collections::{HashMap, HashSet};

/// Minimum space between the layers, for lines.
pub const MIN_LAYER_GAP: i32 = 72;
/// Space between two parts of a graph that no line connects.
const PART_GAP: i32 = 40;
/// Space between two nodes of a layer.
const NODE_GAP: i32 = 16;
/// Height that a line takes among the nodes of a layer it passes.
const BEND_HEIGHT: i32 = 12;
/// Number of sweeps; more change hardly anything.
const SWEEPS: usize = 6;

/// A box, in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeSize {
    pub width: i32,
    pub height: i32,
}

/// Where a node is drawn: its upper left corner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodePlace {
    pub x: i32,
    pub y: i32,
    pub layer: usize,
}

/// A drawing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphLayout {
    pub width: i32,
    pub height: i32,
    /// The nodes, as they were given.
    pub nodes: Vec<NodePlace>,
    /// The lines, as they were given: points from the right side of a node to the left side of the
    /// other.
    pub edges: Vec<Vec<(i32, i32)>>,
    /// The middle of each line's first way from layer to layer, where no node is.
    pub labels: Vec<Option<(i32, i32)>>,
}

/// Draws a graph, with `gap` pixels between the layers. Edges are pairs of indexes of nodes; those of
/// other indexes are left out, as an empty list of points.
#[must_use]
pub fn draw_layers(nodes: &[NodeSize], edges: &[(usize, usize)], gap: i32) -> GraphLayout {
    let mut whole = GraphLayout {
        nodes: vec![NodePlace::default(); nodes.len()],
        edges: vec![Vec::new(); edges.len()],
        labels: vec![None; edges.len()],
        ..GraphLayout::default()
    };
    for part in find_parts(nodes.len(), edges) {
        let top = match whole.height {
            0 => 0,
            height => height + PART_GAP,
        };
        let sizes: Vec<NodeSize> = part.nodes.iter().map(|node| nodes[*node]).collect();
        let drawn = draw_part(&sizes, &part.edges, gap);
        for (node, place) in part.nodes.iter().zip(drawn.nodes) {
            whole.nodes[*node] = NodePlace {
                y: place.y + top,
                ..place
            };
        }
        let moved = |(x, y): (i32, i32)| (x, y + top);
        for (at, edge) in part.edge_indexes.iter().enumerate() {
            whole.edges[*edge] = drawn.edges[at].iter().copied().map(moved).collect();
            whole.labels[*edge] = drawn.labels[at].map(moved);
        }
        whole.width = whole.width.max(drawn.width);
        whole.height = top + drawn.height;
    }
    whole
}

/// Nodes that lines connect, in the order in which they were given.
#[derive(Default)]
struct GraphPart {
    nodes: Vec<usize>,
    /// The edges, by places in `nodes`.
    edges: Vec<(usize, usize)>,
    /// Where each was given.
    edge_indexes: Vec<usize>,
}

/// Returns the connected parts of a graph, in the order of their first nodes.
fn find_parts(count: usize, edges: &[(usize, usize)]) -> Vec<GraphPart> {
    let mut linked: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (from, to) in edges {
        if *from < count && *to < count {
            link(&mut linked, *from, *to);
            link(&mut linked, *to, *from);
        }
    }
    let mut part_of: Vec<Option<usize>> = vec![None; count];
    let mut parts = 0;
    for start in 0..count {
        if part_of[start].is_some() {
            continue;
        }
        let mut open = vec![start];
        while let Some(node) = open.pop() {
            if part_of[node].is_none() {
                part_of[node] = Some(parts);
                open.extend(&linked[node]);
            }
        }
        parts += 1;
    }
    let mut found: Vec<GraphPart> = (0..parts).map(|_| GraphPart::default()).collect();
    let mut places = vec![0; count];
    for (node, part) in part_of.iter().enumerate() {
        let Some(part) = part.and_then(|part| found.get_mut(part)) else {
            continue;
        };
        places[node] = part.nodes.len();
        part.nodes.push(node);
    }
    for (index, (from, to)) in edges.iter().enumerate() {
        let part = part_of
            .get(*from)
            .copied()
            .flatten()
            .filter(|_| *to < count);
        if let Some(part) = part.and_then(|part| found.get_mut(part)) {
            part.edges.push((places[*from], places[*to]));
            part.edge_indexes.push(index);
        }
    }
    found
}

fn draw_part(nodes: &[NodeSize], edges: &[(usize, usize)], gap: i32) -> GraphLayout {
    let layers = find_layers(nodes.len(), edges);
    let mut drawing = Drawing::new(nodes, &layers);
    let chains: Vec<Vec<usize>> = edges
        .iter()
        .map(|edge| drawing.add_edge(*edge, &layers))
        .collect();
    drawing.order_layers();
    drawing.place_vertically();
    drawing.finish(nodes.len(), &chains, gap)
}

/// Returns the layer of each node: the length of the longest path that leads to it.
fn find_layers(count: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let forward = turn_back_edges(count, edges);
    let mut layers = vec![0; count];
    // At most one pass per layer; without cycles it ends by itself.
    for _ in 0..count {
        let mut has_changed = false;
        for (from, to) in &forward {
            if let (Some(above), Some(below)) = (layers.get(*from).copied(), layers.get_mut(*to))
                && *below <= above
            {
                *below = above + 1;
                has_changed = true;
            }
        }
        if !has_changed {
            break;
        }
    }
    layers
}

/// Returns the edges without cycles: those that lead back are turned.
fn turn_back_edges(count: usize, edges: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut next: HashMap<usize, Vec<usize>> = HashMap::new();
    for (from, to) in edges {
        if from != to && *from < count && *to < count {
            next.entry(*from).or_default().push(*to);
        }
    }
    let (mut open, mut done) = (HashSet::new(), HashSet::new());
    let mut forward = Vec::new();
    for start in 0..count {
        // Depth first with a stack of its own: the length of a path is the data's.
        let mut stack = vec![(start, false)];
        while let Some((node, is_left)) = stack.pop() {
            if is_left {
                open.remove(&node);
                done.insert(node);
                continue;
            }
            // A node is on the stack once for each line that leads to it.
            if done.contains(&node) || !open.insert(node) {
                continue;
            }
            stack.push((node, true));
            for to in next.get(&node).into_iter().flatten() {
                // The target is an ancestor on the present path: this line would close a cycle.
                match open.contains(to) {
                    true => forward.push((*to, node)),
                    false => {
                        forward.push((node, *to));
                        stack.push((*to, false));
                    }
                }
            }
        }
    }
    forward
}

/// Nodes and bends of lines in their layers.
struct Drawing {
    sizes: Vec<NodeSize>,
    layer_of: Vec<usize>,
    /// Indexes, from the top down.
    layers: Vec<Vec<usize>>,
    /// Neighbours in the layer before and after.
    before: Vec<Vec<usize>>,
    after: Vec<Vec<usize>>,
    /// The vertical middle.
    middles: Vec<i32>,
}

impl Drawing {
    fn new(nodes: &[NodeSize], layer_of: &[usize]) -> Self {
        let count = layer_of.iter().max().map_or(0, |last| last + 1);
        let mut layers = vec![Vec::new(); count];
        for (node, layer) in layer_of.iter().enumerate() {
            if let Some(layer) = layers.get_mut(*layer) {
                layer.push(node);
            }
        }
        Self {
            sizes: nodes.to_vec(),
            layer_of: layer_of.to_vec(),
            layers,
            before: vec![Vec::new(); nodes.len()],
            after: vec![Vec::new(); nodes.len()],
            middles: Vec::new(),
        }
    }

    /// Adds an edge with its bends, and returns the indexes along it.
    fn add_edge(&mut self, (from, to): (usize, usize), layers: &[usize]) -> Vec<usize> {
        let (Some(first), Some(last)) = (layers.get(from).copied(), layers.get(to).copied()) else {
            return Vec::new();
        };
        // A line to itself; any other line leads from one layer to another.
        if first == last {
            return Vec::new();
        }
        let is_turned = first > last;
        // Neighbours are always linked from left to right; only the points are given in the line's
        // own direction.
        let (start, end) = if is_turned { (to, from) } else { (from, to) };
        let mut chain = vec![start];
        for layer in first.min(last) + 1..first.max(last) {
            let bend = self.sizes.len();
            self.sizes.push(NodeSize {
                width: 0,
                height: BEND_HEIGHT,
            });
            self.layer_of.push(layer);
            self.before.push(Vec::new());
            self.after.push(Vec::new());
            if let Some(layer) = self.layers.get_mut(layer) {
                layer.push(bend);
            }
            chain.push(bend);
        }
        chain.push(end);
        for pair in chain.windows(2) {
            if let [one, other] = pair {
                link(&mut self.after, *one, *other);
                link(&mut self.before, *other, *one);
            }
        }
        if is_turned {
            chain.reverse();
        }
        chain
    }

    /// Orders every layer by the average position of its neighbours, back and forth.
    fn order_layers(&mut self) {
        for sweep in 0..SWEEPS {
            let is_forward = sweep % 2 == 0;
            let count = self.layers.len();
            for step in 1..count {
                let (layer, fixed) = match is_forward {
                    true => (step, step - 1),
                    false => (count - 1 - step, count - step),
                };
                let positions: HashMap<usize, usize> = self
                    .layers
                    .get(fixed)
                    .into_iter()
                    .flatten()
                    .enumerate()
                    .map(|(position, node)| (*node, position))
                    .collect();
                let neighbours = if is_forward {
                    &self.before
                } else {
                    &self.after
                };
                let Some(nodes) = self.layers.get_mut(layer) else {
                    continue;
                };
                // The present place breaks ties, so that nodes without a reason to change keep
                // their order.
                let mut keyed: Vec<(u64, usize, usize)> = nodes
                    .iter()
                    .enumerate()
                    .map(|(place, node)| {
                        (
                            average_position(neighbours, &positions, *node, place),
                            place,
                            *node,
                        )
                    })
                    .collect();
                keyed.sort_unstable();
                *nodes = keyed.into_iter().map(|(.., node)| node).collect();
            }
        }
    }

    /// Places the nodes of each layer near the middle of their neighbours, without overlap.
    fn place_vertically(&mut self) {
        self.middles = vec![0; self.sizes.len()];
        // First without any wish, which stacks the nodes: averages need places to start from.
        for layer in 0..self.layers.len() {
            self.place_layer(layer, |_| None);
        }
        for sweep in 0..SWEEPS {
            let count = self.layers.len();
            for step in 0..count {
                let is_forward = sweep % 2 == 0;
                let layer = if is_forward { step } else { count - 1 - step };
                let neighbours = if is_forward {
                    &self.before
                } else {
                    &self.after
                };
                let wanted: HashMap<usize, i32> = self
                    .layers
                    .get(layer)
                    .into_iter()
                    .flatten()
                    .filter_map(|node| {
                        let near = neighbours.get(*node).filter(|near| !near.is_empty())?;
                        let sum: i64 = near
                            .iter()
                            .filter_map(|other| self.middles.get(*other))
                            .map(|middle| i64::from(*middle))
                            .sum();
                        let average = sum / i64::try_from(near.len()).ok()?;
                        Some((*node, i32::try_from(average).ok()?))
                    })
                    .collect();
                self.place_layer(layer, |node| wanted.get(&node).copied());
            }
        }
    }

    fn place_layer(&mut self, layer: usize, wanted: impl Fn(usize) -> Option<i32>) {
        let nodes = self.layers.get(layer).cloned().unwrap_or_default();
        let mut edge = i32::MIN / 2;
        let (mut off, mut count) = (0_i64, 0_i64);
        for node in &nodes {
            let height = self.height_of(*node);
            let lowest = edge + height / 2;
            let present = self.middles.get(*node).copied().unwrap_or_default();
            let target = wanted(*node).unwrap_or(present);
            let middle = target.max(lowest);
            off += i64::from(middle - target);
            count += 1;
            if let Some(known) = self.middles.get_mut(*node) {
                *known = middle;
            }
            edge = middle + height - height / 2 + NODE_GAP;
        }
        // Pushed down only: the whole layer goes back up by the average.
        let back = i32::try_from(off / count.max(1)).unwrap_or_default();
        for node in &nodes {
            if let Some(known) = self.middles.get_mut(*node) {
                *known -= back;
            }
        }
    }

    fn height_of(&self, node: usize) -> i32 {
        self.sizes.get(node).map_or(0, |size| size.height)
    }

    fn finish(&self, count: usize, chains: &[Vec<usize>], gap: i32) -> GraphLayout {
        let mut lefts = Vec::new();
        let mut widths = Vec::new();
        let mut x = 0;
        for layer in &self.layers {
            let sizes = layer.iter().filter_map(|node| self.sizes.get(*node));
            let width = sizes.map(|size| size.width).max().unwrap_or_default();
            lefts.push(x);
            widths.push(width);
            x += width + gap;
        }
        let tops = (0..self.sizes.len()).map(|node| self.top_of(node));
        let top = tops.clone().min().unwrap_or_default();
        let bottom = (0..self.sizes.len())
            .map(|node| self.top_of(node) + self.height_of(node))
            .max()
            .unwrap_or_default();
        let places: Vec<NodePlace> = (0..self.sizes.len())
            .map(|node| {
                let layer = self.layer_of.get(node).copied().unwrap_or_default();
                NodePlace {
                    x: lefts.get(layer).copied().unwrap_or_default(),
                    y: self.top_of(node) - top,
                    layer,
                }
            })
            .collect();
        let edges: Vec<Vec<(i32, i32)>> = chains
            .iter()
            .map(|chain| self.line_points(chain, &places, &widths))
            .collect();
        // Lines cross the space between two layers at once, so its two sides are neighbours.
        let is_between = |pair: &&[(i32, i32)]| match pair {
            [one, other] => (one.0 - other.0).abs() == gap && lefts.contains(&one.0.max(other.0)),
            _ => false,
        };
        let label_of = |points: &Vec<(i32, i32)>| match points.windows(2).find(is_between) {
            Some([one, other]) => Some(((one.0 + other.0) / 2, (one.1 + other.1) / 2)),
            _ => None,
        };
        GraphLayout {
            width: (x - gap).max(0),
            height: bottom - top,
            nodes: places.into_iter().take(count).collect(),
            labels: edges.iter().map(label_of).collect(),
            edges,
        }
    }

    fn top_of(&self, node: usize) -> i32 {
        let middle = self.middles.get(node).copied().unwrap_or_default();
        middle - self.height_of(node) / 2
    }

    fn line_points(
        &self,
        chain: &[usize],
        places: &[NodePlace],
        widths: &[i32],
    ) -> Vec<(i32, i32)> {
        let goes_right = match (chain.first(), chain.last()) {
            (Some(first), Some(last)) => self.layer_of.get(*first) < self.layer_of.get(*last),
            _ => return Vec::new(),
        };
        let mut points = Vec::new();
        for (index, node) in chain.iter().enumerate() {
            let (Some(place), Some(size)) = (places.get(*node), self.sizes.get(*node)) else {
                continue;
            };
            let y = place.y + size.height / 2;
            let (left, right) = (place.x, place.x + size.width);
            let is_bend = index > 0 && index + 1 < chain.len();
            if is_bend {
                let layer_width = widths.get(place.layer).copied().unwrap_or_default();
                let ends = [place.x, place.x + layer_width];
                let [near, far] = if goes_right { ends } else { [ends[1], ends[0]] };
                points.extend([(near, y), (far, y)]);
            } else {
                let leaves = index == 0;
                let is_right_side = leaves == goes_right;
                let layer_width = widths.get(place.layer).copied().unwrap_or_default();
                let edge_of_layer = (place.x + layer_width, y);
                // Straight to the end of the layer: a curve from a narrow node would pass behind
                // the wider ones above or below it.
                let has_way = is_right_side && edge_of_layer.0 > right;
                match (is_right_side, leaves) {
                    (true, true) => {
                        points.push((right, y));
                        points.extend(has_way.then_some(edge_of_layer));
                    }
                    (true, false) => {
                        points.extend(has_way.then_some(edge_of_layer));
                        points.push((right, y));
                    }
                    (false, _) => points.push((left, y)),
                }
            }
        }
        points
    }
}

fn link(links: &mut [Vec<usize>], from: usize, to: usize) {
    if let Some(list) = links.get_mut(from) {
        list.push(to);
    }
}

/// Returns the average position of a node's neighbours in thousandths; its own place without any.
fn average_position(
    neighbours: &[Vec<usize>],
    positions: &HashMap<usize, usize>,
    node: usize,
    place: usize,
) -> u64 {
    let near = neighbours.get(node).into_iter().flatten();
    let found: Vec<usize> = near
        .filter_map(|other| positions.get(other).copied())
        .collect();
    let (sum, count) = match found.len() {
        0 => (place, 1),
        count => (found.iter().sum(), count),
    };
    (sum * 1_000 / count) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOX: NodeSize = NodeSize {
        width: 100,
        height: 40,
    };

    #[test]
    fn a_chain_goes_from_left_to_right_and_a_long_line_bends_around() {
        let drawn = draw_layers(&[BOX; 3], &[(0, 1), (1, 2), (0, 2)], MIN_LAYER_GAP);
        let layers: Vec<usize> = drawn.nodes.iter().map(|node| node.layer).collect();
        assert_eq!(layers, [0, 1, 2]);
        assert_eq!(drawn.width, 3 * 100 + 2 * MIN_LAYER_GAP);
        let [.., long] = drawn.edges.as_slice() else {
            panic!("no edges")
        };
        assert_eq!(long.len(), 4, "it bends where it passes a layer");
        let (middle, bend) = (drawn.nodes[1], long[1]);
        assert!(
            bend.1 < middle.y || bend.1 > middle.y + 40,
            "it passes {bend:?} through {middle:?}"
        );
    }

    #[test]
    fn nodes_of_a_layer_never_overlap_and_a_cycle_is_drawn() {
        let edges: Vec<(usize, usize)> = (1..9).map(|to| (0, to)).chain([(8, 0)]).collect();
        let drawn = draw_layers(&[BOX; 9], &edges, MIN_LAYER_GAP);
        let mut tops: Vec<i32> = drawn
            .nodes
            .iter()
            .filter(|node| node.layer == 1)
            .map(|node| node.y)
            .collect();
        tops.sort_unstable();
        assert_eq!(tops.len(), 8);
        assert!(
            tops.windows(2).all(|pair| pair[1] - pair[0] >= 40),
            "{tops:?}"
        );
        assert!(drawn.nodes.iter().all(|node| node.y >= 0));
        let back = drawn.edges.last().expect("an edge");
        assert!(back.first() > back.last(), "{back:?} leads back");
        assert_eq!(draw_layers(&[], &[], MIN_LAYER_GAP), GraphLayout::default());
    }

    #[test]
    fn children_are_ordered_as_their_parents_are() {
        // Two parents, whose children were given the other way round.
        let drawn = draw_layers(&[BOX; 4], &[(0, 3), (1, 2)], MIN_LAYER_GAP);
        let [first, second, of_second, of_first] = drawn.nodes.as_slice() else {
            panic!("four nodes")
        };
        assert_eq!(first.y < second.y, of_first.y < of_second.y);
    }

    #[test]
    fn parts_that_no_line_connects_are_drawn_one_below_the_other() {
        // A small tree and a large one, as two acts of which one has more stale chapters.
        let small = [(0, 1), (0, 2)];
        let large = (4..40).map(|to| (3, to));
        let edges: Vec<(usize, usize)> = small.into_iter().chain(large).collect();
        let drawn = draw_layers(&[BOX; 40], &edges, MIN_LAYER_GAP);
        let bottom = |nodes: &[NodePlace]| nodes.iter().map(|node| node.y + 40).max();
        let top = |nodes: &[NodePlace]| nodes.iter().map(|node| node.y).min();
        let (first, second) = drawn.nodes.split_at(3);
        assert_eq!(top(first), Some(0));
        assert_eq!(bottom(first).map(|it| it + PART_GAP), top(second));
        assert_eq!(bottom(second), Some(drawn.height));
    }

    #[test]
    fn a_line_of_a_narrow_node_does_not_pass_behind_a_wide_one() {
        let wide = NodeSize {
            width: 300,
            height: 40,
        };
        // Both in the first layer; the narrow one is connected to the last node only.
        let sizes = [BOX, wide, BOX, BOX];
        let drawn = draw_layers(&sizes, &[(0, 3), (1, 2), (0, 2), (1, 3)], 120);
        for points in &drawn.edges {
            let [from, way, ..] = points.as_slice() else {
                panic!("no line")
            };
            // Level until the layer ends.
            assert!(from.1 == way.1 || from.0 == 300, "{points:?}");
        }
        for label in drawn.labels.iter().flatten() {
            assert!((300..=420).contains(&label.0), "{label:?}");
        }
        assert_eq!(drawn.labels.iter().flatten().count(), 4);
    }
}
