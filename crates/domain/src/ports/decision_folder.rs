//! Access to the decision files of a working tree, and to what this repository knows about them.

use std::collections::BTreeSet;

use crate::decision::DecisionId;
use crate::ids::{OperationId, StoreId};
use crate::ports::StoreFault;

/// The decision files of the working tree at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecisionListing {
    pub ids: BTreeSet<DecisionId>,
    /// Those of them whose files were written since the last remembered look.
    pub rewritten: BTreeSet<DecisionId>,
    /// Whether no other commit was checked out since the last remembered look: HEAD did not move, or
    /// only by commits made on top of it.
    pub is_head_unmoved: bool,
    /// Whether signatures are checked against the same as at the last remembered look.
    pub is_basis_same: bool,
    /// Identifies this state of the folder, for [`DecisionFolder::remember_look`].
    pub stamp: String,
}

/// How much of the folder a look compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookDepth {
    /// Git's index, which every git command that brings or takes files rewrites.
    Index,
    /// Every folder: a file that is written or deleted by hand does not change the index.
    Folders,
    /// The time of every file: one that is changed in place does not change its folder.
    FileTimes,
    /// Every file, whatever its time.
    Files,
}

/// The state a look was compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateMark {
    pub store: StoreId,
    pub operation: OperationId,
    /// What signatures are checked against; see [`crate::decision::signature_basis`].
    pub basis: String,
}

/// The folder of decision files.
///
/// The files themselves are read and written as files of the project; this trait answers what only
/// the repository knows.
pub trait DecisionFolder {
    /// Lists the folder; `None` if it did not change since the look that was remembered.
    ///
    /// With [`LookDepth::Files`] never `None`. A look that was remembered for another state, or for a
    /// later one than `state`, does not count.
    ///
    /// # Errors
    /// When the folder exists but cannot be read.
    fn list_changed(
        &self,
        state: &StateMark,
        depth: LookDepth,
    ) -> Result<Option<DecisionListing>, StoreFault>;

    /// Lists the folder, whatever is remembered.
    ///
    /// # Errors
    /// When the folder exists but cannot be read.
    fn list_all(&self) -> Result<BTreeSet<DecisionId>, StoreFault>;

    /// Remembers a look whose result is recorded. A cache: losing it costs another look.
    fn remember_look(&self, listing: &DecisionListing);

    /// Returns the decisions made in this repository, in any of its worktrees.
    ///
    /// # Errors
    /// When the list exists but cannot be read.
    fn made_here(&self) -> Result<BTreeSet<DecisionId>, StoreFault>;

    /// Adds decisions made in this repository. Called before their files are written.
    ///
    /// # Errors
    /// When the list cannot be written.
    fn mark_made_here(&self, ids: &[DecisionId]) -> Result<(), StoreFault>;

    /// Remembers which commit is checked out, unless an earlier look of this state is remembered: only then a
    /// file that vanishes can be told from one that went with its branch. The next look lists a folder that is
    /// still to be made, whether or not it is there then.
    fn expect_write(&self, state: &StateMark);

    /// Whether a person adopted this clone, and with it the decisions of others.
    fn is_adopted(&self) -> bool;

    /// Records that a person adopted this clone.
    ///
    /// # Errors
    /// When it cannot be written.
    fn mark_adopted(&self) -> Result<(), StoreFault>;

    /// Returns the decision files at the tip of every branch, local or remote-tracking, and in every stash.
    ///
    /// # Errors
    /// When git is not installed or fails.
    fn list_other_places(&self) -> Result<Vec<BTreeSet<DecisionId>>, StoreFault>;

    /// Returns those of `ids` whose files are in the history of a remote-tracking branch. Starts one
    /// git process.
    ///
    /// # Errors
    /// When git is not installed or fails.
    fn find_in_remote_history(
        &self,
        ids: &BTreeSet<DecisionId>,
    ) -> Result<BTreeSet<DecisionId>, StoreFault>;
}
