//! Google Gemini API (`generateContent`).

use serde_json::{Value, json};

use super::dialect::{
    DialectRequest, WireDialect, append_text_at, check_reported_error, items_at, number_at,
    set_field, stop_sequences, text_at,
};
use super::draft::AnswerDraft;
use super::schema;
use crate::error::{ErrorClass, LlmResult};
use crate::outcome::{StopReason, TokenUsage};
use crate::request::{Role, SchemaMode};
use crate::secret::Secret;

pub(crate) struct Gemini;

impl WireDialect for Gemini {
    fn endpoint_path(&self, model: &str, stream: bool) -> String {
        // Google lists models as `models/NAME`, and names are often copied that way.
        let model = model.strip_prefix("models/").unwrap_or(model);
        if stream {
            format!("models/{model}:streamGenerateContent?alt=sse")
        } else {
            format!("models/{model}:generateContent")
        }
    }

    fn api_key_header(&self, key: &Secret) -> (&'static str, String) {
        ("x-goog-api-key", key.reveal().to_owned())
    }

    fn build_request_body(&self, asked: &DialectRequest<'_>) -> Value {
        let request = asked.request;
        let contents: Vec<Value> = request
            .messages
            .iter()
            .map(|message| {
                let role = match message.role {
                    Role::User => "user",
                    Role::Assistant => "model",
                };
                json!({"role": role, "parts": [{"text": message.text}]})
            })
            .collect();
        let mut settings = json!({"maxOutputTokens": request.max_output_tokens});
        set_field(&mut settings, "temperature", request.temperature);
        set_field(&mut settings, "seed", request.seed);
        set_field(&mut settings, "stopSequences", stop_sequences(request));
        let mut body = json!({"contents": contents});
        if !request.system.is_empty() {
            body["systemInstruction"] = json!({"parts": [{"text": request.system}]});
        }
        if let Some(wanted) = &request.schema {
            let schema = schema::convert_schema(&wanted.schema, asked.flavour).schema;
            let name = &wanted.name;
            match wanted.mode {
                SchemaMode::Native => {
                    settings["responseMimeType"] = json!("application/json");
                    settings["responseJsonSchema"] = schema;
                }
                SchemaMode::Tool => {
                    let function = json!({"name": name, "description": schema::TOOL_PURPOSE, "parametersJsonSchema": schema});
                    body["tools"] = json!([{"functionDeclarations": [function]}]);
                    let choice = json!({"mode": "ANY", "allowedFunctionNames": [name]});
                    body["toolConfig"] = json!({"functionCallingConfig": choice});
                }
                SchemaMode::Prompt => {}
            }
        }
        // Last, because the schema modes above add to it.
        body["generationConfig"] = settings;
        body
    }

    fn parse_stream_event(&self, event: &Value, draft: &mut AnswerDraft) -> LlmResult<()> {
        check_reported_error(event)?;
        // A blocked prompt has no candidates at all, and status 200.
        if let Some(reason) = text_at(event, "/promptFeedback/blockReason") {
            return Err(ErrorClass::ContentFilter
                .error(format!("the provider blocked the prompt: {reason}")));
        }
        draft.note_identity(
            text_at(event, "/responseId"),
            text_at(event, "/modelVersion"),
        );
        for part in items_at(event, "/candidates/0/content/parts") {
            // Thought summaries are not part of the answer.
            if part.get("thought").and_then(Value::as_bool) == Some(true) {
                continue;
            }
            append_text_at(&mut draft.text, part, "/text");
            if let Some(arguments) = part.pointer("/functionCall/args") {
                // Arguments come as a JSON object here, not as text.
                draft.arguments.push_str(&arguments.to_string());
            }
        }
        if let Some(usage) = event.get("usageMetadata") {
            let thoughts = number_at(usage, "/thoughtsTokenCount");
            let said = number_at(usage, "/candidatesTokenCount");
            draft.usage = draft.usage.merged_with(TokenUsage {
                input: number_at(usage, "/promptTokenCount"),
                // Thoughts are billed as output but reported separately.
                output: said
                    .or(thoughts)
                    .map(|_| said.unwrap_or(0) + thoughts.unwrap_or(0)),
                cache_read: number_at(usage, "/cachedContentTokenCount"),
                cache_write: None,
                reasoning: thoughts,
            });
        }
        // The stream has no end marker, and usage may follow the stop reason: it is read to its
        // end.
        if let Some(reason) = text_at(event, "/candidates/0/finishReason") {
            draft.stop = Some(match reason {
                "STOP" => StopReason::End,
                "MAX_TOKENS" => StopReason::Length,
                "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII"
                | "LANGUAGE" => StopReason::Filter,
                "MALFORMED_FUNCTION_CALL" => {
                    return Err(ErrorClass::Malformed.error("the model made a malformed tool call"));
                }
                _ => StopReason::Unknown,
            });
        }
        Ok(())
    }

    fn parse_whole_response(&self, answer: &Value, draft: &mut AnswerDraft) -> LlmResult<()> {
        // Without `alt=sse` a stream is a JSON array of events.
        match answer.as_array() {
            Some(events) => events
                .iter()
                .try_for_each(|event| self.parse_stream_event(event, draft)),
            None => self.parse_stream_event(answer, draft),
        }
    }
}
