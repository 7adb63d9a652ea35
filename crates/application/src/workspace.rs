//! The project as servers work on it. Made by the program; every call is one use case.

use std::time::Duration;

use domain::ids::Principal;
use domain::operation::Channel;
use domain::policy::Policy;
use domain::ports::AccessBook;
use domain::profile::Profile;
use domain::time::Timestamp;

use crate::{Context, Failure, FailureKind};

/// A project that many calls work on at once.
pub trait Workspace: Send + Sync + 'static {
    /// Runs a use case as `actor`, who came by `channel`. Damage of the state is mended on the way where that is possible.
    ///
    /// # Errors
    /// The use case's failure, or that of opening the state.
    fn run(
        &self,
        channel: Channel,
        actor: &Principal,
        use_case: &mut dyn FnMut(&Context<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure>;

    /// Returns the number of the last operation, cheaply: another number means that something changed.
    ///
    /// # Errors
    /// When the state cannot be read.
    fn head(&self) -> Result<u64, Failure>;

    /// Does something with the book of tokens, given the present time of the clock tokens end by; says whether there is one.
    ///
    /// # Errors
    /// When the book cannot be read or written.
    fn access(
        &self,
        _use_book: &mut dyn FnMut(&dyn AccessBook, Timestamp) -> Result<(), Failure>,
    ) -> Result<bool, Failure> {
        Ok(false)
    }

    /// Returns how often a store was asked for, and how long those who asked had to wait for one in all.
    fn store_waits(&self) -> (u64, Duration) {
        (0, Duration::ZERO)
    }

    /// Returns the kinds of tree of the project.
    fn profiles(&self) -> &[Profile];

    /// Returns the project's policy.
    fn policy(&self) -> &Policy;

    /// Returns who sits at this machine: whose word an answer to a question is.
    fn person(&self) -> Principal;
}

impl dyn Workspace {
    /// Runs a use case and returns what it gave.
    ///
    /// # Errors
    /// The use case's failure, or that of opening the state.
    pub fn ask<T>(
        &self,
        channel: Channel,
        actor: &Principal,
        use_case: &mut dyn FnMut(&Context<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut outcome = None;
        self.run(channel, actor, &mut |ctx| {
            outcome = Some(use_case(ctx)?);
            Ok(())
        })?;
        outcome.ok_or_else(|| Failure::new(FailureKind::Internal, "the use case gave no answer"))
    }
}
