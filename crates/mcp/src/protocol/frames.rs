//! JSON-RPC parser: one line of JSON to one message, or to the error response for it.
//!
//! `rmcp` can read messages too, but it tries every kind of message in turn and keeps silent about
//! what it cannot read. Here the method decides what is read, and everything that could be a
//! question gets an answer.

use std::borrow::Cow;

use rmcp::model::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// A parsed line.
#[derive(Debug)]
pub(super) enum Frame {
    /// A message to act on.
    Message(Box<ClientJsonRpcMessage>),
    /// An invalid message, to be answered with this error.
    Refused {
        id: Option<RequestId>,
        error: ErrorData,
    },
    /// A message that needs no response: a notification or response of no use here.
    Ignored,
}

/// A message with its members unparsed. A member that is `null` counts as present: `"id": null` is
/// an invalid request, not a notification.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present_member")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present_member")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present_member")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present_member")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present_member")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present_member")]
    error: Option<&'a RawValue>,
}

fn present_member<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'a RawValue>, D::Error> {
    <&'a RawValue>::deserialize(deserializer).map(Some)
}

fn text<T: DeserializeOwned>(raw: Option<&RawValue>) -> Option<T> {
    // A member of the wrong type counts as missing; the caller knows what to say about it.
    serde_json::from_str(raw?.get()).ok()
}

fn refused(id: Option<RequestId>, error: ErrorData) -> Frame {
    Frame::Refused { id, error }
}

fn invalid_request(id: Option<RequestId>, why: impl Into<Cow<'static, str>>) -> Frame {
    refused(id, ErrorData::invalid_request(why, None))
}

/// Parses a line.
pub(super) fn read(line: &[u8]) -> Frame {
    // A byte order mark may be ignored (RFC 8259, 8.1).
    let line = line
        .strip_prefix(b"\xEF\xBB\xBF")
        .unwrap_or(line)
        .trim_ascii();
    if line.is_empty() {
        return Frame::Ignored;
    }
    // Batches were removed from MCP in 2025-06-18. Named here, because serde's message for an array
    // would not tell a client's author that.
    if line.first() == Some(&b'[') {
        let hint = "a message is one JSON object: there are no batches in this protocol";
        return invalid_request(None, hint);
    }
    let envelope: Envelope<'_> = match serde_json::from_slice(line) {
        Ok(envelope) => envelope,
        // Valid JSON that is not an object is an invalid request; JSON-RPC has another code for
        // broken JSON.
        Err(error) if error.is_data() => {
            return invalid_request(None, format!("not a JSON-RPC message: {error}"));
        }
        Err(error) => {
            return refused(
                None,
                ErrorData::parse_error(format!("invalid JSON: {error}"), None),
            );
        }
    };
    // Read first: an error response should carry the id wherever there is one.
    let id: Option<RequestId> = text(envelope.id);
    if text::<String>(envelope.jsonrpc).as_deref() != Some("2.0") {
        return invalid_request(id, "expected \"jsonrpc\": \"2.0\"");
    }
    match (
        envelope.method,
        envelope.id,
        envelope.result,
        envelope.error,
    ) {
        (Some(method), given, None, None) => {
            let Some(method) = text::<String>(Some(method)) else {
                return invalid_request(id, "`method` must be a string");
            };
            // An `id` that is present but of the wrong type is an error, not a notification.
            match (given, id) {
                (None, _) => notification(&method, envelope.params),
                (Some(_), None) => invalid_request(None, "`id` must be a string or a whole number"),
                (Some(_), Some(id)) => request(&method, id, envelope.params),
            }
        }
        (None, _, Some(result), None) => match (id, serde_json::from_str(result.get())) {
            (Some(id), Ok(result)) => message(ClientJsonRpcMessage::response(result, id)),
            // A response that matches no request of ours must not be answered (JSON-RPC).
            _ => Frame::Ignored,
        },
        (None, _, None, Some(error)) => match serde_json::from_str(error.get()) {
            Ok(error) => message(ClientJsonRpcMessage::error(error, id)),
            Err(_) => Frame::Ignored,
        },
        _ => {
            let hint = "expected a request (method, id), a notification (method) or an answer (id, result or error)";
            invalid_request(id, hint)
        }
    }
}

