//! Clients over HTTP: one address for both eras, behind a guard.

use std::future::ready;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::any;
use rmcp::ServerHandler;
use rmcp::model::{ClientJsonRpcMessage, ErrorData, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::audit::Audit;
use super::door::{Door, Shown};
use super::frames::{self, Frame};
use super::front::{Front, caller_of, no_entry, receive};
use super::guard::{Guard, PublicUrl};
use super::metrics::{Class, Metrics};
use super::pages::{self, Pages};
use super::rates::{Rate, Rates};
use super::server::{Server, Shared};
use super::{connections, health, streams};
use crate::surface::Surface;

/// Where to listen, and to whom.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where to listen; port 0 takes a free one.
    pub address: SocketAddr,
    /// What a client must show. Without it everybody who reaches the address is let in.
    pub token: Option<String>,
    /// Whether whoever shows it decides as the person who started us; else it goes as far as an agent.
    pub decides: bool,
    /// Whether other machines may reach us.
    pub beyond_this_machine: bool,
    /// What a client may cost us.
    pub limits: Limits,
    /// The address by which others know us, behind a reverse proxy.
    pub public: Option<PublicUrl>,
    /// Pages for people, beside `/mcp`: a browser shows the token once and gets a cookie for it.
    pub pages: Option<Pages>,
}

/// What a client may cost us.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// So many are connected at once. Each is a few open files at most; a machine's own limit is often 1,024.
    pub connections: usize,
    /// How long the head of a request may take to arrive. A connection that says nothing for so long is closed.
    pub head: Duration,
    /// How long a message may take to arrive after its head.
    pub arrival: Duration,
    /// The bytes of the largest message, and of the largest form.
    pub body: usize,
    /// The bytes of the most that is sent to the API: whole operations, with the texts they speak of.
    pub api_body: usize,
    /// How often a token may ask.
    pub rate: Rate,
    /// How long an answer may take to begin.
    pub answer: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 256,
            head: Duration::from_secs(30),
            arrival: Duration::from_secs(30),
            body: 4 * 1024 * 1024,
            api_body: 32 * 1024 * 1024,
            rate: Rate::default(),
            // A little more than `wait` may wait.
            answer: Duration::from_secs(660),
        }
    }
}

/// How long a session of an older client lives without a word from it.
const SESSION: Duration = Duration::from_secs(60 * 60);

/// Serves until told to stop by Ctrl-C or a termination signal. `on_ready` is told where.
///
/// # Errors
/// When the address cannot be used.
pub fn serve_http(
    surface: Surface,
    options: Options,
    on_ready: impl FnOnce(SocketAddr),
) -> Result<(), String> {
    serve_http_around(surface, options, |server| server, on_ready)
}

