//! A team server, as a replica asks it: three questions, however they travel.

use std::time::Duration;

use domain::exchange::{Greeting, Receipt, Sending};
use domain::ids::{Digest32, OperationId};

/// A team server.
pub trait TeamServer: Send {
    /// Returns what it is called, for people.
    fn shown(&self) -> &str;

    /// Returns another value when we are somebody else to it: another server, or another token.
    fn identity(&self) -> Digest32;

    /// Returns what only who holds the token can know, to tell what was written here from what came with a repository.
    fn seal(&self) -> Digest32;

    /// Asks for the operations after one, which has this hash (`None` when nothing is known of its history). An answer that
    /// would be empty may be held back for `wait`, until it is not.
    ///
    /// # Errors
    /// [`Trouble`].
    fn fetch(
        &self,
        after: OperationId,
        hash: Option<Digest32>,
        wait: Duration,
    ) -> Result<Fetched, Trouble>;

    /// Sends operations as lines of a journal. To send the same ones again is harmless.
    ///
    /// # Errors
    /// [`Trouble`].
    fn send(&self, sending: &Sending, lines: &[String]) -> Result<Receipt, Trouble>;
}

/// What a server answered.
#[derive(Clone, Debug)]
pub enum Fetched {
    /// Some operations; all of them, when the last one is the greeting's head.
    Page {
        greeting: Greeting,
        lines: Vec<String>,
    },
    /// It has another operation in that place.
    Diverged,
}

/// Why a server could not be asked.
#[derive(Clone, Debug)]
pub enum Trouble {
    /// Nobody answers.
    Silent {
        why: String,
        /// Whether it may have heard us.
        may_have_arrived: bool,
    },
    /// It answered, and will not have it.
    Refused {
        why: String,
        next_steps: Vec<String>,
    },
}
