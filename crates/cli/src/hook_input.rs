//! The payload of a hook, read from standard input in bounded memory.
//!
//! What has arrived is kept where the watchdog finds it: a host that does not close its end must not keep the gates
//! from being asked about what it said.

use std::io::{ErrorKind, Read};
use std::sync::{Arc, LazyLock, Mutex};

use hosts::wire::{Salvage, salvage};

/// A longer payload is read as a stream, and its long strings are cut.
const MAX_PAYLOAD_BYTES: usize = 16 * 1024 * 1024;

const CHUNK_BYTES: usize = 64 * 1024;

/// What was read.
pub(crate) enum Payload {
    /// Everything that says what happens; texts longer than any plan may be cut. Shared with the watchdog, which needs it
    /// until the event is known.
    Whole(Arc<Vec<u8>>),
    /// What could be read before it went wrong, and what did.
    Partial { bytes: Vec<u8>, why: String },
}

struct Arrived {
    bytes: Arc<Vec<u8>>,
    /// Set once it is too long to be kept as it is.
    stream: Option<Salvage>,
}

static ARRIVED: LazyLock<Mutex<Arrived>> = LazyLock::new(|| {
    Mutex::new(Arrived {
        bytes: Arc::default(),
        stream: None,
    })
});

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
        let is_too_long =
            with_arrived(|arrived| arrived.push(chunk.get(..read).unwrap_or_default()));
        if is_too_long {
            return partial(&format!(
                "its payload has more than {} MiB",
                MAX_PAYLOAD_BYTES / 1024 / 1024
            ));
        }
    }
    with_arrived(|arrived| {
        if let Some(stream) = arrived.stream.take() {
            arrived.bytes = Arc::new(stream.finish());
        }
        Payload::Whole(arrived.bytes.clone())
    })
}

/// Returns what has arrived so far, as far as it can be read.
pub(crate) fn salvage_arrived() -> Vec<u8> {
    let bytes = with_arrived(|arrived| match arrived.stream.take() {
        Some(stream) => Arc::new(stream.finish()),
        None => arrived.bytes.clone(),
    });
    salvage(&bytes)
}

fn partial(why: &str) -> Payload {
    Payload::Partial {
        bytes: salvage_arrived(),
        why: why.to_owned(),
    }
}

fn with_arrived<T>(use_it: impl FnOnce(&mut Arrived) -> T) -> T {
    use_it(
        &mut ARRIVED
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner),
    )
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
                Arc::make_mut(&mut self.bytes).extend_from_slice(bytes);
                false
            }
        }
    }
}
