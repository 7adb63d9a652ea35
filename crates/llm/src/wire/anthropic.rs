//! Anthropic Messages API.

use serde_json::{Value, json};

use super::dialect::{
    DialectRequest, WireDialect, append_text_at, check_reported_error, items_at, message_list,
    number_at, set_field, stop_sequences, text_at,
};
use super::draft::AnswerDraft;
use super::{fault, schema};
use crate::error::LlmResult;
use crate::outcome::{StopReason, TokenUsage};
use crate::request::SchemaMode;
use crate::secret::Secret;

pub(crate) struct AnthropicMessages;

impl WireDialect for AnthropicMessages {
    fn endpoint_path(&self, _: &str, _: bool) -> String {
        "messages".to_owned()
    }

    fn api_key_header(&self, key: &Secret) -> (&'static str, String) {
        ("x-api-key", key.reveal().to_owned())
    }

    fn build_request_body(&self, asked: &DialectRequest<'_>) -> Value {
        let request = asked.request;
        let messages = message_list(request);
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
        set_field(&mut body, "temperature", request.temperature);
        set_field(&mut body, "stop_sequences", stop_sequences(request));
        if let Some(wanted) = &request.schema {
            let schema = schema::convert_schema(&wanted.schema, asked.flavour).schema;
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

    fn parse_stream_event(&self, event: &Value, draft: &mut AnswerDraft) -> LlmResult<()> {
        match text_at(event, "/type").unwrap_or_default() {
            "message_start" => read_message(event.get("message").unwrap_or(&Value::Null), draft),
            "content_block_start" => {
                append_text_at(&mut draft.text, event, "/content_block/text");
            }
            "content_block_delta" => {
                append_text_at(&mut draft.text, event, "/delta/text");
                // Tool arguments arrive as pieces of JSON text.
                append_text_at(&mut draft.arguments, event, "/delta/partial_json");
            }
            // The stop reason and the final output count come here, the input count in
            // `message_start`.
            "message_delta" => {
                read_stop(event.get("delta").unwrap_or(&Value::Null), draft);
                read_usage(event, draft);
            }
            "message_stop" => draft.closed = true,
            "error" => return Err(fault::error_from_event(event)),
            "" => check_reported_error(event)?,
            // Pings, thinking, and future event types.
            _ => {}
        }
        Ok(())
    }

    fn parse_whole_response(&self, answer: &Value, draft: &mut AnswerDraft) -> LlmResult<()> {
        if text_at(answer, "/type") == Some("error") {
            return Err(fault::error_from_event(answer));
        }
        read_message(answer, draft);
        for block in items_at(answer, "/content") {
            match text_at(block, "/type") {
                Some("text") => append_text_at(&mut draft.text, block, "/text"),
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

fn read_message(message: &Value, draft: &mut AnswerDraft) {
    draft.note_identity(text_at(message, "/id"), text_at(message, "/model"));
    read_usage(message, draft);
}

/// Reads token usage. Anthropic reports cached tokens apart from `input_tokens`; ours include them.
fn read_usage(value: &Value, draft: &mut AnswerDraft) {
    let Some(usage) = value.get("usage") else {
        return;
    };
    let read = number_at(usage, "/cache_read_input_tokens");
    let write = number_at(usage, "/cache_creation_input_tokens");
    let input = number_at(usage, "/input_tokens")
        .map(|input| input + read.unwrap_or(0) + write.unwrap_or(0));
    let output = number_at(usage, "/output_tokens");
    draft.usage = draft.usage.merged_with(TokenUsage {
        input,
        output,
        cache_read: read,
        cache_write: write,
        reasoning: None,
    });
}

fn read_stop(value: &Value, draft: &mut AnswerDraft) {
    if let Some(reason) = text_at(value, "/stop_reason") {
        draft.stop = Some(match reason {
            "end_turn" | "stop_sequence" | "tool_use" => StopReason::End,
            "max_tokens" | "model_context_window_exceeded" => StopReason::Length,
            "refusal" => StopReason::Filter,
            _ => StopReason::Unknown,
        });
    }
}
