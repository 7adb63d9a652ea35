//! Cancellation token for calls, and the only place where this crate enters an async runtime.

use std::future::Future;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// A cancellation token; clones share it, and a call in progress ends soon after it is cancelled.
///
/// Cancelling is safe from a signal thread. Dropping the last clone does not cancel.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(CancellationToken);

/// The call was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;

impl CancelToken {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a token that is cancelled by Ctrl-C.
    ///
    /// Starts a thread that waits for the signal; if that fails, the token can only be cancelled
    /// explicitly.
    #[must_use]
    pub fn on_ctrl_c() -> Self {
        let switch = Self::new();
        // The thread keeps a clone, so a dropped original does not stop it.
        let thrown = switch.clone();
        let wait = move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            let heard =
                runtime.is_ok_and(|runtime| runtime.block_on(tokio::signal::ctrl_c()).is_ok());
            if heard {
                thrown.cancel();
            }
        };
        // Detached: the thread ends with the program.
        drop(
            std::thread::Builder::new()
                .name("ctrl-c".to_owned())
                .spawn(wait),
        );
        switch
    }

    pub fn cancel(&self) {
        self.0.cancel();
    }

    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Returns a child token: cancelled with this one, but not the other way round.
    #[must_use]
    pub fn child_token(&self) -> Self {
        Self(self.0.child_token())
    }

    /// Sleeps for `duration`, or returns early when cancelled.
    ///
    /// # Errors
    /// When cancelled before or while waiting.
    pub fn wait_for(&self, duration: Duration) -> Result<(), Cancelled> {
        self.run_future(async move { tokio::time::sleep(duration).await })
    }

    /// Completes when the token is cancelled.
    pub(crate) async fn until_cancelled(&self) {
        self.0.cancelled().await;
    }

    /// Runs `work` to completion on its own runtime, or drops it when cancelled.
    pub(crate) fn run_future<T: Send>(
        &self,
        work: impl Future<Output = T> + Send,
    ) -> Result<T, Cancelled> {
        if self.is_cancelled() {
            return Err(Cancelled);
        }
        // Blocking on a runtime panics on a thread that belongs to another one, as a server's do.
        if tokio::runtime::Handle::try_current().is_ok() {
            // Scoped, because `work` borrows from the caller.
            return std::thread::scope(|scope| {
                scope
                    .spawn(|| self.block_on(work))
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
        }
        self.block_on(work)
    }

    fn block_on<T>(&self, work: impl Future<Output = T>) -> Result<T, Cancelled> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("BUG: a current-thread runtime needs only an epoll handle");
        let ended = runtime.block_on(async {
            tokio::select! {
                // Cancellation is polled first: work that is always ready must not starve it.
                biased;
                () = self.0.cancelled() => Err(Cancelled),
                value = work => Ok(value),
            }
        });
        // Not a plain drop: it would wait for a blocking DNS lookup in progress.
        runtime.shutdown_background();
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_runs_to_its_end() {
        assert_eq!(CancelToken::new().run_future(async { 7 }), Ok(7));
    }

    #[test]
    fn a_thrown_switch_ends_what_would_never_end() {
        let cancel = CancelToken::new();
        let other = cancel.clone();
        let thrower = std::thread::spawn(move || other.cancel());
        assert_eq!(
            cancel.run_future(std::future::pending::<()>()),
            Err(Cancelled)
        );
        thrower.join().unwrap();
        assert_eq!(cancel.wait_for(Duration::from_secs(3600)), Err(Cancelled));
    }

    #[test]
    fn a_child_is_thrown_with_its_parent_but_not_the_other_way_round() {
        let parent = CancelToken::new();
        let child = parent.child_token();
        child.cancel();
        assert!(!parent.is_cancelled());
        let child = parent.child_token();
        parent.cancel();
        assert!(child.is_cancelled());
    }

    #[test]
    fn it_works_inside_a_runtime_of_a_server() {
        let server = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        assert_eq!(
            server.block_on(async { CancelToken::new().run_future(async { 7 }) }),
            Ok(7)
        );
    }
}
