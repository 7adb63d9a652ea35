//! OpenAI Chat Completions API, which nearly every other server implements as well.

use serde_json::{Value, json};

use super::dialect::{Asked, Speech, number, role, set, text};
use super::draft::Draft;
use super::{fault, schema};
use crate::error::LlmError;
use crate::ledger::Cost;
use crate::outcome::{Stop, Usage};
use crate::request::SchemaMode;
use crate::secret::Secret;

pub(crate) struct OpenAiChat;

impl Speech for OpenAiChat {
    fn endpoint(&self, _: &str, _: bool) -> String {
        "chat/completions".to_owned()
    }

    fn authorisation(&self, key: &Secret) -> (&'static str, String) {
        ("authorization", format!("Bearer {}", key.reveal()))
    }

    fn body(&self, asked: &Asked<'_>) -> Value {
        let request = asked.request;
        let mut messages = Vec::new();
        if !request.system.is_empty() {
            messages.push(json!({"role": "system", "content": request.system}));
        }
        messages.extend(
            request
                .messages
                .iter()
                .map(|message| json!({"role": role(message), "content": message.text})),
        );
        let mut body = json!({"model": asked.model, "messages": messages, "stream": asked.stream});
        // Without it OpenAI reports no usage for streams, and the ledger would have no tokens.
        if asked.stream {
            body["stream_options"] = json!({"include_usage": true});
        }
        set(
            &mut body,
            asked.output_limit_field,
            Some(request.max_output_tokens),
        );
        set(&mut body, "temperature", request.temperature);
        set(&mut body, "seed", request.seed);
        set(
            &mut body,
            "stop",
            (!request.stop.is_empty()).then(|| json!(request.stop)),
        );
        if let Some(wanted) = &request.schema {
            let schema::Sendable { schema, strict } =
                schema::sendable(&wanted.schema, asked.flavour);
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

    fn event(&self, event: &Value, draft: &mut Draft) -> Result<(), Box<LlmError>> {
        read(event, "/delta", draft)
    }

    fn whole(&self, answer: &Value, draft: &mut Draft) -> Result<(), Box<LlmError>> {
        read(answer, "/message", draft)?;
        draft.closed |= draft.stop.is_some();
        Ok(())
    }
}

/// Parses a chunk or a whole response; they differ only in the field that has the message.
fn read(value: &Value, speaker: &str, draft: &mut Draft) -> Result<(), Box<LlmError>> {
    // Some servers send `"error": null` with every chunk.
    if value.get("error").is_some_and(|error| !error.is_null()) {
        return Err(fault::in_stream(value));
    }
    draft.id = draft
        .id
        .take()
        .or_else(|| text(value, "/id").map(str::to_owned));
    draft.model = draft
        .model
        .take()
        .or_else(|| text(value, "/model").map(str::to_owned));
    // Depending on the server, usage comes in a chunk without choices, in the last one, or in each.
    if let Some(usage) = value.get("usage").filter(|usage| usage.is_object()) {
        draft.usage = draft.usage.updated(Usage {
            input: number(usage, "/prompt_tokens"),
            output: number(usage, "/completion_tokens"),
            // The second name is DeepSeek's.
            cache_read: number(usage, "/prompt_tokens_details/cached_tokens")
                .or_else(|| number(usage, "/prompt_cache_hit_tokens")),
            cache_write: None,
            reasoning: number(usage, "/completion_tokens_details/reasoning_tokens"),
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
                    .filter_map(|part| text(part, "/text"))
                    .for_each(|text| draft.text.push_str(text));
            }
            _ => {}
        }
        draft
            .refusal
            .push_str(text(said, "/refusal").unwrap_or_default());
        for call in said
            .get("tool_calls")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            draft
                .arguments
                .push_str(text(call, "/function/arguments").unwrap_or_default());
        }
    }
    if let Some(reason) = text(choice, "/finish_reason") {
        draft.stop = Some(match reason {
            "stop" | "tool_calls" | "function_call" | "eos" => Stop::End,
            "length" | "max_tokens" => Stop::Length,
            "content_filter" => Stop::Filter,
            // OpenRouter ends a stream this way when its upstream fails.
            "error" => return Err(fault::in_stream(choice)),
            _ => Stop::Unknown,
        });
    }
    Ok(())
}
