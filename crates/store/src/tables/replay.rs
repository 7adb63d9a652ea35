//! Builds a state from the operations of another: a recovery, a restore, a move.

use domain::file_writes::BUILT_NOTE;
use domain::ports::{StoreFault, Transaction as _};

use super::write::TableTransaction;
use crate::engine::ChainedOperation;

impl TableTransaction<'_> {
    /// Applies the operations that a state is built from, and notes that it is.
    pub(crate) fn replay_operations(
        &mut self,
        recorded: &[ChainedOperation],
    ) -> Result<(), StoreFault> {
        for one in recorded {
            self.apply_recorded(one)?;
        }
        let Some(ChainedOperation { operation, .. }) = recorded.last() else {
            return Ok(());
        };
        let last = operation.id.to_string();
        self.save_note(BUILT_NOTE, Some(&last), operation.at)
    }
}
