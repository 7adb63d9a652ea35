//! Hook payload reader: reads standard input in bounded memory.
//!
//! The received bytes are shared with the watchdog: if a host does not close its end of the pipe,
//! the gates are evaluated on what it has sent.

use std::io::{ErrorKind, Read};
use std::sync::{Arc, LazyLock, Mutex};

use hosts::wire::{Salvage, salvage_payload};

/// A longer payload is parsed as a stream, and its long strings are truncated.
const MAX_PAYLOAD_BYTES: usize = 16 * 1024 * 1024;

/// The first read. Most payloads fit, and every page of a larger buffer would cost each hook a page fault.
const FIRST_CHUNK_BYTES: usize = 4 * 1024;

const CHUNK_BYTES: usize = 64 * 1024;

/// A payload as read.
pub(crate) enum Payload {
    /// A complete payload; strings longer than any plan may be truncated. Shared with the watchdog,
    /// which needs it until the event is parsed.
    Whole(Arc<Vec<u8>>),
    /// What was read before an error, and the error.
    Partial { bytes: Vec<u8>, why: String },
}

struct ReceivedInput {
    bytes: Arc<Vec<u8>>,
    /// Set once the payload is too long to be kept unchanged.
    stream: Option<Salvage>,
}

static RECEIVED: LazyLock<Mutex<ReceivedInput>> = LazyLock::new(|| {
    Mutex::new(ReceivedInput {
        bytes: Arc::default(),
        stream: None,
    })
});

/// Reads the payload to its end.
pub(crate) fn read_payload() -> Payload {
    let mut chunk = vec![0; FIRST_CHUNK_BYTES];
    let mut stdin = std::io::stdin().lock();
    loop {
        let read = match stdin.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => {
                return partial_payload(&format!("its payload could not be read: {error}"));
            }
        };
        let is_too_long =
            with_received(|arrived| arrived.push_bytes(chunk.get(..read).unwrap_or_default()));
        if is_too_long {
            return partial_payload(&format!(
                "its payload has more than {} MiB",
                MAX_PAYLOAD_BYTES / 1024 / 1024
            ));
        }
        if read == chunk.len() {
            chunk.resize(CHUNK_BYTES, 0);
        }
    }
    with_received(|arrived| {
        if let Some(stream) = arrived.stream.take() {
            arrived.bytes = Arc::new(stream.finish());
        }
        Payload::Whole(arrived.bytes.clone())
    })
}

/// Returns the salvageable part of what has been received so far.
pub(crate) fn salvage_received_bytes() -> Vec<u8> {
    let bytes = with_received(|arrived| match arrived.stream.take() {
        Some(stream) => Arc::new(stream.finish()),
        None => arrived.bytes.clone(),
    });
    salvage_payload(&bytes)
}

fn partial_payload(why: &str) -> Payload {
    Payload::Partial {
        bytes: salvage_received_bytes(),
        why: why.to_owned(),
    }
}

fn with_received<T>(use_it: impl FnOnce(&mut ReceivedInput) -> T) -> T {
    use_it(
        &mut RECEIVED
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner),
    )
}

impl ReceivedInput {
    /// Appends bytes; returns whether the payload is too long even with long strings truncated.
    fn push_bytes(&mut self, bytes: &[u8]) -> bool {
        if self.stream.is_none() && self.bytes.len() + bytes.len() > MAX_PAYLOAD_BYTES {
            // A tool that writes a 50 MB file is legitimate, and its path comes with the payload:
            // only the content is dropped, which no gate reads beyond this size.
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
                // No copy as long as the watchdog has not taken its reference.
                Arc::make_mut(&mut self.bytes).extend_from_slice(bytes);
                false
            }
        }
    }
}
