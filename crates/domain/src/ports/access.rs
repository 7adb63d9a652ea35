//! The book of tokens, and of what was done with them: beside the state, not made from operations.

use crate::ids::{Digest32, Principal};
use crate::ports::StoreFault;
use crate::time::Timestamp;
use crate::token::{Audited, NewToken, Token};

/// What is kept of a token that is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenEntry {
    pub new: NewToken,
    pub hash: Digest32,
    pub cookie: Digest32,
    pub at: Timestamp,
    pub by: Principal,
    pub expires_at: Option<Timestamp>,
}

/// The tokens of a project and its audit log, for every server on its database.
///
/// Neither is history: no operation records them, `undo` does not reach them, and they outlive a rebuild of the state.
pub trait AccessBook {
    /// Returns the time of the clock that tokens end by; `None` where it is this machine's.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn now(&self) -> Result<Option<Timestamp>, StoreFault>;

    /// Adds a token and returns it with its number.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn add_token(&self, entry: &TokenEntry) -> Result<Token, StoreFault>;

    /// Returns every token, also those that are over, by number.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn tokens(&self) -> Result<Vec<Token>, StoreFault>;

    /// Returns those that were not taken back.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn good_tokens(&self) -> Result<Vec<Token>, StoreFault>;

    /// Takes a token back, once; `None` when there is none of this number.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn revoke_token(&self, id: u64, at: Timestamp) -> Result<Option<Token>, StoreFault>;

    /// Adds to the audit log, and notes when tokens were last used: all of it or nothing.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn note(&self, lines: &[Audited], uses: &[(u64, Timestamp)]) -> Result<(), StoreFault>;

    /// Returns the last lines of the audit log, newest first.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn audited(&self, most: usize) -> Result<Vec<Audited>, StoreFault>;

    /// Forgets the audit log before a moment, and all but its last `most` lines.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn forget_audited(&self, before: Timestamp, most: usize) -> Result<(), StoreFault>;
}
