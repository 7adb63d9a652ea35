//! Tree cache of a server: the whole tree, kept between calls and updated by the operations since.
//!
//! Reading ten thousand nodes takes tens of milliseconds; applying the facts of one operation takes
//! microseconds and gives the same tree, because the stores apply the same facts.

use std::sync::Arc;

use domain::fact::Fact;
use domain::ids::{NodeId, OperationId, StoreId};
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
        Ok(Self {
            store: state.store_id()?,
            head: state.last_operation_id()?,
            tree,
            order,
        })
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.order.len()
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
