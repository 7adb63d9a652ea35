//! The whole tree, kept by a server between calls and brought up to date by the operations since.
//!
//! Reading ten thousand nodes takes tens of milliseconds; applying what one operation says about them takes microseconds,
//! and gives the same tree, because the stores are made by the same facts.

use std::sync::Arc;

use domain::fact::Fact;
use domain::ids::{NodeId, OperationId, StoreId};
use domain::ports::Snapshot;
use domain::tree::Tree;

use crate::context::Context;
use crate::failure::Failure;
use crate::observe::observed;
use crate::survey::Scope;

/// After more operations than this it is less work to read everything again.
const MOST_APPLIED: u64 = 64;

/// The tree as it was recorded after an operation. A copy is cheap: it shares what does not change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownTree {
    store: StoreId,
    head: OperationId,
    pub(crate) tree: Tree,
    /// Every node, each before its children.
    pub(crate) order: Arc<[NodeId]>,
}

impl KnownTree {
    /// Reads the tree. The files are not looked at: that is [`look_at_files`].
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn read(ctx: &Context<'_>) -> Result<Self, Failure> {
        Self::of(&*ctx.store.read()?)
    }

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

    /// Returns how many nodes there are.
    #[must_use]
    pub fn size(&self) -> usize {
        self.order.len()
    }

    /// Returns the last operation this is the tree after.
    #[must_use]
    pub fn head(&self) -> OperationId {
        self.head
    }

    /// Says whether this is a later state of the same store.
    #[must_use]
    pub fn is_after(&self, other: &Self) -> bool {
        self.store == other.store && self.head > other.head
    }

    /// Returns the tree with what was recorded since. This one stays as it is: others may be reading it.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn followed(self: &Arc<Self>, ctx: &Context<'_>) -> Result<Arc<Self>, Failure> {
        let state = ctx.store.read()?;
        let is_same_store = state.store_id()? == self.store;
        match state
            .head()?
            .0
            .checked_sub(self.head.0)
            .filter(|_| is_same_store)
        {
            Some(0) => return Ok(self.clone()),
            Some(behind @ 1..=MOST_APPLIED) => {
                let mut next = Self::clone(self);
                if next.apply(&*state, behind)? {
                    return Ok(Arc::new(next));
                }
            }
            _ => {}
        }
        // Another state, too much of it, or operations that do not fit what is known.
        Ok(Arc::new(Self::of(&*state)?))
    }

    /// Applies the newest operations; says no when they do not fit, and the tree is then of no use.
    fn apply(&mut self, state: &dyn Snapshot, behind: u64) -> Result<bool, Failure> {
        let mut moved = false;
        for operation in state
            .operations(None, usize::try_from(behind).unwrap_or(usize::MAX))?
            .iter()
            .rev()
        {
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
        if moved {
            self.order = in_order(&self.tree);
        }
        Ok(true)
    }
}

/// Looks at every plan file and records what changed.
///
/// # Errors
/// When the state cannot be read.
pub fn look_at_files(ctx: &Context<'_>) -> Result<(), Failure> {
    observed(ctx, Scope::Everything).map(drop)
}

fn in_order(tree: &Tree) -> Arc<[NodeId]> {
    tree.all_in_order()
        .into_iter()
        .map(|node| node.id)
        .collect()
}
