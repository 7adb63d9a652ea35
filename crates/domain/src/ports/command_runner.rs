//! Runs evidence commands, such as a test suite, on explicit request only.

use std::time::Duration;

use crate::ports::StoreFault;

/// Exit code and output of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandOutput {
    /// `None` when it was killed by a signal or timed out.
    pub exit_code: Option<i32>,
    /// The tail of its stdout and stderr.
    pub output: String,
}

/// Runs programs in the project's directory.
pub trait CommandRunner {
    /// Runs a program with its arguments, without a shell, with a timeout of `most`.
    ///
    /// `None` if commands are not allowed for this caller.
    ///
    /// # Errors
    /// When it cannot be started.
    fn run_command(
        &self,
        command: &[String],
        most: Duration,
    ) -> Result<Option<CommandOutput>, StoreFault>;
}

/// Runs nothing: for callers that may not start programs on this machine.
#[derive(Clone, Copy, Debug)]
pub struct NoCommands;

impl CommandRunner for NoCommands {
    fn run_command(
        &self,
        _command: &[String],
        _most: Duration,
    ) -> Result<Option<CommandOutput>, StoreFault> {
        // Not an error: the caller reports that the evidence was not run.
        Ok(None)
    }
}
