//! Line-delimited JSON-RPC over a pair of streams, as a transport for the SDK.
//!
//! The SDK's own transport says nothing about lines it cannot parse and has no limit on their
//! length.

use std::io;
use std::time::Duration;

use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, GetMeta, ServerJsonRpcMessage};
use rmcp::service::RoleServer;
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::frames::{self, Frame};

/// Maximum length of a line. Plans may have megabytes; an endless line must not fill the memory.
const LONGEST_LINE: usize = 16 * 1024 * 1024;

/// Maximum number of queued responses; beyond it reading stops too (backpressure).
const WAITING_ANSWERS: usize = 64;

/// Time for the client to read the last responses.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// Lines in, lines out.
pub(super) struct Pipe<R> {
    read: BufReader<R>,
    line: Vec<u8>,
    /// The rest of an overlong line is being discarded.
    skipping: bool,
    ended: bool,
    /// Whether the client has sent `initialize`; otherwise each request has to carry its `_meta`.
    initialized: bool,
    /// An error response still to be sent. It is a field, not a local variable, because `receive`
    /// may be dropped at any `await` and called again.
    owed: Option<Vec<u8>>,
    out: Option<mpsc::Sender<Vec<u8>>>,
    writer: Option<JoinHandle<()>>,
    /// Cancelled when the client has disconnected, so that long waits end.
    gone: CancellationToken,
}

impl<R: AsyncRead + Unpin + Send> Pipe<R> {
    /// Joins two streams; `gone` is cancelled when the client closes its end.
    pub(super) fn new(
        read: R,
        write: impl AsyncWrite + Unpin + Send + 'static,
        gone: CancellationToken,
    ) -> Self {
        let (out, waiting) = mpsc::channel(WAITING_ANSWERS);
        let writer = tokio::spawn(write_all(write, waiting));
        Self {
            read: BufReader::with_capacity(64 * 1024, read),
            line: Vec::new(),
            skipping: false,
            ended: false,
            initialized: false,
            owed: None,
            out: Some(out),
            writer: Some(writer),
            gone,
        }
    }

    /// Reads to the end of the line. `None` at the end of the stream.
    async fn next_line(&mut self) -> Option<Frame> {
        while !self.ended {
            // `fill_buf` may be dropped at any time without losing bytes; they stay in the buffer.
            let there = match self.read.fill_buf().await {
                Ok(there) => there,
                // A read error is treated as the end of the stream: there is nobody to report it
                // to.
                Err(_) => &[],
            };
            if there.is_empty() {
                self.ended = true;
                // The last line needs no line feed.
                break;
            }
            let end = there.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(there.len(), |end| end + 1);
            let too_long = self.line.len() + taken > LONGEST_LINE;
            if !self.skipping && !too_long {
                self.line
                    .extend_from_slice(there.get(..taken).unwrap_or_default());
            }
            self.read.consume(taken);
            if too_long && !self.skipping {
                self.skipping = end.is_none();
                self.line = Vec::new();
                let hint = format!("the message is larger than {LONGEST_LINE} bytes");
                // Without an id, which may be anywhere in the part that is not kept.
                return Some(Frame::Refused {
                    id: None,
                    error: ErrorData::invalid_request(hint, None),
                });
            }
            if end.is_some() {
                if std::mem::take(&mut self.skipping) {
                    continue;
                }
                return Some(self.take_line());
            }
        }
        (!self.line.is_empty()).then(|| self.take_line())
    }

    fn take_line(&mut self) -> Frame {
        let frame = frames::read(&self.line);
        self.line.clear();
        // Shrunk, so that one large message does not keep its buffer for the whole session.
        self.line.shrink_to(64 * 1024);
        frame
    }

    /// Returns the error for a request without `_meta` before `initialize`.
    fn unannounced(&mut self, message: &ClientJsonRpcMessage) -> Option<ErrorData> {
        let ClientJsonRpcMessage::Request(request) = message else {
            return None;
        };
        match &request.request {
            ClientRequest::InitializeRequest(_) => self.initialized = true,
            ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => {}
            other if !self.initialized && other.get_meta().protocol_version().is_none() => {
                let hint = "send `initialize` first, or give `_meta` with io.modelcontextprotocol/protocolVersion and \
                            io.modelcontextprotocol/clientCapabilities in every request";
                return Some(ErrorData::invalid_params(hint, None));
            }
            _ => {}
        }
        None
    }
}

/// Returns a message as a line.
fn line_of(message: &ServerJsonRpcMessage) -> Vec<u8> {
    // Serialising fails only for maps with non-string keys, which these messages do not have.
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    line
}

/// Writes lines, all queued ones with one system call.
async fn write_all(mut write: impl AsyncWrite + Unpin, mut waiting: mpsc::Receiver<Vec<u8>>) {
    while let Some(mut lines) = waiting.recv().await {
        // A burst of notifications becomes one write.
        while let Ok(line) = waiting.try_recv() {
            lines.extend_from_slice(&line);
        }
        let written = async {
            write.write_all(&lines).await?;
            write.flush().await
        };
        // The client has closed its end; reading will see that too.
        if written.await.is_err() {
            return;
        }
    }
}

impl<R: AsyncRead + Unpin + Send> Transport<RoleServer> for Pipe<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let out = self.out.clone();
        async move {
            let closed = || io::Error::new(io::ErrorKind::BrokenPipe, "the client is gone");
            out.ok_or_else(closed)?
                .send(line_of(&item))
                .await
                .map_err(|_| closed())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            // Sent before the next line is read: a client that floods invalid lines is slowed down.
            if self.owed.is_some() {
                let Ok(place) = self.out.as_ref()?.reserve().await else {
                    self.gone.cancel();
                    return None;
                };
                place.send(self.owed.take().unwrap_or_default());
            }
            let Some(frame) = self.next_line().await else {
                self.gone.cancel();
                return None;
            };
            let (id, error) = match frame {
                Frame::Ignored => continue,
                Frame::Refused { id, error } => (id, error),
                Frame::Message(message) => match self.unannounced(&message) {
                    None => return Some(*message),
                    Some(error) => (message.into_request().map(|(_, id)| id), error),
                },
            };
            self.owed = Some(line_of(&ServerJsonRpcMessage::error(error, id)));
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        // Without a sender the writer ends after the queued responses.
        self.out = None;
        if let Some(writer) = self.writer.take() {
            let _ = tokio::time::timeout(LAST_ANSWERS, writer).await;
        }
        Ok(())
    }
}
