//! Classifies a provider's error responses.
//!
//! The same error objects arrive as the body of a rejected request, as the first event of a stream
//! that began with `200 OK`, and in the middle of one. All are parsed here.

use std::time::SystemTime;

use serde_json::Value;

use super::retry_after;
use super::transport::Headers;
use crate::error::{ErrorClass, LlmError};

/// Returns the error for a response with a non-success status.
pub(crate) fn error_from_response(
    status: u16,
    headers: &Headers,
    body: &str,
    url: &str,
    now: SystemTime,
) -> Box<LlmError> {
    // Gateways answer with HTML or plain text; then the status alone decides.
    let value = serde_json::from_str::<Value>(body).unwrap_or(Value::Null);
    let said = ErrorObject::new(&value);
    let class = said.classify_provider_error(Some(status));
    let words = if said.message.is_empty() {
        to_single_line(body)
    } else {
        said.message.clone()
    };
    let what = match class {
        // Redirects are not followed, so they end here.
        ErrorClass::EndpointNotFound if (300..400).contains(&status) => {
            format!(
                "{url} has moved to `{}` ({status})",
                headers.get("location").unwrap_or("an unknown address")
            )
        }
        _ if words.is_empty() => format!("{url} answered {status}"),
        _ => format!("{url} answered {status}: {words}"),
    };
    let mut error = LlmError::new(class, what);
    error.status = Some(status);
    // Also for classes that are not retried: the message may still name the wait.
    error.retry_after = retry_after::requested_wait(headers, body, now);
    if class == ErrorClass::EndpointNotFound && (300..400).contains(&status) {
        error.next.insert(
            0,
            "set the base URL to the new address; a key is not sent after a redirect".to_owned(),
        );
    }
    error
}

/// Returns the error for an error object in a stream.
pub(crate) fn error_from_event(event: &Value) -> Box<LlmError> {
    let said = ErrorObject::new(event);
    let message = if said.message.is_empty() {
        "no reason given"
    } else {
        &said.message
    };
    let mut error = LlmError::new(
        said.classify_provider_error(None),
        format!("the provider failed while answering: {message}"),
    );
    error.retry_after = retry_after::wait_in_body(&event.to_string());
    error
}

/// Parsed error object of any provider.
struct ErrorObject {
    message: String,
    /// Type, code, status and reasons, lower case.
    words: Vec<String>,
    /// An HTTP status in the body.
    status: Option<u16>,
}

