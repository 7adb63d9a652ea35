//! Public JSON documents of an OAuth issuer, read over HTTPS.

use std::time::Duration;

use domain::settings::is_confidential_url;
use serde_json::Value;

use crate::remote::http::configure_client;

/// Time limit for one document.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of a document; key sets have a few kilobytes.
const MAX_DOCUMENT_BYTES: u64 = 1024 * 1024;

/// Reads the JSON document at a URL, which has to be encrypted or on this machine: a changed key
/// would let anybody in.
///
/// # Errors
/// When it cannot be read; the message names the URL.
pub fn fetch_issuer_document(url: &str) -> Result<Value, String> {
    if !is_confidential_url(url) {
        return Err(format!("{url} does not start with https://"));
    }
    let failed = |error: ureq::Error| format!("{url} cannot be read: {error}");
    let agent = configure_client(url)
        .timeout_global(Some(TIMEOUT))
        .build()
        .new_agent();
    let mut response = agent
        .get(url)
        .header("accept", "application/json")
        .call()
        .map_err(failed)?;
    let status = response.status().as_u16();
    if status != 200 {
        return Err(format!("{url} responds with status {status}"));
    }
    let text = response
        .body_mut()
        .with_config()
        .limit(MAX_DOCUMENT_BYTES)
        .read_to_string()
        .map_err(failed)?;
    serde_json::from_str(&text).map_err(|error| format!("{url} is not JSON: {error}"))
}
