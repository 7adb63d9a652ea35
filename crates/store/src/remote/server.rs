//! The client interface to a team server, independent of the transport.

use std::time::Duration;

use domain::ids::{Digest32, OperationId};
use domain::sync_protocol::{PullHeader, PushHeader, PushOutcome};

/// A team server.
pub trait TeamServer: Send {
    /// Returns the server's name for messages.
    fn display_name(&self) -> &str;

    /// Returns a digest of server and token, to detect that cached data belongs to another account.
    fn client_identity(&self) -> Digest32;

    /// Returns a key derived from the token, to authenticate local files against those that came
    /// with a repository.
    fn seal_key(&self) -> Digest32;

    /// Fetches the operations after one with this hash (`None` when the history is unknown). The
    /// server may hold back an empty response for up to `wait` (long polling).
    ///
    /// # Errors
    /// [`Trouble`].
    fn fetch_operations(
        &self,
        after: OperationId,
        hash: Option<Digest32>,
        wait: Duration,
    ) -> Result<FetchOutcome, ServerFault>;

    /// Sends operations as journal lines. Idempotent.
    ///
    /// # Errors
    /// [`Trouble`].
    fn send_operations(
        &self,
        sending: &PushHeader,
        lines: &[String],
    ) -> Result<PushOutcome, ServerFault>;
}

/// Response to a fetch.
#[derive(Clone, Debug)]
pub enum FetchOutcome {
    /// A page of operations, the last page when it ends with the greeting's head.
    Page {
        greeting: PullHeader,
        lines: Vec<String>,
    },
    /// The server has another operation at that position.
    Diverged,
}

/// Failure of a request.
#[derive(Clone, Debug)]
pub enum ServerFault {
    /// The server is unreachable.
    Silent {
        why: String,
        /// Whether the request may have been processed.
        may_have_arrived: bool,
    },
    /// The server refused the request.
    Refused {
        why: String,
        next_steps: Vec<String>,
    },
}