impl ErrorObject {
    fn new(value: &Value) -> Self {
        // Gemini sends a list of one; some servers send the bare message as `error`, `detail` or
        // `message`.
        let value = value
            .as_array()
            .and_then(|list| list.first())
            .unwrap_or(value);
        // `response` is OpenAI's wrapper around a failed response in a stream.
        let nested = ["error", "response"]
            .iter()
            .filter_map(|key| value.get(key))
            .find(|inner| inner.is_object());
        let nested = nested.map(|inner| {
            inner
                .get("error")
                .filter(|error| error.is_object())
                .unwrap_or(inner)
        });
        let error = nested.unwrap_or(value);
        let text =
            |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let message = text(error, "message")
            .or_else(|| text(value, "error"))
            .or_else(|| text(value, "detail"))
            .or_else(|| text(value, "message"))
            .unwrap_or_default();
        let mut words: Vec<String> = ["type", "code", "status"]
            .iter()
            .filter_map(|key| text(error, key))
            .collect();
        // Google puts the precise reason (`API_KEY_INVALID`) into a list of details.
        for detail in error
            .get("details")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            words.extend(text(detail, "reason"));
        }
        let code = error.get("code");
        // A number or a string, depending on the provider.
        let status = code.and_then(|code| {
            code.as_u64()
                .map(|code| code.to_string())
                .or(text(error, "code"))
        });
        let status = status.and_then(|code| code.parse().ok());
        // OpenRouter wraps the upstream provider's error.
        let raw = error
            .pointer("/metadata/raw")
            .and_then(Value::as_str)
            .map(to_single_line);
        let message = raw.map_or(message.clone(), |raw| format!("{message} ({raw})"));
        Self {
            message: to_single_line(&message),
            words: words.iter().map(|word| word.to_lowercase()).collect(),
            status,
        }
    }

    fn classify_provider_error(&self, status: Option<u16>) -> ErrorClass {
        let message = self.message.to_lowercase();
        let word = |known: &[&str]| self.words.iter().any(|word| known.contains(&word.as_str()));
        let says = |known: &[&str]| known.iter().any(|known| message.contains(known));
        // Codes and messages before the status: providers use different statuses for the same
        // error, and one status (400, 429) for several.
        if word(&[
            "context_length_exceeded",
            "exceed_context_size_error",
            "model_context_window_exceeded",
            "request_too_large",
        ]) || says(&[
            "maximum context length",
            "context length exceeded",
            "prompt is too long",
            "input is too long",
            "exceeds the available context",
            "input token count",
            "exceeds the maximum number of tokens",
            "context window",
        ]) {
            return ErrorClass::ContextTooLong;
        }
        if word(&[
            "insufficient_quota",
            "billing_error",
            "billing_hard_limit_reached",
            "payment_required",
        ]) || says(&[
            "credit balance",
            "insufficient credits",
            "exceeded your current quota",
            "insufficient balance",
        ]) {
            return ErrorClass::NoCredits;
        }
        if word(&[
            "overloaded_error",
            "overloaded",
            "unavailable",
            "unavailable_error",
            "server_is_overloaded",
            "slow_down",
        ]) {
            return ErrorClass::Overloaded;
        }
        if word(&[
            "rate_limit_error",
            "rate_limit_exceeded",
            "resource_exhausted",
            "too_many_requests",
            "tokens",
            "requests",
        ]) {
            return ErrorClass::RateLimited;
        }
        if word(&[
            "authentication_error",
            "invalid_api_key",
            "api_key_invalid",
            "unauthenticated",
        ]) {
            return ErrorClass::Auth;
        }
        if word(&["permission_error", "permission_denied"]) {
            return ErrorClass::Permission;
        }
        if word(&[
            "content_filter",
            "content_policy_violation",
            "moderation_blocked",
        ]) {
            return ErrorClass::ContentFilter;
        }
        if word(&["not_found_error", "model_not_found", "not_found"]) {
            return ErrorClass::EndpointNotFound;
        }
        match status.or(self.status) {
            Some(401) => ErrorClass::Auth,
            Some(402) => ErrorClass::NoCredits,
            Some(403) => ErrorClass::Permission,
            Some(300..=399 | 404 | 405 | 410) => ErrorClass::EndpointNotFound,
            // Timeouts and conflicts on the provider's side pass by themselves.
            Some(408 | 409) => ErrorClass::Server,
            Some(413) => ErrorClass::ContextTooLong,
            Some(429) => ErrorClass::RateLimited,
            Some(503 | 529) => ErrorClass::Overloaded,
            Some(400..=499) => ErrorClass::BadRequest,
            Some(500..=599) => ErrorClass::Server,
            // Without a status and a known code, the error counts as transient: retries are
            // limited, and failing for good at an unknown hiccup would be worse.
            _ if word(&[
                "invalid_request_error",
                "invalid_argument",
                "invalid_prompt",
            ]) =>
            {
                ErrorClass::BadRequest
            }
            _ => ErrorClass::Server,
        }
    }
}

