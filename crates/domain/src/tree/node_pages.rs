//! Copy-on-write map of nodes by id, in pages that clones share.
//!
//! Cloning 10,000 nodes copies one pointer per page, and changing one node copies one page. A clone
//! of a `HashMap` would copy every node.

use std::sync::Arc;

use crate::ids::NodeId;
use crate::node::Node;

/// Number of ids per page.
const PAGE_IDS: u32 = 64;

/// Nodes by id, in pages. Nodes are nearly always appended, because ids are assigned in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NodePages {
    shelves: Vec<NodePage>,
    len: usize,
}

/// The nodes of [`WIDTH`] consecutive ids, sorted by id; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NodePage {
    number: u32,
    nodes: Arc<Vec<Node>>,
}

impl NodePages {
    pub(super) fn get(&self, id: NodeId) -> Option<&Node> {
        let shelf = &self.shelves
            [find_sorted(&self.shelves, id.0 / PAGE_IDS, |shelf| shelf.number).ok()?];
        find_sorted(&shelf.nodes, id.0, |node| node.id.0)
            .ok()
            .map(|at| &shelf.nodes[at])
    }

    pub(super) fn get_mut(&mut self, id: NodeId) -> Option<&mut Node> {
        // The node is looked up before `make_mut`, so that a miss does not copy the page.
        let at = find_sorted(&self.shelves, id.0 / PAGE_IDS, |shelf| shelf.number).ok()?;
        let nodes = &mut self.shelves[at].nodes;
        let place = find_sorted(nodes, id.0, |node| node.id.0).ok()?;
        Some(&mut Arc::make_mut(nodes)[place])
    }

    /// Inserts a node, unless its id is in use.
    pub(super) fn insert(&mut self, node: Node) {
        let (id, number) = (node.id.0, node.id.0 / PAGE_IDS);
        self.len += 1;
        match find_sorted(&self.shelves, number, |shelf| shelf.number) {
            Err(at) => self.shelves.insert(
                at,
                NodePage {
                    number,
                    nodes: Arc::new(vec![node]),
                },
            ),
            Ok(at) => {
                let nodes = &mut self.shelves[at].nodes;
                match find_sorted(nodes, id, |node| node.id.0) {
                    Err(place) => Arc::make_mut(nodes).insert(place, node),
                    Ok(_) => self.len -= 1,
                }
            }
        }
    }

    pub(super) fn remove(&mut self, id: NodeId) {
        let Ok(at) = find_sorted(&self.shelves, id.0 / PAGE_IDS, |shelf| shelf.number) else {
            return;
        };
        let nodes = &mut self.shelves[at].nodes;
        if let Ok(place) = find_sorted(nodes, id.0, |node| node.id.0) {
            Arc::make_mut(nodes).remove(place);
            self.len -= 1;
        }
        // Empty pages would make two equal trees compare as different.
        if nodes.is_empty() {
            self.shelves.remove(at);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Node> {
        self.shelves.iter().flat_map(|shelf| shelf.nodes.iter())
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }
}

/// Returns the index of a number in a sorted slice, or where it would be inserted.
fn find_sorted<T>(
    sorted: &[T],
    number: u32,
    number_of: impl Fn(&T) -> u32,
) -> Result<usize, usize> {
    // Interpolation first: ids are assigned in order and have no gaps until a node is removed, so
    // the number alone mostly gives the index.
    let first = sorted.first().map_or(0, &number_of);
    let likely = number.wrapping_sub(first) as usize;
    if sorted
        .get(likely)
        .is_some_and(|one| number_of(one) == number)
    {
        return Ok(likely);
    }
    sorted.binary_search_by_key(&number, number_of)
}
