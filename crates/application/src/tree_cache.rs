//! Tree cache of a server: the whole tree, kept between calls and updated by the operations since.
//!
//! Reading ten thousand nodes takes tens of milliseconds; applying the facts of one operation takes
//! microseconds and gives the same tree, because the stores apply the same facts.

use std::sync::Arc;

use domain::fact::Fact;
use domain::ids::{NodeId, OperationId, StoreId};
use domain::node::Node;
use domain::ports::Snapshot;
use domain::tree::Tree;

use crate::context::Context;
use crate::failure::Failure;
use crate::observe::observe_then_read;
use crate::scan::ScanScope;

/// Maximum number of operations to apply; beyond that, reading everything again is less work.
const MAX_APPLIED_OPERATIONS: u64 = 64;

/// The tree as recorded after an operation. Clones are cheap: they share unchanged nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedTree {
    store: StoreId,
    head: OperationId,
    pub(crate) tree: Tree,
    /// Every node, parents before their children.
    pub(crate) order: Arc<[NodeId]>,
    /// The place of each node of `order`.
    pub(crate) places: Arc<[TreePlace]>,
}

/// Where a node is in the tree: computed once for all pages, until the shape changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TreePlace {
    /// Distance from its root.
    pub(crate) depth: u32,
    /// Number of nodes of its subtree, itself included: those that follow it in the order.
    pub(crate) size: u32,
    /// Position among its siblings, from 1 on.
    pub(crate) position: u32,
    pub(crate) siblings: u32,
}

impl CachedTree {
    /// Reads the tree without scanning the files, which is [`look_at_files`].
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn read(ctx: &Context<'_>) -> Result<Self, Failure> {
        Self::from_snapshot(&*ctx.store.begin_read()?)
    }

    /// Reads the tree from a snapshot.
    fn from_snapshot(state: &dyn Snapshot) -> Result<Self, Failure> {
        let tree = Tree::new(state.all_nodes()?);
        let order = tree_order(&tree);
        let places = find_places(&tree, &order);
        Ok(Self {
            store: state.store_id()?,
            head: state.last_operation_id()?,
            tree,
            order,
            places,
        })
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.order.len()
    }

    /// Returns the title of the plan at this path.
    #[must_use]
    pub fn title_of_path(&self, path: &str) -> Option<&str> {
        self.find_by_path(path)?.description.title.as_deref()
    }

    /// Returns the node with an exact path: `act-1/chapter-02`.
    #[must_use]
    pub(crate) fn find_by_path(&self, path: &str) -> Option<&Node> {
        let mut found: Option<&Node> = None;
        for alias in path.split('/') {
            let is_named = |node: &&Node| node.alias == alias;
            found = match found {
                None => self.tree.root_nodes().find(is_named),
                Some(above) => self.tree.children(above.id).find(is_named),
            };
            found?;
        }
        found
    }

    /// Returns the last operation included.
    #[must_use]
    pub fn head(&self) -> OperationId {
        self.head
    }

    /// Whether this is a later state of the same store.
    #[must_use]
    pub fn is_after(&self, other: &Self) -> bool {
        self.store == other.store && self.head > other.head
    }

