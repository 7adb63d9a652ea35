//! Secret detection and masking: finds keys, tokens, passwords and private keys in text and replaces them.
//!
//! Everything the store keeps passes [`mask_operation`] and [`mask_text`]; there is no second list of key formats.
//! A hand-written scanner instead of a regular expression: one pass over the bytes, linear in the length of the text,
//! without tables to build, because hooks run it and live for a few milliseconds. It prefers a missed exotic format to a
//! false alarm: a masked word in a plan's history cannot be brought back.

mod assignment;
mod formats;
mod masked_text;
mod operation;
mod scanner;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::operation::Verb;

pub(crate) use masked_text::is_masked_text;
pub use masked_text::{MaskedSecret, MaskedText, fill_in, in_lines, secret_lines};
pub(crate) use operation::mask_description;
pub use operation::{mask_operation, mask_recorded};

/// What every mask begins with.
const MASK_START: &str = "[masked ";

/// How many of a key's last characters a mask shows, so that its owner can tell which one to revoke.
const SHOWN_CHARACTERS: usize = 4;

/// Only keys of at least this length show their end: four characters of a short one would be too much of it.
const MIN_SHOWING_BYTES: usize = 24;

/// A mask can uncover what stood beside it: a key in the user name of a URL whose password was found. Each pass leaves
/// less to find, and what was masked before is masked already when it comes again.
const MAX_PASSES: usize = 8;

/// What kind of secret was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SecretKind {
    AnthropicKey,
    OpenaiKey,
    GoogleKey,
    AwsKey,
    GithubToken,
    GitlabToken,
    SlackToken,
    SlackWebhook,
    NpmToken,
    PypiToken,
    HuggingFaceToken,
    DigitaloceanToken,
    SendgridKey,
    StripeKey,
    TwilioKey,
    TelegramToken,
    /// A token of our own server.
    ThroughlineToken,
    /// A key of another provider, known by its prefix.
    ApiKey,
    JsonWebToken,
    BearerToken,
    /// The value of an assignment: `password=…`, `"api_key": "…"`.
    AssignedSecret,
    /// The password in `scheme://user:password@host`.
    UrlPassword,
    PrivateKey,
}

impl SecretKind {
    /// Returns what people call it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::AnthropicKey => "anthropic key",
            Self::OpenaiKey => "openai key",
            Self::GoogleKey => "google key",
            Self::AwsKey => "aws key",
            Self::GithubToken => "github token",
            Self::GitlabToken => "gitlab token",
            Self::SlackToken => "slack token",
            Self::SlackWebhook => "slack webhook",
            Self::NpmToken => "npm token",
            Self::PypiToken => "pypi token",
            Self::HuggingFaceToken => "hugging face token",
            Self::DigitaloceanToken => "digitalocean token",
            Self::SendgridKey => "sendgrid key",
            Self::StripeKey => "stripe key",
            Self::TwilioKey => "twilio key",
            Self::TelegramToken => "telegram token",
            Self::ThroughlineToken => "throughline token",
            Self::ApiKey => "api key",
            Self::JsonWebToken => "json web token",
            Self::BearerToken => "bearer token",
            Self::AssignedSecret => "password",
            Self::UrlPassword => "url password",
            Self::PrivateKey => "private key",
        }
    }

    /// Says whether a mask may show the last characters: of a password nothing is shown, and a block has no end to show.
    fn shows_end(self) -> bool {
        !matches!(
            self,
            Self::AssignedSecret | Self::UrlPassword | Self::PrivateKey
        )
    }
}

impl fmt::Display for SecretKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A secret in a text: what it is and which bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundSecret {
    pub kind: SecretKind,
    pub range: Range<usize>,
}

/// How many different secrets were found, by kind. Holds nothing of them that could be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretCount {
    /// A key in a title, in a log and in a text is one secret: each is known by a hash that is never kept.
    seen: BTreeSet<(SecretKind, u64)>,
}

impl SecretCount {
    /// Counts a secret, once.
    pub fn add(&mut self, kind: SecretKind, secret: &str) {
        let mut hasher = DefaultHasher::new();
        secret.hash(&mut hasher);
        self.seen.insert((kind, hasher.finish()));
    }

