//! OpenAI Chat Completions API, which nearly every other server implements as well.

use serde_json::{Value, json};

use super::dialect::{
    DialectRequest, WireDialect, append_text_at, check_reported_error, items_at, message_list,
    number_at, set_field, stop_sequences, text_at,
};
use super::draft::AnswerDraft;
use super::{fault, schema};
use crate::error::LlmResult;
use crate::ledger::Cost;
use crate::outcome::{StopReason, TokenUsage};
use crate::request::SchemaMode;
use crate::secret::Secret;

pub(crate) struct OpenAiChat;

impl WireDialect for OpenAiChat {
    fn endpoint_path(&self, _: &str, _: bool) -> String {
        "chat/completions".to_owned()
    }

    fn api_key_header(&self, key: &Secret) -> (&'static str, String) {
        ("authorization", format!("Bearer {}", key.reveal()))
    }

    fn build_request_body(&self, asked: &DialectRequest<'_>) -> Value {
        let request = asked.request;
        let mut messages = Vec::new();
        if !request.system.is_empty() {
            messages.push(json!({"role": "system", "content": request.system}));
        }
        messages.extend(message_list(request));
        let mut body = json!({"model": asked.model, "messages": messages, "stream": asked.stream});
        // Without it OpenAI reports no usage for streams, and the ledger would have no tokens.
        if asked.stream {
            body["stream_options"] = json!({"include_usage": true});
        }
        set_field(
            &mut body,
            asked.output_limit_field,
            Some(request.max_output_tokens),
        );
        set_field(&mut body, "temperature", request.temperature);
        set_field(&mut body, "seed", request.seed);
        set_field(&mut body, "stop", stop_sequences(request));
        if let Some(wanted) = &request.schema {
            let schema::ProviderSchema { schema, strict } =
                schema::convert_schema(&wanted.schema, asked.flavour);
            let name = &wanted.name;
            match wanted.mode {
                SchemaMode::Native => {
                    let described = json!({"name": name, "strict": strict, "schema": schema});
                    body["response_format"] =
                        json!({"type": "json_schema", "json_schema": described});
                }
                SchemaMode::Tool => {
                    let function = json!({"name": name, "description": schema::TOOL_PURPOSE, "parameters": schema});
                    body["tools"] = json!([{"type": "function", "function": function}]);
                    body["tool_choice"] = json!({"type": "function", "function": {"name": name}});
                }
                SchemaMode::Prompt => {}
            }
        }
        body
    }

    fn parse_stream_event(&self, event: &Value, draft: &mut AnswerDraft) -> LlmResult<()> {
        parse_choice_message(event, "/delta", draft)
    }

    fn parse_whole_response(&self, answer: &Value, draft: &mut AnswerDraft) -> LlmResult<()> {
        parse_choice_message(answer, "/message", draft)?;
        draft.closed |= draft.stop.is_some();
        Ok(())
    }
}

/// Parses a chunk or a whole response; they differ only in the field that has the message.
fn parse_choice_message(value: &Value, speaker: &str, draft: &mut AnswerDraft) -> LlmResult<()> {
    check_reported_error(value)?;
    draft.note_identity(text_at(value, "/id"), text_at(value, "/model"));
    // Depending on the server, usage comes in a chunk without choices, in the last one, or in each.
    if let Some(usage) = value.get("usage").filter(|usage| usage.is_object()) {
        draft.usage = draft.usage.merged_with(TokenUsage {
            input: number_at(usage, "/prompt_tokens"),
            output: number_at(usage, "/completion_tokens"),
            // The second name is DeepSeek's.
            cache_read: number_at(usage, "/prompt_tokens_details/cached_tokens")
                .or_else(|| number_at(usage, "/prompt_cache_hit_tokens")),
            cache_write: None,
            reasoning: number_at(usage, "/completion_tokens_details/reasoning_tokens"),
        });
        if let Some(dollars) = usage
            // OpenRouter reports the price of the call here, in dollars.
            .get("cost")
            .and_then(Value::as_f64)
            .filter(|dollars| *dollars >= 0.0)
        {
            draft.cost = Cost::Reported((dollars * 1_000_000.0).round() as u64);
        }
    }
    let Some(choice) = value.pointer("/choices/0") else {
        return Ok(());
    };
    if let Some(said) = choice.pointer(speaker) {
        match said.get("content") {
            Some(Value::String(text)) => draft.text.push_str(text),
            // Some servers send a list of parts, of which only the text is the answer.
            Some(Value::Array(parts)) => {
                parts
                    .iter()
                    .filter_map(|part| text_at(part, "/text"))
                    .for_each(|text| draft.text.push_str(text));
            }
            _ => {}
        }
        append_text_at(&mut draft.refusal, said, "/refusal");
        for call in items_at(said, "/tool_calls") {
            append_text_at(&mut draft.arguments, call, "/function/arguments");
        }
    }
    if let Some(reason) = text_at(choice, "/finish_reason") {
        draft.stop = Some(match reason {
            "stop" | "tool_calls" | "function_call" | "eos" => StopReason::End,
            "length" | "max_tokens" => StopReason::Length,
            "content_filter" => StopReason::Filter,
            // OpenRouter ends a stream this way when its upstream fails.
            "error" => return Err(fault::error_from_event(choice)),
            _ => StopReason::Unknown,
        });
    }
    Ok(())
}
