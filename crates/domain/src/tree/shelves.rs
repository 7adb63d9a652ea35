//! Nodes by id, on shelves that copies share: a copy of ten thousand nodes costs as much as their shelves, and a change as much as
//! one shelf.

use std::sync::Arc;

use crate::ids::NodeId;
use crate::node::Node;

/// So many ids belong on a shelf.
const WIDTH: u32 = 64;

/// Nodes by id. A node is as good as always added at the end, because ids are given in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Shelves(Vec<Shelf>);

/// The nodes of [`WIDTH`] ids, by id; never none.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Shelf {
    number: u32,
    nodes: Arc<Vec<Node>>,
}

impl Shelves {
    pub(super) fn get(&self, id: NodeId) -> Option<&Node> {
        let shelf = &self.0[find(&self.0, id.0 / WIDTH, |shelf| shelf.number).ok()?];
        find(&shelf.nodes, id.0, |node| node.id.0).ok().map(|at| &shelf.nodes[at])
    }

    pub(super) fn get_mut(&mut self, id: NodeId) -> Option<&mut Node> {
        let at = find(&self.0, id.0 / WIDTH, |shelf| shelf.number).ok()?;
        let nodes = &mut self.0[at].nodes;
        let place = find(nodes, id.0, |node| node.id.0).ok()?;
        Some(&mut Arc::make_mut(nodes)[place])
    }

    /// Adds a node, unless its id is taken.
    pub(super) fn insert(&mut self, node: Node) {
        let (id, number) = (node.id.0, node.id.0 / WIDTH);
        match find(&self.0, number, |shelf| shelf.number) {
            Err(at) => self.0.insert(at, Shelf { number, nodes: Arc::new(vec![node]) }),
            Ok(at) => {
                let nodes = &mut self.0[at].nodes;
                if let Err(place) = find(nodes, id, |node| node.id.0) {
                    Arc::make_mut(nodes).insert(place, node);
                }
            }
        }
    }

    pub(super) fn remove(&mut self, id: NodeId) {
        let Ok(at) = find(&self.0, id.0 / WIDTH, |shelf| shelf.number) else { return };
        let nodes = &mut self.0[at].nodes;
        if let Ok(place) = find(nodes, id.0, |node| node.id.0) {
            Arc::make_mut(nodes).remove(place);
        }
        if nodes.is_empty() {
            self.0.remove(at);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Node> {
        self.0.iter().flat_map(|shelf| shelf.nodes.iter())
    }

    pub(super) fn len(&self) -> usize {
        self.0.iter().map(|shelf| shelf.nodes.len()).sum()
    }
}

/// Returns where a number is, or where it would have to be.
fn find<T>(sorted: &[T], number: u32, number_of: impl Fn(&T) -> u32) -> Result<usize, usize> {
    // Ids are given in order, without gaps while nothing is taken out: mostly the number alone says where.
    let first = sorted.first().map_or(0, &number_of);
    let likely = number.wrapping_sub(first) as usize;
    if sorted.get(likely).is_some_and(|one| number_of(one) == number) {
        return Ok(likely);
    }
    sorted.binary_search_by_key(&number, number_of)
}
