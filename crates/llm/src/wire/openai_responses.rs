//! OpenAI Responses API.

use serde_json::{Value, json};

use super::dialect::{
    DialectRequest, WireDialect, append_text_at, check_reported_error, items_at, message_list,
    number_at, set_field, text_at,
};
use super::draft::AnswerDraft;
use super::{fault, schema};
use crate::error::LlmResult;
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
        let input = message_list(request);
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

    fn parse_stream_event(&self, event: &Value, draft: &mut AnswerDraft) -> LlmResult<()> {
        match text_at(event, "/type").unwrap_or_default() {
            "response.output_text.delta" => append_text_at(&mut draft.text, event, "/delta"),
            "response.refusal.delta" => append_text_at(&mut draft.refusal, event, "/delta"),
            "response.function_call_arguments.delta" => {
                append_text_at(&mut draft.arguments, event, "/delta");
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
            "" => check_reported_error(event)?,
            _ => {}
        }
        Ok(())
    }

    fn parse_whole_response(&self, answer: &Value, draft: &mut AnswerDraft) -> LlmResult<()> {
        check_reported_error(answer)?;
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
    draft.note_identity(text_at(response, "/id"), text_at(response, "/model"));
}

fn read_output(answer: &Value, draft: &mut AnswerDraft) {
    for item in items_at(answer, "/output") {
        match text_at(item, "/type") {
            Some("message") => {
                for part in items_at(item, "/content") {
                    append_text_at(&mut draft.text, part, "/text");
                    append_text_at(&mut draft.refusal, part, "/refusal");
                }
            }
            Some("function_call") => append_text_at(&mut draft.arguments, item, "/arguments"),
            _ => {}
        }
    }
}
