//! Wire dialect interface: builds request bodies and parses responses of one provider API.

use serde_json::{Value, json};

use super::draft::AnswerDraft;
use super::{anthropic, fault, gemini, openai_chat, openai_responses};
use crate::error::LlmResult;
use crate::provider::{Dialect, SchemaFlavour};
use crate::request::{Message, Request, Role};
use crate::secret::Secret;

/// One dialect. Stateless: the answer so far is in the [`Draft`].
pub(crate) trait WireDialect: Send + Sync {
    /// Returns the endpoint to append to the base URL.
    fn endpoint_path(&self, model: &str, stream: bool) -> String;

    /// Returns the header that carries the key.
    fn api_key_header(&self, key: &Secret) -> (&'static str, String);

    /// Builds the request body.
    fn build_request_body(&self, asked: &DialectRequest<'_>) -> Value;

    /// Parses one event of a stream into the draft.
    fn parse_stream_event(&self, event: &Value, draft: &mut AnswerDraft) -> LlmResult<()>;

    /// Parses a response that was not streamed into the draft.
    fn parse_whole_response(&self, answer: &Value, draft: &mut AnswerDraft) -> LlmResult<()>;
}

/// A request with the catalogue data needed to build its body.
pub(crate) struct DialectRequest<'a> {
    pub(crate) request: &'a Request,
    pub(crate) model: &'a str,
    pub(crate) stream: bool,
    pub(crate) flavour: SchemaFlavour,
    pub(crate) output_limit_field: &'a str,
}

/// Returns the implementation of a dialect; a command has none.
pub(crate) fn wire_dialect(dialect: Dialect) -> Option<&'static dyn WireDialect> {
    match dialect {
        Dialect::OpenAiChat => Some(&openai_chat::OpenAiChat),
        Dialect::OpenAiResponses => Some(&openai_responses::OpenAiResponses),
        Dialect::AnthropicMessages => Some(&anthropic::AnthropicMessages),
        Dialect::Gemini => Some(&gemini::Gemini),
        // Commands are not on the wire; see `command`.
        Dialect::Command => None,
    }
}

/// Returns the number at a JSON pointer.
pub(crate) fn number_at(value: &Value, pointer: &str) -> Option<u64> {
    value.pointer(pointer).and_then(Value::as_u64)
}

/// Returns the text at a JSON pointer.
pub(crate) fn text_at<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer).and_then(Value::as_str)
}

/// Returns the items of the array at a JSON pointer.
pub(crate) fn items_at<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Appends the text at a JSON pointer, if there is one.
pub(crate) fn append_text_at(target: &mut String, value: &Value, pointer: &str) {
    target.push_str(text_at(value, pointer).unwrap_or_default());
}

/// Returns the error that an event or a response reports. Some servers send `"error": null` with
/// everything else.
pub(crate) fn check_reported_error(value: &Value) -> LlmResult<()> {
    match value.get("error") {
        Some(error) if !error.is_null() => Err(fault::error_from_event(value)),
        _ => Ok(()),
    }
}

/// Returns the conversation as most dialects write it.
pub(crate) fn message_list(request: &Request) -> Vec<Value> {
    let message = |message: &Message| json!({"role": role_name(message), "content": message.text});
    request.messages.iter().map(message).collect()
}

/// Returns the stop sequences, if there are any.
pub(crate) fn stop_sequences(request: &Request) -> Option<Value> {
    (!request.stop.is_empty()).then(|| json!(request.stop))
}

/// Sets a field if there is a value; providers reject unknown nulls.
pub(crate) fn set_field(body: &mut Value, field: &str, value: Option<impl Into<Value>>) {
    if let (Some(object), Some(value)) = (body.as_object_mut(), value) {
        object.insert(field.to_owned(), value.into());
    }
}

/// Returns the role's name in most dialects.
fn role_name(message: &Message) -> &'static str {
    match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    }
}
