//! Exit codes of the program. `docs/reference/exit-codes.md` is generated from this.

/// Exit code of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitCode {
    Done,
    Failed,
    Usage,
    Findings,
}

impl ExitCode {
    /// All codes with their meanings.
    pub(crate) const ALL: [(Self, &'static str); 4] = [
        (Self::Done, "done"),
        (
            Self::Failed,
            "failed or refused; nothing was changed unless the message says so",
        ),
        (
            Self::Usage,
            "usage error: an unknown command, a missing argument",
        ),
        (
            Self::Findings,
            "`tl check`, `tl state repair`, `tl host doctor`, `tl config check`, `tl doc validate`, `tl doc reconcile` or `tl state secret` found problems (that remain), the command of `tl evidence run` failed, or a review or `tl story run` waits for a person",
        ),
    ];

    /// Returns the code of a check: [`Self::Findings`] unless everything is in order.
    pub(crate) fn from_check(is_clean: bool) -> Self {
        if is_clean { Self::Done } else { Self::Findings }
    }

    /// Returns the process exit code.
    pub(crate) fn as_number(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Findings => 3,
        }
    }
}
