//! A client that started us and speaks over our standard streams.

use rmcp::service::{QuitReason, serve_directly};
use rmcp::transport::stdio_pipes;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::pipe::Pipe;
use super::server::{Server, Shared};
use crate::surface::Surface;

/// Serves the client at our standard streams until it closes them.
///
/// # Errors
/// When there can be no server at all.
pub fn serve_stdio(surface: Surface) -> Result<(), String> {
    // One thread: a message that wanders between threads takes longer to arrive than most calls take to do.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot begin to serve: {error}"))?;
    let outcome = runtime.block_on(async {
        match sockets() {
            Some((read, write)) => serve_pipe(surface, read, write).await,
            None => {
                let (read, write) = stdio_pipes();
                serve_pipe(surface, read, write).await
            }
        }
    });
    // A read of a stream that is no pipe cannot be given up; it must not hold up our end.
    runtime.shutdown_background();
    outcome
}

/// Serves one client over a pair of streams until it closes them. The streams end before any greeting: nothing is
/// wrong, nobody wanted anything.
///
/// # Errors
/// When a task of ours broke down.
pub async fn serve_pipe(
    surface: Surface,
    read: impl AsyncRead + Unpin + Send + 'static,
    write: impl AsyncWrite + Unpin + Send + 'static,
) -> Result<(), String> {
    let gone = CancellationToken::new();
    let server = Server::new(Shared::new(surface, gone.clone(), false));
    let pipe = Pipe::new(read, write, gone);
    // Greetings are requests like others here: an older client may come after a newer one's questions, and neither
    // may end the process by saying things in another order.
    let running = serve_directly(server, pipe, None);
    match running.waiting().await {
        Ok(QuitReason::JoinError(error)) | Err(error) => {
            Err(format!("the server broke down: {error}"))
        }
        Ok(_) => Ok(()),
    }
}

/// Returns the standard streams where they are sockets, as Node makes them for what it starts.
///
/// The SDK knows pipes; anything else it reads and writes on threads of their own, which costs each message two
/// handovers. Our ends of the sockets are ours alone, so that nobody else sees that they do not block any more.
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
