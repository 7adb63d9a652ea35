//! Models over HTTP.
//!
//! `transport` moves bytes, `sse` splits them into events, a dialect parses the events into a
//! `draft`, `fault` classifies errors. Which provider and model is called is data from the
//! catalogue.

mod anthropic;
mod dialect;
mod draft;
pub(crate) mod fault;
mod gemini;
mod openai_chat;
mod openai_responses;
mod retry_after;
mod schema;
mod sse;
pub(crate) mod transport;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use reqwest::Url;
use serde_json::Value;

pub(crate) use self::dialect::wire_dialect;
use self::dialect::{DialectRequest, WireDialect};
use self::draft::AnswerDraft;
use self::sse::{SseEvent, SseReader};
use self::transport::{HttpRequest, HttpResponse, Transport};
use crate::clock::Clock;
use crate::error::{ErrorClass, LlmError, LlmResult};
use crate::ledger::attach_ledger_entry;
use crate::model::{Answer, Call, CallEvent, Model, ModelIdentity};
use crate::provider::ProviderSpec;
use crate::recording::wire_tape::WireTape;
use crate::request::Request;
use crate::secret::Secret;

/// Maximum size of a response.
const MAX_RESPONSE_BYTES: usize = 64 << 20;
/// Maximum size of an error response that is read.
const MAX_ERROR_BYTES: usize = 64 << 10;

/// One model of one provider, over HTTP.
pub struct WireModel {
    identity: ModelIdentity,
    spec: ProviderSpec,
    speech: &'static dyn WireDialect,
    url: Url,
    key: Option<Secret>,
    transport: Transport,
    clock: Arc<dyn Clock>,
}

impl WireModel {
    /// Creates a model. Sends nothing yet.
    ///
    /// # Errors
    /// When the provider has no valid base URL, or is a command.
    pub fn new(
        provider: &str,
        spec: &ProviderSpec,
        model: &str,
        key: Option<Secret>,
        tape: Option<WireTape>,
        clock: Arc<dyn Clock>,
    ) -> LlmResult<Self> {
        let setup = |what: String, step: &str| ErrorClass::Setup.error(what).with_first_step(step);
        let speech = wire_dialect(spec.dialect).ok_or_else(|| {
            setup(
                format!("provider `{provider}` is a program, not a server"),
                "use it as a command",
            )
        })?;
        let base = spec.base_url.as_deref().ok_or_else(|| {
            setup(
                format!("provider `{provider}` has no base URL"),
                "set it, as in `http://127.0.0.1:8080/v1`",
            )
        })?;
        let mut url = build_endpoint_url(base, &speech.endpoint_path(model, spec.stream)).map_err(
            |problem| {
                setup(
                    format!("the base URL `{base}` of `{provider}` is not valid: {problem}"),
                    "give it with `https://` or `http://`",
                )
            },
        )?;
        for (name, value) in &spec.query {
            url.query_pairs_mut().append_pair(name, value);
        }
        let transport = Transport::new(&url, spec.timeouts.connect, tape)?;
        let identity = ModelIdentity {
            provider: provider.to_owned(),
            model: spec.model_spec(model),
        };
        Ok(Self {
            identity,
            spec: spec.clone(),
            speech,
            url,
            key,
            transport,
            clock,
        })
    }

    fn build_request(&self, request: &Request) -> HttpRequest {
        let mut body = self.speech.build_request_body(&DialectRequest {
            request,
            model: &self.identity.model.id,
            stream: self.spec.stream,
            flavour: self.spec.schema_flavour(),
            output_limit_field: &self.spec.output_limit_field,
        });
        // The model's patch last, so that it wins over the provider's.
        apply_merge_patch(&mut body, &self.spec.patch);
        apply_merge_patch(&mut body, &self.identity.model.patch);
        if let Some(fields) = body.as_object_mut() {
            let omitted = |key: &String| {
                self.spec.omit.contains(key) || self.identity.model.omit.contains(key)
            };
            fields.retain(|key, _| !omitted(key));
        }
        let mut headers: Vec<(String, String)> = self
            .spec
            .headers
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        if let Some(key) = &self.key {
            let (name, value) = self.speech.api_key_header(key);
            headers.push((name.to_owned(), value));
        }
        HttpRequest {
            url: self.url.clone(),
            headers,
            body,
        }
    }

