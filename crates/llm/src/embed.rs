//! Embeddings client: texts in, unit vectors out, over the same transport as completions.
//!
//! Chat servers and OpenAI share an endpoint, Gemini has its own; Anthropic and commands have none.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::Url;
use serde_json::{Value, json};

use crate::cancel::CancelToken;
use crate::clock::{Clock as _, SystemClock};
use crate::connect::{ModelSelection, find_provider_key, selected_provider_spec};
use crate::error::{ErrorClass, LlmResult, RetryPolicy, TimeoutPhase};
use crate::provider::{Catalogue, Dialect};
use crate::secret::Secret;
use crate::wire::fault;
use crate::wire::transport::{HttpRequest, Transport};
use crate::wire::{build_endpoint_url, display_without_secrets, wire_dialect};

/// Number of texts per request.
const TEXTS_PER_REQUEST: usize = 64;
const MAX_RESPONSE_BYTES: usize = 64 << 20;
const MAX_ATTEMPTS: u32 = 3;

/// An embedding model.
pub struct Embedder {
    provider: String,
    model: String,
    dialect: Dialect,
    url: Url,
    headers: Vec<(String, String)>,
    transport: Transport,
    patience: Duration,
}

impl Embedder {
    /// Returns the selected embedding model. Sends nothing yet.
    ///
    /// # Errors
    /// When the provider is unknown or has no embeddings, or the model or a key is missing.
    pub fn new(
        catalogue: &Catalogue,
        selection: &ModelSelection,
        environment: &BTreeMap<String, String>,
    ) -> LlmResult<Self> {
        let provider = selection.provider.clone();
        let spec = selected_provider_spec(catalogue, selection)?;
        let setup = |what: String, step: &str| ErrorClass::Setup.error(what).with_first_step(step);
        let model = selection.model.clone().ok_or_else(|| {
            setup(
                format!("no embedding model is chosen for `{provider}`"),
                "name one, as in `text-embedding-3-small`",
            )
        })?;
        let endpoint = match spec.dialect {
            Dialect::OpenAiChat | Dialect::OpenAiResponses => "embeddings".to_owned(),
            Dialect::Gemini => format!("models/{model}:batchEmbedContents"),
            Dialect::AnthropicMessages | Dialect::Command => {
                return Err(setup(
                    format!("`{provider}` has no embeddings"),
                    "choose a server that speaks OpenAI's dialect, or Gemini",
                ));
            }
        };
        let base = spec.base_url.as_deref().ok_or_else(|| {
            setup(
                format!("provider `{provider}` has no base URL"),
                "set it, as in `http://127.0.0.1:8080/v1`",
            )
        })?;
        let url = build_endpoint_url(base, &endpoint).map_err(|problem| {
            setup(
                format!("the base URL `{base}` is not valid: {problem}"),
                "give it with `https://`",
            )
        })?;
        let key: Option<Secret> = selection
            .key
            .clone()
            .or_else(|| find_provider_key(&spec, environment));
        if key.is_none() && !spec.key_env.is_empty() && !spec.key_optional {
            let variables = spec.key_env.join("` or `");
            return Err(ErrorClass::Auth
                .error(format!("no API key for `{provider}`"))
                .with_first_step(format!("set `{variables}`, or name a key file")));
        }
        // The key's header comes last, after those of the catalogue.
        let mut headers: Vec<(String, String)> = spec.headers.clone().into_iter().collect();
        if let (Some(key), Some(speech)) = (&key, wire_dialect(spec.dialect)) {
            let (name, value) = speech.api_key_header(key);
            headers.push((name.to_owned(), value));
        }
        let transport = Transport::new(&url, spec.timeouts.connect, None)?;
        let patience = spec.timeouts.first_byte;
        Ok(Self {
            provider,
            model,
            dialect: spec.dialect,
            url,
            headers,
            transport,
            patience,
        })
    }

    /// Returns the name stored with vectors: those of different models cannot be compared.
    #[must_use]
    pub fn model_name(&self) -> String {
        format!("{}/{}", self.provider, self.model)
    }

    /// Returns the vectors of texts, normalised to length 1, in order.
    ///
    /// # Errors
    /// When the provider fails, even after retries, or returns something else.
    pub fn embed_texts(&self, texts: &[String], cancel: &CancelToken) -> LlmResult<Vec<Vec<f32>>> {
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(TEXTS_PER_REQUEST) {
            vectors.extend(self.embed_with_retries(batch, cancel)?);
        }
        Ok(vectors)
    }

