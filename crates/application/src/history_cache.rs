//! Cache of what each operation of a history came to, for servers: an operation never changes, and
//! reading the facts of the first scan of ten thousand plans takes longer than everything else on a page.

use std::collections::HashMap;

use domain::ids::{Digest32, OperationId};
use domain::ports::{Snapshot, StoreFault};

/// A value per operation, valid as long as the history goes on from where it was read.
#[derive(Debug)]
pub(crate) struct HistoryCache<T> {
    /// The last operation of the history at the last call, with its hash: the chain of hashes makes
    /// every operation before it the same too.
    head: Option<(OperationId, Digest32)>,
    operations: HashMap<OperationId, T>,
}

impl<T> Default for HistoryCache<T> {
    fn default() -> Self {
        Self {
            head: None,
            operations: HashMap::new(),
        }
    }
}

impl<T> HistoryCache<T> {
    /// Forgets every value if the history is not the one they are of: an older state was restored, or it
    /// is another project's. Returns whether the values are still those of this history.
    pub(crate) fn follow_history(&mut self, state: &dyn Snapshot) -> Result<bool, StoreFault> {
        let is_same = match self.head {
            Some((known, hash)) => state.chain_hash(known)? == Some(hash),
            None => true,
        };
        if !is_same {
            self.operations.clear();
        }
        let head = state.last_operation_id()?;
        self.head = state.chain_hash(head)?.map(|hash| (head, hash));
        Ok(is_same)
    }

    /// Forgets every value.
    pub(crate) fn forget_values(&mut self) {
        self.operations.clear();
    }

    /// Returns the value of an operation, if it is known.
    pub(crate) fn find_value(&self, operation: OperationId) -> Option<&T> {
        self.operations.get(&operation)
    }

    /// Keeps the value of an operation of the history that was followed last.
    pub(crate) fn keep_value(&mut self, operation: OperationId, value: T) {
        self.operations.insert(operation, value);
    }
}