/// The same with something `around` each connection's server: for a test server that offers more than the product.
///
/// # Errors
/// When the address cannot be used.
pub fn serve_http_around<H: ServerHandler>(
    surface: Surface,
    options: Options,
    around: impl Fn(Server) -> H + Clone + Send + Sync + 'static,
    on_ready: impl FnOnce(SocketAddr),
) -> Result<(), String> {
    if !options.beyond_this_machine && !options.address.ip().is_loopback() {
        return Err(format!(
            "{} can be reached from other machines",
            options.address.ip()
        ));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        // A thread that ends leaves the memory it used behind, and the one that takes its place takes its own.
        .thread_keep_alive(Duration::from_secs(60 * 60))
        .enable_all()
        .build()
        .map_err(|error| format!("cannot begin to serve: {error}"))?;
    let outcome = runtime.block_on(serve(surface, options, around, on_ready));
    runtime.shutdown_timeout(Duration::from_secs(1));
    outcome
}

async fn serve<H: ServerHandler>(
    surface: Surface,
    options: Options,
    around: impl Fn(Server) -> H + Clone + Send + Sync + 'static,
    on_ready: impl FnOnce(SocketAddr),
) -> Result<(), String> {
    let asked_for = options.address;
    let unusable = |error: std::io::Error| format!("cannot listen at {asked_for}: {error}");
    let listener = TcpListener::bind(options.address).await.map_err(unusable)?;
    let address = listener.local_addr().map_err(unusable)?;
    let closing = CancellationToken::new();
    let workspace = surface.workspace().clone();
    let audit = Arc::new(Audit::of(workspace.clone()));
    let front = Arc::new(Front {
        guard: Guard::new(
            address.port(),
            !options.beyond_this_machine,
            options.public.clone(),
        ),
        door: Door::new(workspace.clone(), options.token.as_deref(), options.decides),
        limits: options.limits,
        rates: Rates::new(options.limits.rate),
        audit: audit.clone(),
        metrics: Metrics::default(),
    });
    let shared = Shared::new(surface.clone(), closing.clone(), true).noting(audit.clone());
    let mut app = Router::new();
    let mut paths = Vec::new();
    for (path, part) in surface.parts() {
        let path = format!("/mcp{path}");
        app = app.route_service(
            &path,
            service(shared.offering(part), &options, address, around.clone()),
        );
        paths.push(path);
    }
    let hint = json!({ "error": format!("there is nothing here; there is {}", paths.join(", ")) });
    let elsewhere = move || ready(answer(StatusCode::NOT_FOUND, &hint));
    let admitted = from_fn_with_state(front.clone(), admit);
    let app = match options.pages {
        None => app.fallback(elsewhere).layer(admitted),
        Some(Pages { router, close }) => {
            let closing = closing.clone();
            tokio::spawn(async move {
                closing.cancelled().await;
                close();
            });
            // A client that is wrong about the path is told in its own words, not shown a page.
            let app = app
                .route("/mcp/{*elsewhere}", any(elsewhere))
                .layer(admitted);
            app.fallback_service(router.layer(from_fn_with_state(front.clone(), pages::admit)))
        }
    };
    let app = app
        .merge(health::router(front.clone(), workspace))
        .layer(from_fn_with_state(front, receive));
    let stopped = stop_signal()?;
    on_ready(address);
    connections::serve(listener, app, options.limits, closing, stopped).await;
    audit.finish();
    Ok(())
}

fn service<H: ServerHandler>(
    shared: Arc<Shared>,
    options: &Options,
    address: SocketAddr,
    around: impl Fn(Server) -> H + Send + Sync + 'static,
) -> StreamableHttpService<H, LocalSessionManager> {
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(SESSION);
    let mut config = StreamableHttpServerConfig::default()
        .with_json_response(true)
        .with_max_request_body_bytes(options.limits.body)
        .with_cancellation_token(shared.closing().clone());
    // The SDK's own checks stay on beside the guard's, where they can say the same.
    config = if options.beyond_this_machine {
        config.disable_allowed_hosts()
    } else {
        let port = address.port();
        let local = ["localhost", "127.0.0.1", "[::1]"].map(|host| format!("http://{host}:{port}"));
        let origins = local
            .into_iter()
            .chain(options.public.as_ref().map(PublicUrl::origin_with_port));
        let hosts = [
            "localhost".to_owned(),
            "127.0.0.1".to_owned(),
            "::1".to_owned(),
            address.ip().to_string(),
        ];
        let hosts = hosts.into_iter().chain(
            options
                .public
                .as_ref()
                .map(|public| public.host().to_owned()),
        );
        config
            .with_allowed_hosts(hosts)
            .with_allowed_origins(origins)
            .enforce_origin_validation()
    };
    StreamableHttpService::new(
        move || Ok(around(Server::new(shared.clone()))),
        Arc::new(sessions),
        config,
    )
}

/// Returns what ends when the process is told to stop.
fn stop_signal() -> Result<impl Future<Output = ()>, String> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let heard =
            |kind| signal(kind).map_err(|error| format!("cannot hear when to stop: {error}"));
        let (mut interrupt, mut terminate) = (
            heard(SignalKind::interrupt())?,
            heard(SignalKind::terminate())?,
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

/// Lets a request in, or says why not.
async fn admit(State(front): State<Arc<Front>>, mut request: Request, next: Next) -> Response {
    let caller = caller_of(&request);
    if let Err(reason) = front.guard.check(request.uri(), request.headers()) {
        return front.turn_away(reason, &caller, Class::Mcp);
    }
    let admitted = match front
        .let_in(Shown::token(request.headers()), &caller, Class::Mcp)
        .await
    {
        Ok(admitted) => admitted,
        Err(no) => return no_entry(no),
    };
    let token = admitted.token;
    request.extensions_mut().insert(admitted);
    let limits = &front.limits;
    let request = match request.method() {
        &Method::POST => match arrived(request, limits).await {
            Ok(request) => request,
            Err(response) => return response,
        },
        _ => request,
    };
    let ends_session = request.method() == Method::DELETE;
    // Only the beginning of an answer is waited for: streams take as long as they take.
    match tokio::time::timeout(limits.answer, next.run(request)).await {
        // The SDK says that it will end the session; it has, and some clients take nothing else for a yes.
        Ok(response) if ends_session && response.status() == StatusCode::ACCEPTED => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NO_CONTENT;
            response
        }
        Ok(response) => streams::watched(&front, token, response),
        Err(_) => answer(
            StatusCode::GATEWAY_TIMEOUT,
            &json!({ "error": "this took too long" }),
        ),
    }
}

/// Waits for the whole message, and answers one that cannot be read in the protocol's words.
async fn arrived(request: Request, limits: &Limits) -> Result<Request, Response> {
    let (parts, body) = request.into_parts();
    let Ok(read) = tokio::time::timeout(limits.arrival, to_bytes(body, limits.body)).await else {
        return Err(answer(
            StatusCode::REQUEST_TIMEOUT,
            &json!({ "error": "the message did not arrive in time" }),
        ));
    };
    let Ok(bytes) = read else {
        let hint = format!("a message may have {} bytes at most", limits.body);
        return Err(answer(
            StatusCode::PAYLOAD_TOO_LARGE,
            &json!({ "error": hint }),
        ));
    };
    // Wrong parameters of what the SDK can read are the server's to answer: the era decides how.
    let refused = match frames::read(&bytes) {
        Frame::Message(message) if !matches!(*message, ClientJsonRpcMessage::Notification(_)) => {
            None
        }
        Frame::Refused { id: None, error } => Some((None, error)),
        _ if serde_json::from_slice::<ClientJsonRpcMessage>(&bytes).is_ok() => None,
        Frame::Refused { id, error } => Some((id, error)),
        Frame::Message(_) | Frame::Ignored => Some((
            None,
            ErrorData::invalid_request("this is no message of the protocol", None),
        )),
    };
    match refused {
        None => Ok(Request::from_parts(parts, Body::from(bytes))),
        Some((id, error)) => {
            let message =
                serde_json::to_value(ServerJsonRpcMessage::error(error, id)).unwrap_or_default();
            Err(answer(StatusCode::BAD_REQUEST, &message))
        }
    }
}

pub(super) fn answer(status: StatusCode, value: &Value) -> Response {
    let mut response = Response::new(Body::from(value.to_string()));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
