//! Tells a process that died from one that still runs.

use crate::calling_session::ProcessIdentity;

/// The processes of this machine.
pub trait ProcessTable {
    /// Returns the identity of this process; `None` where processes cannot be identified.
    fn own_identity(&self) -> Option<ProcessIdentity>;

    /// Whether a process still runs.
    fn is_running(&self, process: &ProcessIdentity) -> bool;
}

/// Knows no process: every other one counts as dead.
#[derive(Clone, Copy, Debug)]
pub struct NoProcesses;

impl ProcessTable for NoProcesses {
    fn own_identity(&self) -> Option<ProcessIdentity> {
        None
    }

    fn is_running(&self, _process: &ProcessIdentity) -> bool {
        false
    }
}