    /// Returns the tree updated to the present state. This one stays unchanged, because other
    /// requests may be reading it.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn catch_up(self: &Arc<Self>, ctx: &Context<'_>) -> Result<Arc<Self>, Failure> {
        let state = ctx.store.begin_read()?;
        // Operation numbers of another store may look like a continuation, so its identity is
        // compared as well.
        let is_same_store = state.store_id()? == self.store;
        match state
            .last_operation_id()?
            .0
            .checked_sub(self.head.0)
            .filter(|_| is_same_store)
        {
            Some(0) => return Ok(self.clone()),
            // A head lower than ours means that the state was replaced by an earlier one;
            // `checked_sub` sends that case to the full read below.
            Some(behind @ 1..=MAX_APPLIED_OPERATIONS) => {
                let mut next = Self::clone(self);
                if next.apply_operations(&*state, behind)? {
                    return Ok(Arc::new(next));
                }
            }
            _ => {}
        }
        // Another store, too many operations, or operations that do not apply to this tree.
        Ok(Arc::new(Self::from_snapshot(&*state)?))
    }

    /// Applies the newest operations. Returns `false` if they do not fit; the tree is unusable
    /// then.
    fn apply_operations(&mut self, state: &dyn Snapshot, behind: u64) -> Result<bool, Failure> {
        let mut moved = false;
        for operation in state
            .load_operations(None, usize::try_from(behind).unwrap_or(usize::MAX))?
            .iter()
            .rev()
        {
            // The numbers must continue ours without a gap; those of a replaced history may not.
            if operation.id != self.head.next_id()
                || self
                    .tree
                    .apply_facts(&operation.facts, operation.at)
                    .is_err()
            {
                return Ok(false);
            }
            self.head = operation.id;
            moved |= operation.facts.iter().any(|fact| {
                matches!(
                    fact,
                    Fact::NodeAdded { .. }
                        | Fact::NodeRemoved { .. }
                        | Fact::NodeMoved { .. }
                        | Fact::NodeRenamed { .. }
                )
            });
        }
        // Most operations change a status or a text; the order of ten thousand nodes is rebuilt
        // only when the shape changed.
        if moved {
            self.order = tree_order(&self.tree);
            self.places = find_places(&self.tree, &self.order);
        }
        Ok(true)
    }
}

/// Scans every plan file and records the changes.
///
/// # Errors
/// When the state cannot be read.
pub fn record_file_changes(ctx: &Context<'_>) -> Result<(), Failure> {
    observe_then_read(ctx, ScanScope::Everything).map(drop)
}

/// Returns the ids of all nodes, parents before their children.
fn tree_order(tree: &Tree) -> Arc<[NodeId]> {
    tree.all_preorder()
        .into_iter()
        .map(|node| node.id)
        .collect()
}

/// Returns the place of each node of an order.
fn find_places(tree: &Tree, order: &[NodeId]) -> Arc<[TreePlace]> {
    let mut places: Vec<TreePlace> = Vec::with_capacity(order.len());
    // The ancestors of the present node: index, id, and number of children so far. The first entry
    // counts the roots.
    let mut open: Vec<(usize, Option<NodeId>, u32)> = vec![(usize::MAX, None, 0)];
    for (index, id) in order.iter().enumerate() {
        let parent = tree
            .get(*id)
            .and_then(|node| node.parent)
            .filter(|parent| tree.get(*parent).is_some());
        while open.len() > 1 && open.last().is_some_and(|(_, above, _)| *above != parent) {
            close_place(&mut places, &mut open, index);
        }
        let depth = u32::try_from(open.len() - 1).unwrap_or(u32::MAX);
        let position = match open.last_mut() {
            Some((_, _, count)) => {
                *count += 1;
                *count
            }
            None => 1,
        };
        places.push(TreePlace {
            depth,
            size: 1,
            position,
            siblings: 0,
        });
        open.push((index, Some(*id), 0));
    }
    while open.len() > 1 {
        close_place(&mut places, &mut open, order.len());
    }
    count_siblings(&mut places);
    places.into()
}

/// Ends the subtree of the last open node before the node at `end`.
fn close_place(places: &mut [TreePlace], open: &mut Vec<(usize, Option<NodeId>, u32)>, end: usize) {
    if let Some((index, ..)) = open.pop()
        && let Some(place) = places.get_mut(index)
    {
        place.size = u32::try_from(end - index).unwrap_or(u32::MAX);
    }
}

/// Sets the number of siblings, which is the position of the last of them.
fn count_siblings(places: &mut [TreePlace]) {
    // From the end, the first node of a depth is the last sibling; a node above ends the siblings
    // below it.
    let mut last: Vec<Option<u32>> = Vec::new();
    for place in places.iter_mut().rev() {
        let depth = place.depth as usize;
        last.resize(depth + 1, None);
        let slot = last.get_mut(depth);
        place.siblings = match slot {
            Some(known) => *known.get_or_insert(place.position),
            None => place.position,
        };
    }
}