    /// Adds another count to this one.
    pub fn add_all(&mut self, other: &Self) {
        self.seen.extend(&other.seen);
    }

    /// Returns how many there are in all.
    #[must_use]
    pub fn total(&self) -> usize {
        self.seen.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// Returns how many there are of each kind.
    #[must_use]
    pub fn by_kind(&self) -> BTreeMap<SecretKind, usize> {
        let mut kinds = BTreeMap::new();
        for (kind, _) in &self.seen {
            *kinds.entry(*kind).or_default() += 1;
        }
        kinds
    }
}

impl fmt::Display for SecretCount {
    /// `2 secrets (anthropic key, password)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds: Vec<&str> = self.by_kind().into_keys().map(SecretKind::word).collect();
        let noun = if self.total() == 1 {
            "secret"
        } else {
            "secrets"
        };
        write!(f, "{} {noun} ({})", self.total(), kinds.join(", "))
    }
}

/// Returns what the user is told when something of an operation was masked.
#[must_use]
pub fn masked_notice(verb: Verb, masked: &SecretCount) -> Option<String> {
    let place = match verb {
        Verb::Observe | Verb::Rebuild | Verb::Adopt => {
            return (!masked.is_empty()).then(|| {
                format!("masked {masked} in the stored copy of a plan; the file itself is unchanged (tl check names the line)")
            });
        }
        Verb::Comment => "comment",
        Verb::Intent => "intent",
        Verb::Map => "map",
        Verb::Evidence => "evidence",
        Verb::Remember => "note",
        Verb::Review => "review",
        Verb::Document => "plan document",
        Verb::Invalidate => "reason",
        _ => "recorded text",
    };
    (!masked.is_empty()).then(|| format!("masked {masked} in the {place} before it was stored"))
}

/// Returns every secret in a text, in order; ranges do not overlap.
#[must_use]
pub fn find_secrets(text: &str) -> Vec<FoundSecret> {
    scanner::scan(text)
}

/// Returns the text with every secret replaced by a mask, and counts them. A text without secrets is returned as it is.
#[must_use]
pub fn mask_text<'t>(text: &'t str, masked: &mut SecretCount) -> Cow<'t, str> {
    let mut output = Cow::Borrowed(text);
    for _ in 0..MAX_PASSES {
        let found = find_secrets(&output);
        if found.is_empty() {
            break;
        }
        output = Cow::Owned(replace_found(&output, &found, masked));
    }
    output
}

fn replace_found(text: &str, found: &[FoundSecret], masked: &mut SecretCount) -> String {
    let mut output = String::with_capacity(text.len());
    let part = |range: Range<usize>| text.get(range).unwrap_or_default();
    let mut copied = 0;
    for secret in found {
        let value = part(secret.range.clone());
        masked.add(secret.kind, value);
        output.push_str(part(copied..secret.range.start));
        output.push_str(&mask_of(secret.kind, value));
        copied = secret.range.end;
    }
    output.push_str(part(copied..text.len()));
    output
}

/// The same, where nobody asks how many there were.
#[must_use]
pub fn mask(text: &str) -> Cow<'_, str> {
    mask_text(text, &mut SecretCount::default())
}

/// Masks every text in a JSON value, in place. Names of fields stay: they are ours.
pub fn mask_value(value: &mut Value, masked: &mut SecretCount) {
    match value {
        Value::String(text) => mask_string(text, masked),
        Value::Array(items) => items.iter_mut().for_each(|item| mask_value(item, masked)),
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|item| mask_value(item, masked)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Masks a string in place.
pub(crate) fn mask_string(text: &mut String, masked: &mut SecretCount) {
    if let Cow::Owned(changed) = mask_text(text, masked) {
        *text = changed;
    }
}

/// Returns what stands in the place of a secret: its kind, and of long keys the last characters.
fn mask_of(kind: SecretKind, secret: &str) -> String {
    let end = secret
        .len()
        .checked_sub(SHOWN_CHARACTERS)
        .and_then(|start| secret.get(start..));
    match end.filter(|_| kind.shows_end() && secret.len() >= MIN_SHOWING_BYTES) {
        Some(end) => format!("{MASK_START}{kind} …{end}]"),
        None => format!("{MASK_START}{kind}]"),
    }
}

#[cfg(test)]
mod tests;
