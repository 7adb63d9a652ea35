//! Advisory locks on files, between processes.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::private_files::private_open_options;

/// Time between two attempts.
const RETRY_INTERVAL: Duration = Duration::from_millis(2);

/// Opens or creates a lock file and waits for its lock, which is held until the file is closed.
/// Returns `None` if another process still holds it after `patience`.
pub(crate) fn acquire_file_lock(path: &Path, patience: Duration) -> io::Result<Option<File>> {
    let file = private_open_options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)?;
    // Polled, because a blocking `flock` knows no timeout and a signal would need a handler.
    let deadline = Instant::now() + patience;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Some(file)),
            Err(Errno::WOULDBLOCK | Errno::INTR) if Instant::now() < deadline => {
                std::thread::sleep(RETRY_INTERVAL);
            }
            Err(Errno::WOULDBLOCK | Errno::INTR) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
}
