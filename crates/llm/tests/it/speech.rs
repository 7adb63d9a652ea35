//! The four dialects as their servers speak them.

use serde_json::{Value, json};

/// One dialect, from the server's side.
pub(crate) struct Speaker {
    pub(crate) dialect: &'static str,
    /// The path a request comes to, behind the base URL.
    pub(crate) path: &'static str,
    pub(crate) key_header: (&'static str, &'static str),
    /// Events of a stream that says the pieces and ends for the reason.
    pub(crate) events: fn(&[&str], Why) -> Vec<String>,
    pub(crate) whole: fn(&str) -> Value,
    /// What it says when it throttles, inside a stream.
    pub(crate) throttled: fn() -> String,
    /// What it refuses a schema with.
    pub(crate) refuses_schema: &'static str,
    /// Events by which the forced tool is called with arguments.
    pub(crate) tool_call: fn(&str) -> Vec<String>,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Why {
    Done,
    NoRoom,
    Withheld,
}

pub(crate) const SPEAKERS: [Speaker; 4] = [
    Speaker {
        dialect: "openai-chat",
        path: "/base/chat/completions",
        key_header: ("authorization", "Bearer key-of-the-test-0123456789"),
        events: chat,
        whole: |text| {
            json!({"id": "c1", "model": "model-1-2026", "choices": [{"message": {"role": "assistant", "content": text},
                "finish_reason": "stop"}], "usage": {"prompt_tokens": 12, "completion_tokens": 3}})
        },
        throttled: || {
            data(
                &json!({"error": {"code": 429, "type": "rate_limit_exceeded", "message": "Please try again in 7s"}}),
            )
        },
        refuses_schema: "Unknown parameter: 'response_format.json_schema' / 'tools' is not supported",
        tool_call: |arguments| {
            let call = |text: &str| json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": text}}]}}]});
            let (first, second) = halves(arguments);
            let end = json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]});
            vec![
                data(&call(first)),
                data(&call(second)),
                data(&end),
                "data: [DONE]\n\n".to_owned(),
            ]
        },
    },
    Speaker {
        dialect: "openai-responses",
        path: "/base/responses",
        key_header: ("authorization", "Bearer key-of-the-test-0123456789"),
        events: responses,
        whole: |text| {
            json!({"id": "c1", "model": "model-1-2026", "status": "completed",
                "output": [{"type": "reasoning"}, {"type": "message", "content": [{"type": "output_text", "text": text}]}],
                "usage": {"input_tokens": 12, "output_tokens": 3}})
        },
        throttled: || {
            named(
                "response.failed",
                &json!({"type": "response.failed", "response": {"error":
                {"code": "rate_limit_exceeded", "message": "Please try again in 7s"}}}),
            )
        },
        refuses_schema: "Unsupported parameter: 'text.format' / 'tools'",
        tool_call: |arguments| {
            let delta = |text: &str| json!({"type": "response.function_call_arguments.delta", "delta": text});
            let (first, second) = halves(arguments);
            let done = json!({"type": "response.completed", "response": {"status": "completed"}});
            vec![data(&delta(first)), data(&delta(second)), data(&done)]
        },
    },
    Speaker {
        dialect: "anthropic-messages",
        path: "/base/messages",
        key_header: ("x-api-key", "key-of-the-test-0123456789"),
        events: anthropic,
        whole: |text| {
            json!({"type": "message", "id": "c1", "model": "model-1-2026", "content": [{"type": "thinking", "thinking": "hm"},
                {"type": "text", "text": text}], "stop_reason": "end_turn", "usage": {"input_tokens": 12, "output_tokens": 3}})
        },
        throttled: || {
            named(
                "error",
                &json!({"type": "error", "error": {"type": "rate_limit_error", "message": "Please try again in 7s"}}),
            )
        },
        refuses_schema: "output_config: Extra inputs are not permitted / tools: not supported",
        tool_call: |arguments| {
            let delta = |text: &str| json!({"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": text}});
            let (first, second) = halves(arguments);
            let end = json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 3}});
            vec![
                data(&delta(first)),
                data(&delta(second)),
                data(&end),
                data(&json!({"type": "message_stop"})),
            ]
        },
    },
    Speaker {
        dialect: "gemini",
        path: "/base/models/model-1:streamGenerateContent?alt=sse",
        key_header: ("x-goog-api-key", "key-of-the-test-0123456789"),
        events: gemini,
        whole: |text| {
            json!({"responseId": "c1", "modelVersion": "model-1-2026", "candidates": [{"content": {"parts": [
                {"text": "hm", "thought": true}, {"text": text}]}, "finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": 12, "candidatesTokenCount": 2, "thoughtsTokenCount": 1}})
        },
        throttled: || {
            data(
                &json!({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "quota",
                "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7s"}]}}),
            )
        },
        refuses_schema: "Invalid JSON payload received. Unknown name \"responseJsonSchema\" / \"tools\"",
        tool_call: |arguments| {
            let arguments: Value = serde_json::from_str(arguments).unwrap();
            vec![data(
                &json!({"candidates": [{"content": {"parts": [{"functionCall": {"name": "answer", "args": arguments}}]},
                "finishReason": "STOP"}]}),
            )]
        },
    },
];