fn message(message: ClientJsonRpcMessage) -> Frame {
    Frame::Message(Box::new(message))
}

fn notification(method: &str, params: Option<&RawValue>) -> Frame {
    let notification = match method {
        "notifications/cancelled" => text(params).map(|params| {
            ClientNotification::CancelledNotification(CancelledNotification::new(params))
        }),
        "notifications/initialized" => Some(ClientNotification::InitializedNotification(
            InitializedNotification::default(),
        )),
        // Progress and roots of the client are not used.
        _ => None,
    };
    // JSON-RPC forbids a response to a notification, even to an invalid or unknown one.
    notification.map_or(Frame::Ignored, |notification| {
        message(ClientJsonRpcMessage::notification(notification))
    })
}

fn request(method: &str, id: RequestId, params: Option<&RawValue>) -> Frame {
    // Absent parameters are an empty object: the error then names the member that is missing.
    let given = params.map_or("{}", RawValue::get);
    match typed(method, given) {
        Ok(request) => message(ClientJsonRpcMessage::request(request, id)),
        Err(fault) => refused(
            Some(id),
            if is_given_up(method, given) {
                no_such_method(method)
            } else {
                fault
            },
        ),
    }
}

/// Methods that the newest era has removed: there they are unknown, whatever their parameters.
const GIVEN_UP: [&str; 5] = [
    "initialize",
    "ping",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
];

/// Whether a request of the newest era uses a removed method.
fn is_given_up(method: &str, given: &str) -> bool {
    let meta = || {
        serde_json::from_str::<MetaOnly>(given)
            .ok()?
            .meta?
            .protocol_version()
    };
    GIVEN_UP.contains(&method) && meta().is_some_and(|version| !version.has_initialize())
}

/// Returns the error for an unknown method, with the nearest known one.
pub(super) fn no_such_method(method: &str) -> ErrorData {
    // Only known methods are suggested, never the removed one itself.
    let hint = match METHODS.contains(&method) {
        true => String::new(),
        false => domain::suggest::nearest_hint(method, METHODS),
    };
    ErrorData::new(
        ErrorCode::METHOD_NOT_FOUND,
        format!("there is no method `{method}`{hint}"),
        None,
    )
}

/// The member that any parameters may have.
#[derive(Deserialize)]
struct MetaOnly {
    #[serde(rename = "_meta", default)]
    meta: Option<RequestMetaObject>,
}

fn read_params<T: DeserializeOwned>(method: &str, given: &str) -> Result<T, ErrorData> {
    // serde reads a struct from an array, too, which JSON-RPC allows and MCP does not.
    if !given.trim_start().starts_with('{') {
        return Err(ErrorData::invalid_params(
            format!("{method}: `params` must be an object"),
            None,
        ));
    }
    serde_json::from_str(given).map_err(|error| wrong_params(method, &error.to_string()))
}

fn wrong_params(method: &str, problem: &str) -> ErrorData {
    ErrorData::invalid_params(
        format!("{method}: invalid params: {problem}; {}", shape(method)),
        None,
    )
}

