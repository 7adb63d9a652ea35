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
use crate::observe::observed;
use crate::survey::Scope;

/// Maximum number of operations to apply; beyond that, reading everything again is less work.
const MOST_APPLIED: u64 = 64;

/// The tree as recorded after an operation. Clones are cheap: they share unchanged nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownTree {
    store: StoreId,
    head: OperationId,
    pub(crate) tree: Tree,
    /// Every node, parents before their children.
    pub(crate) order: Arc<[NodeId]>,
}

impl KnownTree {
    /// Reads the tree without scanning the files, which is [`look_at_files`].
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn read(ctx: &Context<'_>) -> Result<Self, Failure> {
        Self::of(&*ctx.store.read()?)
    }

    /// Reads the tree from a snapshot.
    fn of(state: &dyn Snapshot) -> Result<Self, Failure> {
        let tree = Tree::new(state.all_nodes()?);
        let order = in_order(&tree);
        Ok(Self {
            store: state.store_id()?,
            head: state.head()?,
            tree,
            order,
        })
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn size(&self) -> usize {
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
    pub fn followed(self: &Arc<Self>, ctx: &Context<'_>) -> Result<Arc<Self>, Failure> {
        let state = ctx.store.read()?;
        // Operation numbers of another store may look like a continuation, so its identity is
        // compared as well.
        let is_same_store = state.store_id()? == self.store;
        match state
            .head()?
            .0
            .checked_sub(self.head.0)
            .filter(|_| is_same_store)
        {
            Some(0) => return Ok(self.clone()),
            // A head lower than ours means that the state was replaced by an earlier one;
            // `checked_sub` sends that case to the full read below.
            Some(behind @ 1..=MOST_APPLIED) => {
                let mut next = Self::clone(self);
                if next.apply(&*state, behind)? {
                    return Ok(Arc::new(next));
                }
            }
            _ => {}
        }
        // Another store, too many operations, or operations that do not apply to this tree.
        Ok(Arc::new(Self::of(&*state)?))
    }

    /// Applies the newest operations. Returns `false` if they do not fit; the tree is unusable
    /// then.
    fn apply(&mut self, state: &dyn Snapshot, behind: u64) -> Result<bool, Failure> {
        let mut moved = false;
        for operation in state
            .operations(None, usize::try_from(behind).unwrap_or(usize::MAX))?
            .iter()
            .rev()
        {
            // The numbers must continue ours without a gap; those of a replaced history may not.
            if operation.id != self.head.next()
                || self.tree.apply_all(&operation.facts, operation.at).is_err()
            {
                return Ok(false);
            }
            self.head = operation.id;
            moved |= operation.facts.iter().any(|fact| {
                matches!(
                    fact,
                    Fact::NodeAdded { .. } | Fact::NodeRemoved { .. } | Fact::NodeMoved { .. }
                )
            });
        }
        // Most operations change a status or a text; the order of ten thousand nodes is rebuilt
        // only when the shape changed.
        if moved {
            self.order = in_order(&self.tree);
        }
        Ok(true)
    }
}

/// Scans every plan file and records the changes.
///
/// # Errors
/// When the state cannot be read.
pub fn look_at_files(ctx: &Context<'_>) -> Result<(), Failure> {
    observed(ctx, Scope::Everything).map(drop)
}

/// Returns the ids of all nodes, parents before their children.
fn in_order(tree: &Tree) -> Arc<[NodeId]> {
    tree.all_in_order()
        .into_iter()
        .map(|node| node.id)
        .collect()
}
