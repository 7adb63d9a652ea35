//! One thread for the slow reads of a process with one client.
//!
//! Each thread has memory of its own in the allocator, and a read of all plans leaves tens of megabytes
//! there for the next. On the threads of the runtime, which take turns, every one of them keeps that
//! much. Calls that change something or run a command stay on those: they may take minutes.

use std::sync::mpsc::{Receiver, Sender, channel};

use application::Failure;
use tokio::sync::oneshot;

use super::server::internal_error;

type Job = Box<dyn FnOnce() + Send>;

/// A thread that runs one job after the other, and ends with this handle.
pub(super) struct ReadThread {
    jobs: Sender<Job>,
}

impl ReadThread {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the system starts no further thread.
    pub(super) fn start() -> std::io::Result<Self> {
        let (jobs, queue): (Sender<Job>, Receiver<Job>) = channel();
        std::thread::Builder::new()
            .name("reads".to_owned())
            .spawn(move || queue.into_iter().for_each(|job| job()))?;
        Ok(Self { jobs })
    }

    /// Runs `work`, which must not panic, after the jobs before it.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let (answer, answered) = oneshot::channel();
        let job = Box::new(move || {
            // A client that is gone waits for no answer.
            let _ = answer.send(work());
        });
        match self.jobs.send(job) {
            Ok(()) => answered.await.unwrap_or_else(|_| Err(internal_error())),
            Err(_) => Err(internal_error()),
        }
    }
}