fn halves(text: &str) -> (&str, &str) {
    text.split_at(text.len() / 2)
}

pub(crate) fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

fn named(name: &str, value: &Value) -> String {
    format!("event: {name}\ndata: {value}\n\n")
}

/// The last piece of text comes with the reason, the usage in a piece of its own.
fn chat(pieces: &[&str], why: Why) -> Vec<String> {
    let reason = match why {
        Why::Done => "stop",
        Why::NoRoom => "length",
        Why::Withheld => "content_filter",
    };
    let chunk = |text: &str, reason: Value| json!({"id": "c1", "model": "model-1-2026", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": reason}]});
    let (last, first) = pieces.split_last().unwrap_or((&"", &[]));
    let mut events = vec![": keep-alive\n\n".to_owned()];
    events.extend(first.iter().map(|piece| data(&chunk(piece, Value::Null))));
    events.push(data(&chunk(last, json!(reason))));
    events.push(data(&json!({"id": "c1", "choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 3,
        "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 1}}})));
    events.push("data: [DONE]\n\n".to_owned());
    events
}

/// The end has no `output`.
fn responses(pieces: &[&str], why: Why) -> Vec<String> {
    let (kind, mut response) = match why {
        Why::Done => ("response.completed", json!({"status": "completed"})),
        Why::NoRoom => (
            "response.incomplete",
            json!({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}),
        ),
        Why::Withheld => (
            "response.incomplete",
            json!({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}),
        ),
    };
    response["usage"] = json!({"input_tokens": 12, "output_tokens": 3, "input_tokens_details": {"cached_tokens": 4},
        "output_tokens_details": {"reasoning_tokens": 1}});
    let begin =
        json!({"type": "response.created", "response": {"id": "c1", "model": "model-1-2026"}});
    let delta = |piece: &&str| {
        named(
            "response.output_text.delta",
            &json!({"type": "response.output_text.delta", "delta": piece}),
        )
    };
    let mut events = vec![named("response.created", &begin)];
    events.extend(pieces.iter().map(delta));
    events.push(named(kind, &json!({"type": kind, "response": response})));
    events
}

fn anthropic(pieces: &[&str], why: Why) -> Vec<String> {
    let reason = match why {
        Why::Done => "end_turn",
        Why::NoRoom => "max_tokens",
        Why::Withheld => "refusal",
    };
    let start = json!({"type": "message_start", "message": {"id": "c1", "model": "model-1-2026", "usage": {
        "input_tokens": 8, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 0, "output_tokens": 1}}});
    let thought = json!({"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "hm"}});
    let mut events = vec![
        named("message_start", &start),
        named("ping", &json!({"type": "ping"})),
        named("content_block_delta", &thought),
    ];
    events.extend(pieces.iter().map(|piece| {
        named(
            "content_block_delta",
            &json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": piece}}),
        )
    }));
    events.push(named(
        "message_delta",
        &json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 3}}),
    ));
    events.push(named("message_stop", &json!({"type": "message_stop"})));
    events
}

fn gemini(pieces: &[&str], why: Why) -> Vec<String> {
    let reason = match why {
        Why::Done => "STOP",
        Why::NoRoom => "MAX_TOKENS",
        Why::Withheld => "SAFETY",
    };
    let mut events: Vec<String> = vec![data(
        &json!({"candidates": [{"content": {"parts": [{"text": "hm", "thought": true}]}}]}),
    )];
    events.extend(pieces.iter().map(|piece| {
        data(&json!({"responseId": "c1", "modelVersion": "model-1-2026", "candidates": [{"content": {"parts": [{"text": piece}]}}]}))
    }));
    events.push(data(&json!({"candidates": [{"finishReason": reason}]})));
    // The usage follows the reason.
    events.push(data(
        &json!({"usageMetadata": {"promptTokenCount": 12, "cachedContentTokenCount": 4, "candidatesTokenCount": 2,
        "thoughtsTokenCount": 1}}),
    ));
    events
}
