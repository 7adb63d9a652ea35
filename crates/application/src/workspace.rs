//! A project that a server works on: the interface between the use cases and the program that opens
//! stores.
//!
//! Implemented in the `cli` crate, which alone knows the store's engine; every call runs one use
//! case.

use std::sync::Arc;
use std::time::Duration;

use domain::ids::Principal;
use domain::operation::Channel;
use domain::policy::Policy;
use domain::ports::TokenStore;
use domain::profile::Profile;
use domain::time::Timestamp;

use crate::{Context, Failure};

/// A use case without a value, as the non-generic interfaces run it.
pub type UseCase<'u> = dyn FnMut(&Context<'_>) -> Result<(), Failure> + 'u;

/// A project with concurrent callers.
pub trait Workspace: Send + Sync + 'static {
    /// Runs a use case as `actor` on `channel`. A damaged state is repaired on the way where
    /// possible.
    ///
    /// # Errors
    /// The use case's failure, or that of opening the state.
    fn run(
        &self,
        channel: Channel,
        actor: &Principal,
        use_case: &mut dyn FnMut(&Context<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure>;

    /// Like [`Workspace::run`], in a session that the client names: where a connection does not
    /// tell its agents apart.
    ///
    /// # Errors
    /// As [`Workspace::run`].
    fn run_in_session(
        &self,
        channel: Channel,
        actor: &Principal,
        _session: &str,
        use_case: &mut dyn FnMut(&Context<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.run(channel, actor, use_case)
    }

    /// Returns the number of the last operation, cheaply: another number means that something
    /// changed.
    ///
    /// # Errors
    /// When the state cannot be read.
    fn head(&self) -> Result<u64, Failure>;

    /// Runs `_use_book` on the token store with the time by which tokens expire; returns whether
    /// there is a token store.
    ///
    /// # Errors
    /// When the token store cannot be read or written.
    fn with_token_store(
        &self,
        _use_book: &mut dyn FnMut(&dyn TokenStore, Timestamp) -> Result<(), Failure>,
    ) -> Result<bool, Failure> {
        Ok(false)
    }

    /// Returns how often a store was requested, and the total time spent waiting for one.
    fn store_wait_stats(&self) -> (u64, Duration) {
        (0, Duration::ZERO)
    }

    /// Returns the project's profiles: others once the settings changed.
    fn profiles(&self) -> Arc<[Profile]>;

    /// Returns the policy in force.
    fn policy(&self) -> Arc<Policy>;

    /// Returns why the settings in the files cannot be used, while the last good ones are in force: the
    /// same object until they change.
    fn settings_problem(&self) -> Option<Arc<Failure>> {
        None
    }

    /// Returns the local user, to whom decisions made without a token are attributed.
    fn local_person(&self) -> Principal;
}

impl dyn Workspace {
    /// Runs a use case and returns its outcome.
    ///
    /// # Errors
    /// The use case's failure, or that of opening the state.
    pub fn run_use_case<T>(
        &self,
        channel: Channel,
        actor: &Principal,
        use_case: &mut dyn FnMut(&Context<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        run_for_value(|use_case| self.run(channel, actor, use_case), use_case)
    }
}

/// Runs a use case through a function that is not generic, and returns its value.
///
/// Traits stay usable as objects this way, and the function is compiled once instead of once per
/// use case.
///
/// # Errors
/// The failure of `run`.
pub fn run_for_value<T>(
    run: impl FnOnce(&mut UseCase<'_>) -> Result<(), Failure>,
    use_case: &mut dyn FnMut(&Context<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    // The value leaves through the closure; a retry after a conflict overwrites it.
    let mut value = None;
    run(&mut |ctx| {
        value = Some(use_case(ctx)?);
        Ok(())
    })?;
    value.ok_or_else(|| Failure::internal("the use case gave no answer"))
}
