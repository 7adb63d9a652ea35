//! Webhooks: one JSON message by POST to a URL that the user configured.

use std::time::Duration;

use serde_json::Value;

use crate::remote::http::configure_client;

/// Maximum time for a whole call.
const MAX_CALL_TIME: Duration = Duration::from_secs(10);

/// Sends a JSON body to a webhook.
///
/// # Errors
/// When it cannot be reached or answers with anything but success. The URL is not in the message: that
/// of a webhook is a secret.
pub fn post_webhook(url: &str, body: &Value) -> Result<(), String> {
    let agent = configure_client(url)
        .timeout_global(Some(MAX_CALL_TIME))
        .build()
        .new_agent();
    let answer = agent
        .post(url)
        .header("content-type", "application/json")
        .send(body.to_string().as_bytes());
    match answer {
        Ok(answer) if answer.status().is_success() => Ok(()),
        Ok(answer) => Err(format!(
            "it answered with HTTP status {}",
            answer.status().as_u16()
        )),
        // The text of some errors repeats the URL.
        Err(ureq::Error::BadUri(_)) => Err("its URL is not valid".to_owned()),
        Err(error) => Err(error.to_string().replace(url, "URL")),
    }
}
