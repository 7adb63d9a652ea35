//! A queue before SQLite's write lock.
//!
//! SQLite's own waiting is polling: with many sessions the lucky ones get the lock again and again
//! and others wait until their patience ends. Here writers wait for a file lock in the kernel,
//! which hands it on in order, and keep it for the time of their transaction: none of them polls.

use std::fs::File;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use crate::private_files::private_open_options;

/// The first place in the queue, until it is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    /// `None` where the queue cannot be used: then every writer polls.
    _held: Option<File>,
}

/// Waits for the first place in the queue at `path`; `None` if patience ended before.
pub(super) fn wait_for_turn(path: &Path, patience: Duration) -> Option<Turn> {
    let opened = private_open_options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path);
    // A read-only directory: the database itself reports it.
    let Ok(file) = opened else {
        return Some(Turn { _held: None });
    };
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
        return Some(Turn { _held: Some(file) });
    }
    // A blocking `flock` keeps the order but knows no timeout, so a thread waits for it. If nobody
    // receives the file any more, it is closed with its lock.
    let (sender, receiver) = mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let is_locked = flock(&file, FlockOperation::LockExclusive).is_ok();
        let _ = sender.send(is_locked.then_some(file));
    });
    let held = receiver.recv_timeout(patience).ok()?;
    Some(Turn { _held: held })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_writer_at_a_time_is_first_and_one_without_patience_goes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("queue");
        let first = wait_for_turn(&path, Duration::ZERO).unwrap();
        assert!(wait_for_turn(&path, Duration::ZERO).is_none());
        let waiting = {
            let path = path.clone();
            std::thread::spawn(move || wait_for_turn(&path, Duration::from_secs(60)).is_some())
        };
        drop(first);
        assert!(waiting.join().unwrap());
        assert!(wait_for_turn(&path, Duration::from_secs(60)).is_some());
    }

    #[test]
    fn without_a_place_for_the_queue_nobody_waits() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("missing/queue");
        let first = wait_for_turn(&path, Duration::ZERO);
        assert!(first.is_some() && wait_for_turn(&path, Duration::ZERO).is_some());
    }
}
