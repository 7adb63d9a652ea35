//! A scan made before the write lock was taken, reused under it if nothing was recorded meanwhile.
//!
//! A checkout changes hundreds of files and a fresh clone has thousands: reading and hashing them
//! a second time took a third of the first command. What another command recorded and wrote since
//! has another last operation, and then everything is scanned again.

use std::rc::Rc;

use domain::ids::{NodeId, OperationId, StoreId};
use domain::node::Node;
use domain::observation::OwningNode;
use domain::operation::Verb;
use domain::ports::{Snapshot, Transaction};
use domain::tree::Tree;

use super::ScanResult;
use crate::failure::Failure;
use crate::file_writes::unwritten_paths;
use crate::overlay::FIRST_NEW_NODE;

/// Id of the first new node in a scan without the write lock, far above the real ones: ids are
/// allocated under the lock.
pub(crate) const FIRST_PLACEHOLDER_ID: NodeId = NodeId(FIRST_NEW_NODE);

/// Number of recorded nodes per fact above which the nodes are read again: parsing a fact takes
/// as long as reading a few nodes.
const MIN_NODES_PER_FACT: usize = 4;

/// The result of a scan, and the state it was compared with.
pub(crate) struct EarlierScan {
    basis: ScanBasis,
    result: ScanResult,
}

/// The state a scan was compared with.
#[derive(Clone, PartialEq, Eq)]
struct ScanBasis {
    store: StoreId,
    head: OperationId,
}

impl ScanBasis {
    fn of_state(state: &dyn Snapshot) -> Result<Self, Failure> {
        Ok(Self {
            store: state.store_id()?,
            head: state.last_operation_id()?,
        })
    }
}

impl EarlierScan {
    /// Keeps the result of a scan of `state` that began with [`FIRST_PLACEHOLDER_ID`].
    pub(crate) fn new(state: &dyn Snapshot, result: ScanResult) -> Result<Self, Failure> {
        Ok(Self {
            basis: ScanBasis::of_state(state)?,
            result,
        })
    }

    pub(crate) fn is_unchanged(&self) -> bool {
        self.result.is_unchanged()
    }

    /// Returns the nodes that the scan loaded, to bring them up to date later.
    pub(crate) fn loaded_nodes(&self) -> LoadedNodes {
        LoadedNodes {
            basis: self.basis.clone(),
            nodes: self.result.nodes.clone(),
        }
    }

    /// Returns the result with the store's ids for new nodes; `None` if the state is another one
    /// now, or files of a recorded operation are still to be written.
    pub(crate) fn into_current(self, tx: &dyn Transaction) -> Result<Option<ScanResult>, Failure> {
        if ScanBasis::of_state(tx)? != self.basis || !unwritten_paths(tx)?.is_empty() {
            return Ok(None);
        }
        let mut result = self.result;
        result.renumber_new_nodes(FIRST_PLACEHOLDER_ID, tx.next_node_id()?);
        Ok(Some(result))
    }
}

impl ScanResult {
    /// Replaces the ids from `placeholder` on by those from `first` on.
    fn renumber_new_nodes(&mut self, placeholder: NodeId, first: NodeId) {
        let renumber = |id: &mut NodeId| {
            if let Some(offset) = id.0.checked_sub(placeholder.0) {
                *id = NodeId(first.0 + offset);
            }
        };
        for sighting in &mut self.sightings {
            match &mut sighting.place {
                OwningNode::Known(id) => renumber(id),
                OwningNode::New(new) => {
                    renumber(&mut new.id);
                    new.parent.iter_mut().for_each(renumber);
                }
                OwningNode::Returned(node) => node.parent.iter_mut().for_each(renumber),
            }
        }
        self.stamps.iter_mut().for_each(|(id, ..)| renumber(id));
        for (_, parent) in &mut self.moves {
            parent.iter_mut().for_each(renumber);
        }
    }
}

/// Every recorded node outside the trail, as loaded by a scan.
pub(crate) struct LoadedNodes {
    basis: ScanBasis,
    nodes: Rc<Vec<Node>>,
}

impl LoadedNodes {
    /// Returns the tree with what was observed since, if that is less work than reading all nodes
    /// again; `None` otherwise.
    pub(crate) fn into_tree(self, state: &dyn Snapshot) -> Result<Option<Tree>, Failure> {
        let ScanBasis { store, head } = &self.basis;
        let now = state.last_operation_id()?;
        let since = now.0.checked_sub(head.0).map(usize::try_from);
        let (true, Some(Ok(since))) = (state.store_id()? == *store, since) else {
            return Ok(None);
        };
        let heads = state.operation_heads(None, since)?;
        let facts: usize = heads.iter().map(|head| head.facts).sum();
        // Other operations may be about the trail, whose nodes are not in the tree.
        let is_observed = heads.iter().all(|head| head.verb == Verb::Observe);
        if !is_observed || facts > self.nodes.len() / MIN_NODES_PER_FACT {
            return Ok(None);
        }
        let mut tree = Tree::new(Rc::unwrap_or_clone(self.nodes));
        for operation in state.load_operations(None, since)?.iter().rev() {
            // Facts that do not apply mean that the loaded nodes are not the ones they were
            // recorded on: everything is read again.
            if tree.apply_facts(&operation.facts, operation.at).is_err() {
                return Ok(None);
            }
        }
        Ok(Some(tree))
    }
}