    fn embed_with_retries(
        &self,
        texts: &[String],
        cancel: &CancelToken,
    ) -> LlmResult<Vec<Vec<f32>>> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            // A retry loop of its own: the retry layer wraps completions, and a batch either
            // succeeds or fails as a whole.
            let error = match cancel.run_future(self.embed_within_timeout(texts)) {
                Ok(Ok(vectors)) => return Ok(vectors),
                Ok(Err(error)) => error,
                Err(cancelled) => return Err(cancelled.into()),
            };
            let usual = match error.class.retry_policy() {
                RetryPolicy::Never => return Err(error),
                RetryPolicy::Throttle => Duration::from_secs(5),
                RetryPolicy::Backoff => Duration::from_secs(1),
            };
            // Few attempts: embeddings are an optional index, and search works without them.
            if attempt >= MAX_ATTEMPTS {
                return Err(error);
            }
            cancel.wait_for(
                error
                    .retry_after
                    // The provider's own wait, if it names one, but at most a minute.
                    .unwrap_or(usual * attempt)
                    .min(Duration::from_secs(60)),
            )?;
        }
    }

    async fn embed_within_timeout(&self, texts: &[String]) -> LlmResult<Vec<Vec<f32>>> {
        let late = || {
            ErrorClass::Timeout(TimeoutPhase::FirstByte).error(format!(
                "{} did not answer",
                display_without_secrets(&self.url)
            ))
        };
        tokio::time::timeout(self.patience, self.send_text_batch(texts))
            .await
            .map_err(|_| late())?
    }

    async fn send_text_batch(&self, texts: &[String]) -> LlmResult<Vec<Vec<f32>>> {
        let body = match self.dialect {
            Dialect::Gemini => {
                // Gemini wants the model's name in every single request of a batch.
                let one = |text: &String| json!({ "model": format!("models/{}", self.model), "content": { "parts": [{ "text": text }] } });
                json!({ "requests": texts.iter().map(one).collect::<Vec<_>>() })
            }
            _ => json!({ "model": self.model, "input": texts }),
        };
        let outgoing = HttpRequest {
            url: self.url.clone(),
            headers: self.headers.clone(),
            body,
        };
        let mut incoming = self.transport.send_request(&outgoing).await?;
        let answer = incoming
            .read_remaining_text(MAX_RESPONSE_BYTES, &|| {})
            .await?;
        if !(200..300).contains(&incoming.status) {
            return Err(fault::error_from_response(
                incoming.status,
                &incoming.headers,
                &answer,
                &display_without_secrets(&self.url),
                SystemClock.now(),
            ));
        }
        parse_embedding_vectors(&answer, texts.len()).ok_or_else(|| {
            ErrorClass::Malformed.error(format!(
                "{} returned no vectors for {} texts",
                display_without_secrets(&self.url),
                texts.len()
            ))
        })
    }
}

/// Parses a response in either format; `None` if vectors are missing or differ in length.
fn parse_embedding_vectors(answer: &str, expected: usize) -> Option<Vec<Vec<f32>>> {
    let value: Value = serde_json::from_str(answer).ok()?;
    // OpenAI's format has `data[].embedding`, Gemini's `embeddings[].values`.
    let (list, field) = match value.get("data") {
        Some(list) => (list.as_array()?, "embedding"),
        None => (value.get("embeddings")?.as_array()?, "values"),
    };
    let mut found: Vec<(u64, Vec<f32>)> = Vec::with_capacity(list.len());
    for (index, item) in list.iter().enumerate() {
        let numbers: Option<Vec<f32>> = item
            .get(field)?
            .as_array()?
            .iter()
            .map(|it| it.as_f64().map(|it| it as f32))
            .collect();
        found.push((
            item.get("index")
                .and_then(Value::as_u64)
                .unwrap_or(index as u64),
            normalize_vector(numbers?)?,
        ));
    }
    // OpenAI's format allows any order and gives the index of each text.
    found.sort_by_key(|(index, _)| *index);
    let length = found.first()?.1.len();
    // A missing vector would assign the following ones to the wrong texts.
    let whole = found.len() == expected && found.iter().all(|(_, vector)| vector.len() == length);
    whole.then(|| found.into_iter().map(|(_, vector)| vector).collect())
}

/// Normalises a vector to length 1; `None` for a zero vector, which has no direction.
fn normalize_vector(mut vector: Vec<f32>) -> Option<Vec<f32>> {
    let length = vector.iter().map(|it| it * it).sum::<f32>().sqrt();
    if !length.is_normal() {
        return None;
    }
    vector.iter_mut().for_each(|it| *it /= length);
    Some(vector)
}

#[cfg(test)]
mod tests {
    use super::parse_embedding_vectors;

    #[test]
    fn vectors_are_read_in_the_order_of_the_texts_and_only_whole() {
        let two = r#"{"data":[{"index":1,"embedding":[0,2]},{"index":0,"embedding":[3,4]}]}"#;
        assert_eq!(
            parse_embedding_vectors(two, 2),
            Some(vec![vec![0.6, 0.8], vec![0.0, 1.0]])
        );
        assert_eq!(
            parse_embedding_vectors(r#"{"embeddings":[{"values":[5]}]}"#, 1),
            Some(vec![vec![1.0]])
        );
        for (answer, expected) in [
            (two, 3),
            (r#"{"data":[{"embedding":[0,0]}]}"#, 1),
            (r#"{"data":[{"embedding":[1]},{"embedding":[1,2]}]}"#, 2),
            (r#"{"data":[{"embedding":["x"]}]}"#, 1),
            (r#"{"choices":[]}"#, 1),
            ("<html>", 1),
        ] {
            assert_eq!(parse_embedding_vectors(answer, expected), None, "{answer}");
        }
    }
}
