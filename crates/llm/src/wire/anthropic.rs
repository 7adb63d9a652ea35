//! Anthropic Messages API.

use serde_json::{Value, json};

use super::dialect::{Asked, Speech, number, role, set, text};
use super::draft::Draft;
use super::{fault, schema};
use crate::error::LlmError;
use crate::outcome::{Stop, Usage};
use crate::request::SchemaMode;
use crate::secret::Secret;

pub(crate) struct AnthropicMessages;

impl Speech for AnthropicMessages {
    fn endpoint(&self, _: &str, _: bool) -> String {
        "messages".to_owned()
    }

    fn authorisation(&self, key: &Secret) -> (&'static str, String) {
        ("x-api-key", key.reveal().to_owned())
    }

    fn body(&self, asked: &Asked<'_>) -> Value {
        let request = asked.request;
        let messages: Vec<Value> = request
            .messages
            .iter()
            .map(|message| json!({"role": role(message), "content": message.text}))
            .collect();
        let mut body = json!({
            "model": asked.model,
            "messages": messages,
            "max_tokens": request.max_output_tokens,
            "stream": asked.stream,
        });
        // Prompt caching is opt-in here, and writing to the cache costs extra: only for system
        // texts that later calls reuse.
        if !request.system.is_empty() {
            body["system"] = if request.reuse_system {
                json!([{"type": "text", "text": request.system, "cache_control": {"type": "ephemeral"}}])
            } else {
                json!(request.system)
            };
        }
        set(&mut body, "temperature", request.temperature);
        set(
            &mut body,
            "stop_sequences",
            (!request.stop.is_empty()).then(|| json!(request.stop)),
        );
        if let Some(wanted) = &request.schema {
            let schema = schema::sendable(&wanted.schema, asked.flavour).schema;
            let name = &wanted.name;
            match wanted.mode {
                SchemaMode::Native => {
                    body["output_config"] =
                        json!({"format": {"type": "json_schema", "schema": schema}});
                }
                SchemaMode::Tool => {
                    body["tools"] = json!([{"name": name, "description": schema::TOOL_PURPOSE, "input_schema": schema}]);
                    body["tool_choice"] = json!({"type": "tool", "name": name});
                }
                SchemaMode::Prompt => {}
            }
        }
        body
    }

    fn event(&self, event: &Value, draft: &mut Draft) -> Result<(), Box<LlmError>> {
        match text(event, "/type").unwrap_or_default() {
            "message_start" => read_message(event.get("message").unwrap_or(&Value::Null), draft),
            "content_block_start" => {
                draft
                    .text
                    .push_str(text(event, "/content_block/text").unwrap_or_default());
            }
            "content_block_delta" => {
                draft
                    .text
                    .push_str(text(event, "/delta/text").unwrap_or_default());
                draft
                    .arguments
                    // Tool arguments arrive as pieces of JSON text.
                    .push_str(text(event, "/delta/partial_json").unwrap_or_default());
            }
            // The stop reason and the final output count come here, the input count in
            // `message_start`.
            "message_delta" => {
                read_stop(event.get("delta").unwrap_or(&Value::Null), draft);
                read_usage(event, draft);
            }
            "message_stop" => draft.closed = true,
            "error" => return Err(fault::in_stream(event)),
            "" if event.get("error").is_some_and(|error| !error.is_null()) => {
                return Err(fault::in_stream(event));
            }
            // Pings, thinking, and future event types.
            _ => {}
        }
        Ok(())
    }

    fn whole(&self, answer: &Value, draft: &mut Draft) -> Result<(), Box<LlmError>> {
        if text(answer, "/type") == Some("error") {
            return Err(fault::in_stream(answer));
        }
        read_message(answer, draft);
        for block in answer
            .get("content")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            match text(block, "/type") {
                Some("text") => draft
                    .text
                    .push_str(text(block, "/text").unwrap_or_default()),
                Some("tool_use") => {
                    draft
                        .arguments
                        .push_str(&block.get("input").map(Value::to_string).unwrap_or_default());
                }
                _ => {}
            }
        }
        read_stop(answer, draft);
        // A response without a stop reason was cut off on its way.
        draft.closed |= draft.stop.is_some();
        Ok(())
    }
}

fn read_message(message: &Value, draft: &mut Draft) {
    draft.id = draft
        .id
        .take()
        .or_else(|| text(message, "/id").map(str::to_owned));
    draft.model = draft
        .model
        .take()
        .or_else(|| text(message, "/model").map(str::to_owned));
    read_usage(message, draft);
}

/// Reads token usage. Anthropic reports cached tokens apart from `input_tokens`; ours include them.
fn read_usage(value: &Value, draft: &mut Draft) {
    let Some(usage) = value.get("usage") else {
        return;
    };
    let read = number(usage, "/cache_read_input_tokens");
    let write = number(usage, "/cache_creation_input_tokens");
    let input =
        number(usage, "/input_tokens").map(|input| input + read.unwrap_or(0) + write.unwrap_or(0));
    let output = number(usage, "/output_tokens");
    draft.usage = draft.usage.updated(Usage {
        input,
        output,
        cache_read: read,
        cache_write: write,
        reasoning: None,
    });
}

fn read_stop(value: &Value, draft: &mut Draft) {
    if let Some(reason) = text(value, "/stop_reason") {
        draft.stop = Some(match reason {
            "end_turn" | "stop_sequence" | "tool_use" => Stop::End,
            "max_tokens" | "model_context_window_exceeded" => Stop::Length,
            "refusal" => Stop::Filter,
            _ => Stop::Unknown,
        });
    }
}
