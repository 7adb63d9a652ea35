//! The HTTP transport: the router for `/mcp`, with both eras at one address.
//!
//! Authentication, limits and the origin check are those of the `server` crate, which mounts the
//! router.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::ServerHandler;
use rmcp::model::{ClientJsonRpcMessage, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;
use server::routing::http::{Method, StatusCode};
use server::routing::{
    Body, Next, Request, Response, Router, any, from_fn, json_response, to_bytes,
};
use server::{PublicUrl, ServerContext};

use super::frames::{self, Frame};
use super::server::{Server, Shared};
use crate::surface::{Surface, Toolset};

/// Idle time after which a session of the older era ends.
const SESSION_IDLE_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// Returns the router for `/mcp` and the paths of the tool subsets below it.
pub fn http_router(surface: &Surface, context: &ServerContext) -> Router {
    http_router_around(surface, context, |server| server)
}

/// Like [`http_router`], with a handler `around` the server of each connection. For the conformance
/// server, which offers more tools than the product.
pub fn http_router_around<H: ServerHandler>(
    surface: &Surface,
    context: &ServerContext,
    around: impl Fn(Server) -> H + Clone + Send + Sync + 'static,
) -> Router {
    let shared = Shared::new(surface.clone(), context.closing.clone(), true)
        .noting(context.audit_log.clone());
    let words = Toolset::ALL.map(Toolset::word).join(", ");
    let hint = json!({
        "error": format!(
            "there is nothing at this path; MCP is at /mcp, /mcp/SETS, /mcp/readonly and \
             /mcp/SETS/readonly, where SETS are some of {words}, with commas"
        ),
    });
    let not_found = {
        let hint = hint.clone();
        move || ready(json_response(StatusCode::NOT_FOUND, &hint))
    };
    let whole = service(shared.clone(), context, around.clone());
    let surface = surface.clone();
    let parts = Arc::new(PathServices {
        make: Box::new({
            let context = context.clone();
            move |path| {
                let part = surface.at_path(path).ok()?;
                Some(service(shared.offering(part), &context, around.clone()))
            }
        }),
        made: Mutex::default(),
    });
    let at_path = move |request: Request| {
        let parts = parts.clone();
        let hint = hint.clone();
        async move {
            let path = request.uri().path().trim_start_matches("/mcp/").to_owned();
            match parts.find(&path) {
                Some(service) => service.handle(request).await.map(Body::new),
                None => json_response(StatusCode::NOT_FOUND, &hint),
            }
        }
    };
    // The wildcard as well as the fallback: beside a dashboard the fallback is the dashboard's, and
    // a client with a wrong path would get a page instead of JSON.
    Router::new()
        .route_service("/mcp", whole)
        .route("/mcp/{*sets}", any(at_path))
        .fallback(not_found)
        .layer(from_fn(check_message))
}

type PathService<H> = StreamableHttpService<H, LocalSessionManager>;
type MakeService<H> = dyn Fn(&str) -> Option<PathService<H>> + Send + Sync;

/// One service per path of tool sets, made when it is first asked for: the SDK has no notion of
/// tools that depend on the path, and there are hundreds of combinations.
struct PathServices<H: ServerHandler> {
    make: Box<MakeService<H>>,
    made: Mutex<BTreeMap<String, PathService<H>>>,
}

/// Maximum number of combinations in use: each keeps sessions of its own.
const MAX_PATHS: usize = 200;

impl<H: ServerHandler> PathServices<H> {
    fn find(&self, path: &str) -> Option<PathService<H>> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(service) = made.get(path) {
            return Some(service.clone());
        }
        // No service is ever removed, because sessions live in it: at the limit new combinations
        // are unknown paths.
        let service = (self.make)(path).filter(|_| made.len() < MAX_PATHS)?;
        made.insert(path.to_owned(), service.clone());
        Some(service)
    }
}

fn service<H: ServerHandler>(
    shared: Arc<Shared>,
    context: &ServerContext,
    around: impl Fn(Server) -> H + Send + Sync + 'static,
) -> StreamableHttpService<H, LocalSessionManager> {
    let options = &context.options;
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(SESSION_IDLE_TIMEOUT);
    let mut config = StreamableHttpServerConfig::default()
        // Plain JSON where there is no stream: simpler for proxies and for `curl`.
        .with_json_response(true)
        // The same limit as in the server, which has read the body already: the SDK has a default
        // of its own.
        .with_max_request_body_bytes(options.limits.body)
        .with_cancellation_token(shared.closing_token().clone());
    // The SDK's own checks stay on behind the server's origin check, with the same lists.
    config = if options.beyond_this_machine {
        // The names under which others reach this machine are not known here.
        config.disable_allowed_hosts()
    } else {
        let port = context.address.port();
        // With the port: the SDK compares whole origins.
        let local = ["localhost", "127.0.0.1", "[::1]"].map(|host| format!("http://{host}:{port}"));
        let origins = local
            .into_iter()
            .chain(options.public.as_ref().map(PublicUrl::origin_with_port));
        let hosts = [
            "localhost".to_owned(),
            "127.0.0.1".to_owned(),
            "::1".to_owned(),
            context.address.ip().to_string(),
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

/// Checks a message before the SDK sees it, and fixes the SDK's response to the end of a session.
async fn check_message(request: Request, next: Next) -> Response {
    if request.method() == Method::DELETE {
        let mut response = next.run(request).await;
        // The SDK responds 202, although the session has ended; some clients accept only 204.
        if response.status() == StatusCode::ACCEPTED {
            response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        return response;
    }
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    // The server has read the body already, within its limits.
    let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
    match unreadable(&bytes) {
        None => {
            next.run(Request::from_parts(parts, Body::from(bytes)))
                .await
        }
        Some((id, error)) => {
            let message =
                serde_json::to_value(ServerJsonRpcMessage::error(error, id)).unwrap_or_default();
            json_response(StatusCode::BAD_REQUEST, &message)
        }
    }
}

/// Returns the JSON-RPC error for a message the SDK cannot read.
///
/// Invalid parameters of a message it can read are left to the handler: the era decides the
/// response.
fn unreadable(bytes: &[u8]) -> Option<(Option<RequestId>, ErrorData)> {
    match frames::read(bytes) {
        Frame::Message(message) if !matches!(*message, ClientJsonRpcMessage::Notification(_)) => {
            None
        }
        Frame::Refused { id: None, error } => Some((None, error)),
        _ if serde_json::from_slice::<ClientJsonRpcMessage>(bytes).is_ok() => None,
        Frame::Refused { id, error } => Some((id, error)),
        Frame::Message(_) | Frame::Ignored => {
            Some((None, ErrorData::invalid_request("not an MCP message", None)))
        }
    }
}
