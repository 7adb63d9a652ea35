//! Conflicts: operations recorded while a team server was unreachable that do not fit its history.

use crate::ids::OperationId;
use crate::operation::Operation;
use crate::ports::StoreFault;
use crate::time::Timestamp;

/// An operation that could not be sent.
#[derive(Clone, Debug)]
pub struct OfflineConflict {
    /// Names it in commands.
    pub id: String,
    pub why: String,
    /// Path of the file it is kept in.
    pub file: String,
    pub operation: Operation,
    pub texts: Vec<String>,
}

/// The saved conflicts of a working copy. Each stays until it is retried with success, or dropped.
pub trait OfflineConflicts {
    /// Returns every conflict, oldest first.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn list_conflicts(&self) -> Result<Vec<OfflineConflict>, StoreFault>;

    /// Records a conflict's operation on the present state; `id` may be the beginning of one.
    ///
    /// # Errors
    /// [`StoreFault::DoesNotFit`] when it still conflicts; it stays saved then.
    fn retry_conflict(&self, id: &str, at: Timestamp) -> Result<OperationId, StoreFault>;

    /// Deletes a conflict.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn drop_conflict(&self, id: &str) -> Result<(), StoreFault>;
}