    /// Sends the request and reads the answer into the draft. The draft is the caller's, because it
    /// has to survive cancellation, which drops this future.
    async fn send_and_read(
        &self,
        request: &Request,
        call: &Call<'_>,
        draft: &Mutex<AnswerDraft>,
    ) -> Answer {
        let outgoing = self.build_request(request);
        let mut incoming = self.transport.send_request(&outgoing).await?;
        let mut answer = self.read_http_response(&mut incoming, call, draft).await;
        // A recording that cannot be written must not lose an answer that was paid for.
        if let Err(problem) = self.transport.record_exchange(&outgoing, incoming) {
            match &mut answer {
                Ok(outcome) => outcome.notes.push(problem.what),
                Err(error) => error.next.push(problem.what),
            }
        }
        answer
    }

    async fn read_http_response(
        &self,
        incoming: &mut HttpResponse,
        call: &Call<'_>,
        draft: &Mutex<AnswerDraft>,
    ) -> Answer {
        let alive = || call.emit_event(&CallEvent::Alive);
        let request_id = ["x-request-id", "request-id"]
            .iter()
            .find_map(|name| incoming.headers.get(name));
        let request_id = request_id.map(str::to_owned);
        if !(200..300).contains(&incoming.status) {
            // If the body is cut off, status and headers still classify the error.
            let body = incoming
                .read_remaining_text(MAX_ERROR_BYTES, &alive)
                .await
                .unwrap_or_default();
            let (status, headers) = (incoming.status, &incoming.headers);
            let mut error = fault::error_from_response(
                status,
                headers,
                &body,
                &display_without_secrets(&self.url),
                self.clock.now(),
            );
            error.request_id = request_id;
            return Err(error);
        }
        // By the response, not by the request: some servers ignore `stream` in either direction.
        let streams = incoming
            .headers
            .get("content-type")
            .is_some_and(|kind| kind.contains("event-stream"));
        if streams {
            self.read_stream(incoming, call, draft).await?;
        } else {
            let body = incoming
                .read_remaining_text(MAX_RESPONSE_BYTES, &alive)
                .await?;
            self.read_whole(&body, call, draft)?;
        }
        let mut draft = lock_draft(draft);
        // The header's id wins, because errors carry the same one.
        draft.id = request_id.or(draft.id.take());
        draft.finish_answer()
    }

    async fn read_stream(
        &self,
        incoming: &mut HttpResponse,
        call: &Call<'_>,
        draft: &Mutex<AnswerDraft>,
    ) -> LlmResult<()> {
        let mut reader = SseReader::default();
        while let Some(chunk) = incoming.next_chunk().await? {
            call.emit_event(&CallEvent::Alive);
            let events = reader.push_bytes(&chunk).map_err(|_| {
                ErrorClass::Malformed.error("the provider sent an event above the size limit")
            })?;
            for event in events {
                self.handle_stream_event(&event, call, draft)?;
            }
            // Some servers keep the connection open after the end marker.
            if lock_draft(draft).closed {
                return Ok(());
            }
        }
        reader.finish_stream().map_or(Ok(()), |event| {
            self.handle_stream_event(&event, call, draft)
        })
    }

