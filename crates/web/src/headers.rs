//! Security headers of every response: content security policy, framing, sniffing, referrer.

use axum::extract::Request;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY};
use axum::middleware::Next;
use axum::response::Response;

/// Content security policy. Nothing inline and nothing from other hosts, so that text of a plan
/// that gets past the escaping still runs no script. Trusted Types: only the policy in `live.js`
/// may insert HTML.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      form-action 'self'; frame-ancestors 'none'; base-uri 'none'; \
                      require-trusted-types-for 'script'; trusted-types tl";

pub(crate) async fn add_security_headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    // On every response, also JSON: a response opened directly is a document too.
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        // For browsers that do not know `frame-ancestors`.
        ("x-frame-options", "DENY"),
        // Addresses name plans, and that of a first visit contains the token.
        ("referrer-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    // Pages contain plans and must not stay in a cache; assets set their own policy before.
    headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}
