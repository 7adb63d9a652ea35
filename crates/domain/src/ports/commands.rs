//! Commands that prove something: run because a person or an agent asked for it, never by themselves.

use std::time::Duration;

use crate::ports::StoreFault;

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// `None` when it was ended from outside or took too long.
    pub exit_code: Option<i32>,
    /// The end of what it wrote, both ways.
    pub output: String,
}

/// Runs programs in the project's directory.
pub trait Commands {
    /// Runs a program with its arguments, without a shell, and waits for its end, which comes after `most` at the latest.
    /// `None` where no commands are run for whoever asks.
    ///
    /// # Errors
    /// When it cannot be started.
    fn run(&self, command: &[String], most: Duration) -> Result<Option<Ran>, StoreFault>;
}

/// Nothing is run here.
#[derive(Clone, Copy, Debug)]
pub struct NoCommands;

impl Commands for NoCommands {
    fn run(&self, _command: &[String], _most: Duration) -> Result<Option<Ran>, StoreFault> {
        Ok(None)
    }
}
