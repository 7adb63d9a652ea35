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
        let (read, write) = stdio_pipes();
        serve_pipe(surface, read, write).await
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
        Ok(QuitReason::JoinError(error)) | Err(error) => Err(format!("the server broke down: {error}")),
        Ok(_) => Ok(()),
    }
}