/// Parses the parameters of a method into its request type.
fn typed(method: &str, given: &str) -> Result<ClientRequest, ErrorData> {
    fn with_meta<M: Default, P: DeserializeOwned + RequestParamsMeta>(
        method: &str,
        given: &str,
    ) -> Result<Request<M, P>, ErrorData> {
        let mut params: P = read_params(method, given)?;
        // The SDK looks for `_meta` in the extensions, where its own parser puts it.
        let meta = params.meta_mut().take();
        let mut request = Request::new(params);
        if let Some(meta) = meta {
            request.extensions.insert(meta);
        }
        Ok(request)
    }
    fn list<M: Default>(
        method: &str,
        given: &str,
    ) -> Result<RequestOptionalParam<M, PaginatedRequestParams>, ErrorData> {
        let mut params: PaginatedRequestParams = read_params(method, given)?;
        let meta = params.meta_mut().take();
        let mut request = RequestOptionalParam::with_param(params);
        if let Some(meta) = meta {
            request.extensions.insert(meta);
        }
        Ok(request)
    }
    let meta_of = || read_params::<MetaOnly>(method, given).map(|params| params.meta);
    Ok(match method {
        "tools/call" => ClientRequest::CallToolRequest(with_meta(method, given)?),
        "tools/list" => ClientRequest::ListToolsRequest(list(method, given)?),
        "resources/read" => ClientRequest::ReadResourceRequest(with_meta(method, given)?),
        "resources/list" => ClientRequest::ListResourcesRequest(list(method, given)?),
        "resources/templates/list" => {
            ClientRequest::ListResourceTemplatesRequest(list(method, given)?)
        }
        "resources/subscribe" => ClientRequest::SubscribeRequest(with_meta(method, given)?),
        "resources/unsubscribe" => ClientRequest::UnsubscribeRequest(with_meta(method, given)?),
        "subscriptions/listen" => {
            ClientRequest::SubscriptionsListenRequest(with_meta(method, given)?)
        }
        "prompts/get" => ClientRequest::GetPromptRequest(with_meta(method, given)?),
        "prompts/list" => ClientRequest::ListPromptsRequest(list(method, given)?),
        "completion/complete" => ClientRequest::CompleteRequest(with_meta(method, given)?),
        "logging/setLevel" => ClientRequest::SetLevelRequest(with_meta(method, given)?),
        "initialize" => ClientRequest::InitializeRequest(with_meta(method, given)?),
        "server/discover" => {
            let mut request = DiscoverRequest::default();
            if let Some(meta) = meta_of()? {
                request.extensions.insert(meta);
            }
            ClientRequest::DiscoverRequest(request)
        }
        "ping" => {
            let mut request = PingRequest::default();
            if let Some(meta) = meta_of()? {
                request.extensions.insert(meta);
            }
            ClientRequest::PingRequest(request)
        }
        _ => {
            // `_meta` goes along, because the error depends on the client's era.
            let params: Value = read_params(method, given)?;
            let meta = MetaOnly::deserialize(&params)
                .ok()
                .and_then(|params| params.meta);
            let mut request = CustomRequest::new(method, Some(params));
            if let Some(meta) = meta {
                request.extensions.insert(meta);
            }
            ClientRequest::CustomRequest(request)
        }
    })
}

/// Returns the error for a request that `rmcp` could not parse: an unknown method, or invalid
/// parameters of a known one.
pub(super) fn not_understood(method: &str, params: Option<&Value>, is_modern: bool) -> ErrorData {
    if !METHODS.contains(&method) || (is_modern && GIVEN_UP.contains(&method)) {
        return no_such_method(method);
    }
    let given = params.map_or_else(|| "{}".to_owned(), Value::to_string);
    // Parsed again to get the message: the SDK only says that it failed.
    match typed(method, &given) {
        Err(fault) => fault,
        Ok(_) => wrong_params(method, "they do not match"),
    }
}

/// Supported methods of both eras.
const METHODS: [&str; 15] = [
    "initialize",
    "server/discover",
    "ping",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "subscriptions/listen",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
];

