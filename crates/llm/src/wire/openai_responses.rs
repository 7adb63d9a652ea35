//! OpenAI Responses API.

use serde_json::{Value, json};

use super::dialect::{Asked, Speech, number, role, set, text};
use super::draft::Draft;
use super::{fault, schema};
use crate::error::LlmError;
use crate::outcome::{Stop, Usage};
use crate::request::SchemaMode;
use crate::secret::Secret;

pub(crate) struct OpenAiResponses;

impl Speech for OpenAiResponses {
    fn endpoint(&self, _: &str, _: bool) -> String {
        "responses".to_owned()
    }

    fn authorisation(&self, key: &Secret) -> (&'static str, String) {
        ("authorization", format!("Bearer {}", key.reveal()))
    }

    fn body(&self, asked: &Asked<'_>) -> Value {
        let request = asked.request;
        let input: Vec<Value> = request
            .messages
            .iter()
            .map(|message| json!({"role": role(message), "content": message.text}))
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
        set(
            &mut body,
            "instructions",
            (!request.system.is_empty()).then(|| json!(request.system)),
        );
        set(&mut body, "temperature", request.temperature);
        if let Some(wanted) = &request.schema {
            let schema::Sendable { schema, strict } =
                schema::sendable(&wanted.schema, asked.flavour);
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

    fn event(&self, event: &Value, draft: &mut Draft) -> Result<(), Box<LlmError>> {
        match text(event, "/type").unwrap_or_default() {
            "response.output_text.delta" => draft
                .text
                .push_str(text(event, "/delta").unwrap_or_default()),
            "response.refusal.delta" => draft
                .refusal
                .push_str(text(event, "/delta").unwrap_or_default()),
            "response.function_call_arguments.delta" => {
                draft
                    .arguments
                    .push_str(text(event, "/delta").unwrap_or_default());
            }
            "response.created" => {
                note_identity(event.get("response").unwrap_or(&Value::Null), draft)
            }
            // The final event repeats the whole response, so it is parsed like one.
            "response.completed" | "response.incomplete" => {
                return self.whole(event.get("response").unwrap_or(&Value::Null), draft);
            }
            "response.failed" | "error" => return Err(fault::in_stream(event)),
            // An error without a type, from servers that imitate this API.
            "" if event.get("error").is_some_and(|error| !error.is_null()) => {
                return Err(fault::in_stream(event));
            }
            _ => {}
        }
        Ok(())
    }

    fn whole(&self, answer: &Value, draft: &mut Draft) -> Result<(), Box<LlmError>> {
        if answer.get("error").is_some_and(|error| !error.is_null()) {
            return Err(fault::in_stream(answer));
        }
        note_identity(answer, draft);
        // The final event may repeat the output, omit it, or be the only one that has it.
        if draft.text.is_empty() && draft.arguments.is_empty() {
            read_output(answer, draft);
        }
        if let Some(usage) = answer.get("usage") {
            draft.usage = draft.usage.updated(Usage {
                input: number(usage, "/input_tokens"),
                output: number(usage, "/output_tokens"),
                cache_read: number(usage, "/input_tokens_details/cached_tokens"),
                cache_write: None,
                reasoning: number(usage, "/output_tokens_details/reasoning_tokens"),
            });
        }
        draft.closed = true;
        draft.stop = Some(
            match (
                text(answer, "/status"),
                text(answer, "/incomplete_details/reason"),
            ) {
                // The reason before the status: an incomplete response has both.
                (_, Some("max_output_tokens")) => Stop::Length,
                (_, Some("content_filter")) => Stop::Filter,
                (Some("completed"), _) => Stop::End,
                _ => Stop::Unknown,
            },
        );
        Ok(())
    }
}

fn note_identity(response: &Value, draft: &mut Draft) {
    draft.id = draft
        .id
        .take()
        .or_else(|| text(response, "/id").map(str::to_owned));
    draft.model = draft
        .model
        .take()
        .or_else(|| text(response, "/model").map(str::to_owned));
}

fn read_output(answer: &Value, draft: &mut Draft) {
    for item in answer
        .get("output")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        match text(item, "/type") {
            Some("message") => {
                for part in item
                    .get("content")
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten()
                {
                    draft.text.push_str(text(part, "/text").unwrap_or_default());
                    draft
                        .refusal
                        .push_str(text(part, "/refusal").unwrap_or_default());
                }
            }
            Some("function_call") => draft
                .arguments
                .push_str(text(item, "/arguments").unwrap_or_default()),
            _ => {}
        }
    }
}
