//! Token store and audit log: kept next to the state, not derived from operations.

use crate::ids::{Digest32, Principal};
use crate::ports::StoreFault;
use crate::time::Timestamp;
use crate::token::{AuditEntry, NewToken, Token};

/// The stored data of a new token; hashes only, never the secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenEntry {
    pub new: NewToken,
    pub hash: Digest32,
    pub cookie: Digest32,
    pub at: Timestamp,
    pub by: Principal,
    pub expires_at: Option<Timestamp>,
}

/// API tokens of a project and its audit log, shared by every server on its database.
///
/// Neither is part of the history: no operation records them, `undo` does not affect them, and they
/// survive a rebuild of the state.
pub trait TokenStore {
    /// Returns the time of the clock that token expiry is checked by; `None` if it is this
    /// machine's.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn store_time(&self) -> Result<Option<Timestamp>, StoreFault>;

    /// Adds a token and returns it with its id.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn add_token(&self, entry: &TokenEntry) -> Result<Token, StoreFault>;

    /// Returns every token by id, including expired and revoked ones.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn list_tokens(&self) -> Result<Vec<Token>, StoreFault>;

    /// Returns the tokens that are not revoked; they may have expired.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn list_unrevoked_tokens(&self) -> Result<Vec<Token>, StoreFault>;

    /// Revokes a token, idempotently; `None` if there is no token with this id.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn revoke_token(&self, id: u64, at: Timestamp) -> Result<Option<Token>, StoreFault>;

    /// Appends to the audit log and updates the tokens' last use, in one transaction.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn append_audit_log(
        &self,
        lines: &[AuditEntry],
        uses: &[(u64, Timestamp)],
    ) -> Result<(), StoreFault>;

    /// Returns the last `most` lines of the audit log, newest first.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn read_audit_log(&self, most: usize) -> Result<Vec<AuditEntry>, StoreFault>;

    /// Deletes audit log lines older than `before`, and all but the last `most`.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn prune_audit_log(&self, before: Timestamp, most: usize) -> Result<(), StoreFault>;
}
