//! Exit codes, in the one place that defines them. `docs/reference/exit-codes.md` is made from this.

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitCode {
    Done,
    Failed,
    Usage,
    Findings,
}

impl ExitCode {
    /// Every code with its meaning.
    pub(crate) const ALL: [(Self, &'static str); 4] = [
        (Self::Done, "done"),
        (
            Self::Failed,
            "failed or refused; nothing was changed unless the message says so",
        ),
        (
            Self::Usage,
            "wrong usage: an unknown command, a missing argument",
        ),
        (
            Self::Findings,
            "`tl check`, `tl repair`, `tl doctor`, `tl doc validate` `tl reconcile` or `tl secret` found problems (that remain), `tl evidence run` did not prove what it should, or a review waits for a person",
        ),
    ];

    /// Returns the number.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Findings => 3,
        }
    }
}