    fn read_whole(&self, body: &str, call: &Call<'_>, draft: &Mutex<AnswerDraft>) -> LlmResult<()> {
        // Some servers stream with the wrong content type.
        if ["data:", "event:", ":"]
            .iter()
            .any(|start| body.trim_start().starts_with(start))
        {
            let mut reader = SseReader::default();
            let events = reader.push_bytes(body.as_bytes()).unwrap_or_default();
            return events
                .iter()
                .chain(&reader.finish_stream())
                .try_for_each(|event| self.handle_stream_event(event, call, draft));
        }
        let value: Value = serde_json::from_str(body).map_err(|_| {
            let start: String = body.trim_start().chars().take(80).collect();
            let what = format!(
                "{} returned something that is not JSON: `{start}`",
                display_without_secrets(&self.url)
            );
            // An HTML page means the wrong URL; a retry gets the same page.
            let class = if start.starts_with('<') {
                ErrorClass::EndpointNotFound
            } else {
                ErrorClass::Malformed
            };
            LlmError::new(class, what)
                .with_first_step("check that the base URL leads to a model server")
        })?;
        let mut draft = lock_draft(draft);
        self.speech.parse_whole_response(&value, &mut draft)?;
        emit_new_text(&mut draft, call);
        Ok(())
    }

    fn handle_stream_event(
        &self,
        event: &SseEvent,
        call: &Call<'_>,
        draft: &Mutex<AnswerDraft>,
    ) -> LlmResult<()> {
        let mut draft = lock_draft(draft);
        if draft.closed || event.data.trim().is_empty() {
            return Ok(());
        }
        // OpenAI's end marker is not JSON.
        if event.data.trim() == "[DONE]" {
            draft.closed = true;
            return Ok(());
        }
        let value: Value = serde_json::from_str(&event.data).map_err(|_| {
            let start: String = event.data.chars().take(80).collect();
            ErrorClass::Malformed.error(format!(
                "the provider sent an event that is not JSON: `{start}`"
            ))
        })?;
        // Some servers mark an error only by the event's name, not in its data.
        if event.name.as_deref() == Some("error")
            && value.get("type").is_none()
            && value.get("error").is_none()
        {
            return Err(fault::error_from_event(&value));
        }
        self.speech.parse_stream_event(&value, &mut draft)?;
        emit_new_text(&mut draft, call);
        Ok(())
    }
}

impl Model for WireModel {
    fn model_identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn complete_request(&self, request: &Request, call: &Call<'_>) -> Answer {
        let started = Instant::now();
        // Outside the future, so that a cancelled call still reports its partial text and usage.
        let draft = Mutex::new(AnswerDraft::default());
        let answer: Answer = call
            .cancel
            .run_future(self.send_and_read(request, call, &draft))
            .unwrap_or_else(|cancelled| Err(cancelled.into()))
            .map_err(|error| with_partial_answer(error, &lock_draft(&draft)));
        let cost = lock_draft(&draft).cost;
        attach_ledger_entry(request, &self.identity, started.elapsed(), cost, answer)
    }
}

/// Attaches the partial answer and its usage to an error: it was received, and is billed.
fn with_partial_answer(mut error: Box<LlmError>, draft: &AnswerDraft) -> Box<LlmError> {
    error.text = draft.answer_text().to_owned();
    error.usage = draft.usage;
    error.request_id = error.request_id.take().or_else(|| draft.id.clone());
    error
}

fn emit_new_text(draft: &mut AnswerDraft, call: &Call<'_>) {
    if let Some(news) = draft.take_new_text() {
        call.emit_event(&CallEvent::Text(news.to_owned()));
    }
}