/// Returns the expected parameters of a method, for error messages.
fn shape(method: &str) -> &'static str {
    match method {
        "tools/call" => "expected {\"name\": string, \"arguments\": object}",
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => {
            "expected {\"uri\": string}"
        }
        "prompts/get" => "expected {\"name\": string, \"arguments\": object of strings}",
        "completion/complete" => {
            "expected {\"ref\": {\"type\": \"ref/prompt\", \"name\": string} or {\"type\": \"ref/resource\", \"uri\": \
             string}, \"argument\": {\"name\": string, \"value\": string}}"
        }
        "logging/setLevel" => "expected {\"level\": \"debug\" … \"emergency\"}",
        "initialize" => {
            "expected {\"protocolVersion\": string, \"capabilities\": object, \"clientInfo\": {\"name\": string, \
             \"version\": string}}"
        }
        "subscriptions/listen" => "expected {\"notifications\": object}",
        _ => "expected an object, at most with \"cursor\": string",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(line: &str) -> i32 {
        match read(line.as_bytes()) {
            Frame::Refused { error, .. } => error.code.0,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn what_cannot_be_read_is_answered_with_the_right_code() {
        assert_eq!(code("{"), -32700);
        assert_eq!(code("nonsense"), -32700);
        assert_eq!(code("\u{0}"), -32700);
        assert_eq!(code("5"), -32600);
        assert_eq!(code("[]"), -32600);
        assert_eq!(code("{}"), -32600);
        assert_eq!(code(r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#), -32600);
        assert_eq!(code(r#"{"jsonrpc":"2.0","id":1,"method":5}"#), -32600);
        assert_eq!(
            code(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#),
            -32600
        );
        assert_eq!(
            code(r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#),
            -32600
        );
        assert_eq!(
            code(r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#),
            -32600
        );
        assert_eq!(
            code(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}"#),
            -32602
        );
        assert_eq!(
            code(
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":"x"}}"#
            ),
            -32602
        );
        assert_eq!(
            code(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#),
            -32602
        );
        assert_eq!(
            code(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}"#),
            -32602
        );
        let deep = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}"#,
            "[".repeat(100_000)
        );
        assert_eq!(code(&deep), -32700);
        let deep = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"a","arguments":{{"a":{}{}}}}}}}"#,
            "[".repeat(10_000),
            "]".repeat(10_000)
        );
        assert_eq!(code(&deep), -32602);
    }

    #[test]
    fn nobody_waits_for_an_answer_to_a_notification_or_an_answer() {
        for line in [
            "",
            "  \r",
            r#"{"jsonrpc":"2.0","method":"tools/call","params":5}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/unknown"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":"x"}"#,
            r#"{"jsonrpc":"2.0","id":{},"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":5}"#,
        ] {
            assert!(matches!(read(line.as_bytes()), Frame::Ignored), "{line}");
        }
    }

    #[test]
    fn what_a_request_says_about_its_client_arrives() {
        for method in METHODS {
            let line = format!(
                r#"{{"jsonrpc":"2.0","id":"a","method":"{method}","params":{{"_meta":{{"progressToken":7}},"name":"n","uri":"u","level":"info","notifications":{{}},"protocolVersion":"2025-11-25","capabilities":{{}},"clientInfo":{{"name":"c","version":"1"}},"ref":{{"type":"ref/prompt","name":"p"}},"argument":{{"name":"a","value":"v"}}}}}}"#
            );
            let Frame::Message(message) = read(line.as_bytes()) else {
                panic!("{line}")
            };
            let (request, _) = message.into_request().expect("a request");
            assert_eq!(request.method(), method);
            assert!(
                request.get_meta().get_progress_token().is_some(),
                "{method}"
            );
            assert!(
                !matches!(request, ClientRequest::CustomRequest(_)),
                "{method}"
            );
        }
    }

    #[test]
    fn what_the_newest_era_has_given_up_is_unknown_there() {
        for method in GIVEN_UP {
            let meta = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#;
            let line = |params: &str| {
                format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
            };
            // A ping has no parameters that could be wrong: it is the server's to answer.
            if method != "ping" {
                assert_eq!(code(&line(meta)), -32601, "{method}");
                assert_eq!(code(&line("{}")), -32602, "{method}");
            }
            assert_eq!(not_understood(method, None, true).code.0, -32601);
            assert_eq!(not_understood(method, None, false).code.0, -32602);
        }
    }

    #[test]
    fn an_unknown_method_is_named_with_its_neighbour() {
        let error = not_understood("tools/cal", None, true);
        assert_eq!(
            (error.code.0, error.message.contains("tools/call")),
            (-32601, true)
        );
    }
}
