//! The stdio transport: the client starts this process and uses its standard streams.

use rmcp::service::{QuitReason, serve_directly};
use rmcp::transport::stdio_pipes;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::pipe::Pipe;
use super::server::{Server, Shared};
use crate::surface::Surface;

/// Serves the client on standard input and output until it closes them.
///
/// # Errors
/// When the runtime cannot be created.
pub fn serve_stdio(surface: Surface) -> Result<(), String> {
    // One thread: handing a message to another thread takes longer than most calls.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start the server: {error}"))?;
    let outcome = runtime.block_on(async {
        // Node uses socket pairs where other hosts use pipes.
        match sockets() {
            Some((read, write)) => serve_pipe(surface, read, write).await,
            None => {
                let (read, write) = stdio_pipes();
                serve_pipe(surface, read, write).await
            }
        }
    });
    // A blocking read of standard input (a terminal, a file) cannot be cancelled; waiting for it
    // would keep the process alive.
    runtime.shutdown_background();
    outcome
}

/// Serves one client over a pair of streams until it closes them. A stream that ends before the
/// first message is not an error: the client wanted nothing.
///
/// # Errors
/// When the server's task panics.
pub async fn serve_pipe(
    surface: Surface,
    read: impl AsyncRead + Unpin + Send + 'static,
    write: impl AsyncWrite + Unpin + Send + 'static,
) -> Result<(), String> {
    // Ends waits and subscriptions as soon as the client closes its end.
    let gone = CancellationToken::new();
    let server = Server::new(Shared::new(surface, gone.clone(), false));
    let pipe = Pipe::new(read, write, gone);
    // `serve_directly` skips the SDK's handshake, which ends the process on an unexpected first
    // message. Here `initialize` is a request like others: a client may probe with
    // `server/discover` of the newest era and fall back to an older one.
    let running = serve_directly(server, pipe, None);
    match running.waiting().await {
        Ok(QuitReason::JoinError(error)) | Err(error) => Err(format!("the server failed: {error}")),
        Ok(_) => Ok(()),
    }
}

/// Returns the standard streams if they are sockets, which Node uses for child processes.
///
/// The SDK handles pipes; everything else it reads and writes on blocking threads, two handovers
/// per message. Setting our ends to non-blocking is safe: with a socket pair, unlike with a
/// terminal, the other end keeps its own mode.
#[cfg(unix)]
fn sockets() -> Option<(tokio::net::UnixStream, tokio::net::UnixStream)> {
    use std::os::fd::{AsFd, BorrowedFd};
    use std::os::unix::fs::FileTypeExt;
    use std::os::unix::net::UnixStream;

    fn socket(stream: BorrowedFd<'_>) -> Option<UnixStream> {
        let file = std::fs::File::from(stream.try_clone_to_owned().ok()?);
        file.metadata()
            .ok()
            .filter(|found| found.file_type().is_socket())?;
        Some(UnixStream::from(std::os::fd::OwnedFd::from(file)))
    }
    let (read, write) = (
        socket(std::io::stdin().as_fd())?,
        socket(std::io::stdout().as_fd())?,
    );
    for stream in [&read, &write] {
        stream.set_nonblocking(true).ok()?;
    }
    Some((
        tokio::net::UnixStream::from_std(read).ok()?,
        tokio::net::UnixStream::from_std(write).ok()?,
    ))
}

#[cfg(not(unix))]
fn sockets() -> Option<(tokio::io::Empty, tokio::io::Sink)> {
    None
}
