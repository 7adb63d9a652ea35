//! OpenAI Responses API.

use serde_json::{Value, json};

use super::dialect::{DialectRequest, WireDialect, number_at, role_name, set_field, text_at};
use super::draft::AnswerDraft;
use super::{fault, schema};
use crate::error::LlmError;
use crate::outcome::{StopReason, TokenUsage};
use crate::request::SchemaMode;
use crate::secret::Secret;

pub(crate) struct OpenAiResponses;

impl WireDialect for OpenAiResponses {
    fn endpoint_path(&self, _: &str, _: bool) -> String {
        "responses".to_owned()
    }

    fn api_key_header(&self, key: &Secret) -> (&'static str, String) {
        ("authorization", format!("Bearer {}", key.reveal()))
    }

    fn build_request_body(&self, asked: &DialectRequest<'_>) -> Value {
        let request = asked.request;
        let input: Vec<Value> = request
            .messages
            .iter()
            .map(|message| json!({"role": role_name(message), "content": message.text}))
            .collect();
        // `store: false`, so that the provider does not keep the conversation. This API has no stop
        // sequences and no seed.
        let mut body = json!({
            "model": asked.model,
            "input": input,
            "max_output_tokens": request.max_output_tokens,
            "stream": asked.stream,
            "store": false,
        });
        set_field(
            &mut body,
            "instructions",
            (!request.system.is_empty()).then(|| json!(request.system)),
        );
        set_field(&mut body, "temperature", request.temperature);
        if let Some(wanted) = &request.schema {
            let schema::ProviderSchema { schema, strict } =
                schema::convert_schema(&wanted.schema, asked.flavour);
            let name = &wanted.name;
            match wanted.mode {
                SchemaMode::Native => {
                    let format = json!({"type": "json_schema", "name": name, "strict": strict, "schema": schema});
                    body["text"] = json!({"format": format});
                }
                SchemaMode::Tool => {
                    let purpose = schema::TOOL_PURPOSE;
                    let tool = json!({"type": "function", "name": name, "description": purpose, "parameters": schema, "strict": strict});
                    body["tools"] = json!([tool]);
                    body["tool_choice"] = json!({"type": "function", "name": name});
                }
                SchemaMode::Prompt => {}
            }
        }
        body
    }

    fn parse_stream_event(
        &self,
        event: &Value,
        draft: &mut AnswerDraft,
    ) -> Result<(), Box<LlmError>> {
        match text_at(event, "/type").unwrap_or_default() {
            "response.output_text.delta" => draft
                .text
                .push_str(text_at(event, "/delta").unwrap_or_default()),
            "response.refusal.delta" => draft
                .refusal
                .push_str(text_at(event, "/delta").unwrap_or_default()),
            "response.function_call_arguments.delta" => {
                draft
                    .arguments
                    .push_str(text_at(event, "/delta").unwrap_or_default());
            }
            "response.created" => {
                note_identity(event.get("response").unwrap_or(&Value::Null), draft)
            }
            // The final event repeats the whole response, so it is parsed like one.
            "response.completed" | "response.incomplete" => {
                return self
                    .parse_whole_response(event.get("response").unwrap_or(&Value::Null), draft);
            }
            "response.failed" | "error" => return Err(fault::error_from_event(event)),
            // An error without a type, from servers that imitate this API.
            "" if event.get("error").is_some_and(|error| !error.is_null()) => {
                return Err(fault::error_from_event(event));
            }
            _ => {}
        }
        Ok(())
    }

    fn parse_whole_response(
        &self,
        answer: &Value,
        draft: &mut AnswerDraft,
    ) -> Result<(), Box<LlmError>> {
        if answer.get("error").is_some_and(|error| !error.is_null()) {
            return Err(fault::error_from_event(answer));
        }
        note_identity(answer, draft);
        // The final event may repeat the output, omit it, or be the only one that has it.
        if draft.text.is_empty() && draft.arguments.is_empty() {
            read_output(answer, draft);
        }
        if let Some(usage) = answer.get("usage") {
            draft.usage = draft.usage.merged_with(TokenUsage {
                input: number_at(usage, "/input_tokens"),
                output: number_at(usage, "/output_tokens"),
                cache_read: number_at(usage, "/input_tokens_details/cached_tokens"),
                cache_write: None,
                reasoning: number_at(usage, "/output_tokens_details/reasoning_tokens"),
            });
        }
        draft.closed = true;
        draft.stop = Some(
            match (
                text_at(answer, "/status"),
                text_at(answer, "/incomplete_details/reason"),
            ) {
                // The reason before the status: an incomplete response has both.
                (_, Some("max_output_tokens")) => StopReason::Length,
                (_, Some("content_filter")) => StopReason::Filter,
                (Some("completed"), _) => StopReason::End,
                _ => StopReason::Unknown,
            },
        );
        Ok(())
    }
}

fn note_identity(response: &Value, draft: &mut AnswerDraft) {
    draft.id = draft
        .id
        .take()
        .or_else(|| text_at(response, "/id").map(str::to_owned));
    draft.model = draft
        .model
        .take()
        .or_else(|| text_at(response, "/model").map(str::to_owned));
}

fn read_output(answer: &Value, draft: &mut AnswerDraft) {
    for item in answer
        .get("output")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        match text_at(item, "/type") {
            Some("message") => {
                for part in item
                    .get("content")
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten()
                {
                    draft
                        .text
                        .push_str(text_at(part, "/text").unwrap_or_default());
                    draft
                        .refusal
                        .push_str(text_at(part, "/refusal").unwrap_or_default());
                }
            }
            Some("function_call") => draft
                .arguments
                .push_str(text_at(item, "/arguments").unwrap_or_default()),
            _ => {}
        }
    }
}
