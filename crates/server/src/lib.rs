//! The HTTP server: listening, middleware, authentication, rate limits, audit log, metrics, health.
//!
//! It knows neither MCP nor the dashboard: `mcp` and `web` build routers, the program hands both to
//! [`serve`], and every request passes the same checks before it reaches one of them.

mod audit_log;
mod authentication;
mod browser_admission;
mod connections;
mod event_streams;
mod health;
mod limits;
mod metrics;
mod middleware;
mod oauth;
mod origin_check;
mod rate_limit;
mod resource_metadata;
pub mod routing;
mod secret;
mod serve;
mod token_admission;

pub use crate::audit_log::AuditLog;
pub use crate::authentication::BrowserStore;
pub use crate::browser_admission::BrowserRoutes;
pub use crate::limits::Limits;
pub use crate::middleware::{PagesOrigin, RequestSource};
pub use crate::oauth::{IssuerDocuments, OauthOptions};
pub use crate::origin_check::PublicUrl;
pub use crate::rate_limit::RateLimit;
pub use crate::secret::generate_secret;
pub use crate::serve::{Routes, ServerContext, ServerOptions, serve};
