//! Listening: binds the address, puts the middleware around the routers, serves until a signal.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use application::Workspace;
use axum::Router;
use axum::middleware::from_fn_with_state;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::audit_log::AuditLog;
use crate::authentication::Authenticator;
use crate::authentication::BrowserStore;
use crate::browser_admission::{BrowserRoutes, admit_browser};
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::middleware::{ServerState, measure_request, note_pages};
use crate::oauth::OauthOptions;
use crate::origin_check::{OriginCheck, PublicUrl};
use crate::rate_limit::RateLimiter;
use crate::token_admission::admit_program;
use crate::{connections, health, resource_metadata};

/// Address, authentication and limits of a server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Address to listen on; port 0 takes a free one.
    pub address: SocketAddr,
    /// The start-up token. `None` admits every client that can reach the address.
    pub token: Option<String>,
    /// Whether the start-up token acts as the person who started the server; otherwise it has the
    /// scope of an agent.
    pub decides: bool,
    /// Whether other machines may connect.
    pub beyond_this_machine: bool,
    /// Resource limits per client.
    pub limits: Limits,
    /// Public URL behind a reverse proxy.
    pub public: Option<PublicUrl>,
    /// Where browsers that signed in with the start-up token are kept; without it they are signed
    /// out when the token changes.
    pub browsers: Option<Arc<dyn BrowserStore>>,
    /// The OAuth issuer whose access tokens are accepted besides stored ones.
    pub oauth: Option<OauthOptions>,
}

/// The running server, for the routers mounted in it.
#[derive(Clone)]
pub struct ServerContext {
    /// The bound address, with the port that was chosen.
    pub address: SocketAddr,
    /// The options it was started with.
    pub options: ServerOptions,
    /// Audit log, for what only a handler knows: the action, and its outcome.
    pub audit_log: Arc<AuditLog>,
    /// Cancelled on shutdown; whatever waits without a limit has to end then.
    pub closing: CancellationToken,
}

/// The routers of a server.
pub struct Routes {
    /// For programs, with a bearer token. Its fallback is used only without `browser`.
    pub programs: Router,
    /// For people in a browser, with a cookie; it gets every path `programs` does not have.
    pub browser: Option<BrowserRoutes>,
}

/// Serves until Ctrl-C or a termination signal. `mount` builds the routers once the address is
/// bound; `on_ready` gets the address.
///
/// # Errors
/// When the address cannot be used.
pub fn serve(
    workspace: Arc<dyn Workspace>,
    options: ServerOptions,
    mount: impl FnOnce(&ServerContext) -> Routes,
    on_ready: impl FnOnce(SocketAddr),
) -> Result<(), String> {
    // Checked again here, although the command line does: a router without this check would expose
    // plans to the network by a wrong option alone.
    if !options.beyond_this_machine && !options.address.ip().is_loopback() {
        return Err(format!(
            "{} can be reached from other machines",
            options.address.ip()
        ));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        // Longer than the default of 10 s: a thread that ends leaves its memory to the allocator,
        // and the thread that takes its place allocates its own.
        .thread_keep_alive(Duration::from_secs(60 * 60))
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start the server: {error}"))?;
    let outcome = runtime.block_on(serve_until_stopped(workspace, options, mount, on_ready));
    // A blocking task that hangs in a database call must not keep the process alive.
    runtime.shutdown_timeout(Duration::from_secs(1));
    outcome
}

async fn serve_until_stopped(
    workspace: Arc<dyn Workspace>,
    mut options: ServerOptions,
    mount: impl FnOnce(&ServerContext) -> Routes,
    on_ready: impl FnOnce(SocketAddr),
) -> Result<(), String> {
    let requested = options.address;
    // Names the requested address: port 0 has no other yet.
    let unusable = |error: std::io::Error| format!("cannot listen at {requested}: {error}");
    let listener = TcpListener::bind(requested).await.map_err(unusable)?;
    let address = listener.local_addr().map_err(unusable)?;
    set_default_audiences(&mut options, address)?;
    let limits = options.limits;
    let audit_log = Arc::new(AuditLog::start(workspace.clone()));
    let state = Arc::new(ServerState {
        origin_check: OriginCheck::new(
            address.port(),
            !options.beyond_this_machine,
            options.public.clone(),
        ),
        authenticator: Authenticator::new(workspace.clone(), &options),
        limits,
        rate_limiter: RateLimiter::new(limits.rate),
        audit_log: audit_log.clone(),
        metrics: Metrics::default(),
        public: options.public.clone(),
        token_rules: options.oauth.as_ref().map(|oauth| oauth.rules.clone()),
    });
    let context = ServerContext {
        address,
        options,
        audit_log: audit_log.clone(),
        closing: CancellationToken::new(),
    };
    // Built after binding: the MCP SDK's list of allowed hosts contains the port.
    let Routes { programs, browser } = mount(&context);
    let closing = context.closing;
    // Inside the admission, whose origin check has accepted the `Host` it takes the address from.
    let programs = match browser {
        Some(_) => programs.layer(from_fn_with_state(state.clone(), note_pages)),
        None => programs,
    };
    let mut app = programs.layer(from_fn_with_state(state.clone(), admit_program));
    if let Some(BrowserRoutes { router, close }) = browser {
        let closing = closing.clone();
        tokio::spawn(async move {
            closing.cancelled().await;
            close();
        });
        app = app.fallback_service(router.layer(from_fn_with_state(state.clone(), admit_browser)));
    }
    // Outside both admissions: probes have no token, and a client without one asks what is accepted.
    let app = app
        .merge(health::health_router(state.clone(), workspace))
        .merge(resource_metadata::metadata_router(state.clone()))
        .layer(from_fn_with_state(state, measure_request));
    // Before `on_ready`: a supervisor may send the signal as soon as the address is printed.
    let stopped = stop_signal()?;
    on_ready(address);
    connections::accept_connections(listener, app, limits, closing, stopped).await;
    // After the last response, which may have added an entry.
    audit_log.flush_and_stop();
    Ok(())
}

/// Sets the audience of access tokens, where none was chosen: the origins of this server.
fn set_default_audiences(options: &mut ServerOptions, address: SocketAddr) -> Result<(), String> {
    let public = options.public.as_ref().map(PublicUrl::origin);
    let Some(oauth) = &mut options.oauth else {
        return Ok(());
    };
    if !oauth.rules.audiences.is_empty() {
        return Ok(());
    }
    let port = address.port();
    oauth.rules.audiences = match public {
        Some(origin) => vec![origin],
        None if !options.beyond_this_machine => ["localhost", "127.0.0.1", "[::1]"]
            .map(|host| format!("http://{host}:{port}"))
            .to_vec(),
        // Under which name other machines reach it is not known, and a token for another server
        // must not be accepted.
        None => {
            return Err(
                "the access tokens of the issuer have no audience: use --public-url, or \
                 `tl team issuer trust URL --audience URI`"
                    .to_owned(),
            );
        }
    };
    Ok(())
}

/// Returns a future that resolves when the process is told to stop.
fn stop_signal() -> Result<impl Future<Output = ()>, String> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let listen =
            |kind| signal(kind).map_err(|error| format!("cannot listen for signals: {error}"));
        let (mut interrupt, mut terminate) = (
            listen(SignalKind::interrupt())?,
            listen(SignalKind::terminate())?,
        );
        Ok(async move {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        })
    }
    #[cfg(not(unix))]
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}