/// Shortens a message or an HTML page to one line without control characters.
fn to_single_line(text: &str) -> String {
    const MOST: usize = 500;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line: String = line.chars().filter(|letter| !letter.is_control()).collect();
    if line.chars().count() <= MOST {
        line
    } else {
        // An error page can be a whole website.
        line.chars().take(MOST).chain("…".chars()).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn class(status: u16, body: &Value) -> ErrorClass {
        error_from_response(
            status,
            &Headers::default(),
            &body.to_string(),
            "http://x",
            SystemTime::UNIX_EPOCH,
        )
        .class
    }

    /// What providers really send.
    #[test]
    fn bodies_are_told_apart() {
        let openai = |kind: &str, code: &str, message: &str| json!({"error": {"type": kind, "code": code, "message": message}});
        let anthropic =
            |kind: &str| json!({"type": "error", "error": {"type": kind, "message": "…"}});
        let gemini = |code: u16, status: &str| json!([{"error": {"code": code, "status": status, "message": "…"}}]);
        let invalid_key = json!({"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "API key not valid.",
            "details": [{"reason": "API_KEY_INVALID"}]}});
        let table = [
            (
                401,
                openai(
                    "invalid_request_error",
                    "invalid_api_key",
                    "Incorrect API key",
                ),
                ErrorClass::Auth,
            ),
            (
                429,
                openai(
                    "insufficient_quota",
                    "insufficient_quota",
                    "You exceeded your current quota",
                ),
                ErrorClass::NoCredits,
            ),
            (
                429,
                openai("tokens", "rate_limit_exceeded", "Rate limit reached"),
                ErrorClass::RateLimited,
            ),
            (
                400,
                openai("invalid_request_error", "context_length_exceeded", "…"),
                ErrorClass::ContextTooLong,
            ),
            (
                404,
                openai("invalid_request_error", "model_not_found", "…"),
                ErrorClass::EndpointNotFound,
            ),
            (
                400,
                openai("invalid_request_error", "unsupported_value", "…"),
                ErrorClass::BadRequest,
            ),
            (
                400,
                json!({"error": {"type": "exceed_context_size_error", "n_ctx": 8192}}),
                ErrorClass::ContextTooLong,
            ),
            (
                503,
                json!({"error": {"type": "unavailable_error", "message": "Loading model"}}),
                ErrorClass::Overloaded,
            ),
            (529, anthropic("overloaded_error"), ErrorClass::Overloaded),
            (429, anthropic("rate_limit_error"), ErrorClass::RateLimited),
            (403, anthropic("permission_error"), ErrorClass::Permission),
            (
                400,
                json!({"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000 maximum"}}),
                ErrorClass::ContextTooLong,
            ),
            (
                400,
                json!({"type": "error", "error": {"type": "invalid_request_error", "message": "Your credit balance is too low"}}),
                ErrorClass::NoCredits,
            ),
            (
                429,
                gemini(429, "RESOURCE_EXHAUSTED"),
                ErrorClass::RateLimited,
            ),
            (503, gemini(503, "UNAVAILABLE"), ErrorClass::Overloaded),
            (400, invalid_key, ErrorClass::Auth),
            (
                402,
                json!({"error": {"code": 402, "message": "This request requires more credits"}}),
                ErrorClass::NoCredits,
            ),
            (
                422,
                json!({"detail": "field required"}),
                ErrorClass::BadRequest,
            ),
            (500, json!({"error": "boom"}), ErrorClass::Server),
            (502, Value::Null, ErrorClass::Server),
            (408, Value::Null, ErrorClass::Server),
            (409, Value::Null, ErrorClass::Server),
            (413, Value::Null, ErrorClass::ContextTooLong),
            (301, Value::Null, ErrorClass::EndpointNotFound),
        ];
        for (status, body, expected) in table {
            assert_eq!(class(status, &body), expected, "{status} {body}");
        }
    }

    #[test]
    fn an_error_in_a_stream_keeps_its_class_and_its_wait() {
        let error = error_from_event(
            &json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
        );
        assert_eq!(error.class, ErrorClass::Overloaded);
        let failed = json!({"type": "response.failed", "response": {"error": {"code": "rate_limit_exceeded",
            "message": "Please try again in 2s"}}});
        let error = error_from_event(&failed);
        assert_eq!(
            (error.class, error.retry_after.unwrap().as_secs()),
            (ErrorClass::RateLimited, 2)
        );
        for code in [json!(429), json!("429")] {
            assert_eq!(
                error_from_event(&json!({"error": {"code": code, "message": "upstream"}})).class,
                ErrorClass::RateLimited
            );
        }
    }

    #[test]
    fn the_message_says_what_happened_in_one_line() {
        let headers = Headers::default();
        let page = "<html>\n<body>502 Bad\u{7} Gateway</body></html>";
        let error = error_from_response(502, &headers, page, "http://x/v1", SystemTime::UNIX_EPOCH);
        assert_eq!(
            error.what,
            "http://x/v1 answered 502: <html> <body>502 Bad Gateway</body></html>"
        );
        assert_eq!(error.next, ["try again later, or choose another model"]);
    }
}
