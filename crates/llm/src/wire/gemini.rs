//! Google Gemini API (`generateContent`).

use serde_json::{Value, json};

use super::dialect::{Asked, Speech, number, set, text};
use super::draft::Draft;
use super::{fault, schema};
use crate::error::{Class, LlmError};
use crate::outcome::{Stop, Usage};
use crate::request::{Role, SchemaMode};
use crate::secret::Secret;

pub(crate) struct Gemini;

impl Speech for Gemini {
    fn endpoint(&self, model: &str, stream: bool) -> String {
        // Google lists models as `models/NAME`, and names are often copied that way.
        let model = model.strip_prefix("models/").unwrap_or(model);
        if stream {
            format!("models/{model}:streamGenerateContent?alt=sse")
        } else {
            format!("models/{model}:generateContent")
        }
    }

    fn authorisation(&self, key: &Secret) -> (&'static str, String) {
        ("x-goog-api-key", key.reveal().to_owned())
    }

    fn body(&self, asked: &Asked<'_>) -> Value {
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
        set(&mut settings, "temperature", request.temperature);
        set(&mut settings, "seed", request.seed);
        set(
            &mut settings,
            "stopSequences",
            (!request.stop.is_empty()).then(|| json!(request.stop)),
        );
        let mut body = json!({"contents": contents});
        if !request.system.is_empty() {
            body["systemInstruction"] = json!({"parts": [{"text": request.system}]});
        }
        if let Some(wanted) = &request.schema {
            let schema = schema::sendable(&wanted.schema, asked.flavour).schema;
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

    fn event(&self, event: &Value, draft: &mut Draft) -> Result<(), Box<LlmError>> {
        if event.get("error").is_some_and(|error| !error.is_null()) {
            return Err(fault::in_stream(event));
        }
        // A blocked prompt has no candidates at all, and status 200.
        if let Some(reason) = text(event, "/promptFeedback/blockReason") {
            return Err(LlmError::new(
                Class::ContentFilter,
                format!("the provider blocked the prompt: {reason}"),
            ));
        }
        draft.id = draft
            .id
            .take()
            .or_else(|| text(event, "/responseId").map(str::to_owned));
        draft.model = draft
            .model
            .take()
            .or_else(|| text(event, "/modelVersion").map(str::to_owned));
        for part in event
            .pointer("/candidates/0/content/parts")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            // Thought summaries are not part of the answer.
            if part.get("thought").and_then(Value::as_bool) == Some(true) {
                continue;
            }
            draft.text.push_str(text(part, "/text").unwrap_or_default());
            if let Some(arguments) = part.pointer("/functionCall/args") {
                // Arguments come as a JSON object here, not as text.
                draft.arguments.push_str(&arguments.to_string());
            }
        }
        if let Some(usage) = event.get("usageMetadata") {
            let thoughts = number(usage, "/thoughtsTokenCount");
            let said = number(usage, "/candidatesTokenCount");
            draft.usage = draft.usage.updated(Usage {
                input: number(usage, "/promptTokenCount"),
                // Thoughts are billed as output but reported separately.
                output: said
                    .or(thoughts)
                    .map(|_| said.unwrap_or(0) + thoughts.unwrap_or(0)),
                cache_read: number(usage, "/cachedContentTokenCount"),
                cache_write: None,
                reasoning: thoughts,
            });
        }
        // The stream has no end marker, and usage may follow the stop reason: it is read to its
        // end.
        if let Some(reason) = text(event, "/candidates/0/finishReason") {
            draft.stop = Some(match reason {
                "STOP" => Stop::End,
                "MAX_TOKENS" => Stop::Length,
                "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII"
                | "LANGUAGE" => Stop::Filter,
                "MALFORMED_FUNCTION_CALL" => {
                    return Err(LlmError::new(
                        Class::Malformed,
                        "the model made a malformed tool call",
                    ));
                }
                _ => Stop::Unknown,
            });
        }
        Ok(())
    }

    fn whole(&self, answer: &Value, draft: &mut Draft) -> Result<(), Box<LlmError>> {
        // Without `alt=sse` a stream is a JSON array of events.
        match answer.as_array() {
            Some(events) => events.iter().try_for_each(|event| self.event(event, draft)),
            None => self.event(answer, draft),
        }
    }
}
