//! Recordings of HTTP: one exchange per line, the response with its chunk boundaries.
//!
//! Exchanges are matched by method, path and body, so a changed request is a miss, not an outdated
//! answer. Few response headers are stored, and no request headers: they carry the key.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::scrub::{Scrubber, normalize_for_comparison};
use super::{json_lines, request_diff};
use crate::error::{ErrorClass, LlmResult};

/// Response headers that influence behaviour.
const RECORDED_HEADERS: &[&str] = &[
    "content-type",
    "date",
    "location",
    "request-id",
    "retry-after",
    "retry-after-ms",
    "x-request-id",
];

/// A tape that records or replays.
pub struct WireTape {
    path: PathBuf,
    scrubber: Scrubber,
    /// Exchanges left to replay; `None` when recording.
    recorded: Option<Mutex<VecDeque<HttpExchange>>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct HttpExchange {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) place: String,
    pub(crate) body: Value,
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) chunks: Vec<BodyChunk>,
    /// The connection was lost after the last chunk.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) broken: bool,
}

/// A chunk as received. One that ends inside a character is not UTF-8, hence the two forms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum BodyChunk {
    Text(String),
    Bytes(Vec<u8>),
}

impl BodyChunk {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        std::str::from_utf8(bytes).map_or_else(
            |_| Self::Bytes(bytes.to_vec()),
            |text| Self::Text(text.to_owned()),
        )
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Text(text) => text.into_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

impl WireTape {
    /// Returns a tape that appends every exchange to a file.
    #[must_use]
    pub fn open_recording(path: &Path, scrubber: Scrubber) -> Self {
        Self {
            path: path.to_owned(),
            scrubber,
            recorded: None,
        }
    }

    /// Returns a tape that replays a file and never touches the network. The scrubber must be the
    /// one used for recording, because requests are compared without their secrets.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn open_replay(path: &Path, scrubber: Scrubber) -> LlmResult<Self> {
        let recorded = json_lines::read_json_lines::<HttpExchange>(path)?;
        Ok(Self {
            path: path.to_owned(),
            scrubber,
            recorded: Some(Mutex::new(recorded.into())),
        })
    }

    pub(crate) fn is_replaying(&self) -> bool {
        self.recorded.is_some()
    }

    /// Returns the recorded exchange for this request. Each is used once, in recording order.
    pub(crate) fn take_exchange(
        &self,
        method: &str,
        place: &str,
        body: &Value,
    ) -> LlmResult<HttpExchange> {
        let recorded = self
            .recorded
            .as_ref()
            .expect("BUG: asked a tape that records");
        let mut recorded = recorded
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let question = |method: &str, place: &str, body: &Value| {
            normalize_for_comparison(
                &self
                    .scrubber
                    .scrub_value(&json!({"method": method, "place": place, "body": body})),
            )
        };
        let asked = question(method, place, body);
        let same = |exchange: &HttpExchange| {
            question(&exchange.method, &exchange.place, &exchange.body) == asked
        };
        if let Some(exchange) = recorded
            .iter()
            // The first match, in recording order: a retried request has several exchanges.
            .position(same)
            .and_then(|place| recorded.remove(place))
        {
            return Ok(exchange);
        }
        // A miss is rare and ends the run, so the diff against all exchanges may take its time.
        let questions: Vec<Value> = recorded
            .iter()
            .map(|exchange| question(&exchange.method, &exchange.place, &exchange.body))
            .collect();
        let nearest = request_diff::diff_to_nearest(&asked, questions.iter()).map_or_else(
            || "nothing is left in it".to_owned(),
            |diff| format!("the nearest differs:\n{diff}"),
        );
        let what = format!(
            "`{}` has no exchange for {method} {place}; {nearest}",
            self.path.display()
        );
        Err(ErrorClass::NotRecorded.error(what))
    }

    /// Appends an exchange, without its secrets.
    pub(crate) fn append_exchange(&self, mut exchange: HttpExchange) -> LlmResult<()> {
        exchange.place = self.scrubber.scrub_text(&exchange.place);
        exchange.body = self.scrubber.scrub_value(&exchange.body);
        exchange
            .headers
            // Cookies and account ids in response headers do not belong into a recording.
            .retain(|(name, _)| RECORDED_HEADERS.contains(&name.as_str()));
        for (_, value) in &mut exchange.headers {
            *value = self.scrubber.scrub_text(value);
        }
        let whole: Vec<u8> = exchange
            .chunks
            .iter()
            .flat_map(|chunk| chunk.clone().into_bytes())
            .collect();
        if let Ok(text) = String::from_utf8(whole) {
            let scrubbed = self.scrubber.scrub_text(&text);
            // A secret may span two chunks, so the joined text is scrubbed; then the boundaries are
            // lost.
            if scrubbed != text {
                exchange.chunks = vec![BodyChunk::Text(scrubbed)];
            }
        }
        json_lines::append_json_line(&self.path, &exchange)
    }
}