fn lock_draft(draft: &Mutex<AnswerDraft>) -> std::sync::MutexGuard<'_, AnswerDraft> {
    draft
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Appends the endpoint to the base URL, which is used as given, unless it already ends with it.
pub(crate) fn build_endpoint_url(base: &str, endpoint: &str) -> Result<Url, String> {
    let mut url = Url::parse(base.trim()).map_err(|error| error.to_string())?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(format!("`{}` is not `http` or `https`", url.scheme()));
    }
    let (path, query) = endpoint
        .split_once('?')
        .map_or((endpoint, None), |(path, query)| (path, Some(query)));
    // Users copy base URLs with and without the trailing slash, and sometimes the whole endpoint.
    let given = url.path().trim_end_matches('/').to_owned();
    if !given.ends_with(&format!("/{path}")) {
        url.set_path(&format!("{given}/{path}"));
    }
    // Appended pair by pair: the base URL may have a query of its own, such as `api-version`.
    for (name, value) in query
        .into_iter()
        .flat_map(|query| query.split('&'))
        .filter_map(|pair| pair.split_once('='))
    {
        url.query_pairs_mut().append_pair(name, value);
    }
    Ok(url)
}

/// Renders a URL for messages, without user, password and query, which may be secret.
pub(crate) fn display_without_secrets(url: &Url) -> String {
    format!(
        "{}://{}{}{}",
        url.scheme(),
        url.host_str().unwrap_or_default(),
        port_suffix(url),
        url.path()
    )
}

fn port_suffix(url: &Url) -> String {
    url.port()
        .map(|port| format!(":{port}"))
        .unwrap_or_default()
}

/// Applies a JSON merge patch (RFC 7396) to a body.
fn apply_merge_patch(body: &mut Value, changes: &BTreeMap<String, Value>) {
    fn merge(target: &mut Value, change: &Value) {
        let Value::Object(change) = change else {
            *target = change.clone();
            return;
        };
        if !target.is_object() {
            *target = Value::Object(serde_json::Map::new());
        }
        for (key, value) in change {
            if value.is_null() {
                target.as_object_mut().and_then(|target| target.remove(key));
            } else {
                merge(&mut target[key.as_str()], value);
            }
        }
    }
    merge(body, &Value::Object(changes.clone().into_iter().collect()));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_base_url_is_used_as_given() {
        let join = |base: &str, endpoint: &str| {
            build_endpoint_url(base, endpoint).map(|url| url.to_string())
        };
        let chat = "chat/completions";
        assert_eq!(
            join("http://h:1/v1", chat).unwrap(),
            "http://h:1/v1/chat/completions"
        );
        assert_eq!(
            join("http://h:1/v1/", chat).unwrap(),
            "http://h:1/v1/chat/completions"
        );
        assert_eq!(
            join("https://h/llm/proxy", chat).unwrap(),
            "https://h/llm/proxy/chat/completions"
        );
        assert_eq!(
            join("https://h", chat).unwrap(),
            "https://h/chat/completions"
        );
        assert_eq!(
            join("https://h/v1/chat/completions", chat).unwrap(),
            "https://h/v1/chat/completions"
        );
        assert_eq!(
            join("https://h/d?api-version=3", chat).unwrap(),
            "https://h/d/chat/completions?api-version=3"
        );
        assert_eq!(
            join("https://h/v1beta", "models/m:streamGenerateContent?alt=sse").unwrap(),
            "https://h/v1beta/models/m:streamGenerateContent?alt=sse"
        );
        join("h/v1", chat).unwrap_err();
        join("file:///etc/passwd", chat).unwrap_err();
    }

    #[test]
    fn a_patch_changes_only_what_it_names() {
        let mut body = json!({"a": {"b": 1, "c": 2}, "d": 3});
        apply_merge_patch(
            &mut body,
            &BTreeMap::from([
                ("a".to_owned(), json!({"b": 9, "e": {"f": 1}})),
                ("g".to_owned(), json!([1])),
            ]),
        );
        assert_eq!(
            body,
            json!({"a": {"b": 9, "c": 2, "e": {"f": 1}}, "d": 3, "g": [1]})
        );
    }

    #[test]
    fn an_address_in_a_message_has_no_secret() {
        let url = Url::parse("https://me:pw@h:8443/v1?key=abc").unwrap();
        assert_eq!(display_without_secrets(&url), "https://h:8443/v1");
    }
}
