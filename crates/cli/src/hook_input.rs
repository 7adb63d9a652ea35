//! The payload of a hook, read from standard input in bounded memory.
//!
//! What has arrived is kept where the watchdog finds it: a host that does not close its end must not keep the gates
//! from being asked about what it said.

use std::io::{ErrorKind, Read};
use std::sync::Mutex;

use hosts::wire::{Salvage, salvage};

/// A longer payload is read as a stream, and its long strings are cut.
const MAX_PAYLOAD_BYTES: usize = 16 * 1024 * 1024;

const CHUNK_BYTES: usize = 64 * 1024;

/// What was read.
pub(crate) enum Payload {
    /// Everything that says what happens; texts longer than any plan may be cut.
    Whole(Vec<u8>),
    /// What could be read before it went wrong, and what did.
    Partial { bytes: Vec<u8>, why: String },
}

struct Arrived {
    bytes: Vec<u8>,
    /// Set once it is too long to be kept as it is.
    stream: Option<Salvage>,
}

static ARRIVED: Mutex<Arrived> = Mutex::new(Arrived { bytes: Vec::new(), stream: None });

/// Reads the payload to its end.
pub(crate) fn read_payload() -> Payload {
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut stdin = std::io::stdin().lock();
    loop {
        let read = match stdin.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return partial(&format!("its payload could not be read: {error}")),
        };
        let is_too_long = with_arrived(|arrived| arrived.push(chunk.get(..read).unwrap_or_default()));
        if is_too_long {
            return partial(&format!("its payload has more than {} MiB", MAX_PAYLOAD_BYTES / 1024 / 1024));
        }
    }
    with_arrived(|arrived| match arrived.stream.take() {
        Some(stream) => Payload::Whole(stream.finish()),
        None => Payload::Whole(std::mem::take(&mut arrived.bytes)),
    })
}

/// Returns what has arrived so far, as far as it can be read.
pub(crate) fn take_arrived() -> Vec<u8> {
    with_arrived(|arrived| match arrived.stream.take() {
        Some(stream) => stream.finish(),
        None => salvage(&std::mem::take(&mut arrived.bytes)),
    })
}

fn partial(why: &str) -> Payload {
    Payload::Partial { bytes: take_arrived(), why: why.to_owned() }
}

fn with_arrived<T>(use_it: impl FnOnce(&mut Arrived) -> T) -> T {
    use_it(&mut ARRIVED.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
}

impl Arrived {
    /// Adds bytes; says whether there are too many even with long strings cut.
    fn push(&mut self, bytes: &[u8]) -> bool {
        if self.stream.is_none() && self.bytes.len() + bytes.len() > MAX_PAYLOAD_BYTES {
            let mut stream = Salvage::default();
            stream.push(&std::mem::take(&mut self.bytes));
            self.stream = Some(stream);
        }
        match &mut self.stream {
            Some(stream) => {
                stream.push(bytes);
                stream.kept_bytes() > MAX_PAYLOAD_BYTES
            }
            None => {
                self.bytes.extend_from_slice(bytes);
                false
            }
        }
    }
}
